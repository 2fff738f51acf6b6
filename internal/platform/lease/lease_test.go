package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/lease"
)

// memory keeps one lease, as a store does, and can be taken down.
type memory struct {
	mu    sync.Mutex
	state lease.State
	down  bool
}

var errDown = errors.New("the store is down")

func (m *memory) setDown(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = down
}

func (m *memory) Lease(context.Context, string) (lease.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return lease.State{}, errDown
	}
	return m.state, nil
}

func (m *memory) TakeLease(_ context.Context, _, holder string, seen lease.State) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return false, errDown
	}
	if m.state != seen {
		return false, nil
	}
	m.state = lease.State{Holder: holder, Count: seen.Count + 1}
	return true, nil
}

// worker is a process that works while it holds the lease.
type worker struct {
	*lease.Lease

	stop func()
}

func newWorker(t *testing.T, store lease.Store) *worker {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &worker{Lease: lease.New("work", store, slog.New(slog.DiscardHandler))}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func(ctx context.Context) { <-ctx.Done() })
	}()
	w.stop = func() { cancel(); <-done }
	synctest.Wait()
	return w
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// expect compares who holds the lease.
func expect(t *testing.T, when string, workers []*worker, want ...bool) {
	t.Helper()
	for i, w := range workers {
		if w.Held() != want[i] {
			t.Errorf("%s: worker %d holds the lease: %t, want %t", when, i, w.Held(), want[i])
		}
	}
}

func TestOneHoldsTheLeaseAndHandsItOnWhenItStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		all := []*worker{newWorker(t, m), newWorker(t, m)}
		expect(t, "at first", all, true, false)
		pass(time.Hour)
		expect(t, "after an hour", all, true, false)
		all[0].stop()
		pass(time.Second)
		expect(t, "after a stop", all, false, true)
		all[1].stop()
	})
}

// halted is a store that does not answer one process any more, as when that
// process is gone.
type halted struct {
	*memory

	mu   sync.Mutex
	gone bool
}

func (h *halted) TakeLease(ctx context.Context, name, holder string, seen lease.State) (bool, error) {
	h.mu.Lock()
	gone := h.gone
	h.mu.Unlock()
	if gone {
		return false, errDown
	}
	return h.memory.TakeLease(ctx, name, holder, seen)
}

func TestLeaseOfOneWhoIsGonePassesOnAndNotBeforeItWasGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		h := &halted{memory: m}
		all := []*worker{newWorker(t, h), newWorker(t, m)}
		pass(time.Minute)
		h.mu.Lock()
		h.gone = true
		h.mu.Unlock()
		both, passed := false, time.Duration(0)
		for ; !all[1].Held() && passed < time.Minute; passed += 100 * time.Millisecond {
			pass(100 * time.Millisecond)
			both = both || (all[0].Held() && all[1].Held())
		}
		if both || passed < 4*time.Second || passed > 10*time.Second {
			t.Errorf("the lease passed on after %s, both held it: %t", passed, both)
		}
		all[0].stop()
		all[1].stop()
	})
}

func TestNobodyTakesALeaseWhoCouldNotLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		all := []*worker{newWorker(t, m), newWorker(t, m)}
		m.setDown(true)
		pass(time.Hour)
		expect(t, "store down", all, false, false)
		m.setDown(false)
		pass(3 * time.Second)
		expect(t, "store back: it was the first's", all, true, false)
		all[0].stop()
		all[1].stop()
	})
}

func TestStoreThatWasPutBackEndsAHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		w := newWorker(t, m)
		pass(time.Minute)
		m.mu.Lock()
		m.state = lease.State{Holder: "who held it once", Count: 3}
		m.mu.Unlock()
		pass(2 * time.Second)
		expect(t, "put back", []*worker{w}, false)
		pass(8 * time.Second)
		expect(t, "once the other is known to be gone", []*worker{w}, true)
		w.stop()
	})
}
