package sink

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/config"
)

// server has so many parts, or cannot be asked.
type server struct {
	parts atomic.Int64
	err   error
}

// with returns a server of so many parts.
func with(parts int, err error) *server {
	s := &server{err: err}
	s.parts.Store(int64(parts))
	return s
}

func (s *server) PartPressure(context.Context) (int, error) { return int(s.parts.Load()), s.err }

func paced(t *testing.T, s *server, rate int) *pacer {
	t.Helper()
	cfg := config.Default().Sink
	cfg.Backfill.Rate, cfg.Backfill.MaxParts, cfg.MaxRows = rate, 100, 1000
	return newPacer(cfg, s, prometheus.NewRegistry())
}

func TestBackfillKeepsToItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, begin := paced(t, with(0, nil), 1000), time.Now()
		for range 11 {
			if err := p.Pace(t.Context(), 1000); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 10*time.Second { // the first range goes at once
			t.Errorf("11,000 records at 1,000 a second took %s", took)
		}
	})
}

// A range that is larger than a second's worth is let through all the same.
func TestARangeBeyondTheRateIsLetThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := paced(t, with(0, nil), 10)
		if err := p.Pace(t.Context(), 1000); err != nil {
			t.Error(err)
		}
	})
}

func TestBackfillWaitsForMerges(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		parts int
		err   error
		waits bool
	}{
		{"one part below", 99, nil, false},
		{"at the limit", 100, nil, true},
		{"nobody knows", 0, errors.New("away"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := with(tc.parts, tc.err)
				type end struct {
					took time.Duration
					err  error
				}
				p, done, begin := paced(t, s, 1_000_000), make(chan end, 1), time.Now()
				go func() {
					err := p.Pace(t.Context(), 1)
					done <- end{time.Since(begin), err}
				}()
				time.Sleep(9 * time.Second) //nolint:forbidigo // fake time
				s.parts.Store(99)
				got := <-done
				if got.err != nil || got.took > 9*time.Second != tc.waits {
					t.Errorf("went on after %s, %v", got.took, got.err)
				}
			})
		})
	}
}

func TestAWaitForMergesEndsWithItsPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := paced(t, with(1000, nil), 1000)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Pace(ctx, 1) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Pace() = %v", err)
		}
	})
}

func TestEachPipelineHasItsGroupAndTopics(t *testing.T) {
	t.Parallel()
	groups, topics := map[string]bool{}, map[string]bool{}
	for _, l := range pipelines {
		cfg := l.settings(config.Default().Sink)
		if groups[cfg.Group] {
			t.Errorf("group %s belongs to two lanes", cfg.Group)
		}
		groups[cfg.Group] = true
		for _, topic := range l.topics {
			if topics[topic] {
				t.Errorf("topic %s belongs to two lanes", topic)
			}
			topics[topic] = true
		}
		if cfg.InsertTimeout >= cfg.Rebalance/2 {
			t.Errorf("lane %s: an insert may take %s of the %s that a rebalance waits", l.name, cfg.InsertTimeout, cfg.Rebalance)
		}
	}
}
