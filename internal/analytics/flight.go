package analytics

import (
	"context"
	"sync"
)

// flight is one run of a statement, for all who ask the same at the same time. It
// goes on as long as anybody waits for it.
type flight struct {
	key    resultKey
	named  bool            // others may find it
	ctx    context.Context //nolint:containedctx // of the run, which outlives who began it
	cancel context.CancelCauseFunc

	done  chan struct{} // closed when table and err are there
	table *Table
	err   error

	waiting int // guarded by flights
}

// flights are the runs under way.
type flights struct {
	mu    sync.Mutex
	byKey map[resultKey]*flight
}

func newFlights() *flights { return &flights{byKey: map[resultKey]*flight{}} }

// begin makes a flight with one who waits. Its context has the values of ctx and
// ends with the last who waits. The lock is held.
func (f *flights) begin(ctx context.Context, key resultKey, named bool) *flight {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fl := &flight{key: key, named: named, ctx: run, cancel: cancel, done: make(chan struct{}), waiting: 1}
	if named {
		f.byKey[key] = fl
	}
	return fl
}

// land tells everybody what came of a flight.
func (f *flights) land(fl *flight, t *Table, err error) {
	fl.table, fl.err = t, err
	f.mu.Lock()
	f.forget(fl)
	f.mu.Unlock()
	close(fl.done)
	fl.cancel(nil)
}

// leave has one less wait for a flight, for a reason; the last one ends it.
func (f *flights) leave(fl *flight, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.waiting--; fl.waiting == 0 {
		f.forget(fl) // nobody joins a flight that is ending
		fl.cancel(why)
	}
}

func (f *flights) forget(fl *flight) {
	if fl.named && f.byKey[fl.key] == fl {
		delete(f.byKey, fl.key)
	}
}
