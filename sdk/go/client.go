package millrace

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Client sends events. It is made by New and safe for concurrent use.
type Client struct {
	opts    options
	log     *slog.Logger
	host    *host
	release func()
	queue   *queue

	closing sync.Once
	closed  BatchResult // of Close

	mu         sync.RWMutex
	global     map[string]any
	middleware []Middleware // replaced, never changed
}

// New returns a client that sends with an API key, which needs the scope
// track:events. It opens no connection. The error lists every option that has no
// meaning.
func New(apiKey string, opts ...Option) (*Client, error) {
	key, err := checkKey(apiKey)
	if err != nil {
		return nil, fmt.Errorf("millrace: %w", err)
	}
	o := defaults()
	for _, set := range opts {
		set(&o)
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("millrace: %w", err)
	}
	c := &Client{opts: o, log: o.log(), middleware: o.middleware}
	client, release := o.client()
	c.release = release
	c.host = &host{
		client: client, url: o.apiURL, timeout: o.requestTimeout,
		authorize: func(h http.Header) { h.Set("Authorization", "Bearer "+key) },
	}
	base, cancel := context.WithCancel(context.Background())
	c.queue = &queue{
		size: o.batchSize, capacity: o.maxQueueSize, every: o.batchTimeout, deduplicate: o.deduplication,
		send: func(ctx context.Context, items []*item) []Result { return c.host.send(ctx, items, false) },
		tell: c.tell, log: c.log, base: base, cancel: cancel,
		held: map[identity]struct{}{}, seen: newRecent(o.maxDeduplicationCacheSize),
	}
	return c, nil
}

// Track queues an event, or sends it at once when batching is off. The call that
// fills a batch waits for the batch and returns the event's result; the others
// return as soon as the event is queued. The context bounds the waiting and never
// the sending: a queued event is sent whatever becomes of the context. With a
// context that has ended nothing is queued.
func (c *Client) Track(ctx context.Context, e Event) Result {
	it, r := c.prepare(ctx, e)
	if it == nil {
		return c.noted(ctx, r)
	}
	if !c.opts.batching {
		return c.direct(ctx, []*item{it}, true)[0]
	}
	r, done := c.queue.add(it)
	if done != nil {
		select {
		case r = <-done:
		case <-ctx.Done():
		}
	}
	return c.noted(ctx, r)
}

// noted logs what became of an event as its call returns.
func (c *Client) noted(ctx context.Context, r Result) Result {
	if c.opts.debug {
		c.log.LogAttrs(ctx, slog.LevelDebug, "event tracked",
			append(r.attrs(), slog.String("event_id", r.EventID), slog.String("delivery", string(r.Delivery)))...)
	}
	return r
}

// Batch sends 1 to MaxBatchSize events at once, past the queue. When one of them
// breaks a rule that the client knows, none is sent, and the results say which. When
// the host rejects some, the others are sent without them.
func (c *Client) Batch(ctx context.Context, events []Event) BatchResult {
	if n := len(events); n < 1 || n > MaxBatchSize {
		return sum([]Result{rejected(CodeValidation,
			fmt.Sprintf("a batch has 1 to %d events, this one has %d", MaxBatchSize, n))}).bare()
	}
	results := make([]Result, len(events))
	place := make([]int, 0, len(events)) // of each item among the results
	items := make([]*item, 0, len(events))
	var bad Result
	for i := range events {
		it, r := c.prepare(ctx, events[i])
		if results[i] = r; it != nil {
			items, place = append(items, it), append(place, i)
		}
		if !r.Success && bad.Code == "" {
			bad = r.of("")
		}
	}
	if bad.Code != "" {
		for i := range results {
			if results[i].Success {
				results[i] = bad.besides().of(results[i].EventID)
			}
		}
		b := sum(results)
		b.Result = bad
		return b
	}
	for i, r := range c.direct(ctx, items, false) {
		results[place[i]] = r
	}
	return sum(results)
}

// besides is the result of a good event whose batch has another result.
func (r Result) besides() Result {
	if r.Code == CodeValidation {
		r.Error = "another event of the batch breaks a rule"
	}
	return r
}

// bare is the result of a call without events.
func (b BatchResult) bare() BatchResult {
	b.Results, b.Failed = []Result{}, 0
	return b
}

// Identify tells the host at once who a visitor is; it is never queued. The key
// needs track:events for the website.
func (c *Client) Identify(ctx context.Context, i Identity) Result {
	c.fillIdentity(&i, time.Now())
	return c.noted(ctx, c.identify(ctx, &i).of(i.EventID))
}

// identify sends an identity as often as the options say.
func (c *Client) identify(ctx context.Context, i *Identity) (r Result) {
	if err := ctx.Err(); err != nil {
		return canceled(context.Cause(ctx))
	}
	if c.isClosed() {
		return rejected(CodeClosed, "the client is closed")
	}
	body, wrong := i.encode()
	if wrong != "" {
		return rejected(CodeValidation, wrong)
	}
	c.insist(ctx, func() (again bool, wait time.Duration) {
		r = c.host.post(ctx, "/identify", body).Result
		return r.Retryable && !r.Success, r.wait
	})
	return r
}

// Flush sends everything that is queued, and returns when each event has its final
// result, when the retries are used up, or when the context ends; what is left then
// stays queued. Its results have also the events that the host has rejected since the
// last Flush.
func (c *Client) Flush(ctx context.Context) BatchResult {
	return c.queue.flush(ctx, c.opts.retries)
}

// closeTime is how long Close tries with a context that has no deadline.
const closeTime = 30 * time.Second

// Close rejects new events, sends what is queued, and returns when nothing of the
// client runs any more. It tries until its context ends, or for half a minute if
// that has no deadline; what could not be sent by then is lost, and its results say
// which events those are. Every call after the first waits for it and returns the
// same.
func (c *Client) Close(ctx context.Context) BatchResult {
	c.closing.Do(func() {
		limited, cancel := ctx, context.CancelFunc(func() {})
		if _, ok := ctx.Deadline(); !ok {
			limited, cancel = context.WithTimeout(ctx, closeTime)
		}
		defer cancel()
		c.closed = c.queue.close(limited)
		c.release()
	})
	return c.closed
}

func (c *Client) isClosed() bool {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.queue.closed
}

// tell hands on the final results of queued events.
func (c *Client) tell(results []Result) {
	failed, first := 0, Result{}
	for _, r := range results {
		if !r.Success {
			if failed == 0 {
				first = r
			}
			failed++
		}
	}
	if failed > 0 {
		c.log.LogAttrs(c.queue.base, slog.LevelError, "events lost", append(first.attrs(), slog.Int("events", failed))...)
	}
	if c.opts.debug && len(results) > failed {
		c.log.LogAttrs(c.queue.base, slog.LevelDebug, "events delivered", slog.Int("events", len(results)-failed))
	}
	if c.opts.onResult != nil {
		for _, r := range results {
			c.opts.onResult(r)
		}
	}
}

// DeduplicationCacheSize returns how many ids of delivered events are remembered.
func (c *Client) DeduplicationCacheSize() int {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return len(c.queue.seen.ids)
}

// ClearDeduplicationCache forgets the ids of delivered events. Those of queued ones
// stay known.
func (c *Client) ClearDeduplicationCache() {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	c.queue.seen.clear()
}
