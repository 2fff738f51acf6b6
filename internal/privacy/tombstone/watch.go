package tombstone

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Source reads tombstones.
type Source interface {
	// Tombstones returns all that were written before the call, and what tells this
	// state from others. When that is as known, which is empty at first, changed is
	// false and the rest is empty.
	Tombstones(ctx context.Context, known string) (all []Tombstone, state string, changed bool, err error)
}

// Watch keeps the set of all tombstones, no older than it may be. It reads when it
// is asked, so that nobody who stores something relies on a loop that may have
// stopped. It is safe for concurrent use.
type Watch struct {
	source Source
	age    time.Duration
	busy   chan struct{} // holds one while the source is asked
	known  atomic.Pointer[known]
	owners prometheus.Gauge
	stones prometheus.Gauge
}

type known struct {
	set   *Set
	state string
	asked time.Time // before the source was
}

// NewWatch returns a Watch that has read nothing. What it answers was true at most
// age ago.
func NewWatch(source Source, age time.Duration, reg prometheus.Registerer) *Watch {
	return &Watch{
		source: source, age: age, busy: make(chan struct{}, 1),
		owners: promauto.With(reg).NewGauge(prometheus.GaugeOpts{
			Name: "millrace_sink_tombstone_owners",
			Help: "Websites and organizations with an erasure. The sink checks their records against the tombstones.",
		}),
		stones: promauto.With(reg).NewGauge(prometheus.GaugeOpts{
			Name: "millrace_sink_tombstones",
			Help: "Tombstones in memory: one for each erased website, visitor id or user id. Those of visitors and users " +
				"end when no record with the id can come back.",
		}),
	}
}

// Current returns the set. Whatever was written age before the call, or earlier, is
// in it. An error says that nobody knows what is to be left out now.
func (w *Watch) Current(ctx context.Context) (*Set, error) {
	if set, ok := w.fresh(); ok {
		return set, nil
	}
	select {
	case w.busy <- struct{}{}:
		defer func() { <-w.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if set, ok := w.fresh(); ok {
		return set, nil
	}
	next := known{asked: time.Now()}
	if was := w.known.Load(); was != nil {
		next.set, next.state = was.set, was.state
	}
	all, state, changed, err := w.source.Tombstones(ctx, next.state)
	if err != nil {
		return nil, fmt.Errorf("reading the tombstones: %w", err)
	}
	if changed {
		next.set, next.state = NewSet(all), state
		w.owners.Set(float64(next.set.Len()))
		w.stones.Set(float64(next.set.Size()))
	}
	w.known.Store(&next)
	return next.set, nil
}

func (w *Watch) fresh() (*Set, bool) {
	k := w.known.Load()
	if k == nil || time.Since(k.asked) >= w.age {
		return nil, false
	}
	return k.set, true
}
