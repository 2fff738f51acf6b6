package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// settle brings a frozen range to its end: blocks built by b, dead letters
// acknowledged, blocks inserted, offset committed, event ids remembered, in this
// order. It returns an error only when the worker has to end before that; the
// range is then read again from the committed offset.
func (w *worker) settle(ctx context.Context, r *frozen, b *builder) error {
	s := w.sink
	defer func() {
		w.landed()
		s.recycle(r)
	}()
	a := attempt{worker: w, builder: b}
	defer a.release()
	ctx, traced := s.startSpan(ctx, w.partition, r)
	defer traced.End()
	b.build(r, w.partition, w.window, s.blocks.get)
	s.budget.give(r.shrink())

	if len(r.letters) > 0 {
		if err := a.until(ctx, stepDeadLetter, func(ctx context.Context) error {
			return s.deps.DeadLetters.Send(ctx, r.letters)
		}); err != nil {
			return err
		}
	}
	if err := a.insert(ctx, r); err != nil {
		return err
	}
	a.release()
	if err := a.until(ctx, stepCommit, func(ctx context.Context) error {
		return s.deps.Source.Commit(ctx, w.partition, w.currentSession(), Progress{Next: r.last + 1})
	}); err != nil {
		return err
	}
	for i := range r.records {
		if r.records[i].stored {
			w.window.Add(r.records[i].Hash, r.records[i].ReceivedAt)
		}
	}
	w.advance(mark{r.last + 1, r.records[len(r.records)-1].ReceivedAt})
	s.metrics.settled(r)
	return nil
}

// currentSession is that of the latest delivery: a partition that was kept
// through a change of the group goes on under the new generation.
func (w *worker) currentSession() Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

// The steps, as metrics and logs name them.
const (
	stepDeadLetter = "dead_letter"
	stepEpoch      = "epoch"
	stepInsert     = "insert"
	stepCommit     = "commit"
)

// attempt is the settling of one range. It holds one of the few builders while
// something is under way, and none while it waits to try again.
type attempt struct {
	worker  *worker
	builder *builder
}

// insert stores the range's blocks, each under its own token.
func (a *attempt) insert(ctx context.Context, r *frozen) error {
	if len(r.blocks) == 0 {
		return nil
	}
	w, deps := a.worker, &a.worker.sink.deps
	var epoch int64
	if err := a.until(ctx, stepEpoch, func(ctx context.Context) (err error) {
		epoch, err = deps.Epochs.Epoch(ctx, w.partition.Topic)
		return err
	}); err != nil {
		return err
	}
	for _, m := range r.blocks {
		t := token(epoch, w.topicID, w.partition.Index, r.span, m.month)
		if err := a.until(ctx, stepInsert, func(ctx context.Context) error {
			start := time.Now()
			if err := deps.Inserter.Insert(ctx, m.block, t); err != nil {
				return fmt.Errorf("inserting %d rows: %w", m.block.Rows(), err)
			}
			w.sink.metrics.inserted(m.block.Rows(), time.Since(start))
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// until runs a step with a deadline until it succeeds. It ends early, with an
// error, when the step says that the session is over or the worker has to end.
// What was inserted may still be committed by a worker that is halted.
func (a *attempt) until(ctx context.Context, step string, do func(context.Context) error) error {
	s := a.worker.sink
	for failures := 0; ; {
		if a.worker.isHalted() && (step != stepCommit || failures > 0) {
			return errHalted
		}
		err := withTimeout(ctx, s.cfg.InsertTimeout, do)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrFenced):
			return err
		}
		failures++
		a.tell(ctx, step, failures, err)
		if err := a.pause(ctx, backoff(failures)); err != nil {
			return err
		}
	}
}

// tell counts a failure and logs it: the first few, then every tenth, unless
// somebody has to do something about it.
func (a *attempt) tell(ctx context.Context, step string, failures int, err error) {
	s, p, class := a.worker.sink, a.worker.partition, classOf(err)
	s.metrics.retries.WithLabelValues(step, string(class)).Inc()
	level := slog.LevelWarn
	if class.needsOperator() {
		level = slog.LevelError
	}
	if level < slog.LevelError && failures > 3 && failures%10 != 0 {
		return
	}
	s.deps.Log.LogAttrs(ctx, level, "step failed, trying again", slog.String("step", step), slog.String("class", string(class)),
		slog.String("topic", p.Topic), slog.Int("partition", int(p.Index)), slog.Int("failures", failures), slog.Any("error", err))
}

// pause waits before the next attempt, without a builder: others may have more
// luck meanwhile.
func (a *attempt) pause(ctx context.Context, d time.Duration) error {
	held := a.builder != nil
	a.release()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.worker.halt:
		return errHalted
	case <-ctx.Done():
		return ctx.Err()
	}
	if !held {
		return nil
	}
	var err error
	a.builder, err = a.worker.sink.builders.acquire(ctx, a.worker.halt)
	return err
}

func (a *attempt) release() {
	if a.builder != nil {
		a.worker.sink.builders.release(a.builder)
		a.builder = nil
	}
}

func withTimeout(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}
