package readcache

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"
)

// read asks the store for k and waits for the result, no longer than ctx and
// Config.LoadTimeout allow. e is the entry of k, if one is known; when the read
// fails, its result stands in while it is young enough.
func (c *Cache[K, V]) read(ctx context.Context, k K, e *entry[K, V]) (V, error) {
	v, err := c.wait(ctx, owned(k), e)
	if err == nil || c.notFound(err) {
		return v, err
	}
	if e != nil {
		if a := e.result.Load(); c.servable(e, a, time.Now()) {
			c.metrics.stale.Inc()
			return a.value, nil
		}
	}
	return v, fmt.Errorf("reading %s: %w", c.cfg.Name, err)
}

// readBehind starts a read of a known entry in the background, unless one is
// under way.
func (c *Cache[K, V]) readBehind(ctx context.Context, e *entry[K, V]) {
	if !e.reading.CompareAndSwap(false, true) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer e.reading.Store(false)
		_, _ = c.wait(ctx, e.key, e) // a failure is noted in the entry
	}()
}

// wait joins or starts the one read of k that may be under way, and notes in e
// when it fails.
func (c *Cache[K, V]) wait(ctx context.Context, k K, e *entry[K, V]) (V, error) {
	v, err := c.reads.Join(ctx, flightName(k), func(ctx context.Context) (V, error) { return c.ask(ctx, k, e) })
	if errors.Is(err, errHangs) {
		e.noteFailure(time.Now())
	}
	return v, err
}

// ask reads k from the store through the breaker and keeps the result.
func (c *Cache[K, V]) ask(ctx context.Context, k K, e *entry[K, V]) (V, error) {
	if e == nil || e.result.Load().absent != nil {
		leave, err := c.reads.Enter(ctx)
		if err != nil {
			var zero V
			return zero, err
		}
		defer leave()
	}
	u := c.begin(k)
	defer c.end(k, u)
	start := time.Now()
	v, err := c.reads.Ask(func() (V, error) { return c.load(ctx, k) })
	found := err == nil
	if !found && !c.notFound(err) {
		e.noteFailure(time.Now())
		return v, err
	}
	c.keep(k, e, &result[V]{value: v, absent: err, readAt: start}, u)
	return v, err
}

// begin notes that k is read, until end.
func (c *Cache[K, V]) begin(k K) *underWay[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.underWay[k]
	if u == nil || len(u.drops) > 0 { // a read that begins after a drop sees the change
		if u != nil {
			u.drops = append(u.drops, nil) // nobody would tell of the next one
		}
		u = &underWay[V]{}
		c.underWay[k] = u
	}
	u.reads++
	return u
}

func (c *Cache[K, V]) end(k K, u *underWay[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u.reads--; u.reads == 0 && c.underWay[k] == u {
		delete(c.underWay, k)
	}
}

// keep replaces the result of a known entry, or makes an entry; neither when k was
// dropped meanwhile and the result is not current.
func (c *Cache[K, V]) keep(k K, e *entry[K, V], a *result[V], u *underWay[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !u.current(a) {
		return
	}
	if e != nil {
		e.result.Store(a)
		return
	}
	e = &entry[K, V]{key: k}
	e.result.Store(a)
	c.entries.Set(maphash.Comparable(c.seed, k), e, 1)
}

// noteFailure records that a read failed, next to the result that stays.
func (e *entry[K, V]) noteFailure(at time.Time) {
	if e == nil {
		return
	}
	for {
		old := e.result.Load()
		failed := *old
		failed.failedAt = at
		if e.result.CompareAndSwap(old, &failed) {
			return
		}
	}
}
