package schema

import (
	"slices"
	"strings"
)

// AllClicks is the dimension of clicks_15m that every click is counted in, and allTargets
// that of clicks_1d.
const (
	AllClicks  = "total"
	AllTargets = "target"
)

// clickDimensions are those of both tables. Those with a detail come first, because their
// columns are those of others too.
var clickDimensions = []dimension{
	{name: "region", value: "region", detail: "country"},
	{name: "city", value: "city", detail: "country"},
	{name: "referrer", value: "referrer_host", detail: "referrer_name"},
	{name: "country", value: "country"},
	{name: "device", value: "device"},
	{name: "browser", value: "browser"},
}

// slotDimensions are those of clicks_15m: what is of none of the others is a total.
var slotDimensions = append(slices.Clone(clickDimensions), dimension{name: AllClicks})

// Clicks15m holds quarters of an hour, from which the hours and days of every timezone
// can be formed.
var Clicks15m = Table{
	Name:        "clicks_15m",
	Doc:         "Clicks per link, quarter of an hour and value of each dimension, such as country or browser.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "dimension", "event_date", "slot", "value", "detail"},
	Settings:    slices.Concat(remembered, durable, compact, granules("1024")),
	Columns: []Column{
		{Name: "owner_id", Type: "String", Codec: "ZSTD(1)", Doc: "Link."},
		{
			Name: "dimension",
			Type: "LowCardinality(String)",
			Doc:  "A column of clicks; referrer, the referring site; or total, all clicks.",
		},
		{Name: "event_date", Type: "Date", Doc: "UTC day of slot."},
		{Name: "slot", Type: "DateTime('UTC')", Doc: "Start of the quarter of an hour."},
		{
			Name:  "value",
			Type:  "String",
			Codec: "ZSTD(1)",
			Doc:   "Value of the dimension. Clicks without a value count for referrer and total only.",
		},
		{
			Name: "detail", Type: "String", Codec: "ZSTD(1)",
			Doc: "Country of a region or city, name of a referrer; else empty.",
		},
		{Name: "clicks", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Clicks of persons."},
		{Name: "bots", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Other clicks; only for total."},
	},
}

// Clicks1d holds UTC days, the days of the salt by which visitors are told apart.
var Clicks1d = Table{
	Name:        "clicks_1d",
	Doc:         "Clicks and their visitors per link, UTC day and value of each dimension.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "dimension", "event_date", "value", "detail"},
	Settings:    slices.Concat(remembered, durable, compact, granules("256")),
	Columns: []Column{
		{Name: "owner_id", Type: "String", Codec: "ZSTD(1)", Doc: "Link."},
		{
			Name: "dimension",
			Type: "LowCardinality(String)",
			Doc:  "As in clicks_15m, with target in place of total: clicks by the selecting rule and variant.",
		},
		{Name: "event_date", Type: "Date", Doc: "UTC day."},
		{Name: "value", Type: "String", Codec: "ZSTD(1)", Doc: "As in clicks_15m; for target the rule."},
		{Name: "detail", Type: "String", Codec: "ZSTD(1)", Doc: "As in clicks_15m; for target the variant."},
		{Name: "clicks", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Clicks of persons."},
		{Name: "bots", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Other clicks; only for target."},
		{
			Name: "visitors",
			Type: "AggregateFunction(" + wide + ", String)",
			Doc:  "Distinct visitor of persons' clicks, without the empty one.",
		},
		{
			Name: "visits",
			Type: "AggregateFunction(" + wide + ", String, DateTime('UTC'))",
			Doc:  "The same with the UTC hour of the click.",
		},
		{
			Name: "last",
			Type: "SimpleAggregateFunction(max, DateTime64(3, 'UTC'))",
			Doc:  "Time of the latest click of a person; 1970-01-01 without one.",
		},
	},
}

// The views that fill them. That of targets alone makes sketches.
var (
	Clicks15mView = View{
		Name: "clicks_15m_mv", From: "clicks", To: "clicks_15m", Doc: "Fills clicks_15m.",
		Select: clicksPer(slotDimensions, ", "+slotOfEvent+" AS slot", ", slot",
			"if(dimension = '"+AllClicks+"', countIf(e.is_bot != 0), 0) AS bots") +
			"HAVING dimension = '" + AllClicks + "' OR " + someValue,
	}
	ClickValues1dView = View{
		Name: "click_values_1d_mv", From: "clicks", To: "clicks_1d", Doc: "Fills the dimensions of clicks_1d except target.",
		Select: clicksPer(clickDimensions, "", "", "toUInt64(0) AS bots,\n"+
			"       uniqCombined64StateIf(17)(e.visitor, false) AS visitors,\n"+
			"       uniqCombined64StateIf(17)(e.visitor, toDateTime(e.event_time, 'UTC'), false) AS visits,\n"+
			"       maxIf(e.event_time, e.is_bot = 0) AS last") + "HAVING " + someValue,
	}
	Clicks1dView = View{
		Name: "clicks_1d_mv", From: "clicks", To: "clicks_1d", Doc: "Fills the dimension target of clicks_1d.",
		Select: "SELECT e.link_id AS owner_id, toLowCardinality('" + AllTargets +
			"') AS dimension, e.event_date AS event_date,\n" +
			"       e.rule_id AS value, e.variant_id AS detail,\n" +
			"       countIf(e.is_bot = 0) AS clicks,\n" +
			"       countIf(e.is_bot != 0) AS bots,\n" +
			"       uniqCombined64StateIf(17)(e.visitor, e.is_bot = 0 AND e.visitor != '') AS visitors,\n" +
			"       uniqCombined64StateIf(17)(e.visitor, toStartOfHour(toDateTime(e.event_time, 'UTC')), e.is_bot = 0 AND " +
			"e.visitor != '') AS visits,\n" +
			"       maxIf(e.event_time, e.is_bot = 0) AS last\n" +
			"FROM clicks AS e\nGROUP BY owner_id, event_date, value, detail",
	}
)

// someValue is the condition of a row of persons' clicks that have a value; those who came
// directly are told too.
const someValue = "clicks > 0 AND (value != '' OR dimension = 'referrer')"

// clicksPer counts clicks by each of several dimensions, as far as its HAVING. What is cut
// besides days stands behind them.
func clicksPer(which []dimension, cut, by, rest string) string {
	return "SELECT e.link_id AS owner_id,\n" +
		"       toLowCardinality(" +
		choose(which, func(d *dimension) string { return "'" + d.name + "'" }) + ") AS dimension,\n" +
		"       e.event_date AS event_date" + cut + ",\n" +
		"       " + choose(which, valueOf) + " AS value,\n" +
		"       " + choose(which, detailOf) + " AS detail,\n" +
		"       countIf(e.is_bot = 0) AS clicks,\n" +
		"       " + rest + "\n" +
		"FROM clicks AS e\n" +
		"GROUP BY GROUPING SETS (\n" + clickSets(which, by) + ")\n"
}

// valueOf is what a dimension is counted by.
func valueOf(d *dimension) string {
	if d.value == "" {
		return "''"
	}
	return "toString(e." + d.value + ")"
}

// clickSets are the columns that each dimension groups by.
func clickSets(which []dimension, by string) string {
	sets := make([]string, len(which))
	for i, d := range which {
		sets[i] = "    (owner_id, event_date" + by
		for _, column := range []string{d.value, d.detail} {
			if column != "" {
				sets[i] += ", e." + column
			}
		}
		sets[i] += ")"
	}
	return strings.Join(sets, ",\n")
}
