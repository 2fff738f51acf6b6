package dedup

import (
	"sync/atomic"
	"time"
)

// keyBytes is the memory of a key, at most.
const keyBytes = 40

// Memory bounds that of all windows of a sink together. It is safe for concurrent use.
type Memory struct {
	limit   int64 // in bytes
	bytes   atomic.Int64
	keys    atomic.Int64
	windows atomic.Int64
}

// NewMemory returns memory of so many bytes for windows.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// Window returns an empty window that remembers for the horizon, and at most so many keys,
// until it is closed.
func (m *Memory) Window(horizon time.Duration, maxKeys int) *Window {
	buckets := (horizon.Milliseconds() + bucketMillis - 1) / bucketMillis
	m.windows.Add(1)
	return &Window{
		horizon: int32(buckets), maxKeys: maxKeys, memory: m, counts: map[int32]*int{}, seen: seen{counts: map[int32]*int{}},
	}
}

// Full reports whether windows have grown beyond the memory, so that each has to keep
// within its part.
func (m *Memory) Full() bool { return m.room() < 0 }

// Bytes returns what the windows take.
func (m *Memory) Bytes() int64 { return m.bytes.Load() }

// Needed returns the memory that the windows are given: what they take, and at least what
// their keys take at most, since full tables are recreated larger, piece by piece.
func (m *Memory) Needed() int64 { return max(m.bytes.Load(), keyBytes*m.keys.Load()) }

// room is how many bytes more there may be; below 0, how many there are too many.
func (m *Memory) room() int64 { return m.limit - m.bytes.Load() }

// part is what a window may take when all take as much as they may.
func (m *Memory) part() int64 { return m.limit / max(1, m.windows.Load()) }
