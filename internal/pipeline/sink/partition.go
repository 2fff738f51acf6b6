package sink

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
)

// ending says how a worker ends.
type ending uint8

const (
	// running: it does not.
	running ending = iota
	// draining: everything in hand is inserted and committed first.
	draining
	// aborting: an attempt under way may finish and be committed; nothing new
	// begins.
	aborting
)

// errAborted ends a worker's work between two attempts.
var errAborted = errors.New("partition is being released")

// worker owns one partition from its assignment until it is given back: its open
// range, the one range in flight, and its window.
type worker struct {
	*common

	partition  Partition
	assignment Assignment
	settler    settler
	window     *dedup.Window // of the worker's goroutine alone, as is epoch
	epoch      int64         // set before the first range
	recuts     recuts
	rebuilding bool // it has one of the few places of those that read their windows

	wake   chan struct{} // a signal, at most one pending
	ends   chan struct{} // closed when it is asked to end, in whatever way
	abort  chan struct{} // closed when aborted
	done   chan struct{} // closed when the goroutine has ended
	cancel context.CancelFunc

	mu         sync.Mutex
	open       buffer.Open
	inFlight   int64     // receipt of the first record of the range in flight; 0: none
	planned    time.Time // since when there is a plan; zero: none
	settled    mark      // up to where all is committed
	logEnd     int64     // as of the latest delivery
	tail       tail      // what is known of the log besides
	session    Session
	forced     *forcedSpan // what the next range has to be
	restored   bool        // ranges may be sealed
	sampling   bool        // taking over goes on once the first records are there
	lost       error       // why nothing comes after what is in hand; nil: it does
	haltReason HaltReason  // why it is halted; empty: it is not
	flush      bool        // seal without waiting for a trigger
	paused     bool
	benched    bool // others are fetched first
	sealed     int  // ranges so far
	ending     ending

	stats windowStats
}

// mark is a place in a partition: the offset of the next record, and when the
// one before it was received.
type mark struct{ next, received int64 }

// windowStats is what metrics tell about a window.
type windowStats struct{ keys, bytes, coverage, clamped, early atomic.Int64 }

func newWorker(c *common, a Assignment) *worker {
	start := a.Committed
	if start < 0 {
		start = a.LogStart
	}
	w := &worker{
		common: c, partition: a.Partition, assignment: a, window: c.windows.Window(c.cfg.Window, c.cfg.WindowKeys),
		wake: make(chan struct{}, 1), ends: make(chan struct{}), abort: make(chan struct{}), done: make(chan struct{}),
		open: buffer.NewOpen(start, a.LeaderEpoch), settled: mark{next: start},
		tail: tail{begun: time.Now().UnixMilli(), waiting: -1, lookedUp: -1},
	}
	w.settler = settler{
		common: c, partition: a.Partition, topicID: a.TopicID, window: w.window, blocks: c.pools.of(a.Partition.Topic),
		meter: letterMeter{limit: c.cfg.DeadLetterLimit}, abort: w.abort, session: w.currentSession, onPlan: w.planBegins,
	}
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
func (w *worker) deliver(b Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending == aborting {
		return // to be read again by whoever owns the partition next
	}
	w.session, w.logEnd = b.Session, b.End
	if w.haltReason != "" {
		return
	}
	w.budget.Take(w.open.Append(b.Packed, b.Records, time.Now(), w.memory))
	w.regulate()
	w.signal()
}

// hurry has what is open sealed before a trigger is reached, to free memory. A worker that
// waits for no trigger any more, since it was asked, is left alone: nothing would seal a range
// that is not whole, and yet it would pass for busy.
func (w *worker) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.awaitsTrigger() && w.open.Len() > 0 {
		w.flush = true
		w.signal()
	}
}

// idle returns the bytes of the open range of a worker that waits for a trigger; 0
// for one that has something to do, or that cannot seal yet.
func (w *worker) idle() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.awaitsTrigger() {
		return 0
	}
	return w.open.Bytes()
}

// awaitsTrigger reports whether the open range could be sealed at once. It cannot while the
// partition is taken over, since nobody knows yet what its next range has to be. mu is held.
func (w *worker) awaitsTrigger() bool {
	return w.restored && w.inFlight == 0 && !w.flush && w.haltReason == "" && !w.isForced()
}

// force says what the next range has to be. It is not sealed before it is whole, also where
// memory is short, and whoever waits for memory looks again: more may have to be fetched for
// it. mu is held.
func (w *worker) force(f *forcedSpan) {
	w.forced, w.flush = f, false
	w.regulate()
	w.budget.Recheck()
}

// active reports whether the worker has something to store.
func (w *worker) active() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inFlight != 0 || w.open.Len() > 0 && w.haltReason == ""
}

// busy reports whether something of the worker is being stored, or about to be.
func (w *worker) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inFlight != 0 || w.flush
}

// hurried reports whether the open range is about to be sealed before its time.
func (w *worker) hurried() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flush
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
	if how == aborting && w.ending != aborting {
		close(w.abort)
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

// run takes the partition over, then seals and settles one range after the
// other. What is left in hand when it returns is dropped: it was not committed, so
// whoever owns the partition next reads it again.
func (w *worker) run(ctx context.Context) {
	defer w.release()
	if err := w.restore(ctx); err != nil {
		w.giveUp(ctx, err)
		return
	}
	w.rangesFrom(ctx)
}

// measure tells metrics about the window.
func (w *worker) measure() {
	now := w.window.Stats()
	w.stats.keys.Store(int64(now.Keys))
	w.stats.bytes.Store(int64(now.Bytes))
	w.stats.coverage.Store(int64(now.Coverage))
	w.stats.clamped.Store(now.Clamped)
	w.stats.early.Store(now.Early)
}

// release forgets what is in hand.
func (w *worker) release() {
	w.end(aborting)
	w.rebuilt(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.budget.Release(w.open.Bytes())
	w.open.Release(w.memory)
	w.window.Close()
	if w.paused {
		w.paused = false
		w.deps.Source.Resume(w.partition)
	}
}

func (w *worker) isEnding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ending != running
}

// position tells how far the partition is settled, once it is taken over.
func (w *worker) position() (ledger.Settled, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.restored { // nor is the epoch known
		return ledger.Settled{}, false
	}
	return ledger.Settled{
		Topic: w.partition.Topic, TopicID: w.assignment.TopicID, Partition: w.partition.Index, Epoch: w.epoch,
		Next: w.settled.next,
	}, true
}

// currentSession is that of the latest delivery: a partition that was kept
// through a change of the group goes on under the new generation.
func (w *worker) currentSession() Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

// planBegins notes since when there is a plan.
func (w *worker) planBegins() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.planned.IsZero() {
		w.planned = time.Now()
	}
}
