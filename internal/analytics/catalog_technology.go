package analytics

import (
	"slices"
	"strings"
)

// Columns of what visitors view pages with.
var (
	viewSessions = Column{
		Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct sessions with such a page view.",
		Example: "251", Expr: sessions,
	}
	viewedWith = Column{
		Name: "device_type", Type: String, Label: "Device", Description: "Device type.", Example: "desktop",
		Expr: "e.device",
	}
	browserName = Column{
		Name: "browser_name", Type: String, Label: "Browser", Description: "Browser.", Example: "Firefox", Expr: "e.browser",
	}
	browserRelease = Column{
		Name: "browser_version", Type: String, Label: "Version", Description: "Its version; empty where it is not known.",
		Example: "143.0", Expr: "e.browser_version",
	}
	viewportSize = Column{
		Name: "viewport_size", Type: String, Label: "Viewport", Description: "Width and height of the viewport.",
		Example: "1280x720", Expr: "e.viewport",
	}
)

// withVersion is the name of a program and its version, if that is known.
func withVersion(name, version string) string {
	return "concat(" + name + ", if(" + version + " = '', '', concat(' ', " + version + ")))"
}

// viewsBy is a breakdown of page views by several fields, with columns of its own.
// Rows without a value of the first field are left out.
func viewsBy(name, title, description string, fields []string, columns ...Column) Type {
	t := breakdown(name, "Technology", title, fields[0], description, "")
	t.Columns, t.Rollup = columns, nil
	t.GroupBy = strings.Join(fields, ", ")
	t.Tie, t.Rollup = t.GroupBy, nil // which counts by one field
	t.Public = slices.Contains(publicViews, name)
	if slices.ContainsFunc(columns, func(c Column) bool { return c.Name == viewSessions.Name }) {
		t.Sorts = append(t.Sorts, viewSessions.Name)
	}
	return t
}

// publicViews are those that everybody may ask of a public website.
var publicViews = []string{"browser_versions", "screen_resolution"}

// nameOf is the first column of a breakdown.
func nameOf(label, description, example, expr string) Column {
	return Column{Name: "name", Type: String, Label: label, Description: description, Example: example, Expr: expr}
}

var (
	browserFields = []string{"e.browser", "e.browser_version"}
	screenSize    = nameOf("Screen", "Width and height of the screen.", "1920x1080", "e.screen")
)

var technologyTypes = []Type{
	breakdown("browser_name", "Technology", "Browser", "e.browser", "Page views by browser, most page views first.",
		"Firefox", "browsers"),
	viewsBy("browsers_grouped", "Browsers and versions", "Page views by browser and version, most page "+
		"views first.", browserFields,
		nameOf("Browser", "Browser and version.", "Firefox 143.0", withVersion("e.browser", "e.browser_version")),
		browserName, browserRelease, viewCount, viewVisitors, viewSessions),
	viewsBy("browser_versions", "Browser versions", "Share of page views by browser and version, most page views first.",
		browserFields, browserName, browserRelease, viewCount, viewVisitors, viewShare),
	breakdown("os_name", "Technology", "Operating system", "e.os", "Page views by operating system, most page views "+
		"first.",
		"Windows", "operating_systems"),
	viewsBy("os_versions", "Operating systems and versions", "Page views by operating system and version, most page "+
		"views first.",
		[]string{"e.os", "e.os_version"},
		nameOf("Operating system", "Operating system and version.", "Windows 10", withVersion("e.os", "e.os_version")),
		viewCount, viewVisitors),
	breakdown("device_types", "Technology", "Device", "e.device", "Page views by device type, most page "+
		"views first.", "desktop"),
	viewsBy("screen_resolutions", "Screen sizes", "Page views by screen size, most page views "+
		"first.", []string{"e.screen"},
		screenSize, viewCount, viewVisitors),
	viewsBy("screen_resolution", "Screen sizes of devices",
		"Page views by screen size and device type, most page views first.",
		[]string{"e.screen", "e.device"}, screenSize, viewCount, viewVisitors, viewShare, viewedWith),
	viewsBy("viewport_vs_resolution", "Viewports of devices",
		"Page views by viewport size and device type, most page views first.",
		[]string{"e.viewport", "e.device"}, viewportSize, viewVisitors, viewCount, viewedWith),
	viewportPatterns, trafficSegments,
}

// viewportPatterns is about visitors more than views, and is ordered by them.
var viewportPatterns = func() Type {
	t := viewsBy("viewport_patterns", "Viewports",
		"Visitors and sessions by viewport size, most visitors first.",
		[]string{"e.viewport"}, viewportSize, viewVisitors, viewSessions, viewShare)
	t.Sorts, t.OrderBy = []string{"visitors", "sessions"}, "visitors"
	return t
}()

// segmentFields are what trafficSegments cuts page views by, each on its own.
var segmentFields = []struct{ name, expr string }{
	{"device_type", "e.device"},
	{"browser_name", "e.browser"},
	{"os_name", "e.os"},
	{"country", "e.country"},
	{"referrer_type", referrerKind},
	{"utm_source", "e.utm_source"},
}

// trafficSegments reads the page views once, for all of segmentFields.
var trafficSegments = func() Type {
	var names, values, sets, list []string
	for _, f := range segmentFields {
		is := "grouping(" + f.expr + ") = 0"
		names = append(names, is+", '"+f.name+"'")
		values = append(values, is+", CAST("+f.expr+", 'String')")
		sets = append(sets, "("+f.expr+")")
		list = append(list, f.name)
	}
	dimension, value := "multiIf("+strings.Join(names, ", ")+", '')", "multiIf("+strings.Join(values, ", ")+", '')"
	return Type{
		Name: "traffic_segments", Subjects: Website | Organization,
		Title: "Traffic segments", Category: "Technology", Tags: []string{"breakdown"}, Visualization: "table",
		Description: "Page views per value of each of " + strings.Join(list, ", ") +
			", most page views first. Page views without a value are excluded.",
		Columns: []Column{
			{
				Name: "dimension", Type: String, Label: "Dimension", Description: "Field by which the page views are segmented.",
				Example: "device_type", Expr: dimension,
			},
			{Name: "value", Type: String, Label: "Value", Description: "Value of the field.", Example: "desktop", Expr: value},
			viewCount, viewSessions,
		},
		Filters: viewFilters, Sorts: []string{"pageviews", "sessions"}, DefaultLimit: DefaultLimit,
		Where: pageView, GroupBy: "GROUPING SETS (" + strings.Join(sets, ", ") + ")", Keep: "value != ''",
		OrderBy: "pageviews", Desc: true, Tie: "dimension, value",
	}
}()
