package record

import (
	"slices"

	"github.com/millrace/millrace/internal/contract/event"
)

// kind says what becomes of the events of one kind.
type kind struct {
	name  string // its Type
	topic string
	// natural says that an event without an id is known by what it says: the
	// caller gives the millisecond, so two that are equal are one, sent twice.
	natural bool
	// needs are the fields that its records have besides those of all.
	needs []field
	// ofLink says that its records belong to a link.
	ofLink bool
	// names are the names that its events can have; nil for any.
	names []string

	typed  []byte // `,"type":"…"`
	typeOf []byte // name
	schema []byte // the header, which is that of events.v1 for its backfill too
}

// The kinds of what no caller sends.
const (
	ingestion = event.Identify + 1 + iota // what the edges count
	clicked                               // what the host of short links tells
	exposed                               // what is told of feature flags
)

// Metrics are the names of vitals.
var Metrics = []string{"FCP", "LCP", "CLS", "INP", "TTFB", "FPS"}

var kinds = withBytes([...]kind{
	event.Custom:       {name: TypeCustom, topic: TopicEvents},
	event.PageView:     {name: TypePageView, topic: TopicEvents},
	event.PageExit:     {name: TypePageExit, topic: TopicEvents},
	event.OutgoingLink: {name: TypeOutgoingLink, topic: TopicEvents},
	event.Engagement:   {name: TypeEngagement, topic: TopicEvents, natural: true},
	event.Vital: {
		name: TypeVital, topic: TopicVitals, natural: true, needs: []field{numberField(Value)}, names: Metrics,
	},
	event.Error: {name: TypeError, topic: TopicErrors, natural: true, needs: []field{textField(Message)}},
	// Without a time two that are equal are two: what was told between them no longer
	// holds after the second.
	event.Identify: {name: TypeIdentify, topic: TopicIdentities, natural: true, needs: []field{profileIDField}},
	ingestion:      {name: TypeIngestion, topic: TopicIngestion, needs: []field{numberField(Value)}},
	clicked:        {name: TypeClick, topic: TopicClicks, ofLink: true, needs: []field{linkField, statusField}},
	exposed: {
		name: TypeExposure, topic: TopicExposures, needs: []field{websiteField, variantField, sampleField},
	},
})

// withBytes fills in what is derived.
func withBytes(all [exposed + 1]kind) [exposed + 1]kind {
	for i := range all {
		k := &all[i]
		k.typeOf, k.schema = []byte(k.name), []byte(k.topic)
		k.typed = appendType(nil, k.typeOf)
	}
	return all
}

// Schema names the schema of a topic's values: the topic itself, but for the
// backfill topic, which has that of events.v1. It is "" for a topic that holds no
// events, such as one of dead letters.
func Schema(topic string) string {
	switch topic {
	case TopicEvents, TopicVitals, TopicErrors, TopicIdentities, TopicIngestion, TopicClicks, TopicExposures:
		return topic
	case TopicEventsBackfill:
		return TopicEvents
	}
	return ""
}

// Types returns the types of the events that a topic can hold. A topic of events
// may get further ones.
func Types(topic string) []string {
	var all []string
	for i := range kinds {
		if kinds[i].topic == Schema(topic) {
			all = append(all, kinds[i].name)
		}
	}
	return all
}

// Fits reports, as a *DecodeError, that an event is of a type that belongs in
// another topic. A type that is not known belongs in events.v1.
func Fits(topic string, e *Event) error {
	home := TopicEvents
	if k := kindOf(e.Type); k != nil {
		home = k.topic
	}
	if home != Schema(topic) {
		return &DecodeError{fieldNames[typeField], "is one of another topic"}
	}
	return nil
}

// kindOf returns the kind of a type; nil for one that is not known.
func kindOf(name []byte) *kind {
	for i := range kinds {
		if string(name) == kinds[i].name {
			return &kinds[i]
		}
	}
	return nil
}

// check looks at what the events of this kind need.
func (k *kind) check(e *Event, seen *fieldSet) error {
	if k.names != nil && !slices.Contains(k.names, string(e.Name)) {
		return &DecodeError{fieldNames[nameField], "is none of the metrics"}
	}
	for _, f := range k.needs {
		if !seen.has(f) {
			return &DecodeError{fieldNames[f], "is missing"}
		}
		if text := e.text(f); text != nil && len(*text) == 0 {
			return &DecodeError{fieldNames[f], "must not be empty"}
		}
	}
	return nil
}
