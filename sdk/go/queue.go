package millrace

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// maxSenders is how many requests of the queue are on their way at the same time.
// It stays far below the 20 that the host allows a key, of which there may be
// several clients.
const maxSenders = 4

// keptFailures bounds how many failures are kept for the next Flush.
const keptFailures = 1000

// queue holds events until the host has them, and sends them: a full batch at once,
// fewer when the oldest has waited long enough. It has a goroutine for each request
// on its way and none besides.
//
// An event is in waiting, or flying with a request; it leaves only by finish, with
// its final result. What cannot be sent goes back to the front of waiting, and the
// outage decides when the next request may go.
type queue struct {
	size, capacity int // events of a batch; of the queue
	every          time.Duration
	deduplicate    bool
	send           func(context.Context, []*item) []Result
	tell           func([]Result) // final results
	log            *slog.Logger
	base           context.Context //nolint:containedctx // of requests that belong to no call; ends with the client
	cancel         context.CancelFunc

	mu      sync.Mutex
	waiting []*item
	due     int // of waiting, from the front: go without waiting for others
	flying  int
	senders int
	sending sync.WaitGroup // the senders
	number  uint64         // of the last event
	held    map[identity]struct{}
	seen    *recent
	outage  outage
	timer   *time.Timer
	flushes []*flush
	failed  []Result // final, and not yet told by a Flush
	missed  int      // failures beyond keptFailures
	closed  bool     // takes nothing more
	over    bool     // sends nothing more
}

// outage is a row of failures that may pass.
type outage struct {
	failures int // in a row; 0 when there is none
	until    time.Time
	asked    bool // by the host, so that nobody goes earlier
	// began counts the failures that were counted. A request notes it when it sets
	// out: those that were on their way together fail for one reason and count once.
	began int
	last  Result
}

// has reports whether an event is queued or was delivered.
func (q *queue) has(id identity) bool {
	_, queued := q.held[id]
	return queued || q.seen.has(id)
}

// add takes an event. When the event is on its way as add returns, done is where its
// result will be.
func (q *queue) add(it *item) (r Result, done <-chan Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return rejected(CodeClosed, "the client is closed").of(it.id), nil
	case q.deduplicate && q.has(it.identity):
		return duplicate(it.id), nil
	case len(q.waiting)+q.flying >= q.capacity:
		r := rejected(CodeQueueFull, "the queue is full").of(it.id)
		r.Retryable = true
		return r, nil
	}
	q.number++
	it.number, it.at = q.number, time.Now()
	if q.deduplicate {
		q.held[it.identity] = struct{}{}
	}
	q.waiting = append(q.waiting, it)
	if slices.Contains(q.pump(), it) { // and cannot land before the lock is free
		it.done = make(chan Result, 1)
		done = it.done
	}
	return Result{Success: true, Delivery: Queued, EventID: it.id}, done
}

func duplicate(id string) Result {
	return Result{
		Success: true, Delivery: Skipped, EventID: id,
		Why: "An event with this id is queued or was delivered.",
	}
}

// pump lets everything go that may, and returns it. The caller holds the lock.
func (q *queue) pump() (sent []*item) {
	now := time.Now()
	for q.ready(now) {
		batch := slices.Clone(q.waiting[:min(q.size, len(q.waiting))])
		clear(q.waiting[:len(batch)])
		q.waiting = q.waiting[len(batch):]
		q.due = max(0, q.due-len(batch))
		q.flying += len(batch)
		q.senders++
		q.sending.Add(1)
		go q.run(batch, q.outage.began)
		sent = append(sent, batch...)
	}
	q.arm(now)
	return sent
}

// ready reports whether a request may go. While the host fails, one at a time does.
func (q *queue) ready(now time.Time) bool {
	limit := maxSenders
	if q.outage.failures > 0 {
		limit = 1
	}
	if q.over || len(q.waiting) == 0 || q.senders >= limit || now.Before(q.outage.until) {
		return false
	}
	return q.wanted()
}

// wanted reports whether there is something that need not wait for others.
func (q *queue) wanted() bool {
	return q.due > 0 || len(q.waiting) >= q.size || len(q.waiting)+q.flying >= q.capacity
}

// arm sets the timer to when something has to be done that nothing else will bring
// about.
func (q *queue) arm(now time.Time) {
	var at time.Time
	switch {
	case q.over || len(q.waiting) == 0:
	case now.Before(q.outage.until):
		at = q.outage.until
	case q.wanted(): // a request on its way will look again when it ends
	default:
		at = q.waiting[0].at.Add(q.every)
	}
	switch {
	case at.IsZero():
		if q.timer != nil {
			q.timer.Stop()
		}
	case q.timer == nil:
		q.timer = time.AfterFunc(at.Sub(now), q.tick)
	default:
		q.timer.Reset(at.Sub(now))
	}
}

// tick is what the timer does. It may come late or once too often.
func (q *queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if len(q.waiting) > 0 && !now.Before(q.waiting[0].at.Add(q.every)) {
		q.due = len(q.waiting)
	}
	q.pump()
}

// run sends a batch.
func (q *queue) run(batch []*item, began int) {
	defer q.sending.Done()
	results := q.send(q.base, batch)
	final := q.land(batch, results, began)
	q.tell(final)
}

// land takes a batch back, and returns the results that are final.
func (q *queue) land(batch []*item, results []Result, began int) (final []Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.senders--
	q.flying -= len(batch)
	var back []*item
	for i, it := range batch {
		it.last = results[i]
		switch {
		case results[i].Success || !results[i].Retryable:
			final = append(final, q.finish(it, results[i]))
		case q.over:
			final = append(final, q.finish(it, q.abandoned(it)))
		default:
			back = append(back, it)
			it.settle(results[i].stillQueued())
		}
	}
	switch {
	case len(back) == 0 && began == q.outage.began:
		q.outage = outage{began: began} // it set out after the last failure, if there was one
	case len(back) > 0:
		q.waiting = slices.Concat(back, q.waiting)
		q.due += len(back)
		q.fail(back[len(back)-1].last, len(back), began)
	}
	q.pump()
	return final
}

// fail counts a failure that may pass.
func (q *queue) fail(r Result, events, began int) {
	o := &q.outage
	o.last = r
	if began != o.began { // another request has failed since this one set out
		q.heed(r.wait)
		return
	}
	wait := backoff(q.every, o.failures)
	o.failures++
	o.began++
	o.asked = r.wait > 0
	wait = max(wait, r.wait)
	o.until = time.Now().Add(wait)
	q.log.LogAttrs(q.base, slog.LevelWarn, "sending events failed, retrying",
		append(r.attrs(), slog.Int("events", events), slog.Int("failures", o.failures), slog.Duration("retry_in", wait))...)
	for _, f := range q.flushes {
		f.fail(wait)
	}
}

// heed puts off the next request for as long as the host asks with a failure that does
// not count.
func (q *queue) heed(wait time.Duration) {
	if wait == 0 {
		return
	}
	o := &q.outage
	o.asked = true
	if until := time.Now().Add(wait); until.After(o.until) {
		o.until = until
	}
	for _, f := range q.flushes {
		f.bear(wait)
	}
}

// finish ends an event with its final result.
func (q *queue) finish(it *item, r Result) Result {
	delete(q.held, it.identity)
	if r.Success && q.deduplicate {
		q.seen.add(it.identity)
	}
	told := false
	for _, f := range q.flushes {
		told = f.take(it, r) || told
	}
	if !r.Success && !told {
		if len(q.failed) < keptFailures {
			q.failed = append(q.failed, r)
		} else {
			q.missed++
		}
	}
	it.settle(r)
	return r
}

// abandoned is the result of an event that the client did not get rid of before it
// was closed: why it could not be sent, if that is known.
func (q *queue) abandoned(it *item) Result {
	r := it.last
	if r.Code == "" {
		r = q.outage.last
	}
	if r.Code == "" || r.Code == CodeCanceled {
		r = rejected(CodeClosed, "the client was closed before the event was delivered")
	}
	r.Retryable = true
	return r.of(it.id)
}

// settle tells whoever waits for the event's result, once.
func (it *item) settle(r Result) {
	if it.done != nil {
		it.done <- r
		it.done = nil
	}
}

// attrs are what a log says about a result.
func (r Result) attrs() []slog.Attr {
	return []slog.Attr{
		slog.String("code", r.Code), slog.Int("status", r.StatusCode),
		slog.String("error", r.Error), slog.String("request_id", r.RequestID),
	}
}
