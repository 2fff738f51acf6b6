package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// ErrRejected is behind every rejection. The gate counts them and tells of them as a
// whole, so they need no line in the log each.
var ErrRejected = errors.New("not enough memory for the request")

// Kind is what a claim is for.
type Kind uint8

// The kinds. Work is what a request needs besides its body, Response a large response until its
// client has it. Bodies have half of the memory at most, and so have answers: clients that
// read slowly keep nobody's body out.
const (
	Work Kind = iota
	Body
	Response
	kinds // how many
)

// The advice of a rejection, spread so that callers do not come back all at once.
const (
	shortestRetry = 2 * time.Second
	longestRetry  = 10 * time.Second
)

// longestWait is how long a large claim waits for memory.
const longestWait = 500 * time.Millisecond

// Claim is the memory that one request holds; the zero value holds none and its
// Release does nothing. It is for one goroutine at a time and must not be copied
// while it holds something.
type Claim struct {
	gate         *Gate
	owner, group *account
	kind         Kind
	bytes        int64
	extra        bool // its request was admitted beyond the limit
}

// Open begins a claim of a caller, who belongs to a group of callers; either may
// be empty. It holds nothing yet.
func (g *Gate) Open(kind Kind, owner, group string) Claim {
	return Claim{gate: g, kind: kind, owner: g.of(&g.owners, owner), group: g.of(&g.groups, group)}
}

// Bytes returns what the claim holds.
func (c *Claim) Bytes() int64 { return c.bytes }

// Take takes n more bytes. More than the gate could ever give counts as all that
// it could. The error is a ServiceUnavailable error.
func (c *Claim) Take(n int64) error {
	if n = c.cut(n); n <= 0 {
		return nil
	}
	return c.gate.outcome(c.gate.take(c, n))
}

// Await is Take that has a large claim wait a little for memory.
func (c *Claim) Await(ctx context.Context, n int64) error {
	if n = c.cut(n); n <= 0 {
		return nil
	}
	why := c.gate.take(c, n)
	if n >= largeBytes && (why == Memory || why == Share) {
		why = c.gate.wait(ctx, c, n)
	}
	return c.gate.outcome(why)
}

// cut is what can be given of n more bytes at all.
func (c *Claim) cut(n int64) int64 { return min(n, c.gate.most(c.kind)-c.bytes) }

// outcome counts and words a rejection.
func (g *Gate) outcome(why Reason) error {
	if why == admitted {
		return nil
	}
	g.turned.Add(1)
	g.metrics.rejected[why].Inc()
	return rejections[why]()
}

// most is the largest claim of a kind.
func (g *Gate) most(kind Kind) int64 {
	if kind != Work {
		return g.memory / 2
	}
	return g.memory - g.reserved(largeBytes)
}

// Keep gives back what is held beyond n bytes.
func (c *Claim) Keep(n int64) {
	if c.bytes > n {
		c.gate.release(c, c.bytes-n)
	}
}

// Release gives everything back. Finished says that the work was done, whatever
// came out, and not given up: by that the gate sees how fast work goes.
func (c *Claim) Release(finished bool) {
	if c.bytes == 0 {
		return
	}
	if finished && c.kind == Work {
		c.gate.done.Add(1)
	}
	c.gate.release(c, c.bytes)
}

// rejections make the errors of the reasons.
var rejections = [reasons]func() error{
	Memory: rejection(errors.New("the memory for requests is in use")),
	Share:  rejection(errors.New("the caller's requests hold most of the memory that is left")),
	Queue:  rejection(errors.New("requests wait too long")),
}

func rejection(why error) func() error {
	err := errors.Join(ErrRejected, why)
	return func() error {
		return &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: RetryAfter(), Err: err}
	}
}

// RetryAfter returns how long a caller who meets an overloaded host should wait.
func RetryAfter() time.Duration {
	return shortestRetry + rand.N(longestRetry-shortestRetry) //nolint:gosec // jitter
}

// waiter is a large claim in line.
type waiter struct {
	claim *Claim
	n     int64
	taken chan struct{}
}

// wait waits in line until there is memory for n more bytes.
func (g *Gate) wait(ctx context.Context, c *Claim, n int64) Reason {
	w := &waiter{claim: c, n: n, taken: make(chan struct{})}
	g.mu.Lock()
	g.line = append(g.line, w)
	g.waiting.Add(1)
	g.mu.Unlock()
	g.callUp() // for what was given back meanwhile
	timeout := time.NewTimer(longestWait)
	defer timeout.Stop()
	select {
	case <-w.taken:
		return admitted
	case <-timeout.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.line, w); i >= 0 {
		g.line = slices.Delete(g.line, i, i+1)
		g.waiting.Add(-1)
		return Memory
	}
	return admitted // in the last moment
}

// callUp gives memory to whoever waits for it, the first ones first. One whose
// share is used up holds nobody up.
func (g *Gate) callUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.line = slices.DeleteFunc(g.line, func(w *waiter) bool {
		if g.take(w.claim, w.n) != admitted {
			return false
		}
		g.waiting.Add(-1)
		close(w.taken)
		return true
	})
}
