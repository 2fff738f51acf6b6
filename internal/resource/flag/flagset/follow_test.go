package flagset_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

var _ control.Cache = (*flagset.Memory)(nil)

func TestASetIsReadOnceAndServedFromMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		f.sets["org_2"] = 0
		m, _ := run(t, f, 0)
		for range 3 {
			expect(t, m, "asked", "org_1", "v1.1")
			expect(t, m, "without flags", "org_2", "none")
			expect(t, m, "gone", "org_3", "none")
		}
		if f.readsOf("org_1") != 1 || f.readsOf("org_2") != 1 {
			t.Errorf("reads: %v, want one of each set", f.reads)
		}
	})
}

// What is held is told when it is read again, so that it need not be sent, and taken over from.
func TestAReadIsToldOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1")
		m, _ := run(t, f, 0)
		first, err := m.Get(t.Context(), "org_1")
		if err != nil || f.held != nil {
			t.Fatalf("at first, with %v told of: %v", f.held, err)
		}
		f.set("org_1", 2)
		m.Apply(told("org_1", 2))
		synctest.Wait()
		if f.held != first {
			t.Errorf("read again with %v told of, want %v", f.held, first)
		}
		expect(t, m, "read again", "org_1", "v1.2")
	})
}

// TestAChangeThatIsToldIsServedAsAWholeOnceItWasRead holds the response of the store back.
func TestAChangeThatIsToldIsServedAsAWholeOnceItWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, release := newFake("org_1"), make(chan struct{})
		m, _ := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { f.read = func(string) { <-release } })
		f.set("org_1", 2)
		m.Apply(told("org_1", 2))
		synctest.Wait()
		expect(t, m, "while it is read again", "org_1", "v1.1")
		close(release)
		synctest.Wait()
		expect(t, m, "read again", "org_1", "v1.2")
		m.Apply(told("org_1", 2))
		m.Apply(told("org_1", 1))
		m.Apply(control.Change{Kind: control.Link, ID: "org_1", Version: 9, Epoch: 1})
		m.Apply(control.Change{Kind: control.Organization, ID: "org_1", Version: 9, Epoch: 1})
		m.Apply(told("org_9", 7)) // nobody asked for it
		synctest.Wait()
		if n := f.readsOf("org_1"); n != 2 || f.readsOf("org_9") != 0 {
			t.Errorf("%d reads, want 2, and none of what is not held", n)
		}
	})
}

// TestWithoutHeartbeatsAChangeIsSeenWithinSixSeconds changes a set at all moments of the turn in
// which marks are compared.
func TestWithoutHeartbeatsAChangeIsSeenWithinSixSeconds(t *testing.T) {
	t.Parallel()
	for name, trusted := range map[string]time.Duration{"never told": 0, "told until now": 4500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake("org_1")
				m, _ := run(t, f, 0)
				expect(t, m, "at first", "org_1", "v1.1")
				for v := int64(2); v < 60; v++ {
					pass(time.Duration(v) * 137 * time.Millisecond)
					m.Trust(time.Now().Add(trusted))
					f.set("org_1", v)
					took := until(t, func() bool { return served(t, m, "org_1") == fmt.Sprint("v1.", v) })
					if took > 6*time.Second {
						t.Errorf("seen after %v", took)
					}
				}
			})
		})
	}
}

func TestTheStoreIsAskedForMarksSeldomAndForAllSetsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		m, reg := run(t, f, 0)
		for i := range 100 {
			f.set(fmt.Sprint("org_", i), 1)
			expect(t, m, "at first", fmt.Sprint("org_", i), "v1.1")
		}
		over := func() int {
			before := f.count(func() int { return f.looks })
			for range 60 {
				pass(time.Second)
				if age := value(t, reg, "millrace_flag_sets_age_seconds", ""); age > 4.5 {
					t.Fatalf("not known to be right for %v s", age)
				}
			}
			return f.count(func() int { return f.looks }) - before
		}
		if n := over(); n < 12 || n > 16 {
			t.Errorf("%d looks within a minute without heartbeats, want one each 4 s", n)
		}
		heartbeats(t, m)
		if n := over(); n > 3 {
			t.Errorf("%d looks within a minute with heartbeats, want one each 30 s", n)
		}
		if value(t, reg, "millrace_flag_sets_held", "") != 100 {
			t.Error("not all are held")
		}
	})
}

func TestManySetsAreComparedInChunks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sets = 5001 // one more than are compared at a time
		f := newFake()
		m, _ := run(t, f, 0)
		for i := range sets {
			f.set(fmt.Sprint("org_", i), 1)
			expect(t, m, "at first", fmt.Sprint("org_", i), "v1.1")
		}
		f.with(func() { f.looks, f.asked = 0, 0 })
		m.Forget()
		synctest.Wait()
		looks, asked := f.count(func() int { return f.looks }), f.count(func() int { return f.asked })
		if looks != 2 || asked != sets {
			t.Errorf("%d marks in %d queries, want %d in 2", asked, looks, sets)
		}
	})
}

func TestMissedChangesAreLookedForAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		m, reg := run(t, f, 0)
		heartbeats(t, m)
		expect(t, m, "at first", "org_1", "v1.1")
		expect(t, m, "at first", "org_2", "v1.1")
		pass(10 * time.Second)
		f.set("org_1", 2)
		m.Forget()
		synctest.Wait()
		expect(t, m, "after Forget", "org_1", "v1.2")
		if f.readsOf("org_2") != 1 {
			t.Error("what has not changed is read again")
		}
		f.with(func() { f.down = true })
		m.Forget()
		pass(time.Minute) // told of further ones, but not of those that were missed
		if age := value(t, reg, "millrace_flag_sets_age_seconds", ""); age < 59 {
			t.Errorf("right %v s ago, although changes were missed", age)
		}
	})
}

func TestTheEndOfAnOrganizationDropsItsSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, release := newFake("org_1", "org_2"), make(chan struct{})
		m, reg := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { f.read = func(string) { <-release } })
		var wg sync.WaitGroup
		wg.Go(func() { expect(t, m, "asked before its end", "org_2", "none") })
		synctest.Wait()
		f.with(func() { f.sets, f.read = map[string]int64{}, nil })
		for _, id := range []string{"org_1", "org_2"} {
			m.Apply(control.Change{Kind: control.Organization, ID: id, Gone: true, Version: 2, Epoch: 1})
		}
		close(release)
		wg.Wait()
		expect(t, m, "after its end", "org_1", "none")
		held, bytes := value(t, reg, "millrace_flag_sets_held", ""), value(t, reg, "millrace_flag_sets_bytes", "")
		if held != 0 || bytes != 0 {
			t.Errorf("%v sets of %v bytes are held", held, bytes)
		}
	})
}

func TestASetOfAnOrganizationThatEndedUnheardIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1")
		m, reg := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { delete(f.sets, "org_1") })
		until(t, func() bool { return value(t, reg, "millrace_flag_sets_held", "") == 0 })
		expect(t, m, "after its end", "org_1", "none")
	})
}
