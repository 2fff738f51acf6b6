package linkcache

import (
	"hash/maphash"
	"time"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
)

// page is what changed while a page of links was read: what the page says of it may be old.
type page struct {
	slugs         map[string]bool
	organizations map[string]bool
}

// Apply implements control.Cache: what a change makes wrong is read again. Change events of kind Link
// that name no link by a slug are of the directory; so may be those of an organization, whose
// domains come and go with it.
func (c *Cache) Apply(change control.Change) {
	switch {
	case change.Kind == control.Link && len(change.Refs) > 0:
		for _, ref := range change.Refs {
			c.drop(link.Change{OrganizationID: change.OrganizationID, LinkID: change.ID, SlugKey: ref, Version: change.Version})
		}
	case change.Kind == control.Organization && change.Gone:
		c.drop(link.Change{OrganizationID: change.ID})
	case change.Kind == control.Link || change.Kind == control.Organization:
		c.drop(link.Change{})
	}
}

// Forget implements control.Cache: changes may have been missed, and are looked for at once.
// Until then nothing more is taken for right.
func (c *Cache) Forget() {
	c.mu.Lock()
	c.doubts++
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Trust implements control.Cache: changes are told of, so what is held is right, and need
// not be looked for until then.
func (c *Cache) Trust(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trusted = until
	if c.filled && c.doubts == c.settled {
		c.advance(c.deps.Now())
	}
}

// advance notes that all that is held was right at a time, unless changes of the directory
// are left to be read. The caller has mu.
func (c *Cache) advance(at time.Time) {
	at = c.directory.rightAt(at)
	c.right.Store(max(c.right.Load(), int64(at.Sub(c.born))))
}

// drop has what a change is about be read again before it is told of. What is held of the
// change's version or a later one stays, so that change events that come twice cost little.
func (c *Cache) drop(change link.Change) {
	c.metrics.changes.Inc()
	if change.LinkID != "" {
		c.dropLink(change)
		return
	}
	if change.OrganizationID != "" {
		c.end(change.OrganizationID)
	}
	c.doubtDirectory()
}

func (c *Cache) dropLink(change link.Change) {
	// A read that began before this may have seen the link as it was. Whoever asks from
	// here on begins another one.
	c.mu.Lock()
	if f := c.flights[change.SlugKey]; f != nil {
		f.dropped = true
		delete(c.flights, change.SlugKey)
	}
	if c.page != nil {
		c.page.slugs[change.SlugKey] = true
	}
	c.mu.Unlock()
	hash := maphash.String(c.seed, change.SlugKey)
	c.shard(hash).removeKey(hash, func(l *link.Served) bool {
		return l.SlugKey == change.SlugKey && (l.ID != change.LinkID || l.Version < change.Version)
	})
	c.readLater(change)
}

// end drops all links of an organization.
func (c *Cache) end(organizationID string) {
	c.mu.Lock()
	c.dropFlights()
	if c.page != nil {
		c.page.organizations[organizationID] = true
	}
	c.mu.Unlock()
	for i := range c.shards {
		c.shards[i].removeIf(func(l *link.Served, _ uint32) bool { return l.OrganizationID == organizationID })
	}
}

// dropFlights has no read be kept that is under way. The caller has mu.
func (c *Cache) dropFlights() {
	for _, f := range c.flights {
		f.dropped = true
	}
	clear(c.flights)
}
