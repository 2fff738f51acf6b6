package harness

import "time"

// Promised is how long something may take here: as long as is promised, or longer with
// the race detector, which makes a handful of programs on two cores several times as
// slow. The longer one must still tell a promise that is kept from one that is not.
func Promised(promise, raced time.Duration) time.Duration {
	if Raced {
		return raced
	}
	return promise
}
