package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/platform/lease"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// attic is a store of deleted links in memory: enough to see what a Purger does when.
type attic struct {
	deleted map[string]time.Time // by id
	fails   int                  // how many calls of PurgeLinks will
	stored  int                  // how many calls of EraseLinks will
	erased  map[string]bool
	calls   []string
	began   time.Time
}

func (*attic) Lease(context.Context, string) (lease.State, error) { return lease.State{}, nil }
func (*attic) TakeLease(context.Context, string, string, lease.State) (bool, error) {
	return true, nil
}

func (a *attic) PurgeableLinks(_ context.Context, deleted time.Time, limit int) (ids []string, err error) {
	for id, at := range a.deleted {
		if !at.After(deleted) && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func (a *attic) PurgeLinks(_ context.Context, _ audit.By, ids []string, _, now time.Time) (int, error) {
	if a.fails--; a.fails >= 0 {
		return 0, errors.New("connection refused")
	}
	for _, id := range ids {
		if !a.erased[id] {
			return 0, errors.New("clicks are left of " + id)
		}
		delete(a.deleted, id)
	}
	a.calls = append(a.calls, fmt.Sprint(now.Sub(a.began).Truncate(time.Minute), " ", len(ids)))
	return len(ids), nil
}

func (a *attic) EraseLinks(_ context.Context, ids []string) error {
	if a.stored--; a.stored >= 0 {
		return errors.New("the server is away")
	}
	a.erased = map[string]bool{}
	for _, id := range ids {
		a.erased[id] = true
	}
	return nil
}

// purgeFor runs a Purger and returns its metrics.
func (a *attic) purgeFor(t *testing.T, long time.Duration) *purgeMetrics {
	t.Helper()
	a.began = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	p := NewPurger(PurgeDeps{Store: a, Clicks: a, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return p.metrics
}

func TestLinksAreRemovedOnceTheyCannotBeRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Hour - RestoreFor - restoreSlack) // deleted then: removed in an hour
		a := &attic{deleted: map[string]time.Time{"soon": soon, "restorable": soon.Add(time.Second)}}
		for i := range purgeAtOnce {
			a.deleted[fmt.Sprint("old", i)] = time.Now().Add(-2 * RestoreFor)
		}
		m := a.purgeFor(t, time.Hour+time.Minute)
		want := []string{"0s 500", "1h0m0s 1"}
		if diff := cmp.Diff(want, a.calls); diff != "" || len(a.deleted) != 1 {
			t.Errorf("%d left, calls (-want +got):\n%s", len(a.deleted), diff)
		}
		if n := testutil.ToFloat64(m.purged); n != purgeAtOnce+1 {
			t.Errorf("%v are counted", n)
		}
	})
}

func TestARemovalOfLinksThatFailedIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &attic{deleted: map[string]time.Time{"old": time.Now().Add(-2 * RestoreFor)}, fails: 1, stored: 1}
		m := a.purgeFor(t, 5*time.Minute)
		if diff := cmp.Diff([]string{"2m0s 1"}, a.calls); diff != "" || testutil.ToFloat64(m.failures) != 2 {
			t.Errorf("%v failures, calls (-want +got):\n%s", testutil.ToFloat64(m.failures), diff)
		}
	})
}
