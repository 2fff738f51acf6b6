package buffer

import (
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
)

// longestWait is the most that the wait is stretched to.
const longestWait = 30 * time.Second

// Triggers say when an open range is sealed.
type Triggers struct {
	rows    int
	bytes   int64
	least   time.Duration // that an open range waits for more
	inserts int           // a second, for which the wait is stretched; 0: it never is
	wait    atomic.Int64  // a time.Duration: how long it waits now
}

// NewTriggers returns those of the settings.
func NewTriggers(cfg config.Sink) *Triggers {
	g := &Triggers{rows: cfg.MaxRows, bytes: int64(cfg.MaxBytes), least: cfg.MaxWait, inserts: cfg.MaxInserts}
	g.Stretch(0)
	return g
}

// Stretch makes the wait as long as so many partitions that have something to store need to
// keep to the inserts a second.
func (g *Triggers) Stretch(active int) {
	wait := g.least
	if g.inserts > 0 {
		needed := time.Duration(active) * time.Second / time.Duration(g.inserts)
		wait = max(wait, min(needed, longestWait))
	}
	g.wait.Store(int64(wait))
}

// Patience is how long an open range waits for more, now.
func (g *Triggers) Patience() time.Duration { return time.Duration(g.wait.Load()) }

// Full reports whether an open range has reached its size.
func (g *Triggers) Full(o *Open) bool { return len(o.records) >= g.rows || o.bytes >= g.bytes }

// Due returns how long an open range may still wait; zero or less when it may
// not. It is asked only when there are records.
func (g *Triggers) Due(o *Open, now time.Time) time.Duration {
	if g.Full(o) {
		return 0
	}
	return g.Patience() - now.Sub(o.since)
}

// Cut returns how many records of an open range, from the first, belong to the next one
// that is sealed: as many as the triggers for size let through, and at least one.
func (g *Triggers) Cut(o *Open) (n int) {
	for bytes := int64(0); n < len(o.records) && n < g.rows && bytes < g.bytes; n++ {
		bytes += o.records[n].bytes()
	}
	return n
}

// Rows is how many records a range has at most.
func (g *Triggers) Rows() int { return g.rows }

// Stretches reports whether the wait is ever stretched.
func (g *Triggers) Stretches() bool { return g.inserts > 0 }
