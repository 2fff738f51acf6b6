package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// awaitEvery is the pause between two looks of Await.
const awaitEvery = 20 * time.Millisecond

type state uint32

const (
	stateStarting state = iota
	stateReady
	stateDraining
)

// Check reports why a daemon cannot do its work now; nil when it can.
type Check func(ctx context.Context) error

// Readiness answers whether a daemon should be sent work: all components have
// started, no stop has begun, and every check passes. The zero value is ready
// for use; a nil *Readiness ignores what it is told. It is safe for concurrent
// use.
type Readiness struct {
	state  atomic.Uint32
	mu     sync.Mutex
	checks []namedCheck

	details []namedDetail
	waiting []namedReason
}

// namedReason is what a start waits for, and why.
type namedReason struct {
	name string
	err  error
}

type namedCheck struct {
	name  string
	check Check
}

type namedDetail struct {
	name   string
	detail func() string
}

var (
	errStarting = errors.New("starting")
	errDraining = errors.New("draining")
)

func (r *Readiness) set(s state) {
	if r != nil {
		r.state.Store(uint32(s))
	}
}

// AddCheck makes readiness depend on a further condition, under a name that the
// readiness response shows. Daemons of one process share a Readiness: a name says
// whose condition it is, and one that is there already replaces nothing.
func (r *Readiness) AddCheck(name string, check Check) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, namedCheck{name, check})
}

// AddDetail has the readiness response show a sentence under a name, as long as there
// is one. It makes nothing depend on it.
func (r *Readiness) AddDetail(name string, detail func() string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.details = append(r.details, namedDetail{name, detail})
}

// Details returns the sentences that there are, each behind its name.
func (r *Readiness) Details() []string {
	r.mu.Lock()
	details := slices.Clone(r.details)
	r.mu.Unlock()
	var out []string
	for _, d := range details {
		if text := d.detail(); text != "" {
			out = append(out, d.name+": "+text)
		}
	}
	return out
}

// Waiting says that the start waits for something, and why; nil ends the wait. Err
// tells it while the daemon starts.
func (r *Readiness) Waiting(name string, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.waiting, func(w namedReason) bool { return w.name == name })
	switch {
	case why == nil && at >= 0:
		r.waiting = slices.Delete(r.waiting, at, at+1)
	case why == nil:
	case at >= 0:
		r.waiting[at].err = why
	default:
		r.waiting = append(r.waiting, namedReason{name, why})
	}
}

// starting tells that not all components have started, and what the start waits for.
func (r *Readiness) starting() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := []error{errStarting}
	for _, w := range r.waiting {
		errs = append(errs, fmt.Errorf("waiting for %s: %w", w.name, w.err))
	}
	return errors.Join(errs...)
}

// Await returns nil as soon as every check passes, whatever has started; when ctx
// ends first, it returns the reasons why not.
func (r *Readiness) Await(ctx context.Context) error {
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for {
		err := r.check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// Err returns nil when the daemon should be sent work, else every reason why not.
func (r *Readiness) Err(ctx context.Context) error {
	switch state(r.state.Load()) {
	case stateStarting:
		return r.starting()
	case stateDraining:
		return errDraining
	case stateReady:
	}
	return r.check(ctx)
}

// check asks every check.
func (r *Readiness) check(ctx context.Context) error {
	r.mu.Lock()
	checks := slices.Clone(r.checks)
	r.mu.Unlock()
	var errs []error
	for _, c := range checks {
		if err := c.check(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}
