package millrace

import (
	"context"
	"slices"
	"time"
)

// flush is a call that waits until every event that was in the queue when it began
// has its final result, or until too many sends have failed.
type flush struct {
	upTo     uint64 // the number of the last event
	left     int    // events without a final result
	patience int    // failures that it still bears; less than 0: all
	results  []Result
	missed   int // failures that results has no room for
	done     chan struct{}
	ended    bool
}

// take notes the final result of an event, if it is one of those.
func (f *flush) take(it *item, r Result) bool {
	if it.number > f.upTo {
		return false
	}
	f.results = append(f.results, r)
	f.left--
	if f.left == 0 {
		f.end()
	}
	return true
}

// fail notes a failed send, after which the next comes in so long.
func (f *flush) fail(wait time.Duration) {
	f.bear(wait)
	switch {
	case f.patience < 0:
	case f.patience == 0:
		f.end()
	default:
		f.patience--
	}
}

// bear ends the flush when the next send comes only in so long that it does not wait
// for it.
func (f *flush) bear(wait time.Duration) {
	if f.patience >= 0 && wait > mostPause {
		f.end()
	}
}

func (f *flush) end() {
	if !f.ended {
		f.ended = true
		close(f.done)
	}
}

// begin starts a flush and lets everything go. The caller holds the lock.
func (q *queue) begin(patience int) *flush {
	f := &flush{
		upTo: q.number, left: len(q.waiting) + q.flying, patience: patience,
		results: q.failed, missed: q.missed, done: make(chan struct{}),
	}
	q.failed, q.missed = nil, 0
	if f.left == 0 {
		f.end()
		return f
	}
	q.due = len(q.waiting)
	switch {
	case !q.outage.asked:
		q.outage.until = time.Time{} // the caller knows better
	case patience >= 0 && time.Until(q.outage.until) > mostPause:
		f.end()
	}
	q.flushes = append(q.flushes, f)
	q.pump()
	return f
}

// flush sends everything that is queued.
func (q *queue) flush(ctx context.Context, retries int) BatchResult {
	q.mu.Lock()
	f := q.begin(retries)
	q.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.finished(ctx, f)
}

// finished ends a flush and returns its result. The caller holds the lock.
func (q *queue) finished(ctx context.Context, f *flush) BatchResult {
	q.flushes = slices.DeleteFunc(q.flushes, func(g *flush) bool { return g == f })
	b := sum(f.results)
	b.Failed += f.missed
	if b.Pending = f.left; b.Pending == 0 {
		return b
	}
	switch {
	case ctx.Err() != nil:
		b.Result = canceled(context.Cause(ctx))
	default:
		b.Result = q.outage.last.of("")
		b.Success, b.Retryable = false, true
	}
	b.Delivery = Queued
	return b
}

// sum returns the result of several results.
func sum(results []Result) BatchResult {
	b := BatchResult{Result: Result{Success: true}, Results: append([]Result{}, results...)}
	for _, r := range results {
		switch {
		case !r.Success && b.Success:
			b.Result = r.of("")
			b.Failed++
		case !r.Success:
			b.Failed++
		case r.Delivery == Delivered:
			b.Processed++
		}
	}
	if b.Success && b.Processed > 0 {
		b.Delivery = Delivered
	}
	return b
}

// close takes nothing more, sends what there is until the context ends, gives up
// what is left then, and returns when nothing runs any more.
func (q *queue) close(ctx context.Context) BatchResult {
	q.mu.Lock()
	q.closed = true
	f := q.begin(-1)
	q.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	q.mu.Lock()
	q.over = true
	q.arm(time.Now())
	left := q.waiting
	q.waiting, q.due = nil, 0
	var final []Result
	for _, it := range left {
		final = append(final, q.finish(it, q.abandoned(it)))
	}
	q.mu.Unlock()
	q.cancel()
	q.tell(final)
	q.sending.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.finished(ctx, f)
}
