package sink

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
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
	sink       *Sink
	partition  Partition
	assignment Assignment
	blocks     *pool[Block]
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
	benched  bool // others are fetched first
	frozen   int  // ranges so far
	ending   ending

	lastTurn int64 // of the focus, as is its use

	stats windowStats
}

// mark is a place in a partition: the offset of the next record, and when the
// one before it was received.
type mark struct{ next, received int64 }

// windowStats is what metrics tell about a window.
type windowStats struct{ keys, bytes, coverage, clamped, early atomic.Int64 }

func newWorker(s *Sink, a Assignment) *worker {
	w := &worker{
		sink: s, partition: a.Partition, assignment: a, window: s.newWindow(), blocks: s.blocks.of(a.Partition.Topic),
		wake: make(chan struct{}, 1), ends: make(chan struct{}), halt: make(chan struct{}), done: make(chan struct{}),
		letters: letterMeter{limit: s.cfg.DeadLetterLimit},
	}
	start := a.Committed
	if start < 0 {
		start = a.LogStart
	}
	w.open.first, w.open.next, w.settled.next = start, start, start
	w.open.epochs.before = a.LeaderEpoch
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

// deliver appends records to the open range.
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
	w.sink.budget.take(w.open.append(&b, time.Now(), w.sink.memory))
	w.regulate()
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
	if w.inFlight != 0 || w.flush || w.stuck != "" || w.forced != nil && w.forced.exact {
		return 0
	}
	return w.open.bytes
}

// active reports whether the worker has something to store.
func (w *worker) active() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inFlight != 0 || len(w.open.records) > 0 && w.stuck == ""
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

// measure tells metrics about the window.
func (w *worker) measure() {
	w.stats.keys.Store(int64(w.window.Len()))
	w.stats.bytes.Store(int64(w.window.Bytes()))
	w.stats.coverage.Store(int64(w.window.Coverage()))
	w.stats.clamped.Store(w.window.clamped)
	w.stats.early.Store(w.window.early)
}

// drop forgets what is in hand.
func (w *worker) drop() {
	w.end(halted)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sink.budget.give(w.open.bytes)
	w.open.drop(w.sink.memory)
	w.window.Close()
	if w.paused {
		w.paused = false
		w.sink.deps.Source.Resume(w.partition)
	}
}

func (w *worker) isEnding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ending != running
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
		return records, max(0, w.open.records[0].receivedAt)
	case records > 0 && w.settled.received > 0:
		return records, w.settled.received
	}
	return 0, 0
}

// position tells how far the partition is settled, once it is taken over.
func (w *worker) position() (ledger.Position, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.restored { // nor is the epoch known
		return ledger.Position{}, false
	}
	return ledger.Position{
		Topic: w.partition.Topic, TopicID: w.assignment.TopicID, Partition: w.partition.Index, Epoch: w.epoch, Next: w.settled.next,
	}, true
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

func (w *worker) isHalted() bool {
	select {
	case <-w.halt:
		return true
	default:
		return false
	}
}
