package sink

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// ending says how a worker ends.
type ending uint8

const (
	// running: it does not.
	running ending = iota
	// draining: everything in hand is inserted and committed first.
	draining
	// halted: an attempt under way may finish and be committed; nothing new
	// begins.
	halted
)

// errHalted ends a worker's work between two attempts.
var errHalted = errors.New("partition is being given back")

// worker owns one partition from its assignment until it is given back: its open
// range, the one range in flight, and its window.
type worker struct {
	sink      *Sink
	partition Partition
	topicID   [16]byte
	window    *Window // of the worker's goroutine alone

	wake   chan struct{} // a signal, at most one pending
	halt   chan struct{} // closed when halted
	done   chan struct{} // closed when the goroutine has ended
	cancel context.CancelFunc

	mu       sync.Mutex
	open     open
	inFlight int64 // receipt of the first record of the range in flight; 0: none
	settled  mark  // up to where all is committed
	logEnd   int64 // as of the latest delivery
	session  Session
	flush    bool // freeze without waiting for a gate
	paused   bool
	ending   ending

	stats windowStats
}

// mark is a place in a partition: the offset of the next record, and when the
// one before it was received.
type mark struct{ next, received int64 }

// windowStats is what metrics tell about a window.
type windowStats struct{ keys, bytes, coverage atomic.Int64 }

func newWorker(s *Sink, a Assignment) *worker {
	return &worker{
		sink: s, partition: a.Partition, topicID: a.TopicID, window: NewWindow(s.cfg.Window, s.cfg.WindowKeys),
		wake: make(chan struct{}, 1), halt: make(chan struct{}), done: make(chan struct{}),
	}
}

// start begins the work. It goes on when ctx ends: a worker is ended by end, or
// by cancel.
func (w *worker) start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(w.done)
		w.run(ctx)
	}()
}

// deliver appends records to the open range. It pauses the partition when the
// next range is complete: the one in flight has to be settled first.
func (w *worker) deliver(b Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending == halted {
		return // to be read again by whoever owns the partition next
	}
	w.session, w.logEnd = b.Session, b.End
	if w.open.next == 0 { // the first one since the assignment
		w.settled = mark{b.Records[0].Offset, b.Records[0].ReceivedAt}
	}
	w.sink.budget.take(w.open.append(b.Records, time.Now(), w.sink.records.get))
	if !w.paused && w.sink.gates.full(&w.open) {
		w.paused = true
		w.sink.deps.Source.Pause(w.partition)
	}
	w.signal()
}

// hurry has what is open frozen before a gate is reached, to free memory.
func (w *worker) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush = len(w.open.records) > 0
	w.signal()
}

// idle returns the bytes of the open range of a worker that waits for a gate; 0
// for one that has something to do.
func (w *worker) idle() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inFlight != 0 || w.flush {
		return 0
	}
	return w.open.bytes
}

// end asks the worker to end in the given way, without waiting.
func (w *worker) end(how ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if how == halted && w.ending != halted {
		close(w.halt)
	}
	w.ending = max(w.ending, how)
	w.signal()
}

func (w *worker) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run freezes and settles one range after the other. What is left in hand when
// it returns is dropped: it was not committed, so whoever owns the partition
// next reads it again.
func (w *worker) run(ctx context.Context) {
	defer w.drop()
	timer := time.NewTimer(w.sink.gates.wait)
	defer timer.Stop()
	for {
		due, wait, over := w.next(time.Now())
		switch {
		case over:
			return
		case due:
			if err := w.turn(ctx); err != nil {
				w.giveUp(ctx, err)
				return
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// next reports whether the next range is due, else how long there is to wait at
// most. over means that there is nothing left to do.
func (w *worker) next(now time.Time) (due bool, wait time.Duration, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending == halted || w.ending == draining && len(w.open.records) == 0 {
		return false, 0, true
	}
	if len(w.open.records) == 0 {
		return false, w.sink.gates.wait, false
	}
	wait = w.sink.gates.due(&w.open, now)
	return wait <= 0 || w.flush || w.ending != running, wait, false
}

// turn waits for a builder, then freezes the next range and settles it. The range
// goes on growing, up to the gates for size, for as long as it has to wait: the
// busier the server, the larger the inserts.
func (w *worker) turn(ctx context.Context) error {
	b, err := w.sink.builders.acquire(ctx, w.halt)
	if err != nil {
		return err
	}
	return w.settle(ctx, w.freeze(), b)
}

// freeze cuts the next range off. There are records.
func (w *worker) freeze() *frozen {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush = false
	r := w.open.freeze(w.sink.gates, w.sink.records.get)
	w.inFlight = r.records[0].ReceivedAt
	if w.paused && !w.sink.gates.full(&w.open) {
		w.paused = false
		w.sink.deps.Source.Resume(w.partition)
	}
	return r
}

// landed is told that no range is in flight any more.
func (w *worker) landed() {
	w.mu.Lock()
	w.inFlight = 0
	w.mu.Unlock()
	w.stats.keys.Store(int64(w.window.Len()))
	w.stats.bytes.Store(int64(w.window.Bytes()))
	w.stats.coverage.Store(int64(w.window.Coverage()))
}

// drop forgets what is in hand.
func (w *worker) drop() {
	w.end(halted)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sink.budget.give(w.open.bytes)
	w.sink.records.put(w.open.records)
	w.open = open{}
	if w.paused {
		w.paused = false
		w.sink.deps.Source.Resume(w.partition)
	}
}

// giveUp is told why the range in flight was not settled.
func (w *worker) giveUp(ctx context.Context, err error) {
	if !errors.Is(err, ErrFenced) {
		return // asked to end
	}
	w.sink.deps.Log.LogAttrs(ctx, slog.LevelWarn, "partition dropped: its session is over",
		slog.String("topic", w.partition.Topic), slog.Int("partition", int(w.partition.Index)), slog.Any("error", err))
	w.sink.metrics.fenced.Inc()
	w.sink.deps.Source.Rewind(w.partition)
}

// lag returns how many records up to the end of the log, as it was at the latest
// delivery, are not settled, and when the oldest of them was received, in Unix
// milliseconds; 0 when there is none. If it is not in hand, the last one before
// it answers for it.
func (w *worker) lag() (records, oldest int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	records = max(0, w.logEnd-w.settled.next)
	switch {
	case w.inFlight != 0:
		return records, w.inFlight
	case len(w.open.records) > 0:
		return records, w.open.records[0].ReceivedAt
	case records > 0:
		return records, w.settled.received
	}
	return 0, 0
}

// advance notes that all before a place is committed.
func (w *worker) advance(to mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled = to
}

func (w *worker) isPaused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paused
}

func (w *worker) isHalted() bool {
	select {
	case <-w.halt:
		return true
	default:
		return false
	}
}
