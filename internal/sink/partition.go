package sink

import (
	"context"
	"errors"
	"fmt"
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

// StuckReason says why a partition that is owned stands still until somebody does
// something about it. Values are labels of a metric, and headings of the runbook.
type StuckReason string

// The reasons.
const (
	// StuckRetention: the log does not hold what comes next any more.
	StuckRetention StuckReason = "retention"
	// StuckOffset: nothing is committed, yet the ledger shows that records were
	// stored.
	StuckOffset StuckReason = "offset_missing"
	// StuckTopic: the offset was committed for a topic that was made anew.
	StuckTopic StuckReason = "topic_changed"
	// StuckMetadata: what is committed beside the offset cannot be read.
	StuckMetadata StuckReason = "metadata"
	// StuckDeadLetters: more records become dead letters than the limit allows.
	StuckDeadLetters StuckReason = "dead_letters"
)

// stuck is the error of a partition that cannot go on by itself.
type stuck struct {
	reason StuckReason
	err    error
}

func (e *stuck) Error() string { return e.err.Error() }
func (e *stuck) Unwrap() error { return e.err }

// worker owns one partition from its assignment until it is given back: its open
// range, the one range in flight, and its window.
type worker struct {
	sink       *Sink
	partition  Partition
	assignment Assignment
	window     *Window // of the worker's goroutine alone, as is epoch
	epoch      int64   // set before the first range
	recuts     recuts
	letters    letterMeter

	wake   chan struct{} // a signal, at most one pending
	ends   chan struct{} // closed when it is asked to end, in whatever way
	halt   chan struct{} // closed when halted
	done   chan struct{} // closed when the goroutine has ended
	cancel context.CancelFunc

	mu       sync.Mutex
	open     open
	inFlight int64     // receipt of the first record of the range in flight; 0: none
	planned  time.Time // since when there is a plan; zero: none
	settled  mark      // up to where all is committed
	logEnd   int64     // as of the latest delivery
	session  Session
	forced   *forcedSpan // what the next range has to be
	restored bool        // ranges may be frozen
	lost     error       // why nothing comes after what is in hand; nil: it does
	stuck    StuckReason // why it stands still; empty: it does not
	flush    bool        // freeze without waiting for a gate
	paused   bool
	ending   ending

	stats windowStats
}

// forcedSpan says where the next range ends: exactly at last, or not behind it.
type forcedSpan struct {
	last    int64
	exact   bool
	plan    bool // it is an open plan; else the ledger says so
	epoch   int64
	refused []int64
}

// mark is a place in a partition: the offset of the next record, and when the
// one before it was received.
type mark struct{ next, received int64 }

// windowStats is what metrics tell about a window.
type windowStats struct{ keys, bytes, coverage, clamped atomic.Int64 }

func newWorker(s *Sink, a Assignment) *worker {
	w := &worker{
		sink: s, partition: a.Partition, assignment: a, window: s.newWindow(),
		wake: make(chan struct{}, 1), ends: make(chan struct{}), halt: make(chan struct{}), done: make(chan struct{}),
		letters: letterMeter{limit: s.cfg.DeadLetterLimit},
	}
	start := a.Committed
	if start < 0 {
		start = a.LogStart
	}
	w.open.first, w.open.next, w.settled.next = start, start, start
	return w
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
	if w.stuck != "" {
		return
	}
	w.sink.budget.take(w.open.append(b.Records, time.Now(), w.sink.records.get))
	if !w.paused && w.complete() {
		w.paused = true
		w.sink.deps.Source.Pause(w.partition)
	}
	w.signal()
}

// complete reports whether the next range has all its records: those of the span
// that it has to be, or as many as the gates let through.
func (w *worker) complete() bool {
	if f := w.forced; f != nil && f.exact {
		return w.open.next > f.last
	}
	return w.sink.gates.full(&w.open)
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
	if w.inFlight != 0 || w.flush || w.stuck != "" || w.forced != nil && w.forced.exact {
		return 0
	}
	return w.open.bytes
}

// busy reports whether something of the worker is being stored, or about to be.
func (w *worker) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inFlight != 0 || w.flush
}

// starved reports whether the worker can only go on when more is fetched: the
// range that it has to store is not whole yet.
func (w *worker) starved() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inFlight == 0 && w.forced != nil && w.forced.exact && !w.complete()
}

// end asks the worker to end in the given way, without waiting.
func (w *worker) end(how ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending == running {
		close(w.ends)
	}
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

// run takes the partition over, then freezes and settles one range after the
// other. What is left in hand when it returns is dropped: it was not committed, so
// whoever owns the partition next reads it again.
func (w *worker) run(ctx context.Context) {
	defer w.drop()
	if err := w.restore(ctx); err != nil {
		w.giveUp(ctx, err)
		return
	}
	w.rangesFrom(ctx)
}

func (w *worker) rangesFrom(ctx context.Context) {
	timer := time.NewTimer(w.sink.gates.wait)
	defer timer.Stop()
	for {
		due, wait, over := w.next(time.Now())
		switch err := w.exhausted(); {
		case over:
			return
		case err != nil:
			w.giveUp(ctx, w.missing(ctx, err))
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
	if f := w.forced; f != nil && f.exact {
		// Half of it must not be stored. What is there of it when draining is read
		// again.
		done := w.complete()
		return done, w.sink.gates.wait, !done && w.ending == draining
	}
	if len(w.open.records) == 0 {
		return false, w.sink.gates.wait, false
	}
	wait = w.sink.gates.due(&w.open, now)
	return wait <= 0 || w.flush || w.lost != nil || w.ending != running, wait, false
}

// exhausted returns why nothing comes any more, once what is in hand is settled,
// or cannot be because the rest of its range is gone.
func (w *worker) exhausted() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == nil || w.ending != running {
		return nil
	}
	if f := w.forced; f != nil && f.exact {
		if w.complete() {
			return nil
		}
		return w.lost
	}
	if len(w.open.records) > 0 {
		return nil
	}
	return w.lost
}

// turn waits for a builder, then freezes the next range and settles it. The range
// goes on growing, up to the gates for size, for as long as it has to wait: the
// busier the server, the larger the inserts.
func (w *worker) turn(ctx context.Context) error {
	if err := w.pace(ctx); err != nil {
		return err
	}
	b, err := w.sink.builders.acquire(ctx, w.halt)
	if err != nil {
		return err
	}
	r := w.freeze()
	if err := w.settle(ctx, r, b); err != nil {
		return err
	}
	return w.recut(ctx)
}

// cut returns how many records the next range has, its last offset, and what it
// has to be, if anything.
func (w *worker) cut() (n int, last int64, f *forcedSpan) {
	f = w.forced
	if f != nil && f.exact {
		return w.open.upTo(f.last), f.last, f
	}
	n = w.sink.gates.cut(w.open.records)
	if f != nil && w.open.next > f.last && w.open.upTo(f.last) <= n {
		return w.open.upTo(f.last), f.last, f
	}
	return n, w.open.records[n-1].Offset, f
}

// freeze cuts the next range off. There are records, or the span it has to be.
func (w *worker) freeze() *frozen {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush = false
	n, last, f := w.cut()
	r := w.open.freeze(n, last, w.sink.records.get)
	r.epoch = w.epoch
	if f != nil && f.exact {
		r.planned, r.epoch, r.refused = f.plan, f.epoch, f.refused
	}
	r.floor = w.window.Floor()
	w.forced = nil
	w.inFlight = 1
	if len(r.records) > 0 {
		w.inFlight = r.records[0].ReceivedAt
	}
	if w.paused && !w.complete() {
		w.paused = false
		w.sink.deps.Source.Resume(w.partition)
	}
	return r
}

// landed is told that no range is in flight any more. The plan of one that was not
// settled is still open.
func (w *worker) landed(settled bool) {
	w.mu.Lock()
	w.inFlight = 0
	if settled {
		w.planned = time.Time{}
	}
	w.mu.Unlock()
	w.measure()
}

// measure tells metrics about the window.
func (w *worker) measure() {
	w.stats.keys.Store(int64(w.window.Len()))
	w.stats.bytes.Store(int64(w.window.Bytes()))
	w.stats.coverage.Store(int64(w.window.Coverage()))
	w.stats.clamped.Store(w.window.clamped)
}

// drop forgets what is in hand.
func (w *worker) drop() {
	w.end(halted)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sink.budget.give(w.open.bytes)
	w.sink.records.put(w.open.records)
	w.open = open{}
	w.window.Close()
	if w.paused {
		w.paused = false
		w.sink.deps.Source.Resume(w.partition)
	}
}

// giveUp is told why the range in flight was not settled, or the partition not
// taken over. A partition that is stuck stays with this worker until somebody else
// is to have it.
func (w *worker) giveUp(ctx context.Context, err error) {
	where := []slog.Attr{slog.String("topic", w.partition.Topic), slog.Int("partition", int(w.partition.Index)), slog.Any("error", err)}
	if errors.Is(err, errMissed) {
		w.sink.deps.Log.LogAttrs(ctx, slog.LevelError, "partition is read again: the log has records that were not delivered", where...)
		w.sink.metrics.missed.Inc()
		w.sink.deps.Source.Rewind(w.partition)
		return
	}
	if errors.Is(err, ErrFenced) {
		w.sink.deps.Log.LogAttrs(ctx, slog.LevelWarn, "partition dropped: its session is over", where...)
		w.sink.metrics.fenced.Inc()
		w.sink.deps.Source.Rewind(w.partition)
		return
	}
	var s *stuck
	if !errors.As(err, &s) {
		return // asked to end
	}
	w.sink.deps.Log.LogAttrs(ctx, slog.LevelError, "partition stands still until somebody does something about it",
		append(where, slog.String("reason", string(s.reason)))...)
	w.stand(ctx, s.reason)
}

// stand keeps a stuck partition, without anything of it in hand.
func (w *worker) stand(ctx context.Context, why StuckReason) {
	w.mu.Lock()
	w.stuck = why
	w.sink.budget.give(w.open.bytes)
	w.sink.records.put(w.open.records)
	w.open = open{first: w.open.first, next: w.open.next}
	if !w.paused {
		w.paused = true
		w.sink.deps.Source.Pause(w.partition)
	}
	w.mu.Unlock()
	for {
		select {
		case <-w.halt:
			return
		case <-ctx.Done():
			return
		case <-w.wake:
			if w.isEnding() {
				return
			}
		}
	}
}

func (w *worker) isEnding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ending != running
}

// gone is told that the log does not hold what comes next. What is in hand is
// settled first.
func (w *worker) gone(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = err
	w.signal()
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
	case w.inFlight > 1:
		return records, w.inFlight
	case len(w.open.records) > 0:
		return records, w.open.records[0].ReceivedAt
	case records > 0 && w.settled.received > 0:
		return records, w.settled.received
	}
	return 0, 0
}

// position tells how far the partition is settled, once it is taken over.
func (w *worker) position() (Position, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.restored { // nor is the epoch known
		return Position{}, false
	}
	return Position{w.partition, w.assignment.TopicID, w.epoch, w.settled.next}, true
}

// untilItEnds returns a context that ends when the worker is asked to end.
func (w *worker) untilItEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-w.ends:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// pace waits until the next range may be stored. What is in hand at the end is
// not held up.
func (w *worker) pace(ctx context.Context) error {
	if w.sink.deps.Pacer == nil {
		return nil
	}
	w.mu.Lock()
	n := min(len(w.open.records), w.sink.gates.rows)
	w.mu.Unlock()
	ctx, cancel := w.untilItEnds(ctx)
	defer cancel()
	if err := w.sink.deps.Pacer.Pace(ctx, n); err != nil && !w.isEnding() {
		return fmt.Errorf("waiting for its turn: %w", err)
	}
	return nil
}

func (w *worker) isHalted() bool {
	select {
	case <-w.halt:
		return true
	default:
		return false
	}
}
