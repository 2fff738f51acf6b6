package buffer

import "github.com/millrace/millrace/internal/contract/record"

// Held is a record in hand. It has no pointers, and neither has the batch that its value
// lies in: what waits to be stored costs the collector nothing, however much it is.
type Held struct {
	Offset     int64
	ReceivedAt int64 // Unix milliseconds
	Hash       record.Hash
	value      place
	counted    uint32 // bytes, besides overhead
	BadHeaders bool
	Control    bool
	Replay     bool
	Stored     bool // decided to be in a block of its range
}

// place says in which batch of a range, and where in its records, a value lies.
type place struct{ batch, at, size uint32 }

// Named reports whether the record names an event: what it tells of receipt and hash counts.
func (h *Held) Named() bool { return !h.BadHeaders && !h.Control }

// bytes is what a record in hand counts against the budget: its value, which a block will
// hold, or its part of the batch where that is more; and what is kept around it.
func (h *Held) bytes() int64 { return int64(h.counted) + overhead }

// overhead is what a record in hand counts besides its value, in bytes: the Held itself,
// with the room that a growing slice of them has.
const overhead = 64

// hold takes a record of the batch at a place into hand.
func hold(r *Record, batch uint32) Held {
	return Held{
		Offset: r.Offset, ReceivedAt: r.ReceivedAt, Hash: r.Hash, value: place{batch, r.At, uint32(len(r.Value))},
		counted: r.Size, BadHeaders: r.BadHeaders, Control: r.Control, Replay: r.Replay,
	}
}

// Memory keeps what records in hand lay in for the next ones.
type Memory struct{ held *Pool[[]Held] }

// NewMemory returns memory that keeps slices for so many ranges.
func NewMemory(ranges int) *Memory {
	return &Memory{held: NewPool(ranges, func() []Held { return nil }, func(h []Held) []Held { return h[:0] })}
}

// put keeps a slice; what never had records has nothing to keep, and would take the place of
// one that has.
func (m *Memory) put(h []Held) {
	if cap(h) > 0 {
		m.held.Put(h)
	}
}

// traced is the trace context of a record's request.
type traced struct {
	offset int64
	parent string // W3C traceparent
}

// maxTraced bounds the requests whose traces an open range remembers.
const maxTraced = 64

// sampled reports whether a traceparent has the flag of a request that is traced.
func sampled(parent []byte) bool {
	n := len(parent)
	return n > 0 && parent[n-1]&1 != 0
}
