package schema

import (
	"encoding/binary"
	"slices"

	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// Events holds every accepted event once. Its sort key is an event's identity,
// and event_date stands in the partition key and in the sort key, so that FINAL
// never has to look across partitions (docs/adr/0003-sort-key-and-identity.md).
var Events = Table{
	Name:        "events",
	Doc:         "Every accepted event, once per owner and event id when read with FINAL.",
	Engine:      "ReplacingMergeTree(received_at_inv)",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "name", "event_key"},
	Settings:    slices.Concat(remembered, durable, compact),
	Columns:     slices.Concat(eventColumns, pageColumns, originalName),
}

// eventColumns are the columns of every event, from a browser or not.
var eventColumns = []Column{
	{
		Name: "owner_id", Type: "LowCardinality(String)",
		Doc:    "Website id, or the organization id for an event without a website.",
		Native: native.LowCardinality(func(r *sink.Row) []byte { return r.Event.Owner }),
	},
	{
		Name: "organization_id", Type: "LowCardinality(String)",
		Doc:    "Organization that the event belongs to.",
		Native: native.LowCardinality(func(r *sink.Row) []byte { return r.Event.Organization }),
	},
	{
		Name: "website_id", Type: "LowCardinality(String)",
		Doc:    "Website id; empty for an organization's event.",
		Native: native.LowCardinality(func(r *sink.Row) []byte { return r.Event.Website }),
	},
	{
		Name: "event_date", Type: "Date", Codec: "Delta(2), ZSTD(1)",
		Doc:    "UTC day of event_time.",
		Native: native.Day(func(r *sink.Row) int64 { return r.Event.TimeMillis }),
	},
	{
		Name: "event_time", Type: "DateTime64(3, 'UTC')", Codec: "Delta(8), ZSTD(1)",
		Doc:    "When the event happened, in milliseconds.",
		Native: native.Millis(func(r *sink.Row) int64 { return r.Event.TimeMillis }),
	},
	{
		Name: "received_at", Type: "DateTime64(3, 'UTC')", Codec: "Delta(8), ZSTD(1)",
		Doc:    "When the edge received it, in milliseconds.",
		Native: native.Millis(func(r *sink.Row) int64 { return r.Event.ReceivedAt }),
	},
	{
		Name: "received_at_inv", Type: "UInt64", Codec: "Delta(8), ZSTD(1)",
		Doc:    "Complement of received_at, so that FINAL keeps the version that was received first.",
		Native: native.Number(native.UInt64, func(r *sink.Row) uint64 { return ^uint64(r.Event.ReceivedAt) }),
	},
	{
		Name: "raw_time", Type: "DateTime64(3, 'UTC')", Codec: "ZSTD(1)",
		Doc:    "Timestamp as sent, when event_time differs from it; else 1970-01-01.",
		Native: native.Millis(rawTime),
	},
	{
		Name: "name", Type: "LowCardinality(String)",
		Doc:    "Event name; screen_view is a page view.",
		Native: native.LowCardinality(func(r *sink.Row) []byte { return r.Event.Name }),
	},
	{
		Name: "type", Type: "LowCardinality(String)",
		Doc:    "Kind of event, such as custom.",
		Native: native.LowCardinality(func(r *sink.Row) []byte { return r.Event.Type }),
	},
	{
		Name: "event_key", Type: "UInt64", Codec: "NONE",
		Doc:    "First 64 bits of the hash of owner and event id; the last part of an event's identity.",
		Native: native.Number(native.UInt64, func(r *sink.Row) uint64 { return binary.BigEndian.Uint64(r.Hash[:8]) }),
	},
	{
		Name: "event_id", Type: "String", Codec: "ZSTD(1)",
		Doc:    "The caller's eventId, or an id from the edge.",
		Native: native.Text(func(r *sink.Row) []byte { return r.Event.ID }),
	},
	{
		Name: "anonymous_id", Type: "String", Codec: "ZSTD(1)",
		Doc:    "Visitor id, usually hashed with the salt of the UTC day of receipt; empty when not sent.",
		Native: native.Text(func(r *sink.Row) []byte { return r.Event.AnonymousID }),
	},
	{
		Name: "session_id", Type: "String", Codec: "ZSTD(1)",
		Doc:    "Session id; empty when not sent.",
		Native: native.Text(func(r *sink.Row) []byte { return r.Event.SessionID }),
	},
	{
		Name: "profile_id", Type: "String", Codec: "ZSTD(1)",
		Doc:    "The caller's own user id; empty when not sent.",
		Native: native.Text(func(r *sink.Row) []byte { return r.Event.ProfileID }),
	},
	{
		Name: "path", Type: "String", Codec: "ZSTD(1)",
		Doc:    "Page path or URL as sent; empty when not sent.",
		Native: native.Text(func(r *sink.Row) []byte { return r.Event.Path }),
	},
	{
		Name: "namespace", Type: "LowCardinality(String)",
		Doc:    "Grouping label; empty when not sent.",
		Native: native.LowCardinality(func(r *sink.Row) []byte { return r.Event.Namespace }),
	},
	{
		Name: "source", Type: "LowCardinality(String)",
		Doc:    "Source label; empty when not sent.",
		Native: native.LowCardinality(func(r *sink.Row) []byte { return r.Event.Source }),
	},
	{
		Name: "properties", Type: "String", Codec: "ZSTD(3)",
		Doc:    "Compact JSON object; empty when not sent.",
		Native: native.Text(func(r *sink.Row) []byte { return r.Event.Properties }),
	},
	{
		Name: "_topic", Type: "LowCardinality(String)",
		Doc:    "Topic that the event was read from.",
		Native: native.LowCardinality(func(r *sink.Row) []byte { return r.Topic }),
	},
	{
		Name: "_partition", Type: "UInt16", Codec: "ZSTD(1)",
		Doc:    "Partition of _topic.",
		Native: native.Number(native.UInt16, func(r *sink.Row) uint16 { return uint16(r.Partition) }),
	},
	{
		Name: "_offset", Type: "Int64", Codec: "Delta(8), ZSTD(1)",
		Doc:    "Offset in _partition.",
		Native: native.Number(native.Int64, func(r *sink.Row) int64 { return r.Offset }),
	},
	{
		Name: "schema_v", Type: "UInt8", Codec: "ZSTD(1)",
		Doc:    "Version of the topic's envelope.",
		Native: native.Number(native.UInt8, func(r *sink.Row) uint8 { return uint8(r.Event.Version) }),
	},
}

func rawTime(r *sink.Row) int64 {
	if r.Event.HasRaw {
		return r.Event.RawMillis
	}
	return 0
}
