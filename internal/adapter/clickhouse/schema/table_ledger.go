package schema

import "slices"

// millisecond is the type of the times.
const millisecond = "DateTime64(3, 'UTC')"

// IngestLedger keeps what became of every range of offsets. An entry is written
// under its range's token; one that was written again in another month stands
// there twice, so readers group by first and last.
var IngestLedger = Table{
	Name:        "ingest_ledger",
	Doc:         "Outcome of every range of offsets: stored, duplicate, dead letter, erased or no record.",
	Engine:      "ReplacingMergeTree",
	PartitionBy: "toYYYYMM(written_at)",
	OrderBy:     []string{"topic", "topic_id", "partition", "epoch", "first", "last"},
	TTL:         "toDateTime(written_at) + INTERVAL 90 DAY",
	Settings:    slices.Concat(remembered, durable),
	Columns: []Column{
		{Name: "topic", Type: "LowCardinality(String)", Doc: "Topic."},
		{Name: "topic_id", Type: "UUID", Doc: "The topic's id; a topic that is recreated has another one."},
		{Name: "partition", Type: "Int32", Doc: "Partition."},
		{Name: "epoch", Type: "Int64", Doc: "Epoch of the topic that the range was stored under."},
		{Name: "first", Type: "Int64", Codec: "Delta(8), ZSTD(1)", Doc: "First offset."},
		{Name: "last", Type: "Int64", Codec: "Delta(8), ZSTD(1)", Doc: "Last offset, included."},
		{
			Name: "kind",
			Type: "LowCardinality(String)",
			Doc:  "range, or gap when the records were deleted from the topic before they were stored.",
		},
		{Name: "stored", Type: "Int64", Codec: "ZSTD(1)", Doc: "Records that became rows."},
		{Name: "duplicates", Type: "Int64", Codec: "ZSTD(1)", Doc: "Records dropped as duplicates."},
		{Name: "dead_letters", Type: "Int64", Codec: "ZSTD(1)", Doc: "Records sent to the dead letter topic."},
		{
			Name: "erased", Type: "Int64", Codec: "ZSTD(1)",
			Doc: "Records of erased websites, profiles or visitors, left out.",
		},
		{Name: "skipped", Type: "Int64", Codec: "ZSTD(1)", Doc: "Offsets without a record; this and the counts of stored, " +
			"duplicates, dead_letters and erased add up to last - first + 1."},
		{
			Name:  "received_from",
			Type:  millisecond,
			Codec: "ZSTD(1)",
			Doc:   "Earliest time of receipt; 1970-01-01 without a record.",
		},
		{
			Name: "received_to", Type: millisecond, Codec: "ZSTD(1)",
			Doc: "Latest time of receipt; 1970-01-01 without a record.",
		},
		{Name: "owners", Type: "Array(String)", Codec: "ZSTD(1)", Doc: "Owners of the stored rows, one for each of days."},
		{Name: "days", Type: "Array(Date)", Codec: "ZSTD(1)", Doc: "UTC days of the stored rows, one for each of owners."},
		{
			Name: "share_owners", Type: "Array(String)", Codec: "ZSTD(1)",
			Doc: "Owners of records without a row, once for each hour of receipt; without records that have no owner.",
		},
		{
			Name: "share_hours", Type: "Array(DateTime('UTC'))", Codec: "ZSTD(1)",
			Doc: "Hours of receipt, one for each of share_owners.",
		},
		{
			Name: "share_duplicates", Type: "Array(UInt64)", Codec: "ZSTD(1)",
			Doc: "Records dropped as duplicates, for each of share_owners.",
		},
		{
			Name: "share_dead_letters", Type: "Array(UInt64)", Codec: "ZSTD(1)",
			Doc: "Records sent to the dead letter topic, for each of share_owners.",
		},
		{
			Name: "share_erased", Type: "Array(UInt64)", Codec: "ZSTD(1)",
			Doc: "Records left out after an erasure, for each of share_owners.",
		},
		{Name: "written_at", Type: millisecond, Default: "now64(3)", Codec: "ZSTD(1)", Doc: "When the entry was written."},
	},
}

// Unstored1h is what owners are told about records of theirs that are no rows. Like
// usage_1d it has one partition. An entry of the ledger that was written again in
// another month counts twice here; that takes a plan as old as the token horizon.
var Unstored1h = Table{
	Name:     "unstored_1h",
	Doc:      "Records that were not stored as rows, per owner, hour of receipt and topic.",
	Engine:   "AggregatingMergeTree",
	OrderBy:  []string{"owner_id", "hour", "topic"},
	TTL:      "hour + INTERVAL 90 DAY",
	Settings: slices.Concat(remembered, durable, compact),
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "hour", Type: "DateTime('UTC')", Doc: "Start of the hour of receipt."},
		{Name: "topic", Type: "LowCardinality(String)", Doc: "Topic of the records."},
		{Name: "duplicates", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Records dropped as duplicates."},
		{Name: "dead_letters", Type: "SimpleAggregateFunction(sum, UInt64)", Doc: "Records sent to the dead letter topic."},
		{
			Name: "erased",
			Type: "SimpleAggregateFunction(sum, UInt64)",
			Doc:  "Records of erased websites, profiles or visitors, left out.",
		},
	},
}

// Unstored1hView fills it, under the token of the entry.
var Unstored1hView = View{
	Name: "unstored_1h_mv", From: "ingest_ledger", To: "unstored_1h", Doc: "Fills unstored_1h.",
	Select: "SELECT toLowCardinality(owner) AS owner_id, hour, topic, sum(d) AS duplicates, sum(l) AS dead_letters, " +
		"sum(e) AS erased\n" +
		"FROM ingest_ledger\n" +
		"ARRAY JOIN share_owners AS owner, share_hours AS hour, share_duplicates AS d, share_dead_letters AS l, " +
		"share_erased AS e\n" +
		"GROUP BY owner_id, hour, topic",
}

// IngestEpochs keeps every raise of an epoch; a topic's is the highest, or 1.
var IngestEpochs = Table{
	Name: "ingest_epochs",
	Doc: "Every raise of a topic's epoch, the first part of its insert tokens. The highest epoch counts; a topic " +
		"without a row has epoch 1.",
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
	Doc:      "Per partition, the offset up to which the reconciler has found every range in the ledger.",
	Engine:   "ReplacingMergeTree(checked_at)",
	OrderBy:  []string{"topic", "topic_id", "partition"},
	Settings: durable,
	Columns: []Column{
		{Name: "topic", Type: "LowCardinality(String)", Doc: "Topic."},
		{Name: "topic_id", Type: "UUID", Doc: "The topic's id."},
		{Name: "partition", Type: "Int32", Doc: "Partition."},
		{Name: "epoch", Type: "Int64", Doc: "Epoch that was checked."},
		{Name: "mark", Type: "Int64", Doc: "Offset after the last covered one."},
		{Name: "checked_at", Type: millisecond, Default: "now64(3)", Doc: "Time of the check; the latest counts."},
	},
}

// RollupDirty keeps the days that queries answer from the base.
var RollupDirty = Table{
	Name: "rollup_dirty",
	Doc: "Days of an owner on which a rollup differs, or may differ, from events FINAL. With FINAL, a day is dirty " +
		"while cleared is 0.",
	Engine:   "ReplacingMergeTree(found_at)",
	OrderBy:  []string{"owner_id", "event_date"},
	Settings: durable,
	Columns: []Column{
		{Name: "owner_id", Type: "LowCardinality(String)", Doc: "As in events."},
		{Name: "event_date", Type: "Date", Doc: "UTC day."},
		{Name: "reason", Type: "LowCardinality(String)", Doc: "Why it is listed."},
		{Name: "base", Type: "UInt64", Doc: "Rows of events FINAL at detection."},
		{
			Name: "rollup_15m",
			Type: "UInt64",
			Doc:  "Count of the quarter-hour rollup that differed most.",
		},
		{Name: "rollup_1d", Type: "UInt64", Doc: "Count of the daily rollup that differed most."},
		{Name: "cleared", Type: "UInt8", Doc: "1 after the repair."},
		{Name: "found_at", Type: millisecond, Default: "now64(3)", Doc: "Time of detection or repair; the latest counts."},
	},
}

// Exclusions keeps what is missing on purpose.
var Exclusions = Table{
	Name:     "exclusions",
	Doc:      "Days on which rows of an owner were deleted, by request or retention. Checks do not count them as lost.",
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

// FromDirtyDays reads the list of dirty days as it stands.
const FromDirtyDays = "FROM rollup_dirty FINAL WHERE cleared = 0"
