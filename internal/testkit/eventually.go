package testkit

import (
	"fmt"
	"testing"
	"time"
)

// pollInterval is how often a condition is looked at. It bounds only how late a
// test goes on, never whether it passes.
const pollInterval = 10 * time.Millisecond

// Eventually waits until cond returns nil, and ends the test with cond's last
// error when that takes longer than within. The time is a limit, not a delay:
// take a generous one.
func Eventually(tb testing.TB, within time.Duration, cond func() error) {
	tb.Helper()
	if err := WaitFor(within, cond); err != nil {
		tb.Fatal(err)
	}
}

// WaitFor is Eventually for code that is not a test's own goroutine.
func WaitFor(within time.Duration, cond func() error) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := cond()
		if err == nil {
			return nil
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("after %s: %w", within, err)
		case <-tick.C:
		}
	}
}
