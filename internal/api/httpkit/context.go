package httpkit

import (
	"context"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/platform/telemetry"
)

// requestContext is a request's context. It costs one allocation and arms its
// timer only when somebody waits on Done, which most requests never do. It is
// not pooled, because what a handler started may hold it for longer.
type requestContext struct {
	deadline time.Time
	id       []byte
	idBuf    [uuidLen]byte // enough for most

	mu    sync.Mutex
	done  chan struct{}
	timer *time.Timer
	err   error
	// values answers Value; made by the first one who asks.
	values context.Context //nolint:containedctx // this is a context
}

func newRequestContext(deadline time.Time, givenID []byte) *requestContext {
	c := &requestContext{deadline: deadline}
	c.id = appendRequestID(c.idBuf[:0], givenID)
	return c
}

// Deadline returns the time at which the request is given up.
func (c *requestContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline, true
}

// until moves the deadline, unless the context has ended.
func (c *requestContext) until(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.deadline = deadline
	if c.timer != nil {
		c.timer.Reset(time.Until(deadline))
	}
}

// Done returns a channel that is closed at the deadline and after the handler.
func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		} else {
			c.timer = time.AfterFunc(time.Until(c.deadline), func() { c.finish(context.DeadlineExceeded) })
		}
	}
	return c.done
}

// Err says why the context ended; nil while it has not.
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && !time.Now().Before(c.deadline) {
		c.finishLocked(context.DeadlineExceeded)
	}
	return c.err
}

// Value returns the request id and the trace under package telemetry's keys.
func (c *requestContext) Value(key any) any {
	c.mu.Lock()
	if c.values == nil {
		c.values = telemetry.ContextWithRequestID(context.Background(), string(c.id))
	}
	values := c.values
	c.mu.Unlock()
	return values.Value(key)
}

// finish ends the context; only the first reason counts.
func (c *requestContext) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finishLocked(err)
}

func (c *requestContext) finishLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.done != nil {
		close(c.done)
	}
}
