package ledgerstore

import (
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
)

// family is a table of records and the rollups that views make of it.
type family struct {
	base    *schema.Table
	rollups []rollup
}

// rollup is a table that a view fills, the columns that make a cell of it, and
// what it says of one.
type rollup struct {
	view     *schema.View
	perDay   bool // of UTC days, not of quarters of an hour
	cells    string
	measures []measure
	// own is the condition for the view's rows where others fill the table too.
	own string
	// total is what the rollup has counted, in the rows for which only holds, and
	// agrees is what says the same of the base, or of the rollup of the table in.
	total, only, agrees, in string
}

// measure is what a rollup says of a cell: as the view says it of all rows of the
// base, and as its own rows say it together. A distribution is no measure: it is
// made of the same rows as the count of a cell, in the same insert, and two that
// are right may differ in their digits. So may two sums of fractions.
type measure struct{ fresh, merged string }

func sumMeasure(column string) measure { return measure{column, "sum(" + column + ")"} }

// stateMeasure is a distinct count, which a function makes of states.
func stateMeasure(merge, column string) measure {
	return measure{"finalizeAggregation(" + column + ")", merge + "(" + column + ")"}
}

// timeMeasure is the first or the last time.
func timeMeasure(column, of string) measure {
	const millis = "toUInt64(toUnixTimestamp64Milli("
	return measure{millis + column + "))", millis + of + "(" + column + ")))"}
}

// textMeasure is the first of texts.
func textMeasure(column string) measure {
	return measure{"sipHash64(" + column + ")", "sipHash64(min(" + column + "))"}
}

const (
	quarterCells = "owner_id, event_date, slot, name"
	dayCells     = "owner_id, event_date, name"
	viewCells    = "owner_id, dimension, event_date, value, detail"
)

var (
	uniqueMeasures = []measure{
		sumMeasure("events"), stateMeasure("uniqMerge", "visitors"), stateMeasure("uniqMerge", "sessions"),
	}
	totalMeasures = []measure{
		sumMeasure("events"), sumMeasure("views"), sumMeasure("session_events"), sumMeasure("session_views"),
		stateMeasure("uniqCombined64Merge(17)", "visitors"), stateMeasure("uniqCombined64Merge(17)", "sessions"),
	}
	viewMeasures = []measure{
		sumMeasure("views"), stateMeasure("uniqCombined64Merge(14)", "visitors"),
		textMeasure("referrer"), textMeasure("utm_source"), textMeasure("referrer_host"),
	}
)

// families are all that the reconciler and verify look at. What views make of
// identities says the same however often a row is inserted, and ingestion_1m has
// none. A view stores all that it makes of an insert or nothing, so of views_1d one
// dimension tells of all that the same view fills.
var families = []family{
	{base: &schema.Events, rollups: []rollup{
		{view: &schema.Events15mView, cells: quarterCells, measures: uniqueMeasures, total: "sum(events)", agrees: "count()"},
		{
			view: &schema.Events1dView, perDay: true, cells: dayCells, measures: uniqueMeasures, total: "sum(events)",
			agrees: "count()",
		},
		{
			view: &schema.Traffic15mView, cells: "owner_id, event_date, slot", measures: totalMeasures, total: "sum(events)",
			agrees: "count()",
		},
		{
			view: &schema.Traffic1dView, perDay: true, cells: "owner_id, event_date", measures: totalMeasures,
			total: "sum(events)", agrees: "count()",
		},
		{
			view: &schema.Sessions15mView, cells: "owner_id, event_date, session_key, slot",
			measures: []measure{
				sumMeasure("events"), sumMeasure("views"), sumMeasure("others"), sumMeasure("exits"), timeMeasure("first", "min"),
				timeMeasure("last", "max"),
			},
			total: "sum(events)", agrees: "sum(session_events)", in: "traffic_15m",
		},
		{
			view: &schema.Views1dView, perDay: true, cells: viewCells, measures: viewMeasures,
			own:   "dimension != 'referrer' AND NOT startsWith(dimension, 'utm_')",
			total: "sum(views)", only: "dimension = 'path'", agrees: "countIf(name = 'screen_view' AND path != '')",
		},
		{
			view: &schema.Campaigns1dView, perDay: true, cells: viewCells, measures: viewMeasures,
			own:   "startsWith(dimension, 'utm_')",
			total: "sum(views)", only: "dimension = 'utm_source'", agrees: "countIf(name = 'screen_view' AND utm_source != '')",
		},
		{
			view: &schema.Referrers1dView, perDay: true, cells: viewCells, measures: viewMeasures, own: "dimension = 'referrer'",
			total: "sum(views)", only: "dimension = 'referrer'",
			agrees: "countIf(name = 'screen_view' AND referrer_kind != 'internal')",
		},
		{
			view: &schema.Custom15mView, cells: quarterCells,
			measures: []measure{
				sumMeasure("events"), sumMeasure("with_properties"), stateMeasure("uniqCombined64Merge(14)", "users"),
				stateMeasure("uniqCombined64Merge(14)", "sessions"), stateMeasure("uniqCombined64Merge(14)", "pages"),
				timeMeasure("first", "min"), timeMeasure("last", "max"),
			},
			total: "sum(events)", agrees: "countIf(" + schema.CustomName + ")",
		},
	}},
	{base: &schema.Errors, rollups: []rollup{
		{view: &schema.Errors15mView, cells: quarterCells, measures: uniqueMeasures, total: "sum(events)", agrees: "count()"},
	}},
	{
		base: &schema.Vitals,
		rollups: []rollup{{
			view: &schema.Vitals15mView, cells: quarterCells, measures: []measure{sumMeasure("samples")}, total: "sum(samples)",
			agrees: "count()",
		}},
	},
	{base: &schema.Clicks, rollups: []rollup{
		{
			view: &schema.Clicks15mView, cells: "owner_id, event_date, dimension, slot, value, detail",
			measures: []measure{sumMeasure("clicks"), sumMeasure("bots")},
			total:    "sum(clicks + bots)", only: "dimension = '" + schema.AllClicks + "'", agrees: "count()",
		},
		{
			view: &schema.ClickValues1dView, perDay: true, cells: viewCells, own: "dimension != '" + schema.AllTargets + "'",
			measures: []measure{sumMeasure("clicks"), timeMeasure("last", "max")},
			total:    "sum(clicks)", only: "dimension = 'device'", agrees: "countIf(is_bot = 0 AND device != '')",
		},
		{
			view: &schema.Clicks1dView, perDay: true, cells: viewCells, own: "dimension = '" + schema.AllTargets + "'",
			measures: []measure{
				sumMeasure("clicks"), sumMeasure("bots"), stateMeasure("uniqCombined64Merge(17)", "visitors"),
				stateMeasure("uniqCombined64Merge(17)", "visits"),
				timeMeasure("last", "max"),
			},
			total: "sum(clicks + bots)", only: "dimension = '" + schema.AllTargets + "'", agrees: "count()",
		},
	}},
}

// familiesOf returns that of a topic, if its table has rollups; of an empty topic,
// all.
func familiesOf(topic string) []family {
	if topic == "" {
		return families
	}
	for i := range families {
		if families[i].base == schema.BaseOf[topic] {
			return families[i : i+1]
		}
	}
	return nil
}

func allRollups() []*rollup {
	var all []*rollup
	for i := range families {
		for j := range families[i].rollups {
			all = append(all, &families[i].rollups[j])
		}
	}
	return all
}

// columns are those of its table, in their order.
func (r *rollup) columns() []string {
	i := slices.IndexFunc(schema.Tables, func(t schema.Table) bool { return t.Name == r.view.To })
	names := make([]string, len(schema.Tables[i].Columns))
	for j, c := range schema.Tables[i].Columns {
		names[j] = c.Name
	}
	return names
}

// fresh is what the view would make now of the base, read with FINAL.
func (r *rollup) fresh(where string) string {
	before, after, _ := strings.Cut(r.view.Select, "\nFROM "+r.view.From)
	name, after, _ := strings.Cut(after, "\n") // AS e, or nothing
	if own, ok := strings.CutPrefix(after, "WHERE "); ok {
		after = "  AND " + own
	}
	return before + "\nFROM " + r.view.From + name + " FINAL\nWHERE (" + where + ")\n" + after
}

// RolledUp returns the names of the tables of records that views make rollups of.
func RolledUp() []string {
	names := make([]string, len(families))
	for i := range families {
		names[i] = families[i].base.Name
	}
	return names
}
