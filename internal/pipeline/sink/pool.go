package sink

import (
	"context"
	"sync"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
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

// acquire waits for a builder, until ctx ends or abort is closed.
func (c builders) acquire(ctx context.Context, abort <-chan struct{}) (*builder, error) {
	select {
	case b := <-c:
		return b, nil
	case <-abort:
		return nil, errAborted
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c builders) release(b *builder) { c <- b }

// blockPools keep the blocks of each topic apart: they are of its table.
type blockPools struct {
	keep  int // of each topic
	fresh func(topic string) Block
	mu    sync.Mutex
	pools map[string]*buffer.Pool[Block]
}

func newBlockPools(keep int, fresh func(topic string) Block) *blockPools {
	return &blockPools{keep: keep, fresh: fresh, pools: map[string]*buffer.Pool[Block]{}}
}

// of returns the pool of a topic.
func (p *blockPools) of(topic string) *buffer.Pool[Block] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pools[topic] == nil {
		p.pools[topic] = buffer.NewPool(p.keep, func() Block { return p.fresh(topic) },
			func(b Block) Block { b.Reset(); return b })
	}
	return p.pools[topic]
}

// semaphore lets a few in at a time.
type semaphore chan struct{}

// acquire waits to be let in, until ctx ends or abort is closed.
func (s semaphore) acquire(ctx context.Context, abort <-chan struct{}) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-abort:
		return errAborted
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s semaphore) release() { <-s }
