package linkcache

import (
	"context"
	"errors"
	"sync"

	"github.com/millrace/millrace/internal/link"
)

// maxChanged is how many changed links wait to be read again. Beyond it they are read when
// somebody asks for them.
const maxChanged = 16384

// queue holds changed links, each key once, the first to come first. What of a change comes
// later takes the earlier one's place.
type queue struct {
	added chan struct{} // says that there is something to take out

	mu   sync.Mutex
	of   map[string]link.Change
	keys []string // in their order
}

func newQueue() *queue { return &queue{added: make(chan struct{}, 1), of: map[string]link.Change{}} }

// add reports whether there was room.
func (q *queue) add(change link.Change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, waits := q.of[change.SlugKey]; !waits {
		if len(q.keys) >= maxChanged {
			return false
		}
		q.keys = append(q.keys, change.SlugKey)
	}
	q.of[change.SlugKey] = change
	select {
	case q.added <- struct{}{}:
	default:
	}
	return true
}

// next takes the first one out.
func (q *queue) next() (change link.Change, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.keys) == 0 {
		q.keys = nil // let go of what was taken out
		return change, false
	}
	change = q.of[q.keys[0]]
	delete(q.of, q.keys[0])
	q.keys[0] = ""
	q.keys = q.keys[1:]
	return change, true
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.keys)
}

// readLater has a changed link be read again by readChanged.
func (c *Cache) readLater(change link.Change) {
	if !c.knows(change) && !c.changed.add(change) {
		c.metrics.left.Inc()
	}
}

// knows reports whether what is held has a change in it.
func (c *Cache) knows(change link.Change) bool {
	var l link.Served
	held, current := c.look([]byte(change.SlugKey), &l)
	return held && current && l.ID == change.LinkID && l.Version >= change.Version
}

// readChanged reads changed links, as many at a time as may be read, until ctx ends.
func (c *Cache) readChanged(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	turns := make(chan struct{}, maxLoads)
	for {
		change, ok := c.changed.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-c.changed.added:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case turns <- struct{}{}:
		}
		wg.Go(func() {
			defer func() { <-turns }()
			c.readAgain(ctx, change)
		})
	}
}

// readAgain reads a changed link, unless somebody has asked for it since. Where the store
// does not say, it is tried again after the others: until then nobody is told of the link.
func (c *Cache) readAgain(ctx context.Context, change link.Change) {
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
