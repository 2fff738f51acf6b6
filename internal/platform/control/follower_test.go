package control_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/control"
)

// topic is control.v1 as far as a follower sees it.
type topic chan control.Delivery

func (b topic) Follow(ctx context.Context, do func(context.Context, control.Delivery) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case batch := <-b:
			if err := do(ctx, batch); err != nil {
				return err
			}
		}
	}
}

func TestTheAgeOfStatesGrowsUntilTheyAreReadOrConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		s := control.NewStates(control.Quota, func(context.Context) (control.Snapshot, error) {
			if down.Load() {
				return control.Snapshot{}, context.DeadlineExceeded
			}
			return control.Snapshot{Epoch: 1}, nil
		})
		reg, source := prometheus.NewRegistry(), topic(make(chan control.Delivery))
		f := control.NewFollower(control.FollowerDeps{
			Source: source, States: []*control.States{s}, Log: slog.New(slog.DiscardHandler), Metrics: reg,
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = f.Run(ctx) }()
		expect := func(name string, want float64) {
			t.Helper()
			synctest.Wait()
			if got := age(t, reg); got != want {
				t.Errorf("%s: states are %v s old, want %v", name, got, want)
			}
		}
		<-time.After(time.Second)
		expect("never read", 1)
		source <- control.Delivery{First: true, End: true}
		expect("read as the topic was found", 0)
		<-time.After(2 * time.Second)
		expect("not confirmed", 2)
		source <- control.Delivery{End: true}
		expect("an end without a heartbeat confirms nothing", 2)
		source <- control.Delivery{Values: [][]byte{[]byte(`{"v":1,"kind":"beat","epoch":1,"version":1}`)}, End: true}
		expect("confirmed by a heartbeat", 0)
		down.Store(true)
		<-time.After(time.Minute)
		expect("no heartbeats, and no store", 60)
		down.Store(false)
		<-time.After(4*time.Second - time.Nanosecond)
		synctest.Wait()
		if got := age(t, reg); got >= 4 {
			t.Errorf("the store is back: states are %v s old, want less than 4", got)
		}
	})
}

func age(t *testing.T, reg *prometheus.Registry) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "millrace_control_states_age_seconds" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("the age is not exported")
	return 0
}
