package sink

import (
	"sync"

	"github.com/millrace/millrace/internal/record"
)

// held is a record in hand. It has no pointers, and neither do the chunks that
// its value lies in: what waits to be stored costs the collector nothing, however
// much it is.
type held struct {
	offset     int64
	receivedAt int64 // Unix milliseconds
	hash       record.Hash
	value      place
	badHeaders bool
	control    bool
	replay     bool
	stored     bool // decided to be in a block of its range
}

// hasHash reports whether the record names an event.
func (h *held) hasHash() bool { return !h.badHeaders && !h.control }

// bytes is what a record in hand counts against the budget: its value, and what
// is kept around it. A large one takes whole pages.
func (h *held) bytes() int64 {
	if h.value.size < largeValue {
		return int64(h.value.size) + heldOverhead
	}
	return (int64(h.value.size)+pageSize-1)/pageSize*pageSize + heldOverhead
}

// pageSize is what the sizes of large objects are multiples of.
const pageSize = 8 << 10

// heldOverhead is the held itself, with the room that a growing slice of them
// has.
const heldOverhead = 64

// hold takes a record into hand.
func hold(r *Record, values *arena, fresh func() []byte) held {
	return held{
		offset: r.Offset, receivedAt: r.ReceivedAt, hash: r.Hash, value: values.put(r.Value, fresh),
		badHeaders: r.BadHeaders, control: r.Control, replay: r.Replay,
	}
}

// place says where in an arena a value lies.
type place struct{ chunk, at, size uint32 }

const (
	chunkSize = 64 << 10
	// largeValue is the size from which a value has a chunk of its own, so that the
	// others are nearly full.
	largeValue = chunkSize / 8
)

// arena holds values beside each other in a few chunks. What was put is not
// changed until the arena is released.
type arena struct {
	chunks [][]byte
	last   int // the index of the chunk that is being filled
}

// put copies a value. fresh returns an empty chunk of chunkSize.
func (a *arena) put(value []byte, fresh func() []byte) place {
	size := uint32(len(value)) // a record is at most a few megabytes
	if len(value) >= largeValue {
		a.chunks = append(a.chunks, append(make([]byte, 0, len(value)), value...))
		return place{uint32(len(a.chunks) - 1), 0, size}
	}
	if len(a.chunks) == 0 || cap(a.chunks[a.last])-len(a.chunks[a.last]) < len(value) {
		a.chunks = append(a.chunks, fresh())
		a.last = len(a.chunks) - 1
	}
	chunk := &a.chunks[a.last]
	at := len(*chunk)
	*chunk = append(*chunk, value...)
	return place{uint32(a.last), uint32(at), size}
}

// at returns a value, which is valid until the arena is released.
func (a *arena) at(p place) []byte { return a.chunks[p.chunk][p.at : p.at+p.size] }

// release gives the chunks back and leaves the arena empty.
func (a *arena) release(back func([]byte)) {
	for _, c := range a.chunks {
		if cap(c) == chunkSize {
			back(c)
		}
	}
	*a = arena{}
}

// memory keeps what records in hand lay in for the next ones.
type memory struct {
	held  *pool[[]held]
	fresh func() []byte // an empty chunk
	back  func([]byte)
}

// newMemory returns memory that keeps slices for so many ranges. Chunks that
// nobody needs are left to the collector.
func newMemory(ranges int) *memory {
	var chunks sync.Pool
	return &memory{
		held: &pool[[]held]{
			keep: ranges, fresh: func() []held { return nil }, reset: func(h []held) []held { return h[:0] },
		},
		fresh: func() []byte {
			if c, ok := chunks.Get().(*[chunkSize]byte); ok {
				return c[:0]
			}
			return make([]byte, 0, chunkSize)
		},
		back: func(c []byte) { chunks.Put((*[chunkSize]byte)(c[:chunkSize])) },
	}
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
