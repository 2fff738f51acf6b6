package record

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/contract/event"
)

// What the time of an event makes of it at receipt.
const (
	// MaxAhead is how far in the future an event may lie; one beyond it is stored
	// as of receipt, with the caller's time kept as rawTs.
	MaxAhead = time.Hour
	// BackfillAge is the age beyond which an event goes to TopicEventsBackfill.
	BackfillAge = 90 * 24 * time.Hour
)

// Receipt is what the events of one request have in common.
type Receipt struct {
	Organization string // organization id
	RequestID    string
	Traceparent  string    // W3C trace context; empty when the request is not traced
	At           time.Time // of receipt
	// VisitorSalt is the salt of the UTC day of At.
	VisitorSalt []byte
	// Topic is where all events of events.v1 go, without prefix; empty leaves it to
	// the age of each.
	Topic string
}

// Target is where an event belongs.
type Target struct {
	// Website is the website id; empty for an event of the organization.
	Website string
	// Anonymize is the website's setting, for events that do not say themselves.
	Anonymize event.Anonymize
}

// Batch makes the records of one request. All of their bytes are its own:
// nothing of the decoder, the request or the caller is kept. Its memory serves
// one request after another, so the records are valid until the next Reset; a
// caller that cannot say that a producer is done with them calls Abandon. The
// zero value is ready for Reset; a Batch is for one goroutine at a time.
type Batch struct {
	receipt  Receipt
	received int64 // Unix milliseconds
	arena    []byte
	headers  []Header
	last     int // size of the record before
	records  []Record

	// The parts that all records of the request share, and those of the last
	// website's records.
	organization, receivedAt, requestID, traceparent, website, owner []byte
	shared                                                           shared

	visitorID []byte // whose hash visitor holds
	visitor   []byte
	id        [uuidLen]byte
	natural   []byte
	count     Web
}

// What one large request leaves in a Batch at most.
const (
	keptArenaBytes = 512 << 10
	keptRecords    = 1 << 10
)

// Reset begins a request. The records of the one before are no longer valid.
func (b *Batch) Reset(r Receipt) {
	b.Release()
	b.arena, b.headers, b.records = b.arena[:0], b.headers[:0], b.records[:0]
	b.receipt, b.received = r, r.At.UnixMilli()
	b.organization = b.keep(r.Organization)
	b.requestID = b.keep(r.RequestID)
	b.traceparent = b.keep(r.Traceparent)
	from := len(b.arena)
	b.arena = strconv.AppendInt(b.arena, b.received, 10)
	b.receivedAt = b.since(from)
	b.shared.receivedAt, b.visitorID, b.website = b.receivedAt, b.visitorID[:0], nil
}

// aimAt sets the website of the records to come.
func (b *Batch) aimAt(website string) {
	if b.website == nil || string(b.website) != website {
		b.aim(website)
	}
}

func (b *Batch) aim(website string) {
	b.website = b.keep(website) // empty, not nil: a header of null is another thing to a reader
	b.owner = b.website
	if website == "" {
		b.owner = b.organization
	}
	from := len(b.arena)
	b.arena = appendBelonging(b.arena, &Event{Organization: b.organization, Website: b.website, Owner: b.owner})
	b.shared.belonging = b.since(from)
}

// Release lets go of the memory that only very many records take, so that a Batch that
// waits in a pool keeps none of it. The records end with it.
func (b *Batch) Release() {
	if cap(b.arena) > keptArenaBytes || cap(b.records) > keptRecords {
		b.Abandon()
	}
}

// Abandon leaves the memory to whoever still reads the records.
func (b *Batch) Abandon() { b.arena, b.headers, b.records = nil, nil, nil }

// Records returns what was added since Reset, in that order.
func (b *Batch) Records() []Record { return b.records }

// Add makes the record of a validated event. Web is what a browser told and what
// was found out about it; nil for nothing. It is not kept.
//
// An event without an id gets one: a UUIDv7, but for the kinds that are known by
// what they say, where equal ones get equal ids.
func (b *Batch) Add(e *event.Event, to Target, web *Web) {
	k := &kinds[e.Kind]
	b.aimAt(to.Website)
	v := Event{
		ID:           e.EventID,
		Organization: b.organization,
		Website:      b.website,
		Owner:        b.owner,
		Type:         k.typeOf,
		Name:         e.Name,
		ReceivedAt:   b.received,
		AnonymousID:  e.AnonymousID,
		ProfileID:    e.ProfileID,
		SessionID:    e.SessionID,
		Path:         e.Path,
		Namespace:    e.Namespace,
		Source:       e.Source,
		Web:          web,
		Properties:   e.Properties,
	}
	hashed := event.HidesVisitor(e.Anonymize, to.Anonymize)
	if hashed {
		v.AnonymousID = b.hashed(e.AnonymousID)
	}
	b.setTime(&v, e)
	if len(v.ID) == 0 {
		v.ID, v.IDGenerated = b.idOf(k, &v, e, hashed || e.Anonymize == event.AnonymizeShown), true
	}
	b.shared.plain = e.Plain
	b.add(k, b.topicOf(k, v.TimeMillis), &v)
}

// Count is how many events of an owner one edge saw come to the same end.
type Count struct {
	// ID names the count: two of one owner and id are the same, told twice.
	ID      string
	Outcome string    // such as "accepted"
	Edge    string    // whose count it is
	Minute  time.Time // in which they came
	Events  int64
}

// AddCount makes the record of a count.
func (b *Batch) AddCount(c *Count, to Target) {
	b.count.Set(Value, float64(c.Events))
	b.aimAt(to.Website)
	b.shared.plain = false
	k := &kinds[ingestion]
	b.add(k, k.topic, &Event{
		ID: []byte(c.ID), Organization: b.organization, Website: b.website, Owner: b.owner, Type: k.typeOf,
		Name: []byte(c.Outcome), TimeMillis: c.Minute.UnixMilli(), ReceivedAt: b.received, Source: []byte(c.Edge),
		Web: &b.count,
	})
}

// idOf makes the id of an event that came without one; varies says whether the visitor id
// may be stored otherwise the next time. It is valid until the next.
func (b *Batch) idOf(k *kind, v *Event, e *event.Event, varies bool) []byte {
	if !k.natural || !e.HasTime {
		return b.newID()
	}
	b.natural = appendNatural(b.natural[:0], v, varies)
	return b.natural
}

// topicOf returns where an event of a time goes.
func (b *Batch) topicOf(k *kind, millis int64) string {
	switch {
	case k.topic != TopicEvents:
		return k.topic
	case b.receipt.Topic != "":
		return b.receipt.Topic
	case millis < b.received-BackfillAge.Milliseconds():
		return TopicEventsBackfill
	}
	return TopicEvents
}

// hashed returns the hash of a visitor id, which is valid until the next one's.
// Events of one visitor often come in a row, so the last result is remembered.
func (b *Batch) hashed(id []byte) []byte {
	if len(id) == 0 {
		return nil
	}
	if !bytes.Equal(id, b.visitorID) {
		b.visitor = event.AppendHashedVisitor(b.visitor[:0], id, b.receipt.VisitorSalt)
		b.visitorID = append(b.visitorID[:0], id...)
	}
	return b.visitor
}

// setTime decides when the event took place.
func (b *Batch) setTime(v *Event, e *event.Event) {
	switch {
	case !e.HasTime:
		v.TimeMillis = b.received
	case e.TimeMillis > b.received+MaxAhead.Milliseconds():
		v.TimeMillis, v.RawMillis, v.HasRaw = b.received, e.TimeMillis, true
	default:
		v.TimeMillis = e.TimeMillis
	}
}

func (b *Batch) add(k *kind, topic string, v *Event) {
	b.shared.typed = k.typed
	b.makeRoom(len(v.Properties))
	from := len(b.arena)
	b.arena = appendEvent(b.arena, v, &b.shared)
	value := b.since(from)
	from = len(b.arena)
	b.arena = appendHash(b.arena, v.Owner, v.ID)
	hash := b.since(from)
	b.last = len(value) + len(hash)

	first := len(b.headers)
	b.headers = append(b.headers,
		Header{HeaderSchema, k.schema}, Header{HeaderType, k.typeOf},
		Header{HeaderWebsite, v.Website}, Header{HeaderOrganization, v.Organization},
		Header{HeaderReceivedAt, b.receivedAt}, Header{HeaderRequestID, b.requestID},
		Header{HeaderEventHash, hash},
	)
	if len(b.traceparent) > 0 {
		b.headers = append(b.headers, Header{HeaderTraceparent, b.traceparent})
	}
	b.records = append(b.records, Record{
		Topic: topic, Key: v.Owner, Value: value, Time: b.receipt.At,
		Headers: b.headers[first:len(b.headers):len(b.headers)],
	})
}

// The rooms of a Batch grow up to these sizes and are then followed by others.
const (
	leastArenaBytes  = 4 << 10
	headersPerRecord = 8
)

// makeRoom has the next record fit into the arena and the headers. What is full is
// left to the records that stand in it and another one is begun: growing it would
// keep each of its smaller copies alive for the records that point into them.
func (b *Batch) makeRoom(properties int) {
	const slack = 512
	need := b.last + properties + slack
	if cap(b.arena)-len(b.arena) < need {
		b.arena = make([]byte, 0, max(need, leastArenaBytes, min(2*cap(b.arena), keptArenaBytes)))
	}
	if cap(b.headers)-len(b.headers) < headersPerRecord {
		b.headers = make([]Header, 0, max(headersPerRecord, min(2*cap(b.headers), headersPerRecord*keptRecords)))
	}
}

// keep copies s into the arena.
func (b *Batch) keep(s string) []byte {
	from := len(b.arena)
	b.arena = append(b.arena, s...)
	return b.since(from)
}

func (b *Batch) since(from int) []byte { return b.arena[from:len(b.arena):len(b.arena)] }

const uuidLen = 36

// newID makes a UUIDv7 of the time of receipt, so that generated ids sort as
// events arrive. It is valid until the next one.
func (b *Batch) newID() []byte {
	var random [idRandomLen]byte
	_, _ = rand.Read(random[:]) // never fails
	return AppendID(b.id[:0], b.received, random)
}

const idRandomLen = 10

// AppendID appends the UUIDv7 of a time, in Unix milliseconds, and random bytes.
func AppendID(dst []byte, millis int64, random [idRandomLen]byte) []byte {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], uint64(millis)<<16)
	copy(raw[6:], random[:])
	raw[6] = raw[6]&0x0F | 0x70 // version 7
	raw[8] = raw[8]&0x3F | 0x80 // variant of RFC 9562
	dst = hex.AppendEncode(dst, raw[0:4])
	for _, group := range [...][2]int{{4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		dst = hex.AppendEncode(append(dst, '-'), raw[group[0]:group[1]])
	}
	return dst
}
