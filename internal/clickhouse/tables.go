package clickhouse

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/sink"
)

// Column is one column of a table.
type Column struct {
	Name  string
	Type  string // ClickHouse type, as system.columns shows it
	Codec string // compression, such as "ZSTD(3)"; empty for the server's default
	Doc   string // one sentence for docs/reference/tables.md

	native func() native // makes the column of a block
}

// Table is one table of the analytics database.
type Table struct {
	Name        string
	Doc         string
	Engine      string
	PartitionBy string
	OrderBy     []string
	Settings    []Setting
	Columns     []Column
}

// Setting is one setting of a table and why it has its value.
type Setting struct {
	Name  string
	Value string
	Doc   string
}

// Tables lists every table that migrations make and daemons use.
var Tables = []Table{Events}

// Events holds every accepted event once. Its sort key is an event's identity,
// and event_date stands in the partition key and in the sort key, so that FINAL
// never has to look across partitions (docs/adr/0003-sort-key-and-identity.md).
var Events = Table{
	Name:        "events",
	Doc:         "Every accepted event, once per owner and event id when read with FINAL.",
	Engine:      "ReplacingMergeTree(received_at_inv)",
	PartitionBy: "toYYYYMM(event_date)",
	OrderBy:     []string{"owner_id", "event_date", "name", "event_key"},
	Settings: []Setting{
		{"non_replicated_deduplication_window", "300000", "Insert tokens the table remembers: at 64 inserts a second, 78 minutes."},
		{"fsync_after_insert", "1", "An acknowledged insert survives a power cut; its offsets are committed right after."},
		{"fsync_part_directory", "1", "The same for the part's directory entry."},
	},
	Columns: []Column{
		{
			"owner_id", "LowCardinality(String)", "", "Website id, or the organization id for an event without a website.",
			lowCardinality(func(r *sink.Row) []byte { return r.Event.Owner }),
		},
		{
			"organization_id", "LowCardinality(String)", "", "Organization that the event belongs to.",
			lowCardinality(func(r *sink.Row) []byte { return r.Event.Organization }),
		},
		{
			"website_id", "LowCardinality(String)", "", "Website id; empty for an organization's event.",
			lowCardinality(func(r *sink.Row) []byte { return r.Event.Website }),
		},
		{
			"event_date", "Date", "Delta(2), ZSTD(1)", "UTC day of event_time.",
			day(func(r *sink.Row) int64 { return r.Event.TimeMillis }),
		},
		{
			"event_time", "DateTime64(3, 'UTC')", "Delta(8), ZSTD(1)", "When the event happened, in milliseconds.",
			millis(func(r *sink.Row) int64 { return r.Event.TimeMillis }),
		},
		{
			"received_at", "DateTime64(3, 'UTC')", "Delta(8), ZSTD(1)", "When the edge received it, in milliseconds.",
			millis(func(r *sink.Row) int64 { return r.Event.ReceivedAt }),
		},
		{
			"received_at_inv", "UInt64", "Delta(8), ZSTD(1)", "Complement of received_at: of several versions of an event the first received one wins.",
			number(colUInt64, func(r *sink.Row) uint64 { return ^uint64(r.Event.ReceivedAt) }),
		},
		{
			"raw_time", "DateTime64(3, 'UTC')", "ZSTD(1)", "Timestamp as sent, when event_time differs from it; else 1970-01-01.",
			millis(rawTime),
		},
		{
			"name", "LowCardinality(String)", "", "Event name; screen_view is a page view.",
			lowCardinality(func(r *sink.Row) []byte { return r.Event.Name }),
		},
		{
			"type", "LowCardinality(String)", "", "Kind of event, such as custom.",
			lowCardinality(func(r *sink.Row) []byte { return r.Event.Type }),
		},
		{
			"event_key", "UInt64", "NONE", "First 64 bits of the hash of owner and event id; the last part of an event's identity.",
			number(colUInt64, func(r *sink.Row) uint64 { return binary.BigEndian.Uint64(r.Hash[:8]) }),
		},
		{
			"event_id", "String", "ZSTD(1)", "The caller's eventId, or the one the edge made.",
			text(func(r *sink.Row) []byte { return r.Event.ID }),
		},
		{
			"anonymous_id", "String", "ZSTD(1)", "Visitor id, usually hashed with the salt of the UTC day of receipt; empty when not sent.",
			text(func(r *sink.Row) []byte { return r.Event.AnonymousID }),
		},
		{
			"session_id", "String", "ZSTD(1)", "Session id; empty when not sent.",
			text(func(r *sink.Row) []byte { return r.Event.SessionID }),
		},
		{
			"profile_id", "String", "ZSTD(1)", "The caller's own user id; empty when not sent.",
			text(func(r *sink.Row) []byte { return r.Event.ProfileID }),
		},
		{
			"path", "String", "ZSTD(1)", "Page path or URL as sent; empty when not sent.",
			text(func(r *sink.Row) []byte { return r.Event.Path }),
		},
		{
			"namespace", "LowCardinality(String)", "", "Grouping label; empty when not sent.",
			lowCardinality(func(r *sink.Row) []byte { return r.Event.Namespace }),
		},
		{
			"source", "LowCardinality(String)", "", "Source label; empty when not sent.",
			lowCardinality(func(r *sink.Row) []byte { return r.Event.Source }),
		},
		{
			"properties", "String", "ZSTD(3)", "Compact JSON object; empty when not sent.",
			text(func(r *sink.Row) []byte { return r.Event.Properties }),
		},
		{
			"_topic", "LowCardinality(String)", "", "Topic that the event was read from.",
			lowCardinality(func(r *sink.Row) []byte { return r.Topic }),
		},
		{
			"_partition", "UInt16", "ZSTD(1)", "Partition of _topic.",
			number(colUInt16, func(r *sink.Row) uint16 { return uint16(r.Partition) }),
		},
		{
			"_offset", "Int64", "Delta(8), ZSTD(1)", "Offset in _partition.",
			number(colInt64, func(r *sink.Row) int64 { return r.Offset }),
		},
		{
			"schema_v", "UInt8", "ZSTD(1)", "Version of the topic's envelope.",
			number(colUInt8, func(r *sink.Row) uint8 { return uint8(r.Event.Version) }),
		},
	},
}

func rawTime(r *sink.Row) int64 {
	if r.Event.HasRaw {
		return r.Event.RawMillis
	}
	return 0
}

// CreateSQL returns the statement that makes the table in the current database,
// and does nothing where it exists.
func (t *Table) CreateSQL() string {
	return t.createSQL("CREATE TABLE IF NOT EXISTS "+t.Name, t.body())
}

// NullSQL returns the statement that makes a table of the same columns which
// keeps nothing: what the Go side costs can be measured on it, and a block
// tried.
func (t *Table) NullSQL(name string) string {
	return t.createSQL("CREATE TABLE IF NOT EXISTS "+name, "ENGINE = Null\n")
}

func (t *Table) createSQL(head, tail string) string {
	var b strings.Builder
	b.WriteString(head + " (\n")
	name, typ := 0, 0
	for _, c := range t.Columns {
		name, typ = max(name, len(c.Name)), max(typ, len(c.Type))
	}
	for i, c := range t.Columns {
		line := fmt.Sprintf("    %-*s %-*s", name, c.Name, typ, c.Type)
		if c.Codec != "" {
			line += " CODEC(" + c.Codec + ")"
		}
		b.WriteString(strings.TrimRight(line, " "))
		if i < len(t.Columns)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(")\n" + tail)
	return b.String()
}

func (t *Table) body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "ENGINE = %s\n", t.Engine)
	fmt.Fprintf(&b, "PARTITION BY %s\n", t.PartitionBy)
	fmt.Fprintf(&b, "ORDER BY (%s)\n", strings.Join(t.OrderBy, ", "))
	for i, s := range t.Settings {
		if i == 0 {
			b.WriteString("SETTINGS ")
		} else {
			b.WriteString(",\n         ")
		}
		b.WriteString(s.Name + " = " + s.Value)
	}
	b.WriteByte('\n')
	return b.String()
}
