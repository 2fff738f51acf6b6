package sink

import (
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
)

// longestWait is the most that the wait is stretched to.
const longestWait = 30 * time.Second

// gates say when an open range is frozen.
type gates struct {
	rows    int
	bytes   int64
	least   time.Duration // that an open range waits for more
	inserts int           // a second, for which the wait is stretched; 0: it never is
	wait    atomic.Int64  // a time.Duration: how long it waits now
}

func gatesOf(cfg config.Sink) *gates {
	g := &gates{rows: cfg.MaxRows, bytes: int64(cfg.MaxBytes), least: cfg.MaxWait, inserts: cfg.MaxInserts}
	g.stretch(0)
	return g
}

// stretch makes the wait as long as so many partitions that have something to store need to
// keep to the inserts a second.
func (g *gates) stretch(active int) {
	wait := g.least
	if g.inserts > 0 {
		needed := time.Duration(active) * time.Second / time.Duration(g.inserts)
		wait = max(wait, min(needed, longestWait))
	}
	g.wait.Store(int64(wait))
}

// patience is how long an open range waits for more, now.
func (g *gates) patience() time.Duration { return time.Duration(g.wait.Load()) }

// full reports whether an open range has reached its size.
func (g *gates) full(o *open) bool { return len(o.records) >= g.rows || o.bytes >= g.bytes }

// due returns how long an open range may still wait; zero or less when it may
// not. It is asked only when there are records.
func (g *gates) due(o *open, now time.Time) time.Duration {
	if g.full(o) {
		return 0
	}
	return g.patience() - now.Sub(o.since)
}

// cut returns how many of the records, from the first, belong to the next range:
// as many as the gates for size let through, and at least one.
func (g *gates) cut(records []held) (n int) {
	for bytes := int64(0); n < len(records) && n < g.rows && bytes < g.bytes; n++ {
		bytes += records[n].bytes()
	}
	return n
}
