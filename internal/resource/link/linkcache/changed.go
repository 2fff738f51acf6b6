package linkcache

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/resource/link"
)

// maxChanged is how many changed links wait to be read again. Beyond it they are read when
// somebody asks for them.
const maxChanged = 16384

// readLater has a changed link be read again.
func (c *Cache) readLater(change link.Change) {
	if !c.knows(change) && !c.changed.Add(change.SlugKey, change) {
		c.metrics.left.Inc()
	}
}

// knows reports whether what is held has a change in it.
func (c *Cache) knows(change link.Change) bool {
	var l link.Served
	held, current := c.look([]byte(change.SlugKey), &l)
	return held && current && l.ID == change.LinkID && l.Version >= change.Version
}

// readAgain reads a changed link, unless somebody has asked for it since. Where the store
// does not say, it is tried again after the others: until then nobody is told of the link.
func (c *Cache) readAgain(ctx context.Context, _ string, change link.Change) {
	if c.knows(change) {
		return
	}
	_, err := c.ask(ctx, change.SlugKey)
	if err == nil || errors.Is(err, link.ErrNotFound) {
		return
	}
	if pause(ctx, retryPause) {
		c.readLater(change)
	}
}
