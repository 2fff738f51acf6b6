package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// loads answers one after the other; the last one again and again.
func loads(all ...float64) func() (float64, error) {
	return func() (float64, error) {
		now := all[0]
		if len(all) > 1 {
			all = all[1:]
		}
		return now, nil
	}
}

func TestAMeasurementWaitsForAnIdleMachineAndDoesNotBeginOnABusyOne(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for name, tc := range map[string]struct {
		load func() (float64, error)
		took time.Duration
		says string // of the error; empty for none
	}{
		"idle":       {loads(0.49), 0, ""},
		"idle later": {loads(0.5, 2, 0.2), 2 * time.Second, ""},
		"never": {
			loads(0.5), 10*time.Minute + time.Second, "the load average is 0.50 after 10m0s, and has to be below 0.5",
		},
		"nobody knows": {func() (float64, error) { return 0, gone }, 0, "gone"},
		"at the last": {func() func() (float64, error) {
			n := 0
			return func() (float64, error) { n++; return 1 - float64(n/600), nil }
		}(), 599 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ticks := time.NewTicker(time.Second)
				defer ticks.Stop()
				began := time.Now()
				err := idle(t.Context(), tc.load, patience, ticks.C)
				if took := time.Since(began); took != tc.took {
					t.Errorf("it took %s, want %s", took, tc.took)
				}
				if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
					t.Errorf("idle() = %v, want %q", err, tc.says)
				}
			})
		})
	}
}

func TestWaitingForAnIdleMachineEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := idle(ctx, loads(1), patience, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("idle() = %v", err)
	}
}
