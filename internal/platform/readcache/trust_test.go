package readcache_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/readcache"
)

const trusted = 30 * time.Second // the default

func TestTrustedResultIsReadAgainLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		c.Trust(time.Now().Add(time.Hour))
		expect(t, c, "first", "v1")
		s.set("v2", nil)
		pass(trusted/2 - 1)
		expect(t, c, "in the first half of its longer life", "v1")
		if n := s.loads.Load(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
		pass(trusted/2 + 1)
		expect(t, c, "at the end of its longer life", "v2")
	})
}

func TestEndOfTrustMakesAnOldResultOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		c.Trust(time.Now().Add(2 * fresh))
		expect(t, c, "first", "v1")
		s.set("v2", nil)
		pass(2*fresh - 1)
		expect(t, c, "before the end of trust", "v1")
		pass(1)
		expect(t, c, "at the end of trust", "v2")
	})
}

func TestAbsenceIsNotTrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		c.Trust(time.Now().Add(time.Hour))
		s.set("", errAbsent)
		expect(t, c, "first", errAbsent)
		s.set("v1", nil)
		pass(fresh)
		expect(t, c, "made without a word", "v1")
	})
}

func TestForgetHasEveryResultReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		c.Trust(time.Now().Add(time.Hour))
		expect(t, c, "first", "v1")
		s.set("v2", nil)
		pass(time.Millisecond)
		c.Forget()
		expect(t, c, "after Forget", "v2")
		s.set("v3", nil)
		pass(fresh)
		expect(t, c, "without trust", "v3")
		s.set("", errDown)
		pass(time.Millisecond)
		c.Forget()
		expect(t, c, "store down", "v3")
		c.Trust(time.Now().Add(time.Hour))
		s.set("v4", nil)
		pass(fresh)
		expect(t, c, "trusted again, but read before Forget", "v4")
	})
}

func TestDroppedResultStandsInForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		s.setHanging()
		pass(fresh)
		var wg sync.WaitGroup
		wg.Go(func() { // has found the result too old, and waits for a new one
			if v, err := c.Get(t.Context(), "k", time.Now()); err == nil {
				t.Errorf("Get() = %q, although that was dropped meanwhile", v)
			}
		})
		synctest.Wait()
		c.DropUnless("k", nil)
		wg.Wait()
		s.set("", errDown)
		expect(t, c, "store down", errDown)
	})
}

// TestDropWinsAgainstEveryRead changes a value and drops it, again and again,
// while others read: whoever asks after Drop has returned gets the new one.
func TestDropWinsAgainstEveryRead(t *testing.T) {
	t.Parallel()
	var value atomic.Int64
	c := readcache.New(readcache.Config{Fresh: time.Hour},
		func(context.Context, string) (int64, error) { return value.Load(), nil }, notFound, nil)
	defer c.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = c.Get(t.Context(), "k", time.Now())
				}
			}
		})
	}
	for want := int64(1); want <= 500; want++ {
		value.Store(want)
		c.DropUnless("k", nil)
		if got, err := c.Get(t.Context(), "k", time.Now()); got != want || err != nil {
			t.Errorf("Get() after Drop = %d, %v, want %d", got, err, want)
			break
		}
	}
	close(stop)
	wg.Wait()
}

func TestFloodOfUnknownThingsLeavesTheStoreToWhatIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots = 3
		var running, most atomic.Int64
		var slow atomic.Bool
		c := readcache.New(readcache.Config{MaxLoads: slots, LoadTimeout: loadTimeout, Fresh: fresh},
			func(ctx context.Context, k string) (string, error) {
				if k != "known" && slow.Load() {
					n := running.Add(1)
					defer running.Add(-1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					<-ctx.Done()
					return "", errAbsent
				}
				return "v of " + k, nil
			}, notFound, nil)
		defer c.Close()
		if _, err := c.Get(t.Context(), "known", time.Now()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		slow.Store(true)
		pass(fresh)
		var rejected atomic.Int64
		var wg sync.WaitGroup
		for i := range slots + readcache.MaxWaiting + 1 {
			wg.Go(func() {
				before := time.Now()
				if _, err := c.Get(t.Context(), strconv.Itoa(i), time.Now()); !notFound(err) && time.Since(before) == 0 {
					rejected.Add(1)
				}
			})
			synctest.Wait()
		}
		if n := rejected.Load(); n != 1 {
			t.Errorf("%d were refused at once, want the one beyond %d that run and %d that wait", n, slots, readcache.MaxWaiting)
		}
		before := time.Now()
		if v, err := c.Get(t.Context(), "known", time.Now()); v != "v of known" || err != nil || time.Since(before) != 0 {
			t.Errorf("a known thing: %q, %v after %s, want its answer at once", v, err, time.Since(before))
		}
		wg.Wait()
		if n := most.Load(); n != slots {
			t.Errorf("%d reads ran at the same time, want %d", n, slots)
		}
	})
}

func TestResultsThatEndedStandInForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		pass(time.Millisecond)
		s.set("", errDown)
		c.End(func(v string) bool { return v == "v2" })
		expect(t, c, "when another answer ended", "v1")
		c.End(func(v string) bool { return v == "v1" })
		expect(t, c, "when it ended", errDown)
		s.set("v1", nil)
		pass(2 * time.Second)
		expect(t, c, "read again", "v1")
		s.set("", errDown)
		pass(fresh)
		expect(t, c, "of after the end", "v1")
	})
}

// Only so many ends are told apart; with one more, whatever is older has ended.
func TestTheEndsThatAreRememberedAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 1024
		none := func(string) bool { return false }
		s, c := open(t)
		expect(t, c, "first", "v1")
		pass(time.Millisecond)
		s.set("", errDown)
		for range most {
			c.End(none)
		}
		expect(t, c, "at the limit", "v1")
		c.End(none)
		expect(t, c, "one beyond", errDown)
		s.set("v1", nil)
		pass(2 * time.Second)
		expect(t, c, "read again", "v1")
		pass(stale) // all of them are older than any answer that may stand in
		expect(t, c, "much later", "v1")
		pass(time.Millisecond)
		s.set("", errDown)
		for range most {
			c.End(none)
		}
		expect(t, c, "at the limit again", "v1")
	})
}
