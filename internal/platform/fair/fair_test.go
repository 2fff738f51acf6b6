package fair

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func newScheduler(cfg Config) *Scheduler { return New(cfg, prometheus.NewRegistry()) }

// alone is an owner that is the only one of its tenant.
func alone(name string) Owner { return Owner{Tenant: name, Name: name} }

// admit fails the test when the claims are rejected.
func admit(t *testing.T, s *Scheduler, owner Owner, n int) []*Claim {
	t.Helper()
	claims, err := s.Admit(owner, n)
	if err != nil {
		t.Fatalf("Admit(%s, %d) = %v", owner, n, err)
	}
	return claims
}

// grants notes who got slots, and how many were held at the same time.
type grants struct {
	mu        sync.Mutex
	order     []string
	held      map[string]int
	all, most int
	mostOf    map[string]int
}

// work acquires each claim at once, holds its slot for a second, and gives it back.
func (b *grants) work(t *testing.T, owner string, claims []*Claim) {
	t.Helper()
	for _, p := range claims {
		go func() {
			defer p.Release()
			if err := p.Acquire(t.Context()); err != nil {
				t.Error(err)
				return
			}
			b.add(owner, 1)
			<-time.After(time.Second)
			b.add(owner, -1)
		}()
		synctest.Wait() // so that the order is that of the claims
	}
}

// busy reports whether somebody holds a slot.
func (b *grants) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all > 0
}

func (b *grants) add(owner string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil {
		b.held, b.mostOf = map[string]int{}, map[string]int{}
	}
	if n > 0 {
		b.order = append(b.order, owner)
	}
	b.held[owner] += n
	b.all += n
	b.most, b.mostOf[owner] = max(b.most, b.all), max(b.mostOf[owner], b.held[owner])
}

func TestAnOwnerHoldsNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(Config{Slots: 10, PerOwner: 3, Queue: 100, TenantQueue: 100, OwnerQueue: 100})
		var b grants
		start := time.Now()
		b.work(t, "a", admit(t, s, alone("a"), 9))
		for b.busy() {
			<-time.After(time.Second)
			synctest.Wait()
		}
		if took := time.Since(start); b.most != 3 || took != 3*time.Second {
			t.Errorf("9 places took %s, at most %d at once; want 3s and 3", took, b.most)
		}
		if len(s.owners) != 0 || len(s.tenants) != 0 || s.taken != 0 || s.held != 0 || s.turns.Len() != 0 {
			t.Errorf("something is left: %+v", s)
		}
	})
}

func TestOwnersGetSlotsInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(Config{Slots: 1, PerOwner: 8, Queue: 100, TenantQueue: 100, OwnerQueue: 100})
		var b grants
		b.work(t, "many", admit(t, s, alone("many"), 6))
		b.work(t, "few", admit(t, s, alone("few"), 2))
		b.work(t, "one", admit(t, s, alone("one"), 1))
		<-time.After(20 * time.Second)
		synctest.Wait()
		want := []string{"many", "many", "few", "one", "many", "few", "many", "many", "many"}
		if !slices.Equal(b.order, want) || b.most != 1 {
			t.Errorf("slots went to %v, at most %d at once; want %v", b.order, b.most, want)
		}
	})
}

func TestNoMoreSlotsAreHeldThanThereAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(Config{Slots: 4, PerOwner: 3, Queue: 100, TenantQueue: 100, OwnerQueue: 100})
		var b grants
		for _, owner := range []string{"a", "b", "c"} {
			b.work(t, owner, admit(t, s, alone(owner), 5))
		}
		<-time.After(20 * time.Second)
		synctest.Wait()
		if b.most != 4 || b.mostOf["a"] != 3 || len(b.order) != 15 {
			t.Errorf("at most %d at once, %v by owner, %d in all; want 4, 3 and 15", b.most, b.mostOf, len(b.order))
		}
	})
}

func TestTenantsGetSlotsInTurnHoweverManyOwnersTheyHave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(Config{Slots: 1, PerOwner: 8, Queue: 100, TenantQueue: 100, OwnerQueue: 100})
		var b grants
		for _, name := range []string{"a", "b", "c"} {
			b.work(t, name, admit(t, s, Owner{"many", name}, 2))
		}
		b.work(t, "one", admit(t, s, alone("one"), 3))
		<-time.After(20 * time.Second)
		synctest.Wait()
		want := []string{"a", "a", "one", "b", "one", "c", "one", "b", "c"}
		if !slices.Equal(b.order, want) {
			t.Errorf("slots went to %v, want %v", b.order, want)
		}
		if len(s.owners) != 0 || len(s.tenants) != 0 || s.turns.Len() != 0 {
			t.Errorf("something is left: %+v", s)
		}
	})
}

// As many owners as fill the queue between them leave the other half of it to others.
func TestTheOwnersOfATenantShareItsPartOfTheQueue(t *testing.T) {
	t.Parallel()
	s := newScheduler(Config{Slots: 16, PerOwner: 8, Queue: 2048, TenantQueue: 1024, OwnerQueue: 256})
	name := func(i int) Owner { return Owner{"busy", strconv.Itoa(i)} }
	for i := range 4 { // 1000 of 16 + 1024
		admit(t, s, name(i), 250)
	}
	if _, err := s.Admit(name(4), 41); !errors.Is(err, ErrTenantFull) {
		t.Errorf("one more than the tenant may have: %v", err)
	}
	admit(t, s, name(4), 40)
	for i := range 5 {
		if _, err := s.Admit(name(i), 1); !errors.Is(err, ErrTenantFull) {
			t.Errorf("owner %d of a tenant that has its part: %v", i, err)
		}
	}
	admit(t, s, alone("other"), 1)
	if n := testutil.ToFloat64(s.metrics.rejected.WithLabelValues(queueTenant)); n != 6 {
		t.Errorf("%v rejections counted, want 6", n)
	}
}

func TestScheduler_AdmitsNewcomersToAFullQueue(t *testing.T) {
	t.Parallel()
	s := newScheduler(Config{Slots: 2, PerOwner: 1, Queue: 6, TenantQueue: 4, OwnerQueue: 3})
	name := func(tenant string, i int) Owner { return Owner{tenant, strconv.Itoa(i)} }
	full := func(o Owner, want error) {
		t.Helper()
		if _, err := s.Admit(o, 1); !errors.Is(err, want) {
			t.Errorf("Admit(%v) = %v, want %v", o, err, want)
		}
	}
	admit(t, s, name("a", 0), 3)
	admit(t, s, name("a", 1), 3) // 6 of 2 + 4 of the tenant
	full(name("a", 0), ErrTenantFull)
	admit(t, s, name("a", 2), 1) // a newcomer of the tenant
	full(name("a", 2), ErrTenantFull)
	admit(t, s, name("b", 0), 1) // 8 of 2 + 6 of all
	full(name("b", 1), ErrFull)
	for i := range 8 { // newcomers among tenants have as many places again
		admit(t, s, alone(strconv.Itoa(i)), 1)
	}
	full(alone("one more"), ErrFull)
}

func TestClaimsAreRejectedAsOne(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		owner string
		n     int
		want  error
	}{
		"as many as the owner may have": {"a", 3, nil},
		"one more":                      {"a", 4, ErrOwnerFull},
		"as many as all may have":       {"b", 5, nil},
		"one more of all":               {"b", 6, ErrFull},
		"none":                          {"a", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScheduler(Config{Slots: 4, PerOwner: 2, Queue: 6, TenantQueue: 6, OwnerQueue: 5})
			admit(t, s, alone("a"), 4)
			admit(t, s, alone("other"), 1)
			before := s.taken
			claims, err := s.Admit(alone(tc.owner), tc.n)
			if !errors.Is(err, tc.want) || err == nil && len(claims) != tc.n {
				t.Fatalf("Admit(%d) = %d places, %v; want %v", tc.n, len(claims), err, tc.want)
			}
			if err != nil && s.taken != before {
				t.Errorf("a refusal took %d places", s.taken-before)
			}
			for _, p := range claims {
				p.Release()
				p.Release()
			}
			if s.taken != before {
				t.Errorf("%d places are left", s.taken-before)
			}
		})
	}
}

func TestWhoStopsWaitingTakesNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(Config{Slots: 1, PerOwner: 1, Queue: 9, TenantQueue: 9, OwnerQueue: 9})
		first, second, third := admit(t, s, alone("a"), 1)[0], admit(t, s, alone("b"), 1)[0], admit(t, s, alone("c"), 1)[0]
		if err := first.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := second.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("waiting beyond the deadline: %v", err)
		}
		if n := testutil.ToFloat64(s.metrics.waiting); n != 2 {
			t.Errorf("%v waiting, want 2: the place is not given back yet", n)
		}
		second.Release()
		first.Release()
		if err := third.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := testutil.ToFloat64(s.metrics.held); n != 1 {
			t.Errorf("%v held, want 1", n)
		}
		third.Release()
		if len(s.owners) != 0 {
			t.Errorf("%d owners are left", len(s.owners))
		}
	})
}

// A slot may be granted in the moment in which its owner gives up.
func TestASlotThatCameTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	s := newScheduler(Config{Slots: 1, PerOwner: 1, Queue: 9, TenantQueue: 9, OwnerQueue: 9})
	p := admit(t, s, alone("a"), 1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = p.Acquire(ctx) // either way
	p.Release()
	if s.held != 0 || s.taken != 0 {
		t.Errorf("%d held, %d taken", s.held, s.taken)
	}
}
