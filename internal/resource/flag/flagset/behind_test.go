package flagset_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// TestNoSetIsOlderThanAChangeThatWasHeardOf has the store answer with what was before the
// change, as one does whose read began before it, or whose replica lags.
func TestNoSetIsOlderThanAChangeThatWasHeardOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		held bool
		lag  time.Duration
	}{
		"a read under way":                  {false, 0},
		"a read under way of one held":      {true, 0},
		"a replica behind":                  {false, 900 * time.Millisecond},
		"a replica behind what is held":     {true, 900 * time.Millisecond},
		"a replica behind for many seconds": {true, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, release := newFake("org_1"), make(chan struct{})
				m, reg := run(t, f, 0)
				heartbeats(t, m)
				if tc.held {
					expect(t, m, "at first", "org_1", "v1.1")
				}
				f.with(func() { f.read = func(string) { <-release } })
				var wg sync.WaitGroup
				if tc.held {
					m.Apply(told("org_1", 2)) // before it is to be seen
				} else {
					wg.Go(func() { expect(t, m, "asked before", "org_1", "v1.2") })
				}
				synctest.Wait()
				m.Apply(told("org_1", 2))
				f.with(func() { f.read = nil })
				if tc.lag == 0 {
					f.set("org_1", 2)
				}
				close(release)
				if tc.lag > 0 {
					pass(tc.lag)
					f.set("org_1", 2)
				}
				wg.Wait()
				until(t, func() bool { return served(t, m, "org_1") == "v1.2" })
				if value(t, reg, "millrace_flag_sets_behind_total", "") < 1 {
					t.Error("no set was behind")
				}
			})
		})
	}
}

func TestAReplicaThatLagsForTooLongAnswersNobodyWhoHoldsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1")
		m, _ := run(t, f, 0)
		m.Apply(told("org_1", 2))
		expect(t, m, "behind", "org_1", away)
	})
}

// TestAReplicaThatLagsNowAndThenIsNeverBelieved has each of several changes be seen late.
func TestAReplicaThatLagsNowAndThenIsNeverBelieved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1")
		m, _ := run(t, f, 0)
		heartbeats(t, m)
		expect(t, m, "at first", "org_1", "v1.1")
		for v := int64(2); v < 6; v++ {
			m.Apply(told("org_1", v))
			for range 30 { // 3 s
				pass(100 * time.Millisecond)
				expect(t, m, "behind", "org_1", fmt.Sprint("v1.", v-1))
			}
			f.set("org_1", v)
			took := until(t, func() bool { return served(t, m, "org_1") == fmt.Sprint("v1.", v) })
			if took > 2*time.Second {
				t.Errorf("seen %v after it was there", took)
			}
			pass(10 * time.Second)
		}
	})
}

// TestAMarkThatWasSeenIsHeardOf has a read under way while a look finds a change after it.
func TestAMarkThatWasSeenIsHeardOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, release := newFake("org_1"), make(chan struct{})
		m, _ := run(t, f, 0)
		heartbeats(t, m)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { f.read = func(string) { <-release } })
		f.set("org_1", 2)
		m.Apply(told("org_1", 2))
		synctest.Wait()
		f.set("org_1", 3)
		m.Forget()
		synctest.Wait()
		close(release)
		pass(100 * time.Millisecond)
		expect(t, m, "read", "org_1", "v1.3")
	})
}

func TestAStoreThatWasPutBackIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		f.sets["org_1"] = 9
		m, _ := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.9")
		expect(t, m, "at first", "org_2", "v1.1")
		f.with(func() { f.sets["org_1"], f.epoch = 5, 2 })
		m.Forget() // as a follower does that hears of the epoch
		synctest.Wait()
		expect(t, m, "in a new life", "org_1", "v2.5")
		expect(t, m, "in a new life", "org_2", "v2.1")
		// Nobody tells two lives apart: it could be a replica that lags.
		f.set("org_1", 3)
		took := until(t, func() bool { return served(t, m, "org_1") == "v2.3" })
		if took < 5*time.Second || took > 15*time.Second {
			t.Errorf("a lower version is followed after %v", took)
		}
		f.set("org_1", 4)
		until(t, func() bool { return served(t, m, "org_1") == "v2.4" })
	})
}

// TestAStoreThatStaysBehindIsAskedAFewTimes has one say something older than what is held until it
// is believed: two rounds of six times, and once more.
func TestAStoreThatStaysBehindIsAskedAFewTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1")
		f.sets["org_1"] = 9
		m, _ := run(t, f, 0)
		heartbeats(t, m)
		expect(t, m, "at first", "org_1", "v1.9")
		before := f.readsOf("org_1")
		f.set("org_1", 8)
		m.Apply(told("org_1", 10))
		until(t, func() bool { return served(t, m, "org_1") == "v1.8" })
		pass(time.Minute)
		if asked := f.readsOf("org_1") - before; asked != 13 {
			t.Errorf("it was asked %d times", asked)
		}
	})
}

// TestNoReaderSeesAnOlderSetThanOneBefore changes sets without end while others read them, with
// room for all and for a few.
func TestNoReaderSeesAnOlderSetThanOneBefore(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int64{0, 10_000} {
		const sets, changes = 8, 400
		f := newFake()
		for i := range sets {
			f.set(fmt.Sprint("org_", i), 1)
		}
		m, _ := run(t, f, bytes)
		var wg, changing sync.WaitGroup
		stop := make(chan struct{})
		for range 3 {
			wg.Go(func() {
				var last [sets]int64
				for i := 0; ; i = (i + 1) % sets {
					select {
					case <-stop:
						return
					default:
					}
					s, err := m.Get(t.Context(), fmt.Sprint("org_", i))
					if err != nil || s.Mark.Version < last[i] || of(s, nil) != fmt.Sprint("v1.", s.Mark.Version) {
						t.Errorf("org_%d: %v, %v, after %d", i, s, err, last[i])
						return
					}
					last[i] = s.Mark.Version
				}
			})
		}
		for i := range sets {
			changing.Go(func() {
				id := fmt.Sprint("org_", i)
				for v := int64(2); v < changes; v++ {
					f.set(id, v)
					m.Apply(told(id, v))
				}
			})
		}
		changing.Wait()
		close(stop)
		wg.Wait()
		for i := range sets {
			set, err := m.AtLeast(t.Context(), fmt.Sprint("org_", i), flagset.Mark{Epoch: 1, Version: changes - 1})
			if got := of(set, err); got != fmt.Sprint("v1.", changes-1) {
				t.Errorf("at last org_%d serves %s", i, got)
			}
		}
	}
}
