package buffer

import (
	"context"
	"sync"
)

// Budget counts the bytes of all records in hand. What is taken may pass the
// limit by one delivery; nothing is asked for beyond it.
type Budget struct {
	limit int64
	mu    sync.Mutex
	used  int64
	freed chan struct{} // a signal, at most one pending
}

// NewBudget returns one of so many bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit, freed: make(chan struct{}, 1)} }

// Take counts bytes that are in hand from now on.
func (b *Budget) Take(n int64) {
	b.mu.Lock()
	b.used += n
	b.mu.Unlock()
}

// Release says that bytes are not in hand any more.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	b.Recheck()
}

// Recheck has Room look again, and ask tight: whoever holds what is in hand can do something
// else about it now.
func (b *Budget) Recheck() {
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

// InUse returns how many bytes are in hand.
func (b *Budget) InUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Limit returns at how many bytes nothing more is fetched.
func (b *Budget) Limit() int64 { return b.limit }

// Room waits until a sixteenth of the budget is free, and returns what is free.
// tight is called before each wait, and again after each Release and Recheck; when it
// says that more has to be fetched in any case, a sixteenth is lent.
func (b *Budget) Room(ctx context.Context, tight func() bool) (int64, error) {
	least := max(1, b.limit/16)
	for {
		select {
		case <-b.freed: // of before: what is free, and what tight finds, tell the same
		default:
		}
		if free := b.limit - b.InUse(); free >= least {
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
