package sink

import (
	"time"

	"github.com/millrace/millrace/internal/record"
)

const (
	bucketMillis = 5 * 60 * 1000
	// slackBuckets are kept beyond the horizon: a record that was received a
	// little earlier than its predecessors, on another edge's clock, is judged
	// the same whether it is read the first time or again.
	slackBuckets = 2
	windowShards = 64
)

// Window remembers, for one partition, which events were stored and when they
// were received. All times are record time, from the headers, never the clock:
// whether an event is a duplicate depends only on the record and on the records
// before it, not on when or in which ranges they are read.
//
// It holds the horizon, rounded up to buckets of 5 minutes, and at most the given
// number of keys, 27 to 40 bytes each; beyond that the oldest bucket goes early.
// It is used by one goroutine.
type Window struct {
	horizon int32 // buckets
	maxKeys int
	shards  [windowShards]hashset // so that making one anew takes a moment only
	counts  map[int32]int         // keys per bucket
	keys    int
	newest  int32
	floor   int32 // buckets below are forgotten
}

// NewWindow returns an empty window.
func NewWindow(horizon time.Duration, maxKeys int) *Window {
	buckets := (horizon.Milliseconds() + bucketMillis - 1) / bucketMillis
	return &Window{horizon: int32(buckets), maxKeys: maxKeys, counts: map[int32]int{}}
}

// bucketOf returns the bucket of a time in Unix milliseconds; it fits until the
// year 22,000.
func bucketOf(millis int64) int32 { return int32(millis / bucketMillis) }

// within reports whether an event received in one bucket duplicates one that was
// stored from another.
func (w *Window) within(stored, now int32) bool { return now-stored <= w.horizon }

// Has reports whether an event received at the time would be a duplicate of one
// in the window. It allocates nothing.
func (w *Window) Has(h record.Hash, receivedAt int64) bool {
	stored, ok := w.shard(h).find(h)
	return ok && w.within(stored, bucketOf(receivedAt))
}

// Add remembers that an event was stored. What falls out of the horizon by it is
// forgotten.
func (w *Window) Add(h record.Hash, receivedAt int64) {
	b := bucketOf(receivedAt)
	if h == (record.Hash{}) || b < w.floor {
		return
	}
	if len(w.counts) == 0 || b > w.newest {
		w.newest = b
		w.forgetBelow(b - w.horizon - slackBuckets)
	}
	if old, had := w.shard(h).put(h, b); had {
		w.uncount(old)
	}
	w.counts[b]++
	w.keys++
	for w.keys > w.maxKeys && w.floor < w.newest {
		w.forgetBelow(w.oldest() + 1)
	}
}

// Len returns the number of events remembered.
func (w *Window) Len() int { return w.keys }

// Bytes returns the memory of the table.
func (w *Window) Bytes() int {
	n := 0
	for i := range w.shards {
		n += w.shards[i].bytes()
	}
	return n
}

// Coverage returns how far back from the newest event the window reaches. It is
// short after a start, and below the horizon when keys had to go early.
func (w *Window) Coverage() time.Duration {
	if w.keys == 0 {
		return 0
	}
	return time.Duration(w.newest-w.oldest()+1) * bucketMillis * time.Millisecond
}

func (w *Window) shard(h record.Hash) *hashset { return &w.shards[h[15]%windowShards] }

func (w *Window) oldest() int32 {
	oldest := w.newest
	for b := range w.counts {
		oldest = min(oldest, b)
	}
	return oldest
}

func (w *Window) forgetBelow(floor int32) {
	if floor <= w.floor {
		return
	}
	w.floor = floor
	for b, n := range w.counts {
		if b < floor {
			w.keys -= n
			delete(w.counts, b)
		}
	}
	for i := range w.shards {
		w.shards[i].floor = floor
	}
}

func (w *Window) uncount(bucket int32) {
	w.keys--
	if w.counts[bucket]--; w.counts[bucket] == 0 {
		delete(w.counts, bucket)
	}
}
