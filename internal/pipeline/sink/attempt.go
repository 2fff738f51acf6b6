package sink

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"
)

// The steps, as metrics and logs name them.
const (
	stepRestore    = "restore"
	stepRebuild    = "rebuild"
	stepPlan       = "plan"
	stepTombstones = "tombstones"
	stepDeadLetter = "dead_letter"
	stepInsert     = "insert"
	stepProbe      = "probe"
	stepFetch      = "fetch"
	stepLedger     = "ledger"
	stepCommit     = "commit"
)

// attempt is the settling of one range. It holds one of the few places of upcoming ranges
// until it has one of the few builders, while something is under way, and neither while it
// waits to try again or for its dead letters alone.
type attempt struct {
	*settler

	placed   bool // among the upcoming ranges
	builder  *builder
	patience time.Duration // for one try; 0: the insert timeout
}

// until runs a step with a deadline until it succeeds. It ends early, with an
// error, when the step says that the session is over or that the range has to be
// built again, or when the worker has to end.
// What was inserted may still be recorded and committed by a worker that is
// aborted.
func (a *attempt) until(ctx context.Context, step string, do func(context.Context) error) error {
	return a.repeat(ctx, step, func(ctx context.Context) error { return a.try(ctx, do) })
}

// untilSent is until for a step that sends a block. Each try waits for the memory first, as
// long as that takes: the deadline is for the server, which has no part in the wait.
func (a *attempt) untilSent(ctx context.Context, step string, b Block, do func(context.Context) error) error {
	return a.repeat(ctx, step, func(ctx context.Context) error {
		release, err := a.reserve(ctx, b)
		if err != nil {
			return err
		}
		defer release()
		return a.try(ctx, do)
	})
}

// reserve waits for memory to send a block, until ctx ends or the worker is aborted.
func (a *attempt) reserve(ctx context.Context, b Block) (release func(), err error) {
	waiting, cancel := endedBy(ctx, a.abort)
	defer cancel()
	release, err = a.deps.Inserter.Reserve(waiting, b)
	if err != nil && waiting.Err() != nil {
		return nil, context.Cause(waiting)
	}
	return release, err
}

// try does something once, with a deadline.
func (a *attempt) try(ctx context.Context, do func(context.Context) error) error {
	return withTimeout(ctx, cmp.Or(a.patience, a.cfg.InsertTimeout), do)
}

// repeat does what until says; do has deadlines of its own.
func (a *attempt) repeat(ctx context.Context, step string, do func(context.Context) error) error {
	for failures := 0; ; {
		if a.isAborted() && (step != stepCommit && step != stepLedger || failures > 0) {
			return errAborted
		}
		err := do(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrFenced), errors.Is(err, errOutdated), errors.Is(err, errAborted):
			return err
		case errors.Is(err, ErrPanic):
			return &haltError{HaltPanic, err}
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
	class := classOf(err)
	a.metrics.retries.WithLabelValues(step, string(class)).Inc()
	level := slog.LevelWarn
	if class.needsOperator() {
		level = slog.LevelError
	}
	if level < slog.LevelError && failures > 3 && failures%10 != 0 {
		return
	}
	a.deps.Log.LogAttrs(ctx, level, "sink step failed, retrying", slog.String("step", step),
		slog.String("class", string(class)),
		slog.String("topic", a.partition.Topic), slog.Int("partition", int(a.partition.Index)),
		slog.Int("failures", failures), slog.Any("error", err))
}

// pause waits before the next attempt, without a builder or a place: others may have more
// luck meanwhile.
func (a *attempt) pause(ctx context.Context, d time.Duration) error {
	placed, building := a.placed, a.builder != nil
	a.release()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.abort:
		return errAborted
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case building:
		return a.acquire(ctx)
	case placed:
		return a.enter(ctx)
	}
	return nil
}

// enter takes a place among the upcoming ranges.
func (a *attempt) enter(ctx context.Context) error {
	err := a.upcoming.acquire(ctx, a.abort)
	a.placed = err == nil
	return err
}

// acquire takes a builder, for the first time or again after release.
func (a *attempt) acquire(ctx context.Context) (err error) {
	a.builder, err = a.builders.acquire(ctx, a.abort)
	a.leave()
	return err
}

// leave gives the place among the upcoming ranges back.
func (a *attempt) leave() {
	if a.placed {
		a.upcoming.release()
		a.placed = false
	}
}

func (a *attempt) release() {
	a.leave()
	if a.builder != nil {
		a.builders.release(a.builder)
		a.builder = nil
	}
}

// endedBy returns a context that also ends when the channel is closed, by errAborted.
func endedBy(ctx context.Context, ends <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-ends:
			cancel(errAborted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

func withTimeout(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}
