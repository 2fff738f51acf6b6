package exposure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Run hands exposures to the publisher until ctx ends.
func (c *Collector) Run(ctx context.Context) error {
	pause := time.NewTimer(gather)
	pause.Stop()
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil
		}
		pause.Reset(gather)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil // Stop hands over what is there
		}
		c.handOver()
	}
}

// handOver gives the publisher what was taken since. One goroutine calls it at a time.
func (c *Collector) handOver() {
	c.mu.Lock()
	some := c.taken
	c.taken = nil
	c.mu.Unlock()
	for _, t := range some {
		w := c.waiting.Get().(*waiting) // the pool holds nothing else
		w.size = t.size
		c.draft.write(t, &w.record)
		c.copies.Put(t)
		c.deps.Publisher.Send(&w.record.Record, w.done)
	}
}

var errStopped = errors.New("exposures are not taken any more")

// Stop takes no more exposures, and returns when all are published that were taken, or when
// ctx ends. It is called once, after Run.
func (c *Collector) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.handOver()
	for c.number.Load() > 0 {
		select {
		case <-c.empty:
		case <-ctx.Done():
			return fmt.Errorf("publishing exposures: %d are not acknowledged: %w", c.number.Load(), ctx.Err())
		}
	}
	return nil
}

// settled tells the publisher's answer about an exposure.
func (c *Collector) settled(size int64, err error) {
	if err == nil {
		c.metrics[published].Inc()
	} else {
		c.lost(err)
	}
	c.size.Add(-size)
	if c.number.Add(-1) == 0 {
		select {
		case c.empty <- struct{}{}:
		default:
		}
	}
}

// lost counts an exposure that will not be published.
func (c *Collector) lost(err error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		c.metrics[stopped].Inc()
		return
	}
	c.metrics[refused].Inc()
	if now := time.Now().Unix(); c.logged.Swap(now) != now { // once a second is enough
		c.deps.Log.LogAttrs(context.Background(), slog.LevelError,
			"exposures are lost, Kafka refuses them", slog.Any("error", err))
	}
}
