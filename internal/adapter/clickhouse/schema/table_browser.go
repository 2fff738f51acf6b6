package schema

import (
	"slices"

	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// The tables beside events that records are stored in. Each is filled from one
// topic, has an event's identity as its sort key, and names the record that a row
// came from, so that all that is proven of events is proven of them.

// identity are the columns that every table of records begins with.
var identity = asEvents("owner_id", "organization_id", "website_id", "event_date", "event_time",
	"received_at", "received_at_inv")

// origin are those that it ends with.
var origin = asEvents("_topic", "_partition", "_offset", "schema_v")

// eventColumns returns columns of events.
func asEvents(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i] = eventColumns[slices.IndexFunc(eventColumns, func(c Column) bool { return c.Name == name })]
	}
	return columns
}

// called returns a column of events with another meaning.
func called(name, doc string) Column {
	c := asEvents(name)[0]
	c.Doc = doc
	return c
}

// recordTable is a table of a topic's records.
func recordTable(name, doc string, columns ...[]Column) Table {
	return Table{
		Name: name, Doc: doc, Engine: Events.Engine, PartitionBy: Events.PartitionBy, OrderBy: Events.OrderBy,
		Settings: slices.Concat(remembered, durable, compact),
		Columns:  slices.Concat(identity, slices.Concat(columns...), origin),
	}
}

// Vitals holds the measurements of vitals.v1.
var Vitals = recordTable("vitals", "Every measurement of a page in a browser, once.",
	asEvents("raw_time"),
	[]Column{called("name",
		"Metric: FCP, LCP, INP and TTFB in milliseconds, FPS in frames a second, CLS without a unit.")},
	asEvents("event_key", "event_id", "anonymous_id", "session_id", "profile_id", "path"),
	numberColumns(record.Value), textColumns(visitorTexts...))

// Errors holds the errors of errors.v1.
var Errors = recordTable("errors", "Every error in a page's script, once.",
	asEvents("raw_time"),
	[]Column{called("name", "Type of the error, such as TypeError.")},
	asEvents("event_key", "event_id", "anonymous_id", "session_id", "profile_id", "path"),
	textColumns(record.Message, record.Filename, record.Stack), numberColumns(record.Line, record.Column),
	textColumns(visitorTexts...), originalName)

// Identities holds what identities.v1 tells; profiles, profile_traits and aliases
// are made of it.
var Identities = recordTable("identities", "Every identify call, once.",
	[]Column{called("name", "Always identify.")},
	asEvents("event_key", "event_id"),
	[]Column{
		called("anonymous_id", "Visitor id of the user, as in events of the day; empty when not sent."),
		called("profile_id", "The caller's own user id."),
		{
			Name: "traits", Type: "String", Codec: "ZSTD(3)",
			Doc:    "Compact JSON object of the traits as sent; null removes a trait.",
			Native: native.Text(func(r *sink.Row) []byte { return r.Event.Properties }),
		},
	})

// Ingestion1m holds what ingestion.v1 tells.
var Ingestion1m = recordTable("ingestion_1m",
	"Events per owner, edge, minute of receipt and outcome.",
	[]Column{called("name", "Outcome: accepted, bot, excluded, declined, or the error code.")},
	asEvents("event_key", "event_id"),
	[]Column{
		called("source", "Edge that counted the events."),
		{
			Name: "events", Type: "UInt64", Codec: "ZSTD(1)", Doc: "Events.",
			Native: native.Number(native.UInt64,
				func(r *sink.Row) uint64 { return uint64(max(0, min(r.Event.Web.Numbers[record.Value], 1<<53))) }), Web: true,
		},
	})

// BaseOf says which table the records of a topic are stored in.
var BaseOf = map[string]*Table{
	record.TopicEvents:         &Events,
	record.TopicEventsBackfill: &Events,
	record.TopicVitals:         &Vitals,
	record.TopicErrors:         &Errors,
	record.TopicIdentities:     &Identities,
	record.TopicIngestion:      &Ingestion1m,
	record.TopicClicks:         &Clicks,
	record.TopicExposures:      &FlagExposures,
}

// Bases are the tables that records are stored in.
var Bases = []*Table{&Events, &Vitals, &Errors, &Identities, &Ingestion1m, &Clicks, &FlagExposures}

// TableOf names the table that the records of a topic are stored in; "" for a
// topic that sinks do not store.
func TableOf(topic string) string {
	if t := BaseOf[topic]; t != nil {
		return t.Name
	}
	return ""
}
