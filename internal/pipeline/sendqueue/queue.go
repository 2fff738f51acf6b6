// Package sendqueue holds what a process tells Kafka of while others wait for responses: clicks
// of short links, exposures to feature flags.
//
// It promises that adding never waits, neither for brokers nor for the Sender: what
// does not fit into the memory that is allowed is dropped, and what becomes of each item is
// told once. A stop publishes what was added before it.
//
// It does not promise that an item arrives: who needs that waits for the acknowledgement.
package sendqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// Fate is what becomes of an item.
type Fate uint8

// The fates. All but the first are losses.
const (
	Published Fate = iota // acknowledged
	Full                  // there was no room
	Rejected              // by brokers, for good
	Stopped               // not acknowledged when the process ended
	Fates     = iota
)

// Sender sends records to Kafka.
type Sender interface {
	// Send takes a record and returns at once, also while brokers are away. done is
	// called once, with nil when the record is acknowledged, or with an error when it
	// never will be.
	Send(r *record.Record, done func(error))
}

// Config bounds a Queue.
type Config struct {
	// MaxBytes bounds the memory of what Kafka has not acknowledged.
	MaxBytes int64
	// Gather is how long the first item of several waits for the others, so that they are
	// handed over together.
	Gather time.Duration
}

// Deps are what a Queue of items T that become records R works with; all are required.
type Deps[T, R any] struct {
	Sender Sender
	// Write makes a record of an item. It is called by one goroutine at a time, and the
	// record may not alias the item: that is used again.
	Write  func(from *T, to *R)
	Record func(*R) *record.Record
	Told   func(Fate) // is called at any time, and several times at once
	Log    *slog.Logger
	What   string // what items are called, such as "clicks"
}

// Queue publishes items. It is safe for concurrent use.
type Queue[T, R any] struct {
	cfg     Config
	deps    Deps[T, R]
	items   sync.Pool // of *Item[T]
	waiting sync.Pool // of *waiting[T, R]

	size   atomic.Int64 // bytes that are not acknowledged
	number atomic.Int64 // items that are not
	logged atomic.Int64 // the second of the last line in the log
	wake   chan struct{}

	mu     sync.Mutex
	added  []*Item[T] // to be handed to the Sender
	spare  []*Item[T] // the memory of added, for the next ones
	closed bool
	empty  chan struct{} // receives when the last item is acknowledged
}

// Item is the memory of one item, which is used again: it may hold what the last one was.
type Item[T any] struct {
	Is   T
	size int64
}

// New returns an empty Queue. Run publishes what is added.
func New[T, R any](cfg Config, deps Deps[T, R]) *Queue[T, R] {
	q := &Queue[T, R]{cfg: cfg, deps: deps, wake: make(chan struct{}, 1), empty: make(chan struct{}, 1)}
	q.items.New = func() any { return new(Item[T]) }
	q.waiting.New = func() any { return newWaiting(q) }
	return q
}

// Len is how many items are reserved or added and not acknowledged.
func (q *Queue[T, R]) Len() int64 { return q.number.Load() }

// Bytes is what those items take.
func (q *Queue[T, R]) Bytes() int64 { return q.size.Load() }

// Reserve returns memory for an item that takes so many bytes until it is acknowledged, to be
// filled and added; nil where there is no room, which is told.
func (q *Queue[T, R]) Reserve(size int64) *Item[T] {
	if q.size.Add(size) > q.cfg.MaxBytes {
		q.size.Add(-size)
		q.deps.Told(Full)
		return nil
	}
	q.number.Add(1)
	t := q.items.Get().(*Item[T]) // the pool holds nothing else
	t.size = size
	return t
}

// Add has an item be published that was reserved. It does not belong to the caller any more.
// Each item that is reserved has to be added: Stop waits for it.
func (q *Queue[T, R]) Add(t *Item[T]) {
	if !q.put(t) {
		q.settled(t.size, errStopped)
	}
}

// put reports whether the item is taken, which it is not after the stop.
func (q *Queue[T, R]) put(t *Item[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.added = append(q.added, t)
	if len(q.added) == 1 {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// Run hands items to the Sender until ctx ends. It is called once.
func (q *Queue[T, R]) Run(ctx context.Context) error {
	pause := time.NewTimer(q.cfg.Gather)
	pause.Stop()
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
		pause.Reset(q.cfg.Gather)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil // Stop hands over what is there
		}
		q.handOver()
	}
}

// handOver gives the Sender what was added since the last time. One goroutine calls it at a time.
func (q *Queue[T, R]) handOver() {
	q.mu.Lock()
	some := q.added
	q.added, q.spare = q.spare, nil
	q.mu.Unlock()
	for _, t := range some {
		w := q.waiting.Get().(*waiting[T, R]) // the pool holds nothing else
		w.size = t.size
		q.deps.Write(&t.Is, &w.record)
		q.items.Put(t)
		q.deps.Sender.Send(q.deps.Record(&w.record), w.done)
	}
	clear(some)
	if cap(some) > maxSpare {
		return
	}
	q.mu.Lock()
	q.spare = some[:0]
	q.mu.Unlock()
}

// maxSpare is how many items the memory of a list may be for that is kept.
const maxSpare = 4 << 10

var errStopped = errors.New("the queue is closed")

// Stop takes no more items, and returns when all are published that were added, or when ctx
// ends. It is called once, after Run.
func (q *Queue[T, R]) Stop(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.handOver()
	for q.number.Load() > 0 {
		select {
		case <-q.empty:
		case <-ctx.Done():
			return fmt.Errorf("publishing %s: %d are not acknowledged: %w", q.deps.What, q.number.Load(), ctx.Err())
		}
	}
	return nil
}

// settled tells what became of an item.
func (q *Queue[T, R]) settled(size int64, err error) {
	if err == nil {
		q.deps.Told(Published)
	} else {
		q.lost(err)
	}
	q.size.Add(-size)
	if q.number.Add(-1) == 0 {
		select {
		case q.empty <- struct{}{}:
		default:
		}
	}
}

// lost tells of an item that will not be published.
func (q *Queue[T, R]) lost(err error) {
	q.mu.Lock()
	closed := q.closed
	q.mu.Unlock()
	if closed {
		q.deps.Told(Stopped)
		return
	}
	q.deps.Told(Rejected)
	if now := time.Now().Unix(); q.logged.Swap(now) != now { // once a second is enough
		q.deps.Log.LogAttrs(context.Background(), slog.LevelError, "Kafka rejected records, records are lost",
			slog.String("records", q.deps.What), slog.Any("error", err))
	}
}

// waiting is an item until it is acknowledged, and is used again for another one.
type waiting[T, R any] struct {
	q      *Queue[T, R]
	size   int64
	record R
	done   func(error) // w.finished, made once
}

func newWaiting[T, R any](q *Queue[T, R]) *waiting[T, R] {
	w := &waiting[T, R]{q: q}
	w.done = w.finished
	return w
}

func (w *waiting[T, R]) finished(err error) {
	q, size := w.q, w.size
	q.waiting.Put(w)
	q.settled(size, err)
}
