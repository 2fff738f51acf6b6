package click

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sendqueue"
)

const (
	// gather is how long the first click of several waits for the others.
	gather = 5 * time.Millisecond
	// overhead is about what a click takes, here and at the Sender, besides the texts
	// that it came with: 1 KiB of its record, and the places where it stands.
	overhead = 1<<10 + 704
)

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
	Sender  sendqueue.Sender
	Salts   Salts
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Queue publishes clicks. It is safe for concurrent use.
type Queue struct {
	salts   Salts
	metrics metrics
	queue   *sendqueue.Queue[taken, record.ClickRecord]
	draft   draft // of write
}

// New returns an empty Queue. Run publishes what it takes.
func New(cfg Config, deps Deps) *Queue {
	q := &Queue{salts: deps.Salts}
	q.queue = sendqueue.New(
		sendqueue.Config{MaxBytes: int64(cfg.MaxBufferedBytes), Gather: gather},
		sendqueue.Deps[taken, record.ClickRecord]{
			Sender: deps.Sender, Write: q.write, Record: func(r *record.ClickRecord) *record.Record { return &r.Record },
			Told: func(f sendqueue.Fate) { q.metrics.fates[f].Inc() }, Log: deps.Log, What: "clicks",
		},
	)
	q.metrics = newMetrics(deps.Metrics, q.queue, cfg.MaxBufferedBytes)
	return q
}

// Take publishes a click. It never waits: where there is no room the click is dropped and
// counted. It copies what it needs and leaves the rest to Run, for whoever calls it has a
// visitor waiting.
func (q *Queue) Take(c *Click) {
	if t := q.queue.Reserve(overhead + c.textLen()); t != nil {
		t.Is.copy(c)
		q.queue.Add(t)
	}
}

func (q *Queue) write(t *taken, r *record.ClickRecord) { q.draft.write(&t.click, q.salts.Today(), r) }

// Run hands clicks to the Sender until ctx ends.
func (q *Queue) Run(ctx context.Context) error { return q.queue.Run(ctx) }

// Stop takes no more clicks, and returns when all are published that were taken, or when
// ctx ends. It is called once, after Run.
func (q *Queue) Stop(ctx context.Context) error { return q.queue.Stop(ctx) }
