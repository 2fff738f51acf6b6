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

// room waits until an eighth of the budget is free, and returns what is free.
// tight is called before each wait.
func (b *budget) room(ctx context.Context, tight func()) (int64, error) {
	for {
		if free := b.limit - b.inUse(); free >= max(1, b.limit/8) {
			return free, nil
		}
		tight()
		select {
		case <-b.freed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
