package schema

import "slices"

// The rollups hold what the views make of every block that is inserted into
// events. Each row is merged with those of the same key; readers sum and merge
// again. Distinct counts are states that do not grow when the same event comes
// twice; the number of events does, and the reconciler watches it
// (docs/adr/0010-rollups-of-15-minutes-and-a-day.md).

// Events15m holds quarters of an hour, from which every timezone's hours, and the
// days of every offset that is a multiple of 15 minutes, can be formed.
var Events15m = Table{
	Name:        "events_15m",
	Doc:         "Events, visitors and sessions per owner, quarter of an hour and event name.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "slot", "name"},
	Settings:    slices.Concat(remembered, durable, compact),
	Columns: slices.Concat(
		[]Column{
			{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
			{Name: "event_date", Type: "Date", Doc: "UTC day of slot."},
			{Name: "slot", Type: "DateTime('UTC')", Doc: "Start of the quarter of an hour."},
			{Name: "name", Type: "LowCardinality(String)", Doc: "Event name."},
		},
		measures,
	),
}

// Events1d holds UTC days.
var Events1d = Table{
	Name:        "events_1d",
	Doc:         "Events, visitors and sessions per owner, UTC day and event name.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "name"},
	Settings:    slices.Concat(remembered, durable, compact),
	Columns: slices.Concat(
		[]Column{
			{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
			{Name: "event_date", Type: "Date", Doc: "UTC day."},
			{Name: "name", Type: "LowCardinality(String)", Doc: "Event name."},
		},
		measures,
	),
}

var measures = []Column{
	{Name: "events", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Rows of events."},
	{Name: "visitors", Type: "AggregateFunction(uniq, String)", Doc: "Distinct anonymous_id, without the empty one."},
	{Name: "sessions", Type: "AggregateFunction(uniq, String)", Doc: "Distinct session_id, without the empty one."},
}

// The views that fill them.
var (
	Events15mView = View{
		Name: "events_15m_mv", From: "events", To: "events_15m", Doc: "Fills events_15m.",
		Select: "SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,\n" +
			uniques +
			"FROM events\nGROUP BY owner_id, event_date, slot, name",
	}
	Events1dView = View{
		Name: "events_1d_mv", From: "events", To: "events_1d", Doc: "Fills events_1d.",
		Select: "SELECT owner_id, event_date, name,\n" + uniques + "FROM events\nGROUP BY owner_id, event_date, name",
	}
)

const uniques = "       count() AS events,\n" +
	"       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,\n" +
	"       uniqStateIf(session_id, session_id != '') AS sessions\n"
