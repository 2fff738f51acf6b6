package schema

import (
	"cmp"
	"slices"
	"strings"
)

// dimension is something that page views are counted by.
type dimension struct {
	name string
	// value and detail are columns of events; an empty detail means none.
	value, detail string
	// marks is the column by which the view tells rows of this dimension; empty
	// means value.
	marks string
}

// dimensions are those of views_1d that are columns of events, but for campaigns.
// Those with a detail come first, because their columns are those of others too.
var dimensions = []dimension{
	{name: "browser_version", value: "browser", detail: "browser_version", marks: "browser_version"},
	{name: "region", value: "region", detail: "country"},
	{name: "city", value: "city", detail: "country"},
	{name: "path", value: "path"},
	{name: "browser", value: "browser"},
	{name: "os", value: "os"},
	{name: "device", value: "device"},
	{name: "country", value: "country"},
	{name: "language", value: "language"},
	{name: "timezone", value: "timezone"},
	{name: "screen", value: "screen"},
}

// campaigns are those that few page views have a value of.
var campaigns = []dimension{
	{name: "utm_source", value: "utm_source"},
	{name: "utm_medium", value: "utm_medium"},
	{name: "utm_campaign", value: "utm_campaign"},
	{name: "utm_term", value: "utm_term"},
	{name: "utm_content", value: "utm_content"},
}

// detailed is how many of them have a detail.
const detailed = 3

// sooner is compact for a table of which a question reads two narrow columns of many
// rows and wide ones of a few.
var sooner = []Setting{
	{"min_bytes_for_wide_part", "33554432", "An insert is one file; merges of 32 MiB and more have files for each " +
		"column, since sketches are read of the rows on top alone."},
}

// Views1d holds what breakdowns of page views ask for.
var Views1d = Table{
	Name: "views_1d",
	Doc: "Page views and their visitors per owner, UTC day and value of each dimension, such as path, browser or " +
		"country.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "dimension", "value", "detail", "event_date"},
	Settings:    slices.Concat(remembered, durable, sooner, granules("128")),
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{
			Name: "dimension",
			Type: "LowCardinality(String)",
			Doc:  "A column of events; or referrer, the referring site or Direct.",
		},
		{Name: "event_date", Type: "Date", Doc: "UTC day."},
		{Name: "value", Type: "String", Doc: "Value of the dimension; for browser_version the browser. Page views " +
			"without a value are left out. So are page views with a referrer of the same website, for referrer."},
		{
			Name: "detail",
			Type: "String",
			Doc:  "Country of a region or city, version of a browser_version, kind of site of a referrer; else empty.",
		},
		{Name: "views", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Page views."},
		{
			Name: "visitors",
			Type: "AggregateFunction(" + narrow + ", String)",
			Doc:  "Distinct anonymous_id, without the empty one.",
		},
		{
			Name: "referrer",
			Type: "SimpleAggregateFunction(min, String)",
			Doc:  "First of the referrers in alphabetical order; only for referrer.",
		},
		{
			Name: "utm_source",
			Type: "SimpleAggregateFunction(min, String)",
			Doc:  "First utm_source in alphabetical order; only for referrer.",
		},
		{
			Name: "referrer_host",
			Type: "SimpleAggregateFunction(min, String)",
			Doc:  "First referrer_host in alphabetical order; only for referrer.",
		},
	},
}

// The views that fill it. Grouping sets group each dimension by its own columns,
// which takes a third of what grouping pairs of names and values does. There are
// three of them so that what is only of a few page views, or is more work, is done
// for those alone.
var (
	Views1dView = View{
		Name: "views_1d_mv", From: "events", To: "views_1d",
		Doc:    "Fills the dimensions of views_1d except referrer and utm_*.",
		Select: perDimension(dimensions, choose(dimensions[:detailed+1], detailOf), ""),
	}
	Campaigns1dView = View{
		Name: "campaigns_1d_mv", From: "events", To: "views_1d",
		Doc:    "Fills the dimensions of views_1d that begin with utm_.",
		Select: perDimension(campaigns, "''", " AND ("+anyOf(campaigns)+")"),
	}
	Referrers1dView = View{
		Name: "referrers_1d_mv", From: "events", To: "views_1d", Doc: "Fills the dimension referrer of views_1d.",
		Select: "WITH if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) AS channel,\n" +
			"     if(channel = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name)) AS site\n" +
			"SELECT e.owner_id AS owner_id, toLowCardinality('referrer') AS dimension, e.event_date AS event_date, site AS " +
			"value, channel AS detail,\n" +
			"       count() AS views,\n" +
			"       uniqCombined64StateIf(14)(e.anonymous_id, e.anonymous_id != '') AS visitors,\n" +
			"       min(e.referrer) AS referrer, min(CAST(e.utm_source, 'String')) AS utm_source, min(e.referrer_host) AS " +
			"referrer_host\n" +
			"FROM events AS e\nWHERE e.name = 'screen_view' AND e.referrer_kind != 'internal'\n" +
			"GROUP BY owner_id, event_date, site, channel",
	}
)

// perDimension counts the page views for which a condition holds, by each of
// several dimensions.
func perDimension(which []dimension, detail, and string) string {
	return "SELECT e.owner_id AS owner_id,\n" +
		"       toLowCardinality(" +
		choose(which, func(d *dimension) string { return "'" + d.name + "'" }) + ") AS dimension,\n" +
		"       e.event_date AS event_date,\n" +
		"       " + choose(which, func(d *dimension) string { return "toString(e." + d.value + ")" }) + " AS value,\n" +
		"       " + detail + " AS detail,\n" +
		"       count() AS views,\n" +
		"       uniqCombined64StateIf(14)(e.anonymous_id, e.anonymous_id != '') AS visitors,\n" +
		"       '' AS referrer, '' AS utm_source, '' AS referrer_host\n" +
		"FROM events AS e\nWHERE e.name = 'screen_view'" + and + "\n" +
		"GROUP BY GROUPING SETS (\n" + groupingSets(which) + ")\nHAVING value != ''"
}

func detailOf(d *dimension) string {
	if d.detail == "" {
		return "''"
	}
	return "toString(e." + d.detail + ")"
}

// choose gives what it is for the dimension that a row is of; the last one is for
// all that are not named.
func choose(which []dimension, what func(*dimension) string) string {
	var parts []string
	last := len(which) - 1
	for i := range which[:last] {
		d := &which[i]
		parts = append(parts, "grouping(e."+cmp.Or(d.marks, d.value)+") = 0, "+what(d))
	}
	return "multiIf(" + strings.Join(append(parts, what(&which[last])), ", ") + ")"
}

// anyOf is the condition for an event with a value of one of them.
func anyOf(which []dimension) string {
	parts := make([]string, len(which))
	for i, d := range which {
		parts[i] = "e." + d.value + " != ''"
	}
	return strings.Join(parts, " OR ")
}

func groupingSets(which []dimension) string {
	sets := make([]string, len(which))
	for i, d := range which {
		sets[i] = "    (owner_id, event_date, e." + d.value
		if d.detail != "" {
			sets[i] += ", e." + d.detail
		}
		sets[i] += ")"
	}
	return strings.Join(sets, ",\n")
}

// ViewFanOut is how many rows a view makes of one row at most.
var ViewFanOut = len(dimensions)
