package flagset_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// words is how many words a watch has that were not taken.
func words(w *flagset.Watch) (n int) {
	synctest.Wait()
	for {
		select {
		case <-w.C():
			n++
		default:
			return n
		}
	}
}

func TestAWatchIsToldOfEachSwapOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		m, _ := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.1")
		w, other := m.Watch("org_1"), m.Watch("org_1")
		swap := func(version int64) {
			f.set("org_1", version)
			m.Apply(told("org_1", version))
			synctest.Wait()
		}
		expectWords := func(when string, w *flagset.Watch, want int) {
			t.Helper()
			if got := words(w); got != want {
				t.Errorf("%s: %d words, want %d", when, got, want)
			}
		}
		expectWords("held already", w, 0)
		swap(2)
		expectWords("swapped", w, 1)
		m.Apply(told("org_1", 2))
		expectWords("told again", w, 0)
		swap(3)
		swap(4)
		expectWords("swapped twice", w, 1)
		expectWords("the other, who has not listened", other, 1)
		m.Apply(told("org_2", 2))
		expectWords("another's", w, 0)
		other.Close()
		m.Apply(control.Change{Kind: control.Organization, ID: "org_1", Gone: true})
		expectWords("dropped", w, 1)
		expectWords("closed", other, 0)
		swap(5)
		expectWords("back, and watched still", w, 1)
		w.Close()
		swap(6)
		expectWords("closed", w, 0)
	})
}

func TestASetThatIsWatchedIsReadWithoutBeingAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1")
		f.down = true
		m, _ := run(t, f, 0)
		w := m.Watch("org_1")
		defer w.Close()
		pass(10 * time.Second)
		if words(w) != 0 {
			t.Error("told of what was not read")
		}
		f.with(func() { f.down = false })
		pass(2 * time.Second)
		if words(w) != 1 || f.readsOf("org_1") == 0 {
			t.Error("it is not read, or not told")
		}
	})
}

// TestWhoHeardOfANewerSetWaitsForIt changes a set while others have heartbeats and this process
// was told nothing yet.
func TestWhoHeardOfANewerSetWaitsForIt(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		epoch, version int64
		change         time.Duration // after which the store has version 2; 0: before
		want           string
		least, most    time.Duration
	}{
		"there already":       {1, 1, 0, "v1.1", 0, 0},
		"in the store":        {1, 2, 0, "v1.2", 0, 200 * ms},
		"in the store soon":   {1, 2, 600 * ms, "v1.2", 600 * ms, 900 * ms},
		"too late":            {1, 2, 1500 * ms, "v1.1", time.Second, time.Second},
		"made up":             {1, 99, 0, "v1.2", time.Second, time.Second},
		"of an epoch made up": {99, 1, 0, "v1.2", time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake("org_1")
				m, _ := run(t, f, 0)
				heartbeats(t, m)
				expect(t, m, "at first", "org_1", "v1.1")
				pass(5 * time.Second)
				began := time.Now()
				if tc.change == 0 {
					f.set("org_1", 2)
				}
				time.AfterFunc(max(tc.change, time.Nanosecond), func() { f.set("org_1", 2) })
				s, err := m.AtLeast(t.Context(), "org_1", flagset.Mark{Epoch: tc.epoch, Version: tc.version})
				if got := of(s, err); got != tc.want {
					t.Errorf("AtLeast() = %s, want %s", got, tc.want)
				}
				if took := time.Since(began); took < tc.least || took > tc.most {
					t.Errorf("it took %v, want %v to %v", took, tc.least, tc.most)
				}
			})
		})
	}
}

func TestMarksThatAreMadeUpCostTheStoreLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		m, _ := run(t, f, 0)
		heartbeats(t, m)
		for i := range 50 {
			f.set(fmt.Sprint("org_", i), 1)
			expect(t, m, "at first", fmt.Sprint("org_", i), "v1.1")
		}
		f.with(func() { f.looks, f.reads = 0, map[string]int{} })
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				id := fmt.Sprint("org_", i%50)
				s, err := m.AtLeast(t.Context(), id, flagset.Mark{Epoch: 1, Version: int64(1000 + i)})
				if of(s, err) != "v1.1" {
					t.Errorf("%s: %v, %v", id, s, err)
				}
			})
		}
		wg.Wait()
		if n := f.count(func() int { return f.looks }); n < 2 || n > 11 {
			t.Errorf("%d looks at marks within a second, want one each tenth at most", n)
		}
		if n := f.count(func() int { return len(f.reads) }); n > 0 {
			t.Errorf("sets of %d organizations were read", n)
		}
	})
}

func TestNobodyWaitsForANewerSetOfAStoreThatIsAwayForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		m, _ := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { f.down = true })
		began := time.Now()
		s, err := m.AtLeast(t.Context(), "org_1", flagset.Mark{Epoch: 1, Version: 2})
		if of(s, err) != "v1.1" || time.Since(began) > time.Second {
			t.Errorf("AtLeast() = %s after %v", of(s, err), time.Since(began))
		}
		if s, err = m.AtLeast(t.Context(), "org_2", flagset.Mark{}); of(s, err) != away {
			t.Errorf("of what is not held: %s", of(s, err))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		if s, err = m.AtLeast(ctx, "org_1", flagset.Mark{Epoch: 2}); of(s, err) != "v1.1" || time.Since(began) > 0 {
			t.Errorf("by who has left: %s after %v", of(s, err), time.Since(began))
		}
	})
}
