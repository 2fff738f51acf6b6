// Package lifecycle runs the components of a daemon: starts them in order, watches
// them, and stops them in reverse.
//
// It promises that a component starts only after every component listed before it has
// started, that it is asked to stop only after every component listed after it has
// stopped or used up the time for the stop, and that a component which returns by
// itself ends the daemon with an error, at whatever moment, instead of leaving
// it half alive. It waits for servers that a daemon needs and does not run, so that the
// order of starts does not matter. It refuses to restart anything: that is the
// platform's work.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Component is one piece of a daemon. List a component after what it needs.
type Component struct {
	// Name says in logs and errors what the component is, such as "ingest listener".
	Name string
	// Start prepares the component and returns when later components may rely on it; nil
	// means that there is nothing to prepare. Its context ends when the daemon
	// is asked to stop.
	Start func(ctx context.Context) error
	// Run does the component's work until its context ends, finishes what was
	// accepted, and returns nil. nil means that the component has no work of its own.
	Run func(ctx context.Context) error
	// Stop releases what Start took; it is called once, after Run has returned or
	// the time for the stop has run out, also when Start failed half way. nil
	// means that there is nothing to release.
	Stop func(ctx context.Context) error
}

// Options bound the stop of a daemon.
type Options struct {
	// Log is told of each step at debug level; required.
	Log *slog.Logger
	// Readiness is set to ready when all components have started, and to draining
	// when a stop begins; nil means that nobody asks.
	Readiness *Readiness
	// OnReady is called once when all components have started; nil means nothing.
	OnReady func()
	// Delay is how long a stop waits, not ready any more and still serving, so
	// that load balancers look elsewhere.
	Delay time.Duration
	// Grace is the time for the whole stop after the delay. Once it has run out,
	// each Run and Stop that is still to return is given overtime, with a context
	// that has ended, and is then left behind and reported.
	Grace time.Duration
}

// overtime lets files be closed and child processes be ended although another
// component has used up the grace.
const overtime = time.Second

var errReturnedEarly = errors.New("returned before it was stopped")

// Run starts the components in order, waits until ctx ends or a component returns, and
// stops them in reverse. It returns nil after a stop that was asked for and in
// which every component ended cleanly; else every failure, joined, the first one
// first.
func Run(ctx context.Context, opts Options, components ...Component) error {
	d := &daemon{opts: opts, failed: make(chan struct{})}
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a component that dies also interrupts the start of a later one
		select {
		case <-d.failed:
			cancel()
		case <-asked.Done():
		}
	}()

	if d.start(asked, components) {
		opts.Readiness.set(stateReady)
		if opts.OnReady != nil {
			opts.OnReady()
		}
		<-asked.Done()
		opts.Readiness.set(stateDraining)
		d.delay()
	}
	opts.Readiness.set(stateDraining)
	d.stop(context.WithoutCancel(ctx))
	return d.err()
}

type daemon struct {
	opts    Options
	started []*running
	failed  chan struct{} // closed at the first failure

	mu   sync.Mutex
	errs []error
}

type running struct {
	component Component
	cancel    context.CancelFunc
	done      chan struct{} // closed when Run has returned
}

func (d *daemon) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.errs) == 0 {
		close(d.failed)
	}
	d.errs = append(d.errs, err)
}

func (d *daemon) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.errs...)
}

// start starts the components until one fails or the stop is asked for, and reports
// whether all of them have started.
func (d *daemon) start(asked context.Context, components []Component) bool {
	for _, p := range components {
		if asked.Err() != nil {
			return false
		}
		// A component's own context outlives the request to stop: it is ended by
		// stopOne, in its turn.
		runCtx, cancel := context.WithCancel(context.WithoutCancel(asked))
		r := &running{component: p, cancel: cancel, done: make(chan struct{})}
		d.started = append(d.started, r)
		if p.Start != nil {
			if err := p.Start(asked); err != nil {
				close(r.done)
				if asked.Err() == nil || !errors.Is(err, asked.Err()) { // else the start was interrupted
					d.fail(fmt.Errorf("starting %s: %w", p.Name, err))
				}
				return false
			}
		}
		go d.run(runCtx, r)
		d.opts.Log.LogAttrs(asked, slog.LevelDebug, "component started", slog.String("part", p.Name))
	}
	return true
}

func (d *daemon) run(ctx context.Context, r *running) {
	defer close(r.done)
	if r.component.Run == nil {
		return
	}
	err := r.component.Run(ctx)
	switch {
	case ctx.Err() == nil && err == nil:
		d.fail(fmt.Errorf("%s: %w", r.component.Name, errReturnedEarly))
	case err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)):
		d.fail(fmt.Errorf("%s: %w", r.component.Name, err))
	}
}

// delay lets the delay of a stop pass; a component that fails ends it.
func (d *daemon) delay() {
	t := time.NewTimer(d.opts.Delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-d.failed:
	}
}

func (d *daemon) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.Grace)
	defer cancel()
	for _, r := range slices.Backward(d.started) {
		d.opts.Log.LogAttrs(ctx, slog.LevelDebug, "stopping component", slog.String("part", r.component.Name))
		d.stopOne(ctx, r)
	}
}

func (d *daemon) stopOne(ctx context.Context, r *running) {
	r.cancel()
	if !within(ctx, r.done) {
		d.fail(fmt.Errorf("stopping %s: still running after %s", r.component.Name, d.opts.Grace))
	}
	if r.component.Stop == nil {
		return
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := r.component.Stop(ctx); err != nil {
			d.fail(fmt.Errorf("stopping %s: %w", r.component.Name, err))
		}
	}()
	if !within(ctx, stopped) {
		d.fail(fmt.Errorf("stopping %s: not released after %s", r.component.Name, d.opts.Grace))
	}
}

// within waits for done until ctx ends and overtime has passed, and reports
// whether it was closed.
func within(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	t := time.NewTimer(overtime)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
