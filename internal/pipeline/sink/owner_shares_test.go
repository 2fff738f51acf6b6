package sink

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// rows are what a range stores, by owner.
func rows(owners map[string]int) *touched {
	t := &touched{}
	for owner, n := range owners {
		for range n {
			t.add([]byte(owner), noon)
		}
	}
	return t
}

// Labels are of closed sets: metrics tell how large the largest are, the log which one it
// is that brings more than half.
func TestWhoBringsMostIsNamedInTheLogAndNotInMetrics(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rows  map[string]int
		names string
	}{
		"half":           {map[string]int{"web_1": 50, "web_2": 50}, ""},
		"more than half": {map[string]int{"web_1": 51, "web_2": 49}, "owner=web_1 share=0.51"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := &strings.Builder{}
				s := newSink(t, testConfig(), newWorld())
				s.owners.tell = tellOwner(slog.New(slog.NewTextHandler(log, nil)))
				s.owners.add(rows(tc.rows))
				time.Sleep(shareSpan) //nolint:forbidigo // fake time
				reg := prometheus.NewRegistry()
				reg.MustRegister(partitions{s})
				if n, err := testutil.GatherAndCount(reg, "millrace_sink_owner_share"); n != 2 || err != nil {
					t.Errorf("%d shares, %v", n, err)
				}
				all, err := reg.Gather()
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range all {
					if strings.Contains(f.String(), "web_") {
						t.Errorf("a metric names a website: %s", f)
					}
				}
				if out := log.String(); !strings.Contains(out, tc.names) || tc.names == "" && out != "" {
					t.Errorf("it logs %q, want %q", out, tc.names)
				}
			})
		})
	}
}
