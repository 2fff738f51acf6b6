package dedup

import (
	"math"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

const (
	bucketMillis = 5 * 60 * 1000
	// slackBuckets are kept beyond the horizon: a record that was received a
	// little earlier than its predecessors, on another edge's clock, is judged
	// the same whether it is read the first time or again.
	slackBuckets = 2
	windowShards = 64
	// The window follows the lowest tenth of what a range has seen, so that edges whose
	// clocks are ahead do not move it as long as they are not all.
	followed = 10
)

// Window remembers, for one partition, which events were seen and when they were
// received. All times are record time, from the headers, never the clock.
//
// Every observation counts, also one that was a duplicate itself or could not be
// stored. Whether a record is a duplicate therefore depends only on the records
// of the horizon before it: the window is a function of the log, of its low watermark,
// the oldest bucket it still knows, and of its ceilings. Whoever reads the log again from
// there decides the same.
//
// It holds the horizon, rounded up to buckets of 5 minutes, and at most the given
// number of keys, 27 to 40 bytes each; beyond that what is ahead of the newest bucket goes,
// by a Ceiling, then the oldest bucket goes early, and so it does where all windows take
// more than there is memory, from those that take more than an equal part. The newest bucket
// always stays. It is used by one goroutine.
//
// A horizon of 0 remembers nothing: no event is a duplicate.
type Window struct {
	horizon      int32 // buckets
	maxKeys      int
	memory       *Memory
	shards       [windowShards]hashset // so that recreating one takes a moment only
	counts       map[int32]*int        // keys per bucket
	latest       int32                 // the bucket of the latest key, and
	count        *int                  // its count
	keys         int
	told         int64 // bytes that the share knows of, and
	toldKeys     int   // keys
	seen         seen  // since the window was moved on
	newest       int32 // the bucket that the window has followed to
	lowWatermark int32 // buckets below are forgotten
	clamped      int64
	early        int64
	ceilings     []Ceiling
	top          int32 // the newest bucket of what they left out
	next         int64 // the offset of what comes next
	rebuilding   bool  // it is shown again what it has seen
	pinned       bool  // nothing is forgotten
	closed       bool
}

// NewWindow returns an empty window with memory of its own.
func NewWindow(horizon time.Duration, maxKeys int) *Window {
	return NewMemory(math.MaxInt64).Window(horizon, maxKeys)
}

// bucketOf returns the bucket of a time in Unix milliseconds; it fits until the
// year 22,000.
func bucketOf(millis int64) int32 { return int32(millis / bucketMillis) }

// Duplicate notes an event, and reports whether it was seen within the horizon before it.
func (w *Window) Duplicate(h record.Hash, receivedAt int64) bool {
	before, known := w.Observe(h, receivedAt)
	return known && bucketOf(receivedAt)-before <= w.horizon
}

// Observe notes that an event was seen in a record received at the time, and returns
// the bucket of its latest observation before, if the window knows of one. It forgets
// nothing: MoveOn does.
func (w *Window) Observe(h record.Hash, receivedAt int64) (before int32, known bool) {
	b := bucketOf(receivedAt)
	shard := &w.shards[h[15]%windowShards]
	if h == (record.Hash{}) || w.horizon == 0 {
		return 0, false
	}
	if b < w.lowWatermark {
		return shard.find(h)
	}
	w.seen.add(b)
	if !w.under(b) {
		return shard.find(h)
	}
	before, known = shard.raise(h, b)
	if known && before >= b {
		return before, true
	}
	if known {
		*w.counts[before]--
	} else {
		w.keys++
	}
	if w.count == nil || w.latest != b {
		w.latest, w.count = b, w.counts[b]
		if w.count == nil {
			w.count = new(int)
			w.counts[b] = w.count
		}
	}
	*w.count++
	return before, known
}

// Expect makes room for so many observations at once, as far as the window may hold
// them.
func (w *Window) Expect(observations int64) {
	n := int(min(observations, int64(w.maxKeys-w.keys), max(0, w.memory.room()/keyBytes)))
	for i := range w.shards {
		w.shards[i].grow(n / windowShards)
	}
	w.tell()
}

// MoveOn lets the window follow what was seen: what falls out of the horizon is
// forgotten, and the oldest where it holds too much. Times of receipt that are ahead of
// now, or of most others, from edges whose clocks are wrong, make nothing be forgotten.
func (w *Window) MoveOn(now time.Time) {
	to := w.seen.low()
	latest := bucketOf(now.UnixMilli()) + slackBuckets
	if w.seen.newest > latest || w.seen.turned && w.seen.newest > to+slackBuckets {
		w.clamped++
	}
	w.seen.reset()
	if to = min(to, latest); to > w.newest {
		w.newest = to
		w.SetLowWatermark(w.newest - w.horizon - slackBuckets)
	}
	w.moveCeiling()
	w.KeepWithin()
}

// Pin keeps the window from forgetting anything until Unpin: what was planned is decided about
// with what was known then, whatever memory there is by now.
func (w *Window) Pin() { w.pinned = true }

// Unpin lets the window forget again.
func (w *Window) Unpin() { w.pinned = false }

// KeepWithin forgets what is too much: more keys than the window may hold, or more
// memory than all windows may take, as far as this one takes more than its part. Others
// may have grown since it was last asked.
func (w *Window) KeepWithin() { w.keepWithin(int64(w.maxKeys) * keyBytes) }

// keepWithin forgets what is beyond a number of bytes, or all windows' memory.
func (w *Window) keepWithin(most int64) {
	w.tell()
	if w.pinned {
		return
	}
	if excess := -w.memory.room(); excess > 0 {
		most = min(most, max(w.memory.part(), w.told-excess))
	}
	for int64(w.keys)*keyBytes > most && (w.forgetAhead() || w.forgetOldest()) {
	}
	needed := max(int64(w.keys)*keyBytes, windowShards*minSlots*slotBytes)
	if w.told > most && w.told > needed || w.told > sparse*needed {
		w.shrink()
	}
}

// sparse is how many times the memory of its keys a window takes at most before its
// tables are recreated.
const sparse = 4

// shrink gives back the memory of keys that were forgotten.
func (w *Window) shrink() {
	for i := range w.shards {
		w.shards[i].rebuild()
	}
	w.tell()
}

// tell says to those that share the memory how much of it the window takes, for how many
// keys.
func (w *Window) tell() {
	now := int64(w.Bytes())
	w.memory.bytes.Add(now - w.told)
	w.memory.keys.Add(int64(w.keys - w.toldKeys))
	w.told, w.toldKeys = now, w.keys
}

// LowWatermark returns the oldest bucket that the window knows all observations of.
func (w *Window) LowWatermark() int32 { return w.lowWatermark }

// LowWatermarkFor returns the low watermark of a window whose next records were received at the times,
// as far as they are not ahead of now.
func (w *Window) LowWatermarkFor(receivedAt []int64, now time.Time) int32 {
	next := seen{counts: map[int32]*int{}}
	for _, at := range receivedAt {
		next.add(bucketOf(at))
	}
	latest := bucketOf(now.UnixMilli())
	if next.total == 0 {
		return max(0, latest-w.horizon-slackBuckets)
	}
	return max(0, min(next.low(), latest)-w.horizon-slackBuckets)
}

// LowWatermarkMillis returns when a bucket begins, in Unix milliseconds.
func LowWatermarkMillis(bucket int32) int64 { return int64(bucket) * bucketMillis }

// Close gives the window's memory back to those that share it.
func (w *Window) Close() {
	w.keys, w.shards = 0, [windowShards]hashset{}
	w.tell()
	if !w.closed {
		w.closed = true
		w.memory.windows.Add(-1)
	}
}

// Stats is what there is to tell of a window.
type Stats struct {
	Keys, Bytes int
	// Coverage is how far back from the newest event the window is whole: the horizon, or
	// less when keys had to go early.
	Coverage time.Duration
	// Clamped is how often it did not follow the newest record, which says that it is from
	// the future.
	Clamped int64
	// Early is how many buckets had to go before the horizon was over.
	Early int64
}

// Stats returns them as of now.
func (w *Window) Stats() Stats {
	return Stats{Keys: w.keys, Bytes: w.Bytes(), Coverage: w.Coverage(), Clamped: w.clamped, Early: w.early}
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

// Coverage returns how far back from the newest event the window is whole: the
// horizon, or less when keys had to go early.
func (w *Window) Coverage() time.Duration {
	newest := w.newest
	if newest == 0 { // nothing was followed: there is nothing that it lacks
		newest = w.lowWatermark + w.horizon
	}
	buckets := min(w.horizon, newest-w.lowWatermark)
	return time.Duration(buckets) * bucketMillis * time.Millisecond
}

// forgetOldest makes room; it reports whether there was anything to forget.
func (w *Window) forgetOldest() bool {
	if w.lowWatermark >= w.newest {
		return false // the newest bucket alone is too many
	}
	oldest := w.newest
	for b, n := range w.counts {
		if *n > 0 {
			oldest = min(oldest, b)
		}
	}
	if oldest >= w.newest {
		return false
	}
	w.SetLowWatermark(oldest + 1)
	w.early++
	return true
}

// SetLowWatermark forgets the buckets below the low watermark.
func (w *Window) SetLowWatermark(lowWatermark int32) {
	if lowWatermark <= w.lowWatermark {
		return
	}
	w.lowWatermark = lowWatermark
	w.mergeCeilings()
	for b, n := range w.counts {
		if b < lowWatermark {
			w.keys -= *n
			delete(w.counts, b)
		}
	}
	w.count = nil
	for i := range w.shards {
		w.shards[i].lowWatermark = lowWatermark
	}
}
