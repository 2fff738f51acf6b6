package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// idleLoad is a load average, of a minute, below which a machine is idle: what was built a
	// moment ago still counts.
	idleLoad = 0.5
	// patience is how long that is waited for.
	patience = 10 * time.Minute
)

// idle waits until the machine is idle, looking at each tick. It gives up after some time: a
// rate of a busy machine says nothing.
func idle(ctx context.Context, load func() (float64, error), within time.Duration, ticks <-chan time.Time) error {
	deadline := time.Now().Add(within)
	for first := true; ; first = false {
		now, err := load()
		switch {
		case err != nil:
			return err
		case now < idleLoad:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("the load average is %.2f after %s, and has to be below %.1f; -busy measures all the same",
				now, within, idleLoad)
		case first:
			fmt.Fprintf(os.Stderr, "waiting up to %s for the load average of %.2f to fall below %.1f\n", within, now, idleLoad)
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// loadAverage is loadNow in words.
func loadAverage() string {
	now, err := loadNow()
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", now)
}

// loadNow is the load average of the last minute.
func loadNow() (float64, error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, fmt.Errorf("asking whether the machine is idle: %w", err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	return strconv.ParseFloat(first, 64)
}
