package sink

import (
	"time"

	"github.com/millrace/millrace/internal/config"
)

// gates say when an open range is frozen.
type gates struct {
	rows  int
	bytes int64
	wait  time.Duration
}

func gatesOf(cfg config.Sink) gates {
	return gates{rows: cfg.MaxRows, bytes: int64(cfg.MaxBytes), wait: cfg.MaxWait}
}

// full reports whether an open range has reached its size.
func (g gates) full(o *open) bool { return len(o.records) >= g.rows || o.bytes >= g.bytes }

// due returns how long an open range may still wait; zero or less when it may
// not. It is asked only when there are records.
func (g gates) due(o *open, now time.Time) time.Duration {
	if g.full(o) {
		return 0
	}
	return g.wait - now.Sub(o.since)
}

// cut returns how many of the records, from the first, belong to the next range:
// as many as the gates for size let through, and at least one.
func (g gates) cut(records []held) (n int) {
	for bytes := int64(0); n < len(records) && n < g.rows && bytes < g.bytes; n++ {
		bytes += records[n].bytes()
	}
	return n
}
