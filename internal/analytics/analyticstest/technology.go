package analyticstest

import "strings"

var technologyResults = map[string]result{
	"browsers_grouped": {
		order: "pageviews", limit: 100, rows: viewsBy("browser", "browser_version", func(r Row, of, _ []Event) {
			r["name"], r["browser_name"], r["browser_version"] = versioned(r), r["first"], r["second"]
			r["sessions"] = distinct(of, sessionOf)
			drop(r, "percentage")
		}),
	},
	"browser_versions": {
		order: "pageviews", limit: 100, about: isView, share: "pageviews",
		rows: viewsBy("browser", "browser_version", func(r Row, _, _ []Event) {
			r["browser_name"], r["browser_version"] = r["first"], r["second"]
			drop(r, "name")
		}),
	},
	"os_versions": {order: "pageviews", limit: 100, rows: viewsBy("os", "os_version", func(r Row, _, _ []Event) {
		r["name"] = versioned(r)
		drop(r, "percentage")
	})},
	"screen_resolutions": {
		order: "pageviews", limit: 100, rows: viewsBy("screen", "", func(r Row, _, _ []Event) { drop(r, "percentage") }),
	},
	"screen_resolution": {
		order: "pageviews", limit: 100, about: isView, share: "pageviews",
		rows: viewsBy("screen", "device", func(r Row, _, _ []Event) {
			r["device_type"] = r["second"]
			drop(r)
		}),
	},
	"viewport_vs_resolution": {
		order: "pageviews", limit: 100, rows: viewsBy("viewport", "device", func(r Row, _, _ []Event) {
			r["viewport_size"], r["device_type"] = r["first"], r["second"]
			drop(r, "name", "percentage")
		}),
	},
	"viewport_patterns": {
		order: "visitors", limit: 100, about: isView, share: partOf,
		rows: viewsBy("viewport", "", func(r Row, of, _ []Event) {
			r["viewport_size"], r["sessions"], r[partOf] = r["first"], distinct(of, sessionOf), float64(len(of))
			drop(r, "name", "pageviews")
		}),
	},
	"traffic_segments": {order: "pageviews", limit: 100, rows: segments},
	"timezone":         {order: "pageviews", limit: 100, about: isView, share: "pageviews", rows: breakdown("timezone")},
	"language":         {order: "pageviews", limit: 100, about: isView, share: "pageviews", rows: breakdown("language")},
}

// viewsBy are page views by two texts of the web, of which the first is not
// empty; shape makes of each the row that the type has.
func viewsBy(first, second string, shape func(r Row, of, all []Event)) func([]Event, *Question) []Row {
	return func(events []Event, _ *Question) []Row {
		views := only(events, isView)
		var rows []Row
		keys, groups := group(views, func(e *Event) string { return e.Web[first] + "\x00" + e.Web[second] })
		for _, k := range keys {
			a, b, _ := strings.Cut(k, "\x00")
			if a == "" {
				continue
			}
			row := viewsOf(a, groups[k], views)
			row["first"], row["second"] = a, b
			shape(row, groups[k], views)
			drop(row, "first", "second")
			rows = append(rows, row)
		}
		return rows
	}
}

func versioned(r Row) string {
	return strings.TrimRight(r["first"].(string)+" "+r["second"].(string), " ")
}

func drop(r Row, names ...string) {
	for _, n := range append(names, "first", "second") {
		delete(r, n)
	}
}

func segments(events []Event, _ *Question) []Row {
	var rows []Row
	for _, d := range []struct {
		name string
		get  func(*Event) string
	}{ // in the order of their names, then of their values
		{"browser_name", func(e *Event) string { return e.Web["browser"] }},
		{"country", func(e *Event) string { return e.Web["country"] }},
		{"device_type", func(e *Event) string { return e.Web["device"] }},
		{"os_name", func(e *Event) string { return e.Web["os"] }},
		{"referrer_type", kindOfReferrer},
		{"utm_source", func(e *Event) string { return e.Web["utm_source"] }},
	} {
		values, groups := group(only(events, isView), d.get)
		for _, v := range values {
			if v != "" {
				rows = append(rows, Row{
					"dimension": d.name, "value": v, "pageviews": float64(len(groups[v])), "sessions": distinct(groups[v], sessionOf),
				})
			}
		}
	}
	return rows
}
