package linkcache

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

// Bounds of what is asked of the store about links that are not held.
const (
	loadTimeout  = 2 * time.Second
	maxLoads     = 8    // at a time, so that a flood of unknown slugs leaves room for others
	maxFlights   = 1024 // slugs that are asked for, or wait to be
	retryPause   = time.Second
	breakerTrips = 3 // reads failed one after the other
	retryAfter   = 5 * time.Second
)

var (
	errHangs = errors.New("the read missed its deadline")
	errFlood = errors.New("too many requests for unknown slugs")
)

// flight is a read that is under way.
type flight struct {
	done    chan struct{}
	link    *link.Served
	err     error
	dropped bool // the link changed meanwhile: the response is for those who wait, and is not kept
}

func newBreaker(m *metrics) *gobreaker.CircuitBreaker[*link.Served] {
	return gobreaker.NewCircuitBreaker[*link.Served](gobreaker.Settings{
		Name: "links", Timeout: retryPause,
		ReadyToTrip:  func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerTrips },
		IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, link.ErrNotFound) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			m.breaker(to != gobreaker.StateClosed)
		},
	})
}

// read tells what the store says of a slug key. When it says nothing, what is held stands in
// where the caller says so; it is told already.
func (c *Cache) read(ctx context.Context, key string, standsIn bool, to *link.Served) error {
	l, err := c.ask(ctx, key)
	switch {
	case err == nil:
		*to = *l
		return nil
	case errors.Is(err, link.ErrNotFound):
		return link.ErrNotFound
	case standsIn:
		c.metrics.stale.Inc()
		return nil
	}
	return &apierr.Error{
		Code: apierr.ServiceUnavailable, RetryAfter: retryAfter, Err: fmt.Errorf("reading a short link: %w", err),
	}
}

// ask joins or starts the one read of a slug key that may be under way.
func (c *Cache) ask(ctx context.Context, key string) (*link.Served, error) {
	f, err := c.join(ctx, key)
	if err != nil {
		return nil, err
	}
	// A read that ignores its deadline must not hold its callers.
	patience := time.NewTimer(loadTimeout + loadTimeout/10)
	defer patience.Stop()
	select {
	case <-f.done:
		return f.link, f.err
	case <-patience.C:
		return nil, errHangs
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *Cache) join(ctx context.Context, key string) (*flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[key]; f != nil {
		return f, nil
	}
	if len(c.flights) >= maxFlights {
		c.metrics.rejected.Inc()
		return nil, errFlood
	}
	f := &flight{done: make(chan struct{})}
	c.flights[key] = f
	// The read goes on when the caller who started it has left: others wait for it.
	go c.fly(context.WithoutCancel(ctx), key, f)
	return f, nil
}

// fly reads a link, and keeps it unless it was dropped meanwhile.
func (c *Cache) fly(ctx context.Context, key string, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	defer close(f.done)
	f.link, f.err = c.load(ctx, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.dropped {
		return
	}
	delete(c.flights, key)
	switch {
	case f.err == nil:
		c.keep(f.link, false)
	case errors.Is(f.err, link.ErrNotFound):
		hash := maphash.String(c.seed, key)
		c.shard(hash).removeKey(hash, func(l *link.Served) bool { return l.SlugKey == key })
	}
}

// load asks the store when it is its turn, unless the store failed a moment ago.
func (c *Cache) load(ctx context.Context, key string) (*link.Served, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		c.metrics.rejected.Inc()
		return nil, errFlood
	}
	l, err := c.breaker.Execute(func() (*link.Served, error) { return c.deps.Store.ServingLink(ctx, key) })
	c.metrics.loaded(err)
	return l, err
}
