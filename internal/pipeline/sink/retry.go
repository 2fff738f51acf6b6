package sink

import (
	"math/rand/v2"
	"time"
)

const (
	shortestRetry = 100 * time.Millisecond
	longestRetry  = 30 * time.Second
)

// backoff returns how long to wait after the given number of failures in a row:
// it doubles from 100 ms to 30 s, less up to half of it by chance, so that the
// partitions of a server that comes back do not all arrive at once.
func backoff(failures int) time.Duration {
	d := longestRetry
	if failures < 10 {
		d = min(longestRetry, shortestRetry<<max(0, failures-1))
	}
	return d - rand.N(d/2) //nolint:gosec // spreads load; nobody gains by guessing it
}
