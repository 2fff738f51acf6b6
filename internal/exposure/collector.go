package exposure

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/record"
)

const (
	// MaxBufferedBytes is how much memory the exposures of a process take that Kafka has
	// not acknowledged.
	MaxBufferedBytes = 32 << 20
	// gather is how long the first exposure of several waits for the others, so that they
	// are handed over together.
	gather = 50 * time.Millisecond
	// overhead is about what an exposure takes, here and at the publisher, besides the
	// texts that it came with: its record, and the places where it stands.
	overhead = 1 << 10
)

// Publisher sends records to Kafka.
type Publisher interface {
	// Send takes a record and returns at once, also while brokers are away. done is
	// called once, with nil when the record is acknowledged, or with an error when it
	// never will be.
	Send(r *record.Record, done func(error))
}

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
	Publisher Publisher
	Salts     Salts
	Log       *slog.Logger
	Metrics   prometheus.Registerer
}

// Collector publishes exposures. It is safe for concurrent use.
type Collector struct {
	deps    Deps
	max     int64
	metrics metrics
	seen    *seen
	copies  sync.Pool // of *taken
	waiting sync.Pool // of *waiting

	size   atomic.Int64 // bytes of the exposures that are not acknowledged
	number atomic.Int64 // of them
	logged atomic.Int64 // the second of the last line in the log
	wake   chan struct{}
	draft  draft // of handOver

	mu     sync.Mutex
	taken  []*taken // to be handed to the publisher
	closed bool
	empty  chan struct{} // receives when the last exposure is acknowledged
}

// New returns an empty Collector. Run publishes what it takes.
func New(cfg Config, deps Deps) *Collector {
	if cfg.MaxBufferedBytes == 0 {
		cfg.MaxBufferedBytes = MaxBufferedBytes
	}
	c := &Collector{
		deps: deps, max: int64(cfg.MaxBufferedBytes), seen: newSeen(),
		wake: make(chan struct{}, 1), empty: make(chan struct{}, 1),
	}
	c.copies.New = func() any { return new(taken) }
	c.waiting.New = func() any { return newWaiting(c) }
	c.metrics = newMetrics(deps.Metrics, c)
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
		if salt = c.deps.Salts.Known(e.Time); salt == nil {
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
	size := overhead + int64(len(id))
	if c.size.Add(size) > c.max {
		c.size.Add(-size)
		c.metrics[noRoom].Inc()
		return false
	}
	c.number.Add(1)
	t := c.copies.Get().(*taken) // the pool holds nothing else
	t.copy(e, id, is, salt, size)
	if !c.put(t) {
		c.settled(size, errStopped)
	}
	return true
}

// put reports whether the exposure is taken, which it is not after the stop.
func (c *Collector) put(t *taken) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.taken = append(c.taken, t)
	if len(c.taken) == 1 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return true
}
