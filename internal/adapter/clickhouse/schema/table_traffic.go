package schema

import "slices"

// The tables that answer questions about how much there was: of each quarter of an
// hour and of each UTC day, without a look at what it was. Distinct counts are
// sketches, which are exact as long as they are small
// (docs/adr/0015-rollups-for-questions.md).

// wide is the sketch of where there are few of them: exact below 4096, then 0.2 % off
// on average. narrow is that of where there are many: exact below 512, then 0.6 % off
// on average. Both say the same of the same set, however it was put together.
const (
	wide   = "uniqCombined64(17)"
	narrow = "uniqCombined64(14)"
)

// granules are so many rows, fewer than others have: a question reads a few rows of a
// website, and a row holds up to 200 KiB of sketches.
func granules(rows string) []Setting {
	return []Setting{
		{"index_granularity", rows, "Rows are few and wide. A query reads the rows of one website, and few others."},
	}
}

// Traffic15m holds quarters of an hour.
var Traffic15m = Table{
	Name:        "traffic_15m",
	Doc:         "Events, page views, visitors and sessions per owner and quarter of an hour.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "slot"},
	Settings:    slices.Concat(remembered, durable, compact, granules("256")),
	Columns: slices.Concat(
		[]Column{
			{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
			{Name: "event_date", Type: "Date", Doc: "UTC day of slot."},
			{Name: "slot", Type: "DateTime('UTC')", Doc: "Start of the quarter of an hour."},
		},
		trafficMeasures,
	),
}

// Traffic1d holds UTC days.
var Traffic1d = Table{
	Name:        "traffic_1d",
	Doc:         "Events, page views, visitors and sessions per owner and UTC day.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date"},
	Settings:    slices.Concat(remembered, durable, compact, granules("64")),
	Columns: slices.Concat(
		[]Column{
			{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
			{Name: "event_date", Type: "Date", Doc: "UTC day."},
		},
		trafficMeasures,
	),
}

var trafficMeasures = []Column{
	{Name: "events", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Rows of events."},
	{Name: "views", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Those named screen_view."},
	{Name: "session_events", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Rows of events that have a session_id."},
	{
		Name: "session_views",
		Type: "SimpleAggregateFunction(sum, UInt64)",
		Doc:  "Those named screen_view that have a session_id.",
	},
	{
		Name: "visitors",
		Type: "AggregateFunction(" + wide + ", String)",
		Doc:  "Distinct anonymous_id, without the empty one.",
	},
	{
		Name: "sessions", Type: "AggregateFunction(" + wide + ", String)", Doc: "Distinct session_id, without the empty one.",
	},
}

// The views that fill them.
var (
	Traffic15mView = View{
		Name: "traffic_15m_mv", From: "events", To: "traffic_15m", Doc: "Fills traffic_15m.",
		Select: "SELECT e.owner_id AS owner_id, e.event_date AS event_date, " + slotOfEvent + " AS slot,\n" + trafficStates +
			"FROM events AS e\nGROUP BY owner_id, event_date, slot",
	}
	Traffic1dView = View{
		Name: "traffic_1d_mv", From: "events", To: "traffic_1d", Doc: "Fills traffic_1d.",
		Select: "SELECT e.owner_id AS owner_id, e.event_date AS event_date,\n" + trafficStates +
			"FROM events AS e\nGROUP BY owner_id, event_date",
	}
)

const (
	slotOfEvent = "toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC'))"

	trafficStates = "       count() AS events,\n" +
		"       countIf(e.name = 'screen_view') AS views,\n" +
		"       countIf(e.session_id != '') AS session_events,\n" +
		"       countIf(e.name = 'screen_view' AND e.session_id != '') AS session_views,\n" +
		"       uniqCombined64StateIf(17)(e.anonymous_id, e.anonymous_id != '') AS visitors,\n" +
		"       uniqCombined64StateIf(17)(e.session_id, e.session_id != '') AS sessions\n"
)
