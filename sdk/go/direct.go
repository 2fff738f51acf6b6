package millrace

import (
	"context"
	"time"
)

// direct sends items past the queue and returns a result for each.
func (c *Client) direct(ctx context.Context, items []*item, alone bool) []Result {
	results := make([]Result, len(items))
	pending, at := c.unseen(items, results)
	c.insist(ctx, func() (again bool, wait time.Duration) {
		if len(pending) == 0 {
			return false, 0
		}
		var items []*item
		var places []int
		for i, r := range c.host.send(ctx, pending, alone) {
			results[at[i]] = r
			if r.Retryable && !r.Success {
				items, places, wait = append(items, pending[i]), append(places, at[i]), r.wait
			}
		}
		pending, at = items, places
		return len(pending) > 0, wait
	})
	c.remember(items, results)
	for _, r := range results {
		c.noted(ctx, r)
	}
	return results
}

// insist calls work again as long as it says so, as often as the options say.
func (c *Client) insist(ctx context.Context, work func() (again bool, wait time.Duration)) {
	defer func() {
		if c.isClosed() {
			c.release() // of the connection that was in use during Close
		}
	}()
	for try := 0; ; try++ {
		again, wait := work()
		wait = max(wait, backoff(leastPause, try))
		if !again || try == c.opts.retries || wait > mostPause || !pause(ctx, wait) {
			return
		}
	}
}

// unseen returns the items that have to be sent and their places, and fills in the
// results of the others: those that are queued or were delivered, and, in one call,
// those that come twice.
func (c *Client) unseen(items []*item, results []Result) (fresh []*item, at []int) {
	q := c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	here := make(map[identity]struct{}, len(items))
	for i, it := range items {
		_, twice := here[it.identity]
		switch {
		case q.closed:
			results[i] = rejected(CodeClosed, "the client is closed").of(it.id)
		case q.deduplicate && (twice || q.has(it.identity)):
			results[i] = duplicate(it.id)
		default:
			here[it.identity] = struct{}{}
			fresh, at = append(fresh, it), append(at, i)
		}
	}
	return fresh, at
}

// remember notes the items that were delivered.
func (c *Client) remember(items []*item, results []Result) {
	q := c.queue
	if !q.deduplicate {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, it := range items {
		if results[i].Delivery == Delivered {
			q.seen.add(it.identity)
		}
	}
}
