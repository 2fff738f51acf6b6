package record

import (
	"slices"
	"strconv"
	"time"
)

// single is a record that is made by itself, not in a Batch.
type single struct {
	Record

	memory  []byte
	headers [traceparentHeader]Header
}

// set makes the record of an event of a kind, of which nothing is kept.
func (r *single) set(k *kind, e *Event, requestID []byte) {
	if len(requestID) == 0 {
		requestID = e.ID
	}
	r.memory = appendEvent(r.memory[:0], e, nil)
	size := len(r.memory)
	r.makeRoom(e, len(requestID))
	r.Record = Record{
		Topic: k.topic, Key: r.keep(e.Owner), Value: r.memory[:size:size], Headers: r.headers[:],
		Time: time.UnixMilli(e.ReceivedAt),
	}
	r.headers = [...]Header{
		{HeaderSchema, k.schema},
		{HeaderType, k.typeOf},
		{HeaderWebsite, r.website(e)},
		{HeaderOrganization, r.keep(e.Organization)},
		{HeaderReceivedAt, r.decimal(e.ReceivedAt)},
		{HeaderRequestID, r.keep(requestID)},
		{HeaderEventHash, r.hash(e)},
	}
}

// noWebsite is empty, not nil: a header of null is another thing to a reader.
var noWebsite = []byte{}

func (r *single) website(e *Event) []byte {
	if len(e.Website) == 0 {
		return noWebsite
	}
	return r.keep(e.Website)
}

// makeRoom has all that follows the value fit behind it, so that it does not move.
func (r *single) makeRoom(e *Event, requestID int) {
	const numbers = 64 // a time, and the lengths and digits of a hash
	r.memory = slices.Grow(r.memory, 2*len(e.Owner)+len(e.Website)+len(e.Organization)+len(e.ID)+requestID+numbers)
}

func (r *single) keep(text []byte) []byte {
	r.memory = append(r.memory, text...)
	return r.last(len(text))
}

// last returns what was appended last.
func (r *single) last(n int) []byte {
	return r.memory[len(r.memory)-n : len(r.memory) : len(r.memory)]
}

func (r *single) decimal(n int64) []byte {
	from := len(r.memory)
	r.memory = strconv.AppendInt(r.memory, n, 10)
	return r.last(len(r.memory) - from)
}

func (r *single) hash(e *Event) []byte {
	r.memory = appendHash(r.memory, e.Owner, e.ID)
	return r.last(hashHexLen)
}
