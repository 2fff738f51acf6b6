// Package record is the contract of the Kafka topics: which record an event
// becomes, its key, headers and JSON value, and how it is read back. Fields are
// only ever added; a change that an old reader would misread is a new topic
// version. It knows no Kafka client.
package record

import "time"

// Record is one record to be published.
type Record struct {
	// Topic is a name without prefix, such as "events.v1".
	Topic string
	// Key is the owner: the website id, the organization id for an event without a
	// website, or the link id for a click. It decides the partition.
	Key []byte
	// Value is one JSON object.
	Value []byte
	// Headers repeat what a reader wants to know without parsing Value.
	Headers []Header
	// Time is the time of receipt, never the event's own: brokers reject
	// timestamps of the future and expire old ones.
	Time time.Time
}

// Header is one Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// Position is where a record stands in its topic.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
}

// The names of the topics, without prefix.
const (
	TopicEvents = "events.v1"
	// TopicEventsBackfill takes events older than BackfillAge at receipt, so
	// that history does not slow live data.
	TopicEventsBackfill = "events.backfill.v1"
	TopicVitals         = "vitals.v1"
	TopicErrors         = "errors.v1"
	TopicIdentities     = "identities.v1"
	// TopicIngestion takes what each edge counted, per website and minute.
	TopicIngestion = "ingestion.v1"
	// TopicClicks takes the clicks of short links.
	TopicClicks = "clicks.v1"
	// TopicExposures takes which variants of feature flags visitors were given.
	TopicExposures = "exposures.v1"
)

// The header keys of a record.
const (
	HeaderSchema       = "schema"       // topic and version of the envelope, such as "events.v1"
	HeaderType         = "type"         // kind of event, such as "custom"
	HeaderWebsite      = "website"      // website id; empty for an organization's event
	HeaderOrganization = "organization" // organization id
	HeaderReceivedAt   = "received-at"  // Unix milliseconds, decimal
	HeaderRequestID    = "request-id"   // of the request that brought the event
	HeaderEventHash    = "eid"          // Hash, 32 hexadecimal digits
	HeaderTraceparent  = "traceparent"  // W3C trace context; only on traced requests
	HeaderReplay       = "replay"       // "1" on a dead letter that was sent again
	HeaderHops         = "hops"         // how often it was sent again, decimal
)

// EventVersion is the revision of the envelope that this package writes. It grows when fields are
// added. A reader accepts any revision from 1 on and ignores fields that it does not know.
const EventVersion = 1

// The types of events, each in one topic. TypeCustom is that of POST /track.
const (
	TypeCustom       = "custom"
	TypePageView     = "page_view"
	TypePageExit     = "page_exit"
	TypeOutgoingLink = "outgoing_link"
	TypeEngagement   = "engagement"
	TypeVital        = "vital"
	TypeError        = "error"
	TypeIdentify     = "identify"
	TypeIngestion    = "ingestion"
	TypeClick        = "click"
	TypeExposure     = "exposure"
)

// Event is the value of a record of every topic of events, in the order in which
// its fields are written. Byte slices are the JSON strings' contents, unescaped; Properties
// is a compact JSON object. A decoded Event's slices belong to the decoder.
type Event struct {
	Version      int    // "v": revision of the envelope; grows when fields are added
	ID           []byte // "id": the caller's eventId, or one made at the edge
	IDGenerated  bool   // "idGenerated": true when the edge made the id
	Organization []byte // "organization"
	Website      []byte // "website"; absent for an organization's event
	Owner        []byte // "owner": website, else organization; of a click the link; equals the record key
	Type         []byte // "type"
	Name         []byte // "name"
	TimeMillis   int64  // "ts": Unix milliseconds
	RawMillis    int64  // "rawTs": what the caller sent, when TimeMillis differs from it
	HasRaw       bool
	ReceivedAt   int64     // "receivedAt": Unix milliseconds
	AnonymousID  []byte    // "anonymousId", hashed unless the website or event says otherwise
	ProfileID    []byte    // "profileId"
	SessionID    []byte    // "sessionId"
	Path         []byte    // "path"
	Namespace    []byte    // "namespace"
	Source       []byte    // "source"
	Web          *Web      // the fields of WebTexts and WebNumbers; nil when there is none of them
	Click        *Click    // the fields of a click; nil when there is none of them
	Exposure     *Exposure // the same of an exposure
	Properties   []byte    // "properties"
}

// Hash identifies an event: the first 128 bits of SHA-256 over the
// length-prefixed owner and event id. Two events are the same exactly when their
// hashes are.
type Hash [16]byte
