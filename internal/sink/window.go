package sink

import (
	"math"
	"sync/atomic"
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

// Window remembers, for one partition, which events were seen and when they were
// received. All times are record time, from the headers, never the clock.
//
// Every sighting counts, also one that was a duplicate itself or could not be
// stored. Whether a record is a duplicate therefore depends only on the records
// of the horizon before it: the window is a function of the log and of its floor,
// the oldest bucket it still knows. Whoever reads the log again from there decides
// the same.
//
// It holds the horizon, rounded up to buckets of 5 minutes, and at most the given
// number of keys, 27 to 40 bytes each; beyond that the oldest bucket goes early.
// It is used by one goroutine.
type Window struct {
	horizon int32 // buckets
	maxKeys int
	share   *windowShare
	shards  [windowShards]hashset // so that making one anew takes a moment only
	counts  map[int32]int         // keys per bucket
	keys    int
	newest  int32
	floor   int32 // buckets below are forgotten
	clamped int64 // sightings from the future that did not move the window
}

// NewWindow returns an empty window.
func NewWindow(horizon time.Duration, maxKeys int) *Window {
	buckets := (horizon.Milliseconds() + bucketMillis - 1) / bucketMillis
	return &Window{horizon: int32(buckets), maxKeys: maxKeys, share: &windowShare{limit: math.MaxInt64}, counts: map[int32]int{}}
}

// bucketOf returns the bucket of a time in Unix milliseconds; it fits until the
// year 22,000.
func bucketOf(millis int64) int32 { return int32(millis / bucketMillis) }

// within reports whether an event received in one bucket duplicates one that was
// seen in another.
func (w *Window) within(seen, now int32) bool { return now-seen <= w.horizon }

// Seen returns the bucket of the latest sighting of an event that the window
// knows of. It allocates nothing.
func (w *Window) Seen(h record.Hash) (bucket int32, ok bool) { return w.shard(h).find(h) }

// Has reports whether an event received at the time would be a duplicate of one
// in the window. It allocates nothing.
func (w *Window) Has(h record.Hash, receivedAt int64) bool {
	seen, ok := w.Seen(h)
	return ok && w.within(seen, bucketOf(receivedAt))
}

// Add remembers that an event was seen. What falls out of the horizon by it is
// forgotten; a time of receipt that is ahead of now, from an edge whose clock is
// wrong, makes nothing be forgotten.
func (w *Window) Add(h record.Hash, receivedAt int64, now time.Time) {
	b := bucketOf(receivedAt)
	if latest := bucketOf(now.UnixMilli()) + slackBuckets; b > latest {
		w.clamped++
		w.advance(latest)
	} else {
		w.advance(b)
	}
	w.put(h, b)
	for w.keys > 0 && (w.keys > w.maxKeys || w.share.over()) && w.forgetOldest() {
	}
}

// Restore remembers a sighting from before the window's first owner of this
// process: what it would make be forgotten was decided when it came first.
func (w *Window) Restore(h record.Hash, receivedAt int64) {
	b := bucketOf(receivedAt)
	w.newest = max(w.newest, b)
	w.put(h, b)
}

func (w *Window) put(h record.Hash, b int32) {
	if b < w.floor || h == (record.Hash{}) {
		return
	}
	old, had := w.shard(h).raise(h, b)
	switch {
	case !had:
		w.keys++
		w.share.add(1)
	case old >= b:
		return
	default:
		w.uncount(old)
	}
	w.counts[b]++
}

// advance moves the newest bucket on.
func (w *Window) advance(b int32) {
	if b > w.newest {
		w.newest = b
		w.SetFloor(b - w.horizon - slackBuckets)
	}
}

// Floor returns the oldest bucket that the window knows all sightings of.
func (w *Window) Floor() int32 { return w.floor }

// FloorFor returns the floor of a window whose next record was received at the
// time.
func (w *Window) FloorFor(receivedAt int64) int32 {
	return max(0, bucketOf(receivedAt)-w.horizon-slackBuckets)
}

// FloorMillis returns when a bucket begins, in Unix milliseconds.
func FloorMillis(bucket int32) int64 { return int64(bucket) * bucketMillis }

// Close gives the window's keys back to those that share their number with it.
func (w *Window) Close() {
	w.share.add(-int64(w.keys))
	w.keys = 0
}

// windowShare bounds the keys of all windows of a process together.
type windowShare struct {
	limit int64
	keys  atomic.Int64
}

func (s *windowShare) add(n int64) { s.keys.Add(n) }
func (s *windowShare) over() bool  { return s.keys.Load() > s.limit }

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

// Coverage returns how far back from the newest event the window is whole: the
// horizon, or less when keys had to go early.
func (w *Window) Coverage() time.Duration {
	buckets := min(w.horizon, w.newest-w.floor)
	return time.Duration(buckets) * bucketMillis * time.Millisecond
}

func (w *Window) shard(h record.Hash) *hashset { return &w.shards[h[15]%windowShards] }

// forgetOldest makes room; it reports whether there was anything to forget.
func (w *Window) forgetOldest() bool {
	if w.floor >= w.newest {
		return false // the newest bucket alone is too many
	}
	oldest := w.newest
	for b := range w.counts {
		oldest = min(oldest, b)
	}
	if oldest >= w.newest {
		return false
	}
	w.SetFloor(oldest + 1)
	return true
}

// SetFloor forgets the buckets below floor.
func (w *Window) SetFloor(floor int32) {
	if floor <= w.floor {
		return
	}
	w.floor = floor
	for b, n := range w.counts {
		if b < floor {
			w.keys -= n
			w.share.add(-int64(n))
			delete(w.counts, b)
		}
	}
	for i := range w.shards {
		w.shards[i].floor = floor
	}
}

func (w *Window) uncount(bucket int32) {
	if w.counts[bucket]--; w.counts[bucket] == 0 {
		delete(w.counts, bucket)
	}
}
