package analytics

import (
	"context"
	"sync"
)

// flight is one run of a statement, for all who ask the same at the same time. It
// goes on as long as anybody waits for it. What comes of it, those who wait have: it
// holds no table itself.
type flight struct {
	key    resultKey
	named  bool            // others may find it
	ctx    context.Context //nolint:containedctx // of the run, which outlives who began it
	cancel context.CancelCauseFunc

	done chan struct{} // closed when the runs that wait have what came of it

	waiting map[*run]struct{} // guarded by flights
}

// flights are the runs under way.
type flights struct {
	mu    sync.Mutex
	byKey map[resultKey]*flight
}

func newFlights() *flights { return &flights{byKey: map[resultKey]*flight{}} }

// begin makes a flight for which nobody waits yet. Its context has the values of ctx
// and ends with the last who waits. The lock is held.
func (f *flights) begin(ctx context.Context, key resultKey, named bool) *flight {
	of, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fl := &flight{
		key: key, named: named, ctx: of, cancel: cancel, done: make(chan struct{}), waiting: map[*run]struct{}{},
	}
	if named {
		f.byKey[key] = fl
	}
	return fl
}

// join has a run wait for a flight. The lock is held.
func (fl *flight) join(r *run) {
	r.flight = fl
	fl.waiting[r] = struct{}{}
}

// land gives everybody what came of a flight, and returns the first of those whose
// request has no room for it; nil when all have.
func (f *flights) land(fl *flight, t *Table, err error) (tooLarge error) {
	f.mu.Lock()
	f.forget(fl)
	for r := range fl.waiting {
		if r.take(t, err); err == nil && r.err != nil {
			tooLarge = r.err
		}
	}
	fl.waiting = nil
	f.mu.Unlock()
	close(fl.done)
	fl.cancel(nil)
	return tooLarge
}

// leave has a run wait no longer for a flight, for a reason; the last one ends it.
func (f *flights) leave(r *run, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := r.flight
	r.flight = nil
	delete(fl.waiting, r)
	if len(fl.waiting) == 0 {
		f.forget(fl) // nobody joins a flight that is ending
		fl.cancel(why)
	}
}

func (f *flights) forget(fl *flight) {
	if fl.named && f.byKey[fl.key] == fl {
		delete(f.byKey, fl.key)
	}
}
