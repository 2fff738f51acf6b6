package clickhouse

import "slices"

// millisecond is the type of the times.
const millisecond = "DateTime64(3, 'UTC')"

// IngestLedger keeps what became of every range of offsets. An entry is written
// under its range's token; one that was written again in another month stands
// there twice, so readers group by first and last.
var IngestLedger = Table{
	Name:        "ingest_ledger",
	Doc:         "What became of every range of offsets: stored, duplicate, dead letter or no record at all.",
	Engine:      "ReplacingMergeTree",
	PartitionBy: "toYYYYMM(written_at)",
	OrderBy:     []string{"topic", "topic_id", "partition", "epoch", "first", "last"},
	TTL:         "toDateTime(written_at) + INTERVAL 90 DAY",
	Settings:    slices.Concat(remembered, durable),
	Columns: []Column{
		{Name: "topic", Type: "LowCardinality(String)", Doc: "Topic."},
		{Name: "topic_id", Type: "UUID", Doc: "The topic's id; a topic made anew has another one."},
		{Name: "partition", Type: "Int32", Doc: "Partition."},
		{Name: "epoch", Type: "Int64", Doc: "Epoch of the topic that the range was stored under."},
		{Name: "first", Type: "Int64", Codec: "Delta(8), ZSTD(1)", Doc: "First offset."},
		{Name: "last", Type: "Int64", Codec: "Delta(8), ZSTD(1)", Doc: "Last offset, included."},
		{Name: "kind", Type: "LowCardinality(String)", Doc: "range, or gap when the records were gone before they were stored."},
		{Name: "stored", Type: "Int64", Codec: "ZSTD(1)", Doc: "Records that became rows."},
		{Name: "duplicates", Type: "Int64", Codec: "ZSTD(1)", Doc: "Records dropped as duplicates."},
		{Name: "dead_letters", Type: "Int64", Codec: "ZSTD(1)", Doc: "Records sent to the dead letter topic."},
		{Name: "skipped", Type: "Int64", Codec: "ZSTD(1)", Doc: "Offsets without a record; the four counts add up to last - first + 1."},
		{Name: "received_from", Type: millisecond, Codec: "ZSTD(1)", Doc: "Earliest time of receipt; 1970-01-01 without a record."},
		{Name: "received_to", Type: millisecond, Codec: "ZSTD(1)", Doc: "Latest time of receipt; 1970-01-01 without a record."},
		{Name: "owners", Type: "Array(String)", Codec: "ZSTD(1)", Doc: "Owners of the stored rows, in pairs with days."},
		{Name: "days", Type: "Array(Date)", Codec: "ZSTD(1)", Doc: "UTC days of the stored rows, in pairs with owners."},
		{Name: "written_at", Type: millisecond, Default: "now64(3)", Codec: "ZSTD(1)", Doc: "When the entry was written."},
	},
}

// IngestEpochs keeps every raise of an epoch; a topic's is the highest, or 1.
var IngestEpochs = Table{
	Name:     "ingest_epochs",
	Doc:      "Every raise of a topic's epoch, the first part of its insert tokens; the highest counts, and 1 without any.",
	Engine:   "MergeTree",
	OrderBy:  []string{"topic", "epoch"},
	Settings: durable,
	Columns: []Column{
		{Name: "topic", Type: "LowCardinality(String)", Doc: "Topic."},
		{Name: "epoch", Type: "Int64", Doc: "Epoch from then on."},
		{Name: "reason", Type: "String", Doc: "Why it was raised."},
		{Name: "raised_at", Type: millisecond, Default: "now64(3)", Doc: "When it was raised."},
	},
}

// IngestMarks keeps how far the reconciler came.
var IngestMarks = Table{
	Name:     "ingest_marks",
	Doc:      "The offset up to which the reconciler has found every range of a partition in the ledger.",
	Engine:   "ReplacingMergeTree(checked_at)",
	OrderBy:  []string{"topic", "topic_id", "partition"},
	Settings: durable,
	Columns: []Column{
		{Name: "topic", Type: "LowCardinality(String)", Doc: "Topic."},
		{Name: "topic_id", Type: "UUID", Doc: "The topic's id."},
		{Name: "partition", Type: "Int32", Doc: "Partition."},
		{Name: "epoch", Type: "Int64", Doc: "Epoch that was checked."},
		{Name: "mark", Type: "Int64", Doc: "Offset after the last one that is covered."},
		{Name: "checked_at", Type: millisecond, Default: "now64(3)", Doc: "When it was found; the latest counts."},
	},
}

// RollupDirty keeps the days that queries answer from the base.
var RollupDirty = Table{
	Name:     "rollup_dirty",
	Doc:      "Days of an owner on which a rollup differs from events FINAL, or may; with FINAL, those whose cleared is 0 are dirty.",
	Engine:   "ReplacingMergeTree(found_at)",
	OrderBy:  []string{"owner_id", "event_date"},
	Settings: durable,
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "event_date", Type: "Date", Doc: "UTC day."},
		{Name: "reason", Type: "LowCardinality(String)", Doc: "Why it is listed."},
		{Name: "base", Type: "UInt64", Doc: "Rows of events FINAL when it was found."},
		{Name: "rollup_15m", Type: "UInt64", Doc: "Events of events_15m when it was found."},
		{Name: "rollup_1d", Type: "UInt64", Doc: "Events of events_1d when it was found."},
		{Name: "cleared", Type: "UInt8", Doc: "1 once it was repaired."},
		{Name: "found_at", Type: millisecond, Default: "now64(3)", Doc: "When it was found or cleared; the latest counts."},
	},
}

// Exclusions keeps what is missing on purpose.
var Exclusions = Table{
	Name:     "exclusions",
	Doc:      "Days of an owner whose rows were deleted on purpose or by retention, which no check counts as lost.",
	Engine:   "MergeTree",
	OrderBy:  []string{"owner_id", "from_date"},
	Settings: durable,
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events; empty means every owner."},
		{Name: "from_date", Type: "Date", Doc: "First UTC day."},
		{Name: "to_date", Type: "Date", Doc: "Last UTC day, included."},
		{Name: "reason", Type: "LowCardinality(String)", Doc: "Why the rows are gone."},
		{Name: "recorded_at", Type: millisecond, Default: "now64(3)", Doc: "When it was recorded."},
	},
}
