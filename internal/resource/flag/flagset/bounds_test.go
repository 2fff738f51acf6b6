package flagset_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/readcache"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// sizeOf is what the set of an organization takes of a memory.
func sizeOf(t *testing.T, f *fake, id string) int64 {
	t.Helper()
	m, reg := open(f, 0)
	expect(t, m, "alone", id, "v1.1")
	return int64(value(t, reg, "millrace_flag_sets_bytes", ""))
}

func TestSetsThatWereNotAskedForGiveWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2", "org_3", "org_4")
		each := sizeOf(t, f, "org_1")
		for _, fit := range []int64{3, 4} {
			m, reg := open(f, fit*each)
			for _, id := range []string{"org_1", "org_2", "org_3", "org_1", "org_3", "org_4"} {
				expect(t, m, "asked", id, "v1.1")
			}
			held, bytes := value(t, reg, "millrace_flag_sets_held", ""), value(t, reg, "millrace_flag_sets_bytes", "")
			if held != float64(fit) || bytes != float64(fit*each) {
				t.Errorf("%v sets of %v bytes are held, want %d of %d", held, bytes, fit, fit*each)
			}
			before := f.readsOf("org_2")
			for _, id := range []string{"org_1", "org_3", "org_4", "org_2"} {
				expect(t, m, "again", id, "v1.1")
			}
			again, gave := f.readsOf("org_2")-before, value(t, reg, "millrace_flag_sets_evicted_total", "")
			if again != int(4-fit) || gave != float64(2*(4-fit)) {
				t.Errorf("room for %d: org_2 was read again %d times, %v gave way", fit, again, gave)
			}
		}
	})
}

func TestASetThatGrowsHasOthersGiveWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		each := sizeOf(t, f, "org_1")
		m, reg := run(t, f, 3*each)
		expect(t, m, "asked", "org_1", "v1.1")
		expect(t, m, "asked", "org_2", "v1.1")
		f.with(func() { f.large["org_2"], f.sets["org_2"] = int(4*each), 2 })
		m.Apply(told("org_2", 2))
		synctest.Wait()
		if n := value(t, reg, "millrace_flag_sets_held", ""); n != 1 {
			t.Errorf("%v sets are held, want the one alone that is larger than all the room", n)
		}
		before := f.readsOf("org_2")
		expect(t, m, "asked", "org_2", "v1.2")
		if f.readsOf("org_2") != before {
			t.Error("it is read each time that it is asked for")
		}
		f.with(func() { f.large["org_2"], f.sets["org_2"] = 0, 3 })
		m.Apply(told("org_2", 3))
		synctest.Wait()
		expect(t, m, "asked", "org_1", "v1.1")
		if got := value(t, reg, "millrace_flag_sets_bytes", ""); got != float64(2*each) {
			t.Errorf("%v bytes are held, want %d", got, 2*each)
		}
	})
}

func TestASetThatIsWatchedDoesNotGiveWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2", "org_3")
		each := sizeOf(t, f, "org_1")
		m, reg := run(t, f, each)
		first, second := m.Watch("org_1"), m.Watch("org_1")
		synctest.Wait()
		expect(t, m, "watched", "org_1", "v1.1")
		expect(t, m, "another", "org_2", "v1.1")
		expect(t, m, "another", "org_3", "v1.1")
		first.Close()
		first.Close()
		if n := value(t, reg, "millrace_flag_sets_held", ""); n != 2 {
			t.Errorf("%v sets are held, want the one that is watched, and the last", n)
		}
		second.Close()
		if n := value(t, reg, "millrace_flag_sets_held", ""); n != 1 {
			t.Errorf("%v sets are held, want one", n)
		}
	})
}

func TestManyWhoWantOneSetCauseOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, release := newFake("org_1"), make(chan struct{})
		f.read = func(string) { <-release }
		m, _ := open(f, 0)
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() { _, _ = m.Get(ctx, "org_1") })
		synctest.Wait()
		cancel() // who began it has left
		for range 100 {
			wg.Go(func() { expect(t, m, "together", "org_1", "v1.1") })
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if n := f.readsOf("org_1"); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
	})
}

func TestReadsOfUnknownSetsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const atOnce = 8
		f, release := newFake("org_held"), make(chan struct{})
		m, reg := open(f, 0)
		expect(t, m, "before", "org_held", "v1.1")
		f.with(func() { f.most, f.read = 0, func(string) { <-release } })
		var wg sync.WaitGroup
		for i := range atOnce + readcache.MaxWaiting {
			f.set(fmt.Sprint("org_", i), 1)
			wg.Go(func() { expect(t, m, "waits", fmt.Sprint("org_", i), "v1.1") })
		}
		synctest.Wait()
		f.set("org_more", 1)
		began := time.Now()
		expect(t, m, "one more", "org_more", away)
		expect(t, m, "what is held", "org_held", "v1.1")
		if waited := time.Since(began); waited > 0 {
			t.Errorf("one more waited for %v", waited)
		}
		close(release)
		wg.Wait()
		if most := f.count(func() int { return f.most }); most != atOnce {
			t.Errorf("%d reads at a time, want %d", most, atOnce)
		}
		if n := value(t, reg, "millrace_flag_sets_loads_total", "refused"); n != 1 {
			t.Errorf("%v were refused, want 1", n)
		}
	})
}

func TestAStoreThatHangsHoldsNobodyForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, release := newFake("org_1"), make(chan struct{})
		f.read = func(string) { <-release }
		m, _ := open(f, 0)
		began := time.Now()
		expect(t, m, "hanging", "org_1", away)
		if waited := time.Since(began); waited > 2500*time.Millisecond {
			t.Errorf("it waited for %v", waited)
		}
		close(release)
	})
}

func TestAStoreThatFailsIsSparedForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1")
		f.down = true
		m, _ := open(f, 0)
		for range 20 {
			expect(t, m, "down", "org_1", away)
		}
		if n := f.readsOf("org_1"); n != 3 {
			t.Errorf("%d reads, want 3", n)
		}
		f.with(func() { f.down = false })
		pass(1100 * time.Millisecond)
		expect(t, m, "back", "org_1", "v1.1")
	})
}

// TestChangesOfMoreOrganizationsThanAreKnownApartAreForgotten tells of one more than may be
// known, so that the first is not, and a store that is behind is believed.
func TestChangesOfMoreOrganizationsThanAreKnownApartAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const known = 1 << 14
		f := newFake("org_0", "org_1")
		m, _ := open(f, 0)
		for i := range known + 1 {
			m.Apply(told(fmt.Sprint("org_", i), 2))
		}
		expect(t, m, "forgotten", "org_0", "v1.1")
		expect(t, m, "known", "org_1", away)
	})
}

func TestWhatIsHeldIsToldWithoutAllocating(t *testing.T) { //nolint:paralleltest // what others allocate would count
	f := newFake("org_1")
	m, _ := open(f, 0)
	if _, err := m.Get(t.Context(), "org_1"); err != nil {
		t.Fatal(err)
	}
	ctx, id := t.Context(), strings.Clone("org_1")
	if n := testing.AllocsPerRun(1000, func() {
		if s, err := m.Get(ctx, id); s == nil || err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkGet(b *testing.B) {
	f := newFake("org_1")
	for i := range 1000 {
		f.set(fmt.Sprint("org_", i), 1)
	}
	m, _ := open(f, 0)
	for i := range 1000 {
		if _, err := m.Get(b.Context(), fmt.Sprint("org_", i)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := m.Get(b.Context(), "org_1"); err != nil {
				b.Error(err)
			}
		}
	})
}

var _ flagset.Store = (*fake)(nil)
