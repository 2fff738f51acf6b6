package linkcache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/resource/link"
)

// Times of looking after changes. A change that nobody told of is seen after the end of
// trust, or after lookEvery, and the time of a tick and of a look: within currentFor.
const (
	tick         = 500 * time.Millisecond
	lookEvery    = 1500 * time.Millisecond // without trust
	lookTrusted  = 30 * time.Second        // with it, so that the cursor is not left behind
	lookTimeout  = 2 * time.Second
	fillPause    = time.Second // after one that failed
	pageLinks    = 5000
	changesRead  = 1000 // at a time
	keptTogether = 250  // links of a page, between which others get their turn
)

// Run fills the cache and looks after it until ctx ends.
func (c *Cache) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { c.followDirectory(ctx) })
	wg.Go(func() { c.changed.Run(ctx, maxLoads, c.readAgain) })
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if now := c.deps.Now(); c.due(now) {
			c.note(ctx, c.lookAfter(ctx, now))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-c.wake:
		}
	}
}

// due reports whether it is time to look for changes, or to fill.
func (c *Cache) due(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := now.Sub(c.looked)
	switch {
	case c.looked.IsZero():
		return true
	case !c.filled || c.failing:
		return since >= fillPause
	case c.doubts != c.settled:
		return true
	case now.Before(c.trusted):
		return since >= lookTrusted
	}
	return since >= lookEvery
}

// lookAfter brings the cache to what the store was at a time.
func (c *Cache) lookAfter(ctx context.Context, now time.Time) error {
	c.mu.Lock()
	c.looked = now
	filled, doubts := c.filled, c.doubts
	c.mu.Unlock()
	err := link.ErrChangesLost
	if filled {
		err = c.catchUp(ctx)
	}
	if errors.Is(err, link.ErrChangesLost) {
		err = c.fill(ctx, !filled)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filled, c.settled = true, doubts
	c.advance(now)
	return nil
}

// catchUp drops what changed since the last look.
func (c *Cache) catchUp(ctx context.Context) error {
	for {
		changes, upTo, err := c.changes(ctx)
		if err != nil {
			return err
		}
		for _, change := range changes {
			c.drop(change)
		}
		c.cursor = upTo
		if len(changes) < changesRead {
			return nil
		}
	}
}

func (c *Cache) changes(ctx context.Context) ([]link.Change, link.Cursor, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return c.deps.Store.LinkChanges(ctx, c.cursor, changesRead)
}

// fill reads the directory, and all links, the newest first, as many as there is room for.
// What is held from before stands in for what cannot be read meanwhile, and is dropped at
// the end. first says that nothing is held from before: then the newest links give way last.
func (c *Cache) fill(ctx context.Context, first bool) error {
	began := time.Now()
	cursor, err := c.deps.Store.LinkCursor(ctx)
	if err != nil {
		return fmt.Errorf("filling the cache of links: %w", err)
	}
	// What is read from here on has all changes up to the cursor.
	if err := c.readDirectory(ctx); err != nil {
		return err
	}
	c.renew()
	defer c.setPage(nil)
	before := ""
	for left := int(c.entriesMax); left > 0; {
		limit := min(pageLinks, left)
		c.setPage(&page{slugs: map[string]bool{}, organizations: map[string]bool{}})
		links, err := c.deps.Store.ServingLinks(ctx, before, limit)
		if err != nil {
			return fmt.Errorf("filling the cache of links: %w", err)
		}
		c.keepPage(links, first)
		if left -= len(links); len(links) < limit {
			break
		}
		before = links[len(links)-1].ID
	}
	life := c.life.Load()
	for i := range c.shards {
		c.shards[i].removeIf(func(_ *link.Served, of uint32) bool { return of != life })
	}
	c.cursor = cursor
	c.metrics.fills.Observe(time.Since(began).Seconds())
	c.deps.Log.LogAttrs(ctx, slog.LevelInfo, "link cache filled", slog.Int64("links", c.held.Load()),
		slog.Duration("took", time.Since(began)))
	return nil
}

// renew begins a life of the cache: what is held from before, or being read, may be wrong.
func (c *Cache) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.life.Add(1)
	c.dropFlights()
}

func (c *Cache) setPage(p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page = p
}

// keepPage holds the links of a page but for those that changed since it was begun.
func (c *Cache) keepPage(links []link.Served, first bool) {
	for len(links) > 0 {
		n := min(keptTogether, len(links))
		c.mu.Lock()
		for i := range links[:n] {
			if l := &links[i]; !c.page.slugs[l.SlugKey] && !c.page.organizations[l.OrganizationID] {
				c.keep(l, first)
			}
		}
		c.mu.Unlock()
		links = links[n:]
	}
}

// note logs once that looking fails, and that it does not any more.
func (c *Cache) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	was := c.failing
	c.failing = err != nil
	if err != nil {
		c.problem = fmt.Errorf("%w: %w", errNotFilled, err)
	}
	c.mu.Unlock()
	switch {
	case err != nil:
		c.metrics.failures.Inc()
		if !was {
			c.deps.Log.LogAttrs(ctx, slog.LevelWarn,
				"link cache not refreshed, serving stale entries", slog.Any("error", err))
		}
	case was:
		c.deps.Log.LogAttrs(ctx, slog.LevelInfo, "link cache refreshed again")
	}
}
