package linkcache

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/resource/link"
)

// directory is what was read of the directory, and whether it is still right.
type directory struct {
	is   atomic.Pointer[link.Index] // nil before it was read
	wake chan struct{}              // says that it changed

	// Under the cache's mu: how many changes of it were heard of, how many of them are in
	// what was read, and when that reading began.
	changes, read int64
	began         time.Time
}

// current reports whether no change is left to be read. The caller has the cache's mu.
func (d *directory) current() bool { return d.changes == d.read }

// rightAt is a time up to at at which the directory was right. The caller has the cache's mu.
func (d *directory) rightAt(at time.Time) time.Time {
	if d.current() || d.began.After(at) {
		return at
	}
	return d.began
}

var nothingKnown link.Index

// known is what was read last; not nil.
func (d *directory) known() *link.Index {
	if is := d.is.Load(); is != nil {
		return is
	}
	return &nothingKnown
}

// Directory returns the domains that serve and what is blocked, as they were read last; nil
// before that, and a day after all that is held was right.
func (c *Cache) Directory() *link.Index {
	if c.right.Load() != never && c.age() >= staleFor {
		return nil
	}
	return c.directory.is.Load()
}

// doubtDirectory has the directory be read again.
func (c *Cache) doubtDirectory() {
	c.mu.Lock()
	c.directory.changes++
	c.mu.Unlock()
	select {
	case c.directory.wake <- struct{}{}:
	default:
	}
}

// followDirectory reads the directory each time that it changed, until ctx ends.
func (c *Cache) followDirectory(ctx context.Context) {
	for failed := false; ctx.Err() == nil; {
		if !c.directoryDue() {
			select {
			case <-ctx.Done():
			case <-c.directory.wake:
			}
			continue
		}
		err := c.readDirectory(ctx)
		if err != nil && ctx.Err() == nil {
			c.metrics.failures.Inc()
			if !failed {
				c.deps.Log.LogAttrs(ctx, slog.LevelWarn,
					"domains and blocks of short links not refreshed, serving stale entries",
					slog.Any("error", err))
			}
			pause(ctx, retryPause)
		}
		failed = err != nil
	}
}

func (c *Cache) directoryDue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.directory.current()
}

// readDirectory reads the directory with all changes that were heard of until now.
func (c *Cache) readDirectory(ctx context.Context) error {
	c.mu.Lock()
	changes, began := c.directory.changes, c.deps.Now()
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	d, err := c.deps.Store.LinkDirectory(ctx)
	if err != nil {
		return fmt.Errorf("reading domains and blocks of short links: %w", err)
	}
	is := d.Index()
	c.mu.Lock()
	defer c.mu.Unlock()
	// Of two that were read at the same time the one that has more of the changes stays.
	if changes >= c.directory.read {
		c.directory.read, c.directory.began = changes, began
		c.directory.is.Store(is)
	}
	return nil
}

// pause waits, and reports whether that was to its end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
