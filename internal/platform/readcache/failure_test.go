package readcache_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/readcache"
)

func TestOldResultStandsInWhileTheStoreFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		s.set("", errDown)
		for passed := time.Duration(0); passed < stale; passed += time.Minute {
			expect(t, c, fmt.Sprintf("after %s", passed), "v1")
			pass(time.Minute)
		}
		expect(t, c, "when it is too old", errDown)
		s.set("v2", nil)
		pass(2 * time.Second)
		expect(t, c, "when the store is back", "v2")
	})
}

func TestUnknownKeyAndFailingStoreIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		s.set("", errDown)
		expect(t, c, "first", errDown)
		s.set("v1", nil)
		expect(t, c, "the error is not remembered", "v1")
	})
}

func TestRecoveredStoreIsAskedBeforeAnOldResultIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		s.set("", errDown)
		pass(fresh)
		expect(t, c, "store down", "v1")
		s.set("v2", nil)
		pass(fresh) // nobody asked meanwhile
		expect(t, c, "store back long ago", "v2")
	})
}

func TestHangingStoreHoldsNobodyWhoCanBeServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		s.setHanging()
		start, worst := time.Now(), time.Duration(0)
		for time.Since(start) < 5*time.Minute {
			before := time.Now()
			if v, err := c.Get(t.Context(), "k", time.Now()); v != "v1" || err != nil {
				t.Fatalf("after %s: Get() = %q, %v", time.Since(start), v, err)
			}
			worst = max(worst, time.Since(before))
			pass(100 * time.Millisecond)
		}
		if worst != 0 {
			t.Errorf("a caller of a busy key waited %s, want no wait", worst)
		}
	})
}

func TestIdleKeyWaitsForAHangingStoreOnceAtMostItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		s.setHanging()
		pass(time.Minute)
		for i, want := range []time.Duration{loadTimeout, 0, 0} {
			before := time.Now()
			expect(t, c, "store hangs", "v1")
			if got := time.Since(before); got != want {
				t.Errorf("call %d waited %s, want %s", i, got, want)
			}
		}
	})
}

func TestReadThatIgnoresItsDeadlineHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		load := func(context.Context, string) (string, error) { <-release; return "late", nil }
		c := readcache.New(readcache.Config{LoadTimeout: loadTimeout}, load, notFound, nil)
		defer c.Close()
		before := time.Now()
		if v, err := c.Get(t.Context(), "k", time.Now()); err == nil {
			t.Errorf("Get() = %q, want an error", v)
		}
		if got := time.Since(before); got < loadTimeout || got > 2*loadTimeout {
			t.Errorf("waited %s, want about %s", got, loadTimeout)
		}
		close(release)
		synctest.Wait()
	})
}

func TestBreakerKeepsCallsFromAFailingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		s.set("", errDown)
		for i := range 100 {
			if _, err := c.Get(t.Context(), strconv.Itoa(i), time.Now()); err == nil || notFound(err) {
				t.Errorf("Get() = %v, want the store's failure", err)
			}
		}
		if n := s.loads.Load(); n != 3 {
			t.Errorf("%d loads, want 3", n)
		}
		s.set("v1", nil)
		pass(1001 * time.Millisecond)
		expect(t, c, "after the pause", "v1")
	})
}

func TestAbsenceDoesNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		s.set("", errAbsent)
		for i := range 100 {
			if _, err := c.Get(t.Context(), strconv.Itoa(i), time.Now()); !notFound(err) {
				t.Fatalf("Get() = %v, want %v", err, errAbsent)
			}
		}
	})
}
