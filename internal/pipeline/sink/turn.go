package sink

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// forcedSpan says where the next range ends: exactly at last, or not behind it.
type forcedSpan struct {
	last     int64
	exact    bool
	plan     bool // it is an open plan; else the ledger says so
	epoch    int64
	leader   int32 // of the plan's last record, when it was planned; -1: not known
	rejected []int64
}

// diverged returns an error where the records in hand are not those that an open plan was made
// of: they come from a log whose leader lacked some of them. A record is that of the plan
// when it has the same leader epoch at the same offset, and then all before it are too.
// Leader epochs never go down in a log, so a later one tells as soon as it is seen.
func (f *forcedSpan) diverged(o *buffer.Open) error {
	if f == nil || !f.plan || f.leader < 0 {
		return nil
	}
	at := o.LeaderAt(f.last)
	if at > f.leader || at >= 0 && at < f.leader && o.Holds(f.last) {
		return fmt.Errorf("%w: the plan up to offset %d was made of records of leader epoch %d, but they have epoch %d",
			ErrTruncated, f.last, f.leader, at)
	}
	return nil
}

// complete reports whether the next range has all its records: those of the span
// that it has to be, or as many as the triggers let through.
func (w *worker) complete() bool {
	if f := w.forced; f != nil && f.exact {
		return w.open.Next() > f.last
	}
	return w.triggers.Full(&w.open)
}

func (w *worker) rangesFrom(ctx context.Context) {
	timer := time.NewTimer(w.triggers.Patience())
	defer timer.Stop()
	for {
		if w.windows.Full() { // where others have grown, also a partition that gets nothing gives way
			w.window.KeepWithin()
			w.measure()
		} else {
			w.rebuilt(false)
		}
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
	if w.ending == aborting || w.ending == draining && w.open.Len() == 0 {
		return false, 0, true
	}
	if f := w.forced; f != nil && f.exact {
		// Half of it must not be stored. What is there of it when draining is read
		// again.
		done := w.complete()
		return done, w.triggers.Patience(), !done && w.ending == draining
	}
	if w.open.Len() == 0 {
		return false, w.triggers.Patience(), false
	}
	wait = w.triggers.Due(&w.open, now)
	return wait <= 0 || w.flush || w.lost != nil || w.ending != running, wait, false
}

// turn waits for its place among the few ranges that are under way or about to be, then
// seals the next range and settles it. The range goes on growing, up to the triggers for
// size, for as long as it has to wait: the busier the server, the larger the inserts.
func (w *worker) turn(ctx context.Context) error {
	if err := w.pace(ctx); err != nil {
		return err
	}
	a := attempt{settler: &w.settler}
	if err := a.enter(ctx); err != nil {
		return err
	}
	j := w.seal()
	err := a.settle(ctx, j)
	w.landed(j, err == nil)
	w.settler.release(j)
	if err != nil {
		return err
	}
	return w.recut(ctx)
}

// cut returns how many records the next range has, its last offset, and what it
// has to be, if anything.
func (w *worker) cut() (n int, last int64, f *forcedSpan) {
	f = w.forced
	if f != nil && f.exact {
		return w.open.UpTo(f.last), f.last, f
	}
	n = w.triggers.Cut(&w.open)
	if f != nil && w.open.Next() > f.last && w.open.UpTo(f.last) <= n {
		return w.open.UpTo(f.last), f.last, f
	}
	return n, w.open.At(n - 1).Offset, f
}

// seal cuts the next range off, and says how it is to be stored. There are records, or the
// span it has to be.
func (w *worker) seal() *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush = false
	n, last, f := w.cut()
	j := &job{
		Range: w.open.Seal(n, last, w.memory), epoch: w.epoch, epochAfter: w.epoch, window: extentsOf(w.window),
	}
	j.leader = j.EpochOfLast
	if f != nil && f.exact {
		j.replayed, j.epoch, j.rejected = f.plan, f.epoch, f.rejected
		j.leader = max(j.leader, f.leader)
	}
	w.forced = nil
	w.inFlight = 1
	if len(j.Records) > 0 {
		w.inFlight = max(1, j.Records[0].ReceivedAt) // 0 would say that none is
	}
	w.sealed++
	w.regulate()
	return j
}

// landed is told that no range is in flight any more. The plan of one that was not
// settled is still open.
func (w *worker) landed(j *job, settled bool) {
	if settled {
		w.window.Unpin()
		w.window.Shown(j.Last + 1)
		w.window.MoveOn(time.Now())
		w.rebuilt(false)
	}
	w.mu.Lock()
	w.inFlight = 0
	if settled {
		w.planned = time.Time{}
		w.settled.next = j.Last + 1
		w.settled.received = cmp.Or(j.LastReceived(), w.settled.received)
	}
	w.mu.Unlock()
	w.measure()
}

// pace waits until the next range may be stored. What is in hand at the end is
// not held up.
func (w *worker) pace(ctx context.Context) error {
	if w.deps.Pacer == nil || w.isEnding() {
		return nil
	}
	w.mu.Lock()
	n := min(w.open.Len(), w.triggers.Rows())
	w.mu.Unlock()
	ctx, cancel := endedBy(ctx, w.ends)
	defer cancel()
	if err := w.deps.Pacer.Pace(ctx, n); err != nil && !w.isEnding() {
		return fmt.Errorf("waiting for its turn: %w", err)
	}
	return nil
}
