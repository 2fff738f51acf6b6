package dedup

import (
	"math"

	"github.com/millrace/millrace/internal/contract/record"
)

// Rebuild is a window that is shown again what the log holds. All windows are kept
// within their memory meanwhile; its own keys are as many as they were.
type Rebuild struct {
	*Window

	latest int32 // the newest bucket that it may follow to
	since  int   // observations since its memory was looked at
}

// lookEvery is how many observations pass between two looks at the memory.
const lookEvery = 1 << 14

// Rebuild makes the window whole from its low watermark on by what it is shown, until it is Done.
// Ceilings that it had are to be set when all before their offsets was shown.
func (w *Window) Rebuild() *Rebuild {
	w.rebuilding = true
	return &Rebuild{Window: w, latest: w.lowWatermark + w.horizon + slackBuckets}
}

// Observe is Window.Observe.
func (r *Rebuild) Observe(h record.Hash, receivedAt int64) (before int32, known bool) {
	if r.since++; r.since >= lookEvery {
		r.follow()
	}
	return r.Window.Observe(h, receivedAt)
}

// Done says that there is nothing more to be shown.
func (r *Rebuild) Done() {
	r.rebuilding = false
	r.follow()
}

// follow makes the window follow what it was shown since the last time.
func (r *Rebuild) follow() {
	r.newest = max(r.newest, min(r.seen.newest, r.latest))
	r.seen.reset()
	r.since = 0
	r.keepWithin(math.MaxInt64)
}
