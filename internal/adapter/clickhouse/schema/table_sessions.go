package schema

import "slices"

// Sessions15m holds the quarters of an hour of each session, from which the
// sessions of any range that begins and ends with one are put together: those that
// bounced, and how long the one in the middle took.
//
// It is ordered by a hash, so that a prefix of it is a sample of the sessions of a
// day; small granules make that a read of little more than the sample.
var Sessions15m = Table{
	Name:        "sessions_15m",
	Doc:         "Activity of each session per quarter of an hour.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "session_key", "slot"},
	Settings: slices.Concat(remembered, durable, compact, []Setting{
		{"index_granularity", "1024", "A query reads a sample of a day's sessions, and few other rows."},
	}),
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "event_date", Type: "Date", Doc: "UTC day of slot."},
		{Name: "session_key", Type: "UInt64", Codec: "NONE", Doc: "Hash of session_id; rows without one are left out."},
		{Name: "slot", Type: "DateTime('UTC')", Doc: "Start of the quarter of an hour."},
		{Name: "events", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Rows of events."},
		{Name: "views", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Events named screen_view."},
		{Name: "others", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Other events, except page_exit."},
		{
			Name: "exits",
			Type: "SimpleAggregateFunction(sum, UInt64)",
			Doc:  "Events named page_exit with a time on page.",
		},
		{Name: "exit_time", Type: "SimpleAggregateFunction(sum, Float64)", Doc: "Sum of the times on page, in seconds."},
		{Name: "first", Type: "SimpleAggregateFunction(min, " + millisecond + ")", Doc: "Time of the first event."},
		{Name: "last", Type: "SimpleAggregateFunction(max, " + millisecond + ")", Doc: "Time of the last event."},
	},
}

// Sessions15mView fills it. A page_exit without a time, or with a negative one,
// counts as one that says nothing.
var Sessions15mView = View{
	Name: "sessions_15m_mv", From: "events", To: "sessions_15m", Doc: "Fills sessions_15m.",
	Select: "WITH ifNull(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), " +
		"JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), -1) AS on_page\n" +
		"SELECT e.owner_id AS owner_id, e.event_date AS event_date, sipHash64(e.session_id) AS session_key, " +
		slotOfEvent + " AS slot,\n" +
		"       count() AS events,\n" +
		"       countIf(e.name = 'screen_view') AS views,\n" +
		"       countIf(e.name NOT IN ('screen_view', 'page_exit')) AS others,\n" +
		"       countIf(on_page >= 0) AS exits,\n" +
		"       sumIf(on_page, on_page >= 0) AS exit_time,\n" +
		"       min(e.event_time) AS first,\n" +
		"       max(e.event_time) AS last\n" +
		"FROM events AS e\nWHERE e.session_id != ''\nGROUP BY owner_id, event_date, session_key, slot",
}

// Custom15m holds the events whose names are the caller's own.
var Custom15m = Table{
	Name:        "custom_15m",
	Doc:         "Custom events, with their users, sessions and pages, per owner, quarter of an hour and name.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "slot", "name"},
	Settings:    slices.Concat(remembered, durable, compact),
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "event_date", Type: "Date", Doc: "UTC day of slot."},
		{Name: "slot", Type: "DateTime('UTC')", Doc: "Start of the quarter of an hour."},
		{Name: "name", Type: "LowCardinality(String)", Doc: "Event name."},
		{Name: "events", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Rows of events."},
		{Name: "with_properties", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Events with at least one property."},
		{
			Name: "users",
			Type: "AggregateFunction(" + narrow + ", String)",
			Doc:  "Distinct anonymous_id, and profile_id of those without one, behind a zero byte.",
		},
		{
			Name: "sessions",
			Type: "AggregateFunction(" + narrow + ", String)",
			Doc:  "Distinct session_id, without the empty one.",
		},
		{Name: "pages", Type: "AggregateFunction(" + narrow + ", String)", Doc: "Distinct path, without the empty one."},
		{Name: "first", Type: "SimpleAggregateFunction(min, " + millisecond + ")", Doc: "Time of the first event."},
		{Name: "last", Type: "SimpleAggregateFunction(max, " + millisecond + ")", Doc: "Time of the last event."},
	},
}

// CustomName is the condition for an event whose name is the caller's own.
const CustomName = "name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')"

// Custom15mView fills it.
var Custom15mView = View{
	Name: "custom_15m_mv", From: "events", To: "custom_15m", Doc: "Fills custom_15m.",
	Select: "SELECT e.owner_id AS owner_id, e.event_date AS event_date, " + slotOfEvent + " AS slot, e.name AS name,\n" +
		"       count() AS events,\n" +
		"       countIf(e.properties NOT IN ('', '{}')) AS with_properties,\n" +
		"       uniqCombined64StateIf(14)(if(e.anonymous_id != '', e.anonymous_id, concat('\\0', e.profile_id)), " +
		"e.anonymous_id != '' OR e.profile_id != '') AS users,\n" +
		"       uniqCombined64StateIf(14)(e.session_id, e.session_id != '') AS sessions,\n" +
		"       uniqCombined64StateIf(14)(e.path, e.path != '') AS pages,\n" +
		"       min(e.event_time) AS first,\n" +
		"       max(e.event_time) AS last\n" +
		"FROM events AS e\nWHERE e." + CustomName + "\n" +
		"GROUP BY owner_id, event_date, slot, name",
}
