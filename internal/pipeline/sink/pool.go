package sink

import (
	"context"
	"sync"
)

// builders hands out a fixed number of builders, and with them the right to
// insert.
type builders chan *builder

func newBuilders(n int) builders {
	c := make(builders, n)
	for range n {
		c <- &builder{}
	}
	return c
}

// acquire waits for a builder, until ctx ends or halt is closed.
func (c builders) acquire(ctx context.Context, halt <-chan struct{}) (*builder, error) {
	select {
	case b := <-c:
		return b, nil
	case <-halt:
		return nil, errHalted
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c builders) release(b *builder) { c <- b }

// pool keeps a few things with their memory for the next ranges.
type pool[T any] struct {
	fresh func() T
	reset func(T) T
	keep  int
	mu    sync.Mutex
	free  []T
}

func (p *pool[T]) get() T {
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

func (p *pool[T]) put(t T) {
	t = p.reset(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < p.keep {
		p.free = append(p.free, t)
	}
}

// blockPools keep the blocks of each topic apart: they are of its table.
type blockPools struct {
	keep  int // of each topic
	fresh func(topic string) Block
	mu    sync.Mutex
	pools map[string]*pool[Block]
}

func newBlockPools(keep int, fresh func(topic string) Block) *blockPools {
	return &blockPools{keep: keep, fresh: fresh, pools: map[string]*pool[Block]{}}
}

// of returns the pool of a topic.
func (p *blockPools) of(topic string) *pool[Block] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pools[topic] == nil {
		p.pools[topic] = &pool[Block]{
			keep: p.keep, fresh: func() Block { return p.fresh(topic) }, reset: func(b Block) Block { b.Reset(); return b },
		}
	}
	return p.pools[topic]
}

// semaphore lets a few in at a time.
type semaphore chan struct{}

// acquire waits to be let in, until ctx ends or halt is closed.
func (s semaphore) acquire(ctx context.Context, halt <-chan struct{}) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-halt:
		return errHalted
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s semaphore) release() { <-s }
