package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/platform/lease"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// registry is a store of domains in memory, and the DNS that is asked of them.
type registry struct {
	mu      sync.Mutex
	domains map[string]*Domain // by id
	proofs  map[string]Proof   // by id; good where there is none
	looks   map[string]int     // by id
	away    bool               // the store
	changed string             // the id of one that somebody changes before it is saved
}

func (*registry) Lease(context.Context, string) (lease.State, error) { return lease.State{}, nil }
func (*registry) TakeLease(context.Context, string, string, lease.State) (bool, error) {
	return true, nil
}

func (r *registry) DueDomains(_ context.Context, due time.Time, limit int) (found []*Domain, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return nil, errors.New("connection refused")
	}
	for _, d := range r.domains {
		if d.Serves() && !d.DueAt.After(due) {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b *Domain) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	return found[:min(limit, len(found))], nil
}

func (r *registry) SaveDomain(_ context.Context, by audit.By, action managed.Action, was, is *Domain) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == was.ID {
		r.changed = ""
		return managed.ErrChanged
	}
	if action != Checked || by.Actor.Type != audit.System || r.domains[was.ID] != was {
		return fmt.Errorf("%s of %s by %+v", action, was.ID, by)
	}
	r.domains[is.ID] = is
	return nil
}

func (r *registry) CountDomains(_ context.Context, status DomainStatus) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.domains {
		if d.Status == status {
			n++
		}
	}
	return n, nil
}

func (r *registry) CheckDomain(_ context.Context, d *Domain) Proof {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks[d.ID]++
	if p, ok := r.proofs[d.ID]; ok {
		return p
	}
	return good
}

// newRegistry has n verified domains that are due at a time.
func newRegistry(n int, due time.Time) *registry {
	r := &registry{domains: map[string]*Domain{}, proofs: map[string]Proof{}, looks: map[string]int{}}
	for i := range n {
		id := fmt.Sprintf("dom_%02d", i)
		r.domains[id] = &Domain{
			Record: managed.Record{ID: id, Name: id + ".example", Version: 1}, Status: DomainVerified, DueAt: due,
		}
	}
	return r
}

// watch returns a Watch by a clock.
func (r *registry) watch(now func() time.Time) *Watch {
	return NewWatch(
		WatchDeps{Store: r, DNS: r, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Now: now})
}

func TestDomainsAreLookedAtOnceADay(t *testing.T) {
	t.Parallel()
	at := now
	r := newRegistry(50, at)
	r.proofs["dom_07"] = bad
	w := r.watch(func() time.Time { return at })
	for day, want := range []DomainStatus{DomainVerified, DomainVerified, DomainFailing, DomainFailing} {
		for range 24 {
			if err := w.pass(t.Context()); err != nil {
				t.Fatal(err)
			}
			at = at.Add(time.Hour)
		}
		if got := r.domains["dom_07"].Status; got != want || r.looks["dom_07"] != day+1 {
			t.Errorf("day %d: %s after %d looks, want %s", day, got, r.looks["dom_07"], want)
		}
		if d := r.domains["dom_49"]; d.Status != DomainVerified || d.Version != 2 || r.looks["dom_49"] != day+1 {
			t.Errorf("day %d: another one is %s, version %d, after %d looks", day, d.Status, d.Version, r.looks["dom_49"])
		}
	}
	if n := w.failing.Load(); n != 1 {
		t.Errorf("%d failing domains are counted", n)
	}
	delete(r.proofs, "dom_07")
	if err := w.pass(t.Context()); err != nil || r.domains["dom_07"].Status != DomainVerified || w.failing.Load() != 0 {
		t.Errorf("once it is proved again it is %s, and %d are counted, %v",
			r.domains["dom_07"].Status, w.failing.Load(), err)
	}
}

func TestAResolverThatIsAwayIsNoBadDay(t *testing.T) {
	t.Parallel()
	at := now
	r := newRegistry(3, at)
	for id := range r.domains {
		r.proofs[id] = away
	}
	w := r.watch(func() time.Time { return at })
	for range 7 {
		if err := w.pass(t.Context()); !errors.Is(err, errNoResolver) {
			t.Errorf("it says %v", err)
		}
		at = at.Add(24 * time.Hour)
	}
	r.proofs["dom_00"], r.proofs["dom_01"] = bad, good
	if err := w.pass(t.Context()); err != nil {
		t.Error(err)
	}
	days := []int{r.domains["dom_00"].BadDays, r.domains["dom_01"].BadDays, r.domains["dom_02"].BadDays}
	if !slices.Equal(days, []int{1, 0, 0}) {
		t.Errorf("bad days %v: one that is silent for itself has none", days)
	}
}

func TestALookThatFailsIsMadeAgainByWhoHasTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(1, time.Now())
		r.proofs["dom_00"], r.changed, r.away = bad, "dom_00", true
		r.domains["dom_00"].BadDays = maxBadDays - 1
		w := r.watch(nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		after := func(long time.Duration) (looks int, told float64) {
			<-time.After(long)
			synctest.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.looks["dom_00"], w.told()
		}
		if looks, _ := after(90 * time.Second); looks != 0 || testutil.ToFloat64(w.failures) != 2 {
			t.Errorf("%d looks without the store, %v failures", looks, testutil.ToFloat64(w.failures))
		}
		r.mu.Lock()
		r.away = false
		r.mu.Unlock()
		if looks, told := after(3 * time.Minute); looks != 2 || told != 1 {
			t.Errorf("%d looks at one that changed meanwhile, and %v are told to fail", looks, told)
		}
		cancel()
		if err := <-ended; err != nil || w.told() != 0 {
			t.Errorf("without the lease %v are told, %v", w.told(), err)
		}
	})
}
