package testkit

import (
	"fmt"
	"testing"
	"time"
)

// pollInterval is how long after a look at a condition comes the next one, at least. It
// bounds only how late a test goes on, never whether it passes.
const pollInterval = 10 * time.Millisecond

// A look that takes a while is a question to a server, which others want too: so the
// pause after it is some times as long, up to longestPause. A dozen tests that wait would
// otherwise keep the machine from what they wait for.
const (
	pausePerLook = 4
	longestPause = 200 * time.Millisecond
)

// Eventually waits until cond returns nil, and ends the test with cond's last
// error when that takes longer than within. The time is a limit, not a delay:
// take a generous one.
func Eventually(tb testing.TB, within time.Duration, cond func() error) {
	tb.Helper()
	if err := WaitFor(within, cond); err != nil {
		tb.Fatal(err)
	}
}

// EventuallyEvery is Eventually for a condition that is asked of a host with limits:
// once in that time.
func EventuallyEvery(tb testing.TB, interval, within time.Duration, cond func() error) {
	tb.Helper()
	if err := waitFor(interval, within, cond); err != nil {
		tb.Fatal(err)
	}
}

// WaitFor is Eventually for code that is not a test's own goroutine.
func WaitFor(within time.Duration, cond func() error) error {
	return waitFor(pollInterval, within, cond)
}

func waitFor(interval, within time.Duration, cond func() error) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		looked := time.Now()
		err := cond()
		if err == nil {
			return nil
		}
		pause := time.NewTimer(max(interval, min(pausePerLook*time.Since(looked), longestPause)))
		select {
		case <-deadline.C: // the look may be an old one, where the machine has stood still
			pause.Stop()
			if err = cond(); err == nil {
				return nil
			}
			return fmt.Errorf("after %s: %w", within, err)
		case <-pause.C:
		}
	}
}
