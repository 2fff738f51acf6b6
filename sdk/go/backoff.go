package millrace

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// leastPause is the shortest first pause after a failure.
	leastPause = 250 * time.Millisecond
	// mostPause is the longest that the client chooses by itself, and that a call
	// waits for the host.
	mostPause = 30 * time.Second
)

// backoff returns the pause after a number of failures in a row, 0 being the first:
// base, doubled for each up to mostPause, and shortened by up to a half at random,
// so that many clients do not come back at once.
func backoff(base time.Duration, failures int) time.Duration {
	d := mostPause
	if failures < 16 { // 250 ms are longer than mostPause before that
		d = min(max(base, leastPause), mostPause) << failures
		d = min(d, mostPause)
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // a pause is no secret
}

// pause waits, and reports whether the context let it.
func pause(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false // nothing would come of it
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
