package analytics

// fieldBot is the filter without which persons' clicks count alone.
const fieldBot = "is_bot"

// counted is the condition of the clicks that count: those of persons, unless the request
// asks for others.
func (q *query) counted() string {
	if namesField(q.request.Filters, fieldBot) {
		return "true"
	}
	return "e.is_bot = 0"
}

// What clicks may be filtered by, and how the site that led to a link is called.
var (
	linkFilters = []string{
		"referrer", "country", "region", "city", "device_type", "browser_name", fieldBot, "is_qr", "rule_id", "variant_id",
	}
	linkReferrer = []Field{
		{Name: "referrer", Doc: "Host of the referrer, without www.", expr: "e.referrer_host"},
	}
)

// The columns that types of links share. A visitor is one for a day: what tells visitors
// apart is recreated every UTC day.
var (
	linkClicks = Column{
		Name: "clicks", Type: Number, Label: "Clicks", Description: "Clicks of persons.", Example: "57", Expr: "count()",
	}
	linkVisitors = Column{
		Name: "unique_visitors", Type: Number, Label: "Visitors", Example: "41",
		Expr:        "uniqExactIf(e.visitor, {counted} AND e.visitor != '')",
		Description: "Persons who clicked, each counted once per UTC day; excludes persons who could not be distinguished.",
	}
	linkCountry = Column{
		Name: "country", Type: String, Label: "Country", Description: "ISO 3166-1 alpha-2.", Example: "AT", Expr: "e.country",
	}
)

// ofLink is a type about the clicks of a link.
func ofLink(name, title, description string, columns ...Column) Type {
	return Type{
		Name: name, Subjects: Link, Table: tableClicks, Title: title, Description: description,
		Category: "Links", Tags: []string{"links"}, Visualization: "metric",
		Columns: columns, Filters: linkFilters, Means: linkReferrer, DefaultLimit: 1, Where: markCounted,
	}
}

// linkSeries is one of each day or hour.
func linkSeries(name, title, description string, rollup *Rollup, column Column) Type {
	t := ofLink(name, title, description, dateColumn, column)
	t.Tags, t.Visualization, t.DefaultLimit = []string{"links", "series"}, "line", MaxLimit
	t.Series, t.OrderBy, t.Sorts, t.Rollup = true, "date", []string{"date", column.Name}, rollup
	return t
}

// linkRows is one with a row for each value of something, most clicks first.
func linkRows(name, title, description, by, and string, rollup *Rollup, columns ...Column) Type {
	t := ofLink(name, title, description, columns...)
	t.Tags, t.Visualization, t.DefaultLimit = []string{"links", "breakdown"}, "table", topOfLink
	t.Where, t.GroupBy, t.Tie, t.Rollup = markCounted+and, by, by, rollup
	t.OrderBy, t.Desc, t.Sorts = linkClicks.Name, true, []string{linkClicks.Name}
	return t
}

// topOfLink is how many rows are shown unless more are asked for.
const topOfLink = 10

// linkTop is one of the values of a column, without the clicks that have none.
func linkTop(name, label, description, dimension, example string) Type {
	column := "e." + dimension
	return linkRows(name, label, description, column, " AND "+column+" != ''",
		overShape(clicksBy(dimension, column, "''"), "e.value", map[string]string{"name": "e.value", "clicks": sumOfClicks}),
		nameOf(label, "Value of the field.", example, column), linkClicks)
}

// linkPlaces is one of places, which stand with their country.
func linkPlaces(name, label, description, dimension, example string) Type {
	column := "e." + dimension
	return linkRows(name, label, description, column+", e.country", " AND "+column+" != ''",
		overShape(clicksBy(dimension, column, "e.country"), "e.value, e.detail",
			map[string]string{"name": "e.value", "country": "e.detail", "clicks": sumOfClicks}),
		nameOf(label, "Its name.", example, column), linkCountry, linkClicks)
}

// linkCountries names countries in English.
func linkCountries() Type {
	t := linkTop("link_top_countries", "Country", "Clicks by country, most clicks first.", "country", "Austria")
	name := t.Columns[0]
	name.Description, name.Show = "English name of the country.", countryName
	t.Columns = []Column{name, linkCountry, linkClicks}
	t.Rollup = overShape(clicksBy("country", "e.country", "''"), "e.value",
		map[string]string{"name": "e.value", "country": "e.value", "clicks": sumOfClicks})
	return t
}

// linkReferrers names those who came directly too.
func linkReferrers() Type {
	named := func(host, name string) string {
		return "if(" + host + " = '', 'Direct', if(max(" + name + ") = '', " + host + ", max(" + name + ")))"
	}
	return linkRows("link_top_referrers", "Referrers",
		"Clicks by referrer, most clicks first.", "e.referrer_host", "",
		overShape(clicksBy("referrer", "e.referrer_host", "e.referrer_name"), "e.value",
			map[string]string{"name": named("e.value", "e.detail"), "referrer": "e.value", "clicks": sumOfClicks}),
		nameOf("Site", "Name of the referrer, such as Google; Direct without a referrer.", "Google",
			named("e.referrer_host", "e.referrer_name")),
		Column{
			Name: "referrer", Type: String, Label: "Host",
			Description: "Host of the referrer, without www.; empty without a referrer.",
			Example:     "google.com", Expr: "e.referrer_host",
		},
		linkClicks)
}

// linkTargets are the destinations that were chosen among.
func linkTargets() Type {
	return linkRows("link_targets", "Targets", "Clicks by the rule and variant that selected the target, most clicks "+
		"first.",
		"e.rule_id, e.variant_id", "",
		overShape(chosenTargets, "e.value, e.detail", map[string]string{
			"rule_id": "e.value", "variant_id": "e.detail", "clicks": sumOfClicks, "unique_visitors": wide + "(e.visitors)",
		}),
		Column{
			Name: "rule_id", Type: String, Label: "Rule", Description: "Rule that matched; empty if none did.",
			Example: "rul_01JQZ3F8Y4M2N6P8R0S2T4V6WC", Expr: "e.rule_id",
		},
		Column{
			Name: "variant_id", Type: String, Label: "Variant", Description: "Variant that was drawn; empty without variants.",
			Example: "var_01JQZ3F8Y4M2N6P8R0S2T4V6WD", Expr: "e.variant_id",
		},
		linkClicks, linkVisitors)
}

// linkSummary tells bots apart itself.
func linkSummary() Type {
	clicks := linkClicks
	clicks.Expr = "countIf({counted})"
	t := ofLink("link_summary", "Summary", "Clicks in the range, by persons and by programs.",
		clicks,
		Column{
			Name: "unique_clicks", Type: Number, Label: "Unique clicks", Example: "48",
			Description: "Persons who clicked, each counted once per UTC hour; excludes persons who could not be distinguished.",
			Expr: "uniqExactIf((e.visitor, toStartOfHour(toDateTime(e.event_time, 'UTC'))), " +
				"{counted} AND e.visitor != '')",
		},
		linkVisitors,
		Column{
			Name: "bots", Type: Number, Label: "Bots", Description: "Clicks by programs: crawlers, link previews and " +
				"prefetches.",
			Example: "9", Expr: "countIf(e.is_bot != 0)",
		},
		Column{
			Name:        "last_clicked",
			Type:        Datetime,
			Label:       "Last",
			Description: "Time of the latest click of a person; null without such a click.",
			Example:     "2026-03-29T11:30:00.000Z",
			Expr:        "maxIf(e.event_time, {counted})",
		})
	t.Tags, t.Where = []string{"links", "overview"}, ""
	t.Rollup = overShape(summedTargets, "", map[string]string{
		"clicks": sumOfClicks, "unique_clicks": wide + "(e.visits)", "unique_visitors": wide + "(e.visitors)",
		"bots": "sum(e.bots)", "last_clicked": "max(e.last)",
	})
	return t
}

// distinctOfLink is the number of the values of a column, without the empty one.
func distinctOfLink(label, description, column string) Column {
	return Column{
		Name: "value", Type: Number, Label: label, Description: description, Example: "7",
		Expr: "uniqExactIf(" + column + ", " + column + " != '')",
	}
}

var linkTypes = []Type{
	linkTotal(), linkSummary(),
	linkSeries("link_clicks_by_day", "Clicks over time", "Clicks by day or hour.",
		overShape(allClicks, "", map[string]string{"clicks": sumOfClicks}), linkClicks),
	linkSeries("link_referrers_by_day", "Referrers over time", "Distinct referrers of clicks by day or hour.",
		valuesPerStep(clicksBy("referrer", "e.referrer_host", "''")),
		distinctOfLink("Referrers", "Distinct hosts of referrers.", "e.referrer_host")),
	linkSeries("link_countries_by_day", "Countries over time",
		"Distinct countries of clicks by day or hour.",
		valuesPerStep(clicksBy("country", "e.country", "''")),
		distinctOfLink("Countries", "Distinct countries.", "e.country")),
	linkReferrers(), linkCountries(),
	linkPlaces("link_top_regions", "Region", "Clicks by region, most clicks first.", "region", "Styria"),
	linkPlaces("link_top_cities", "City", "Clicks by city, most clicks first.", "city", "Graz"),
	linkTop("link_top_devices", "Device", "Clicks by device type, most clicks first.", "device", "mobile"),
	linkTop("link_top_browsers", "Browser", "Clicks by browser, most clicks first.", "browser", "Firefox"),
	linkTargets(),
}

func linkTotal() Type {
	total := linkClicks
	total.Name = "total"
	t := ofLink("link_total_clicks", "Clicks", "Number of clicks.", total)
	t.Rollup = overShape(allClicks, "", map[string]string{"total": sumOfClicks})
	return t
}
