package sink

import (
	"context"
	"sync"
)

// budget counts the bytes of all records in hand. What is taken may pass the
// limit by one delivery; nothing is asked for beyond it.
type budget struct {
	limit int64
	mu    sync.Mutex
	used  int64
	freed chan struct{} // a signal, at most one pending
}

func newBudget(limit int64) *budget { return &budget{limit: limit, freed: make(chan struct{}, 1)} }

func (b *budget) take(n int64) {
	b.mu.Lock()
	b.used += n
	b.mu.Unlock()
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// room waits until a sixteenth of the budget is free, and returns what is free.
// tight is called before each wait; when it says that more has to be fetched in
// any case, a sixteenth is lent.
func (b *budget) room(ctx context.Context, tight func() bool) (int64, error) {
	least := max(1, b.limit/16)
	for {
		if free := b.limit - b.inUse(); free >= least {
			return free, nil
		}
		if tight() {
			return least, nil
		}
		select {
		case <-b.freed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
