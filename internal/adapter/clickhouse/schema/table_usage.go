package schema

import "slices"

// Usage1d is what quotas are counted by. It has one partition: a block of events
// of one month may have been received in two, and would then become two parts,
// while an insert under a token is to be one.
var Usage1d = Table{
	Name:     "usage_1d",
	Doc:      "Stored events per organization, owner and UTC day of receipt.",
	Engine:   "AggregatingMergeTree",
	OrderBy:  []string{"organization_id", "day", "owner_id"},
	Settings: slices.Concat(remembered, durable, compact),
	Columns: []Column{
		{Name: "organization_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "day", Type: "Date", Doc: "UTC day of received_at."},
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "events", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Rows of events."},
	},
}

// Usage1dView fills it.
var Usage1dView = View{
	Name: "usage_1d_mv", From: "events", To: "usage_1d", Doc: "Fills usage_1d.",
	Select: "SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events\n" +
		"FROM events\nGROUP BY organization_id, day, owner_id",
}
