package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/platform/lease"
)

// world is a store and tables in memory: enough to see what a Job does when. Its
// clock begins at midnight of 2000-01-01 UTC, as that of synctest does.
type world struct {
	began    time.Time
	websites []Website
	ahead    time.Duration // of the tables' clock
	fails    int           // how many calls of Expire will
	calls    []string
}

func (*world) Lease(context.Context, string) (lease.State, error) { return lease.State{}, nil }
func (*world) TakeLease(context.Context, string, string, lease.State) (bool, error) {
	return true, nil
}

func (w *world) LimitedWebsites(_ context.Context, after string, limit int) (some []Website, err error) {
	for _, site := range w.websites {
		if site.ID > after && len(some) < limit {
			some = append(some, site)
		}
	}
	return some, nil
}

func (w *world) Clock(context.Context) (time.Time, error) { return time.Now().Add(w.ahead), nil }

func (w *world) Expire(_ context.Context, limits []Limit) (map[string]int64, error) {
	var says []string
	for _, l := range limits {
		says = append(says, l.Website+" "+l.Before.Format(time.DateOnly))
	}
	if len(says) > 3 {
		says = []string{fmt.Sprint(len(says), " websites")}
	}
	w.call(strings.Join(says, ", "))
	if w.fails--; w.fails >= 0 {
		return nil, errors.New("connection refused")
	}
	return map[string]int64{"events": 5}, nil
}

func (w *world) Compact(_ context.Context, day time.Time) error {
	w.call("compact " + day.Format(time.DateOnly))
	return nil
}

func (w *world) call(what string) {
	w.calls = append(w.calls, time.Since(w.began).Truncate(time.Minute).String()+" "+what)
}

// runFor runs a Job and returns its metrics.
func (w *world) runFor(t *testing.T, long time.Duration) *metrics {
	t.Helper()
	w.began = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	j := NewJob(Deps{Store: w, Tables: w, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	if err := j.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return j.metrics
}

func (w *world) did(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestAPassIsMadeFourTimesADayWithTheLimitsOfTheDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{websites: []Website{{"web_1", 30}, {"web_2", 1}}}
		m := w.runFor(t, 25*time.Hour)
		w.did(t, "0s web_1 1999-12-02, web_2 1999-12-31", "0s compact 2000-01-01",
			"6h0m0s web_1 1999-12-02, web_2 1999-12-31", "6h0m0s compact 2000-01-01",
			"12h0m0s web_1 1999-12-02, web_2 1999-12-31", "12h0m0s compact 2000-01-01",
			"18h0m0s web_1 1999-12-02, web_2 1999-12-31", "18h0m0s compact 2000-01-01",
			"24h0m0s web_1 1999-12-03, web_2 2000-01-01", "24h0m0s compact 2000-01-02")
		if rows := testutil.ToFloat64(m.rows.WithLabelValues("events")); rows != 25 || testutil.ToFloat64(m.websites) != 2 {
			t.Errorf("the metrics tell of %v rows and %v websites", rows, testutil.ToFloat64(m.websites))
		}
		if got, want := testutil.ToFloat64(m.last), float64(w.began.Add(24*time.Hour).Unix()); got != want {
			t.Errorf("the last success was at %.0f, want %.0f", got, want)
		}
	})
}

func TestAPassThatFailsIsMadeAgainAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{websites: []Website{{"web_1", 30}}, fails: 2}
		m := w.runFor(t, time.Hour)
		w.did(t, "0s web_1 1999-12-02", "1m0s web_1 1999-12-02", "2m0s web_1 1999-12-02", "2m0s compact 2000-01-01")
		if n := testutil.ToFloat64(m.failures); n != 2 {
			t.Errorf("%v failures are counted, want 2", n)
		}
	})
}

func TestNothingIsDeletedWhileTwoClocksDisagree(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{11 * time.Minute, -11 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{websites: []Website{{"web_1", 30}}, ahead: ahead}
			if m := w.runFor(t, time.Minute); testutil.ToFloat64(m.failures) == 0 || testutil.ToFloat64(m.last) != 0 {
				t.Error("a pass that was not made is no failure")
			}
			w.did(t)
		})
	}
}

func TestAWebsiteThatCannotBeReadHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{websites: []Website{{"web_1", 30}, {"web_2", 0}, {"web_3", 1}}}
		m := w.runFor(t, time.Minute)
		w.did(t, "0s web_1 1999-12-02, web_3 1999-12-31", "0s compact 2000-01-01")
		if got, unreadable := testutil.ToFloat64(m.websites), testutil.ToFloat64(m.unreadable); got != 2 || unreadable != 1 {
			t.Errorf("the metrics tell of %v websites, and of %v that cannot be read, want 2 and 1", got, unreadable)
		}
	})
}

func TestAroundMidnightTheEarlierDayCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{websites: []Website{{"web_1", 30}}, ahead: -9 * time.Minute}
		w.runFor(t, time.Minute)
		w.did(t, "0s web_1 1999-12-01", "0s compact 1999-12-31")
	})
}

func TestAllWebsitesAreReadHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := new(world)
		for i := range 2*atOnce + 1 {
			w.websites = append(w.websites, Website{fmt.Sprintf("web_%05d", i), 30})
		}
		w.runFor(t, time.Minute)
		w.did(t, "0s 2001 websites", "0s compact 2000-01-01")
	})
}
