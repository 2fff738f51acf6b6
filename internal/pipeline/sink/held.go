package sink

import "github.com/millrace/millrace/internal/contract/record"

// held is a record in hand. It has no pointers, and neither has the batch that its value
// lies in: what waits to be stored costs the collector nothing, however much it is.
type held struct {
	offset     int64
	receivedAt int64 // Unix milliseconds
	hash       record.Hash
	value      place
	counted    uint32 // bytes, besides heldOverhead
	badHeaders bool
	control    bool
	replay     bool
	stored     bool // decided to be in a block of its range
}

// place says in which batch of a range, and where in its records, a value lies.
type place struct{ batch, at, size uint32 }

// hasHash reports whether the record names an event.
func (h *held) hasHash() bool { return !h.badHeaders && !h.control }

// bytes is what a record in hand counts against the budget: its value, which a block will
// hold, or its part of the batch where that is more; and what is kept around it.
func (h *held) bytes() int64 { return int64(h.counted) + heldOverhead }

// heldOverhead is the held itself, with the room that a growing slice of them
// has.
const heldOverhead = 64

// hold takes a record of the batch at a place into hand.
func hold(r *Record, batch uint32) held {
	return held{
		offset: r.Offset, receivedAt: r.ReceivedAt, hash: r.Hash, value: place{batch, r.At, uint32(len(r.Value))},
		counted: r.Size, badHeaders: r.BadHeaders, control: r.Control, replay: r.Replay,
	}
}

// memory keeps what records in hand lay in for the next ones.
type memory struct{ held *pool[[]held] }

// newMemory returns memory that keeps slices for so many ranges.
func newMemory(ranges int) *memory {
	return &memory{held: &pool[[]held]{
		keep: ranges, fresh: func() []held { return nil }, reset: func(h []held) []held { return h[:0] },
	}}
}

// traced is the trace context of a record's request.
type traced struct {
	offset int64
	parent string // W3C traceparent
}

// maxTraced bounds the requests whose traces an open range remembers.
const maxTraced = 2 * maxLinks

// sampled reports whether a traceparent has the flag of a request that is traced.
func sampled(parent []byte) bool {
	n := len(parent)
	return n > 0 && parent[n-1]&1 != 0
}
