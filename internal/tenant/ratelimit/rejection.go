package ratelimit

import (
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// concurrencyWait is what a caller with too many requests under way is told to
// wait; message is what it reads (specification, section 8).
const (
	concurrencyWait    = time.Second
	concurrencyMessage = "Too many concurrent API key requests"
)

// Rejection says why a request was not admitted.
type Rejection struct {
	// Concurrent is true when too many requests are under way, false when a
	// window is used up.
	Concurrent bool
	// Limit is the limit that stood against it.
	Limit int
	// Wait is how long until the same request would be admitted, if nobody else
	// asks.
	Wait time.Duration
}

// apiError is the rejection as the caller sees it.
func (r *Rejection) apiError() *apierr.Error {
	f := &apierr.Error{
		Code: apierr.RateLimited, RetryAfter: r.Wait,
		Rate: &apierr.Rate{Limit: r.Limit, Reset: time.Now().Add(r.Wait)},
	}
	if r.Concurrent {
		f.Message = concurrencyMessage
	}
	return f
}
