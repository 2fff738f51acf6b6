package schema

import "slices"

// Vitals15m holds the distribution of each metric.
var Vitals15m = Table{
	Name:        "vitals_15m",
	Doc:         "Measurements per owner, quarter of an hour and metric: count, sum and distribution.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "slot", "name"},
	Settings:    slices.Concat(remembered, durable, compact),
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "event_date", Type: "Date", Doc: "UTC day of slot."},
		{Name: "slot", Type: "DateTime('UTC')", Doc: "Start of the quarter of an hour."},
		{Name: "name", Type: "LowCardinality(String)", Doc: "Metric."},
		{Name: "samples", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Rows of vitals."},
		{Name: "total", Type: "SimpleAggregateFunction(sum, Float64)", Doc: "Sum of their values."},
		{
			Name: "quantiles",
			Type: "AggregateFunction(quantilesTDigest(0.5, 0.75, 0.9, 0.95, 0.99), Float64)",
			Doc:  "Distribution of their values.",
		},
	},
}

// Errors15m holds how many errors of each type there were, and who had them.
var Errors15m = Table{
	Name:        "errors_15m",
	Doc:         "Errors with their visitors and sessions, per owner, quarter of an hour and type of error.",
	Engine:      "AggregatingMergeTree",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "slot", "name"},
	Settings:    slices.Concat(remembered, durable, compact),
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "event_date", Type: "Date", Doc: "UTC day of slot."},
		{Name: "slot", Type: "DateTime('UTC')", Doc: "Start of the quarter of an hour."},
		{Name: "name", Type: "LowCardinality(String)", Doc: "Type of error."},
		{Name: "events", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Rows of errors."},
		{Name: "visitors", Type: "AggregateFunction(uniq, String)", Doc: "Distinct anonymous_id, without the empty one."},
		{Name: "sessions", Type: "AggregateFunction(uniq, String)", Doc: "Distinct session_id, without the empty one."},
	},
}

const slotted = "SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,\n"

// The views that fill them, and what quotas are counted by.
var (
	Vitals15mView = View{
		Name: "vitals_15m_mv", From: "vitals", To: "vitals_15m", Doc: "Fills vitals_15m.",
		Select: slotted + "       count() AS samples,\n       sum(value) AS total,\n" +
			"       quantilesTDigestState(0.5, 0.75, 0.9, 0.95, 0.99)(value) AS quantiles\n" +
			"FROM vitals\nGROUP BY owner_id, event_date, slot, name",
	}
	Errors15mView = View{
		Name: "errors_15m_mv", From: "errors", To: "errors_15m", Doc: "Fills errors_15m.",
		Select: slotted + uniques + "FROM errors\nGROUP BY owner_id, event_date, slot, name",
	}
	VitalsUsageView = usageView("vitals")
	ErrorsUsageView = usageView("errors")
)

func usageView(table string) View {
	return View{
		Name: table + "_usage_1d_mv", From: table, To: "usage_1d", Doc: "Counts the rows of " + table + " in usage_1d.",
		Select: "SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events\n" +
			"FROM " + table + "\nGROUP BY organization_id, day, owner_id",
	}
}
