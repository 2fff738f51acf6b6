package schema

import (
	"encoding/binary"
	"slices"

	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// Clicks holds the clicks of short links. Its sort key is a click's identity, as that of
// events is an event's. What is proven of every table of records, and what deletes from
// them, knows identities by the names that they have in events, so it has those too.
var Clicks = Table{
	Name:        "clicks",
	Doc:         "Every click of a short link, once per link and click id when read with FINAL.",
	Engine:      Events.Engine,
	PartitionBy: Events.PartitionBy,
	OrderBy:     []string{"link_id", "event_date", "click_key"},
	Settings:    slices.Concat(remembered, durable, compact),
	Columns: slices.Concat(
		[]Column{
			{
				Name: "link_id", Type: "String", Codec: "ZSTD(1)", Doc: "Link that was clicked.",
				Native: native.Text(func(r *sink.Row) []byte { return r.Event.Owner }),
			},
			{Name: "owner_id", Type: "String", Alias: "link_id", Doc: "Another name of link_id."},
		},
		asEvents("organization_id", "event_date", "event_time", "received_at", "received_at_inv"),
		[]Column{
			{Name: "name", Type: "LowCardinality(String)", Alias: "'" + record.TypeClick + "'", Doc: "Always click."},
			{
				Name: "click_key", Type: "UInt64", Codec: "NONE",
				Doc:    "First 64 bits of the hash of link and click id; the last part of a click's identity.",
				Native: native.Number(native.UInt64, func(r *sink.Row) uint64 { return binary.BigEndian.Uint64(r.Hash[:8]) }),
			},
			{Name: "event_key", Type: "UInt64", Alias: "click_key", Doc: "Another name of click_key."},
			{
				Name: "click_id", Type: "String", Codec: "ZSTD(1)", Doc: "Id that the edge made.",
				Native: native.Text(func(r *sink.Row) []byte { return r.Event.ID }),
			},
			ofClick("visitor",
				"Hash of the day's salt, the link, the address and the user agent; empty where there was no salt.",
				func(c *record.Click) []byte { return c.Visitor }),
		},
		textColumns(clickTexts...),
		[]Column{
			ofClick("rule_id", "Rule that chose the destination; empty for none.",
				func(c *record.Click) []byte { return c.RuleID }),
			ofClick("variant_id", "Variant that was chosen; empty for none.",
				func(c *record.Click) []byte { return c.VariantID }),
			flagOfClick("is_qr", "1 when the visitor came by the QR code.", func(c *record.Click) bool { return c.IsQR }),
			flagOfClick("is_bot", "1 when it is no click of a person.", func(c *record.Click) bool { return c.IsBot }),
			{
				Name: "bot_reason", Type: "LowCardinality(String)",
				Doc:    "Why not: crawler, preview or prefetch; empty for a person's.",
				Native: native.LowCardinality(textOfClick(func(c *record.Click) []byte { return c.BotReason })),
			},
			{
				Name: "status", Type: "UInt16", Codec: "ZSTD(1)", Doc: "Status of the response.",
				Native: native.Number(native.UInt16, func(r *sink.Row) uint16 { return uint16(clickOf(r).Status) }),
			},
		},
		origin,
	),
}

// clickTexts are what clicks have of the web's texts.
var clickTexts = []record.WebText{
	record.Country, record.Region, record.City, record.Device, record.OS, record.Browser, record.Language,
	record.ReferrerHost, record.ReferrerKind, record.ReferrerName,
	record.UTMSource, record.UTMMedium, record.UTMCampaign, record.UTMTerm, record.UTMContent,
}

// noClick is what a record says of a click that has nothing of one.
var noClick record.Click

func clickOf(r *sink.Row) *record.Click {
	if r.Event.Click == nil {
		return &noClick
	}
	return r.Event.Click
}

func textOfClick(get func(*record.Click) []byte) func(*sink.Row) []byte {
	return func(r *sink.Row) []byte { return get(clickOf(r)) }
}

// ofClick is a column of a text that clicks alone have.
func ofClick(name, doc string, get func(*record.Click) []byte) Column {
	return Column{Name: name, Type: "String", Codec: "ZSTD(1)", Doc: doc, Native: native.Text(textOfClick(get))}
}

// flagOfClick is one of something that is so or not.
func flagOfClick(name, doc string, get func(*record.Click) bool) Column {
	return Column{
		Name: name, Type: "UInt8", Codec: "ZSTD(1)", Doc: doc, Native: native.Number(native.UInt8, func(r *sink.Row) uint8 {
			if get(clickOf(r)) {
				return 1
			}
			return 0
		}),
	}
}
