// Package lifecycle runs the parts of a daemon: starts them in order, watches
// them, and stops them in reverse.
//
// It promises that a part starts only after every part listed before it has
// started, that it stops only after every part listed after it has stopped, and
// that a part which returns by itself ends the daemon with an error instead of
// leaving it half alive.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Part is one piece of a daemon. List a part after what it needs.
type Part struct {
	// Name says in logs and errors what the part is, such as "ingest listener".
	Name string
	// Start prepares the part and returns when later parts may rely on it; nil
	// means that there is nothing to prepare. Its context ends when the daemon
	// is asked to stop.
	Start func(ctx context.Context) error
	// Run does the part's work until its context ends, finishes what was
	// accepted, and returns nil. nil means that the part has no work of its own.
	Run func(ctx context.Context) error
	// Stop releases what Start took; it is called after Run has returned, also
	// when Start failed half way. nil means that there is nothing to release.
	Stop func(ctx context.Context) error
}

// Options bound the stop of a daemon.
type Options struct {
	// Log is told of each step at debug level; required.
	Log *slog.Logger
	// Readiness is set to ready when all parts have started, and to draining
	// when a stop begins; nil means that nobody asks.
	Readiness *Readiness
	// OnReady is called once when all parts have started; nil means nothing.
	OnReady func()
	// Delay is how long a stop waits, not ready any more and still serving, so
	// that load balancers look elsewhere.
	Delay time.Duration
	// Grace bounds the whole stop after the delay.
	Grace time.Duration
}

var errReturnedEarly = errors.New("returned before it was asked to stop")

type running struct {
	part   Part
	cancel context.CancelFunc
	done   chan error // closed after the result was sent
}

// Run starts the parts in order, waits until ctx ends or a part returns, and
// stops them in reverse. It returns nil after a stop that was asked for and in
// which every part ended cleanly.
func Run(ctx context.Context, opts Options, parts ...Part) error {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()

	early := make(chan error, len(parts))
	var started []*running
	var err error
	for _, p := range parts {
		var r *running
		r, err = start(asked, p, early)
		started = append(started, r)
		if err != nil {
			break
		}
		opts.Log.LogAttrs(ctx, slog.LevelDebug, "part started", slog.String("part", p.Name))
	}
	if err == nil {
		opts.Readiness.set(stateReady)
		if opts.OnReady != nil {
			opts.OnReady()
		}
		select {
		case <-asked.Done():
			opts.Readiness.set(stateDraining)
			wait(opts.Delay, early)
		case err = <-early:
		}
	} else if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // the start was interrupted by the stop that was asked for
	}
	opts.Readiness.set(stateDraining)

	stopCtx, stopCancel := context.WithTimeout(context.WithoutCancel(ctx), opts.Grace)
	defer stopCancel()
	for _, r := range slices.Backward(started) {
		opts.Log.LogAttrs(stopCtx, slog.LevelDebug, "stopping part", slog.String("part", r.part.Name))
		err = errors.Join(err, stop(stopCtx, r))
	}
	return err
}

// wait lets the delay of a stop pass, or ends it when a part ended by itself.
func wait(d time.Duration, early <-chan error) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	}
}

func start(ctx context.Context, p Part, early chan<- error) (*running, error) {
	// A part's own context outlives the request to stop: it is ended by stop, in
	// its turn.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{part: p, cancel: cancel, done: make(chan error, 1)}
	if p.Start != nil {
		if err := p.Start(ctx); err != nil {
			close(r.done)
			return r, fmt.Errorf("starting %s: %w", p.Name, err)
		}
	}
	if p.Run == nil {
		close(r.done)
		return r, nil
	}
	go func() {
		defer close(r.done)
		err := p.Run(runCtx)
		if runCtx.Err() == nil { // nobody asked
			if err == nil {
				err = errReturnedEarly
			}
			early <- fmt.Errorf("%s: %w", p.Name, err)
			return
		}
		r.done <- err
	}()
	return r, nil
}

func stop(ctx context.Context, r *running) error {
	r.cancel()
	var errs []error
	select {
	case err := <-r.done:
		if err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, fmt.Errorf("%s: %w", r.part.Name, err))
		}
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("stopping %s: %w", r.part.Name, ctx.Err()))
	}
	if r.part.Stop != nil {
		if err := r.part.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stopping %s: %w", r.part.Name, err))
		}
	}
	return errors.Join(errs...)
}
