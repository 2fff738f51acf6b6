package exposure

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sendqueue"
)

const (
	// MaxBufferedBytes is how much memory the exposures of a process take that Kafka has
	// not acknowledged.
	MaxBufferedBytes = 32 << 20
	// gather is how long the first exposure of several waits for the others.
	gather = 50 * time.Millisecond
	// overhead is about what an exposure takes, here and at the Sender, besides the
	// texts that it came with: its record, and the places where it stands.
	overhead = 1 << 10
)

// Salts knows what anonymous ids are hashed with.
type Salts interface {
	// Known returns the salt of the UTC day of t, which is not to be changed; nil when it
	// is not known.
	Known(t time.Time) []byte
}

// Config bounds a Collector.
type Config struct {
	MaxBufferedBytes int // 0: the constant of this name
}

// Deps are the parts a Collector needs; all are required.
type Deps struct {
	Sender  sendqueue.Sender
	Salts   Salts
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Collector publishes exposures. It is safe for concurrent use.
type Collector struct {
	salts   Salts
	metrics metrics
	seen    *seen
	queue   *sendqueue.Queue[taken, record.ExposureRecord]
	draft   draft // of what the queue writes
}

// New returns an empty Collector. Run publishes what it takes.
func New(cfg Config, deps Deps) *Collector {
	if cfg.MaxBufferedBytes == 0 {
		cfg.MaxBufferedBytes = MaxBufferedBytes
	}
	c := &Collector{salts: deps.Salts, seen: newSeen()}
	c.queue = sendqueue.New(
		sendqueue.Config{MaxBytes: int64(cfg.MaxBufferedBytes), Gather: gather},
		sendqueue.Deps[taken, record.ExposureRecord]{
			Sender: deps.Sender, Write: c.draft.write,
			Record: func(r *record.ExposureRecord) *record.Record { return &r.Record },
			Told:   func(f sendqueue.Fate) { c.metrics[buffered[f]].Inc() }, Log: deps.Log, What: "exposures",
		},
	)
	c.metrics = newMetrics(deps.Metrics, c.queue, cfg.MaxBufferedBytes)
	return c
}

// Expose publishes an exposure, if the flag asks for it and it was not told that day. It
// never waits, and copies what it needs: whoever calls it has a caller waiting.
func (c *Collector) Expose(e *Exposure) {
	if !e.Counts() {
		return
	}
	id, is := e.visitor()
	if is == nobody {
		c.metrics[noVisitor].Inc()
		return
	}
	if !sampled(id, e.Flag.About.Exposures.SamplePercent) {
		c.metrics[sampledOut].Inc()
		return
	}
	var salt []byte
	if is == anonymous && hides(e.Website, e.Country) {
		if salt = c.salts.Known(e.Time); salt == nil {
			c.metrics[noSalt].Inc()
			return
		}
	}
	hash := c.seen.hashOf(e, id, is)
	if !c.seen.first(hash) {
		c.metrics[repeated].Inc()
		return
	}
	if !c.take(e, id, is, salt) {
		c.seen.forget(hash)
	}
}

// take reports whether there was room for an exposure.
func (c *Collector) take(e *Exposure, id string, is kind, salt []byte) bool {
	t := c.queue.Reserve(overhead + int64(len(id)))
	if t == nil {
		return false
	}
	t.Is.copy(e, id, is, salt)
	c.queue.Add(t)
	return true
}

// Run hands exposures to the Sender until ctx ends.
func (c *Collector) Run(ctx context.Context) error { return c.queue.Run(ctx) }

// Stop takes no more exposures, and returns when all are published that were taken, or when
// ctx ends. It is called once, after Run.
func (c *Collector) Stop(ctx context.Context) error { return c.queue.Stop(ctx) }
