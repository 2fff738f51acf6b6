package click

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/record"
)

const (
	// gather is how long the first click of several waits for the others, so that they
	// are handed over together.
	gather = 5 * time.Millisecond
	// overhead is about what a click takes, here and at the publisher, besides the texts
	// that it came with: 1 KiB of its record, and the places where it stands.
	overhead = 1<<10 + 704
)

// Publisher sends records to Kafka.
type Publisher interface {
	// Send takes a record and returns at once, also while brokers are away. done is
	// called once, with nil when the record is acknowledged, or with an error when it
	// never will be.
	Send(r *record.Record, done func(error))
}

// Salts knows what visitors are hashed with.
type Salts interface {
	// Today returns the salt of this UTC day; nil when it is not known.
	Today() []byte
}

// Config bounds a Queue.
type Config struct {
	// MaxBufferedBytes bounds the memory of the clicks that Kafka has not acknowledged.
	MaxBufferedBytes int
}

// Deps are the parts a Queue needs; all are required.
type Deps struct {
	Publisher Publisher
	Salts     Salts
	Log       *slog.Logger
	Metrics   prometheus.Registerer
}

// Queue publishes clicks. It is safe for concurrent use.
type Queue struct {
	deps    Deps
	max     int64
	metrics metrics
	copies  sync.Pool // of *taken
	waiting sync.Pool // of *waiting

	size   atomic.Int64 // bytes of the clicks that are not acknowledged
	clicks atomic.Int64 // their number
	logged atomic.Int64 // the second of the last line in the log
	wake   chan struct{}
	draft  draft // of handOver

	mu     sync.Mutex
	taken  []*taken // to be handed to the publisher
	spare  []*taken // the memory of taken, for the next ones
	closed bool
	empty  chan struct{} // receives when the last click is acknowledged
}

// New returns an empty Queue. Run publishes what it takes.
func New(cfg Config, deps Deps) *Queue {
	q := &Queue{deps: deps, max: int64(cfg.MaxBufferedBytes), wake: make(chan struct{}, 1), empty: make(chan struct{}, 1)}
	q.copies.New = func() any { return new(taken) }
	q.waiting.New = func() any { return newWaiting(q) }
	q.metrics = newMetrics(deps.Metrics, q)
	return q
}

// Take publishes a click. It never waits: where there is no room the click is dropped and
// counted. It copies what it needs and leaves the rest to Run, for whoever calls it has a
// visitor waiting.
func (q *Queue) Take(c *Click) {
	size := overhead + c.textLen()
	if q.size.Add(size) > q.max {
		q.size.Add(-size)
		q.metrics.dropped[noRoom].Inc()
		return
	}
	q.clicks.Add(1)
	t := q.copies.Get().(*taken) // the pool holds nothing else
	t.copy(c)
	if !q.put(t) {
		q.settled(size, errStopped)
	}
}

// put reports whether the click is taken, which it is not after the stop.
func (q *Queue) put(t *taken) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.taken = append(q.taken, t)
	if len(q.taken) == 1 {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// Run hands clicks to the publisher until ctx ends.
func (q *Queue) Run(ctx context.Context) error {
	pause := time.NewTimer(gather)
	pause.Stop()
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
		pause.Reset(gather)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil // Stop hands over what is there
		}
		q.handOver()
	}
}

// handOver gives the publisher what was taken since. One goroutine calls it at a time.
func (q *Queue) handOver() {
	q.mu.Lock()
	some := q.taken
	q.taken, q.spare = q.spare, nil
	q.mu.Unlock()
	salt := q.deps.Salts.Today()
	for _, t := range some {
		w := q.waiting.Get().(*waiting) // the pool holds nothing else
		w.size = overhead + t.click.textLen()
		q.draft.write(&t.click, salt, &w.record)
		q.copies.Put(t)
		q.deps.Publisher.Send(&w.record.Record, w.done)
	}
	clear(some)
	if cap(some) > maxSpare {
		return
	}
	q.mu.Lock()
	q.spare = some[:0]
	q.mu.Unlock()
}

// maxSpare is how many clicks the memory of a list may be for that is kept.
const maxSpare = 4 << 10

var errStopped = errors.New("clicks are not taken any more")

// Stop takes no more clicks, and returns when all are published that were taken, or when
// ctx ends. It is called once, after Run.
func (q *Queue) Stop(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.handOver()
	for q.clicks.Load() > 0 {
		select {
		case <-q.empty:
		case <-ctx.Done():
			return fmt.Errorf("publishing clicks: %d are not acknowledged: %w", q.clicks.Load(), ctx.Err())
		}
	}
	return nil
}

// settled tells the publisher's answer about a click.
func (q *Queue) settled(size int64, err error) {
	if err == nil {
		q.metrics.published.Inc()
	} else {
		q.lost(err)
	}
	q.size.Add(-size)
	if q.clicks.Add(-1) == 0 {
		select {
		case q.empty <- struct{}{}:
		default:
		}
	}
}

// lost counts a click that will not be published.
func (q *Queue) lost(err error) {
	q.mu.Lock()
	closed := q.closed
	q.mu.Unlock()
	if closed {
		q.metrics.dropped[stopped].Inc()
		return
	}
	q.metrics.dropped[refused].Inc()
	if now := time.Now().Unix(); q.logged.Swap(now) != now { // once a second is enough
		q.deps.Log.LogAttrs(context.Background(), slog.LevelError, "clicks are lost, Kafka refuses them", slog.Any("error", err))
	}
}
