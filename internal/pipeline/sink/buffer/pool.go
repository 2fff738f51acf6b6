package buffer

import "sync"

// Pool keeps a few things with their memory for the next ranges.
type Pool[T any] struct {
	fresh func() T
	reset func(T) T
	keep  int
	mu    sync.Mutex
	free  []T
}

// NewPool returns a pool that keeps so many; what is put back is reset.
func NewPool[T any](keep int, fresh func() T, reset func(T) T) *Pool[T] {
	return &Pool[T]{fresh: fresh, reset: reset, keep: keep}
}

// Get returns one that was put back, or a fresh one.
func (p *Pool[T]) Get() T {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free) - 1
	if n < 0 {
		return p.fresh()
	}
	t := p.free[n]
	p.free = p.free[:n]
	return t
}

// Put gives one back.
func (p *Pool[T]) Put(t T) {
	t = p.reset(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < p.keep {
		p.free = append(p.free, t)
	}
}
