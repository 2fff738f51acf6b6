// Package lease lets one process of several do what is to be done once.
//
// It promises that a lease passes on when its holder is gone, and that two clocks
// are never compared: a holder counts up a number in the store, and whoever sees
// that number stand still for long enough by a clock of its own takes over. It
// does not promise that two never work at the same time: a process that was held
// up may go on for a moment after another has taken over. Work under a lease must
// bear to be done twice.
package lease

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync/atomic"
	"time"
)

// State is a lease as the store has it. The zero State is that of a lease which
// nobody ever held.
type State struct {
	Holder string // empty when it was given back
	Count  int64  // counted up by whoever takes or keeps it
}

// Store keeps leases.
type Store interface {
	Lease(ctx context.Context, name string) (State, error)
	// TakeLease gives a lease to holder if it still is as it was seen, with Count
	// one higher, and reports whether it was.
	TakeLease(ctx context.Context, name, holder string, seen State) (bool, error)
}

// Times of a lease. A holder that cannot keep it gives up before anybody else may
// take it.
const (
	keepEvery = 2 * time.Second
	giveUp    = 4 * time.Second // since it was kept last
	takeOver  = 6 * time.Second // since it was last seen to be kept
	callTime  = time.Second     // of one call of the store
)

// Lease is one process's interest in a lease. Its Run is to be called once.
type Lease struct {
	name   string
	holder string
	store  Store
	log    *slog.Logger
	held   atomic.Bool
}

// New returns a Lease under a name that all processes know.
func New(name string, store Store, log *slog.Logger) *Lease {
	return &Lease{name: name, holder: rand.Text(), store: store, log: log.With(slog.String("lease", name))}
}

// Held reports whether this process holds the lease.
func (l *Lease) Held() bool { return l.held.Load() }

// Run calls work whenever this process gets the lease, until ctx ends. work's
// context ends when the lease is lost, and work then returns. The lease is given
// back when ctx ends, so that another process need not wait.
func (l *Lease) Run(ctx context.Context, work func(ctx context.Context)) {
	for ctx.Err() == nil {
		if state, ok := l.take(ctx); ok {
			l.work(ctx, state, work)
		}
	}
}

// take returns when this process has the lease, or when ctx has ended.
func (l *Lease) take(ctx context.Context) (State, bool) {
	var last State
	since := time.Now()
	tick := time.NewTicker(keepEvery / 2)
	defer tick.Stop()
	for {
		seen, err := l.look(ctx)
		switch now := time.Now(); {
		case err != nil:
			since = now // what was not seen may have been kept
		case seen != last:
			last, since = seen, now
		}
		free := last.Holder == "" || last.Holder == l.holder || time.Since(since) >= takeOver
		if err == nil && free {
			if state, ok := l.keep(ctx, last); ok {
				return state, true
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return State{}, false
		}
	}
}

func (l *Lease) look(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return l.store.Lease(ctx, l.name)
}

// keep takes the lease, or takes it again, from what it was seen as.
func (l *Lease) keep(ctx context.Context, seen State) (State, bool) {
	ok, err := l.set(ctx, l.holder, seen)
	return State{Holder: l.holder, Count: seen.Count + 1}, ok && err == nil
}

func (l *Lease) set(ctx context.Context, holder string, seen State) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return l.store.TakeLease(ctx, l.name, holder, seen)
}

// work does the work for as long as the lease can be kept.
func (l *Lease) work(ctx context.Context, state State, work func(context.Context)) {
	working, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	l.held.Store(true)
	l.log.LogAttrs(ctx, slog.LevelInfo, "lease acquired")
	go func() {
		defer close(done)
		work(working)
	}()
	state, kept := l.hold(ctx, state, done)
	l.held.Store(false)
	cancel()
	<-done
	if !kept {
		l.log.LogAttrs(ctx, slog.LevelWarn, "lease lost")
		return
	}
	// Nobody is helped by an error: the lease then runs out.
	_, _ = l.set(context.WithoutCancel(ctx), "", state)
}

// hold keeps the lease until the work is done or ctx ends, and then reports true;
// false when the lease could not be kept.
func (l *Lease) hold(ctx context.Context, state State, done <-chan struct{}) (State, bool) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	kept := time.Now()
	for {
		select {
		case <-done:
			return state, true
		case <-ctx.Done():
			return state, true
		case <-tick.C:
		}
		start := time.Now()
		ok, err := l.set(ctx, l.holder, state)
		switch {
		case ok && err == nil:
			state.Count++
			kept = start
		case err == nil, time.Since(kept) >= giveUp:
			return state, ctx.Err() != nil
		}
	}
}
