package flagset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

func TestWhileTheStoreIsAwayWhatIsHeldAnswersOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		m, reg := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { f.down = true })
		began := time.Now()
		for time.Since(began) < stale-time.Minute {
			expect(t, m, fmt.Sprint("after ", time.Since(began)), "org_1", "v1.1")
			pass(time.Minute)
		}
		expect(t, m, "not held", "org_2", away)
		if n := value(t, reg, "millrace_flag_sets_requests_total", "stale"); n < 50 {
			t.Errorf("%v answers are told to be stale", n)
		}
		age := value(t, reg, "millrace_flag_sets_age_seconds", "")
		if age < stale.Seconds()-120 || age > stale.Seconds() {
			t.Errorf("%v s old", age)
		}
		pass(time.Until(began.Add(stale + 5*time.Second)))
		expect(t, m, "too old", "org_1", away)
		_, err := m.Get(t.Context(), "org_1")
		is, ok := errors.AsType[*apierr.Error](err)
		if !ok || is.RetryAfter != 5*time.Second || !errors.Is(err, errDown) {
			t.Errorf("Get() = %v, want to be told to come back after 5 s", err)
		}
		f.with(func() { f.down = false })
		f.set("org_1", 2)
		until(t, func() bool { return served(t, m, "org_1") == "v1.2" })
		if age := value(t, reg, "millrace_flag_sets_age_seconds", ""); age > 5 {
			t.Errorf("%v s old when the store is back", age)
		}
	})
}

// TestOnlyWhatWasNotReadAgainGrowsOld lets changes be told, and one set not be read again.
func TestOnlyWhatWasNotReadAgainGrowsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		m, reg := run(t, f, 0)
		heartbeats(t, m)
		expect(t, m, "at first", "org_1", "v1.1")
		expect(t, m, "at first", "org_2", "v1.1")
		pass(10 * time.Minute)
		f.set("org_1", 2)
		f.with(func() { f.noSet = true })
		m.Apply(told("org_1", 2))
		pass(stale - 10*time.Second)
		expect(t, m, "not too old yet", "org_1", "v1.1")
		if n := value(t, reg, "millrace_flag_sets_loads_total", "failed"); n < 500 {
			t.Errorf("it was tried %v times to read it again", n)
		}
		if age := value(t, reg, "millrace_flag_sets_age_seconds", ""); age < stale.Seconds()-60 {
			t.Errorf("the oldest is %v s old", age)
		}
		pass(20 * time.Second)
		expect(t, m, "too old", "org_1", away)
		expect(t, m, "unchanged", "org_2", "v1.1")
		f.with(func() { f.noSet = false })
		pass(5 * time.Second)
		expect(t, m, "read at last", "org_1", "v1.2")
		if f.readsOf("org_2") != 1 {
			t.Error("what has not changed is read again")
		}
	})
}

func TestFlagsThatCannotBeEvaluatedAreNotServedAndKeepNobodyElseAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1", "org_2")
		m, reg := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { f.bad["org_1"], f.bad["org_3"], f.sets["org_1"], f.sets["org_3"] = true, true, 2, 1 })
		m.Apply(told("org_1", 2))
		pass(time.Minute)
		expect(t, m, "as it was", "org_1", "v1.1")
		for range 5 { // the store is not spared for it
			expect(t, m, "never read", "org_3", away)
		}
		expect(t, m, "another's", "org_2", "v1.1")
		if value(t, reg, "millrace_flag_sets_loads_total", "broken") < 5 {
			t.Error("they are not counted")
		}
		f.with(func() { clear(f.bad) })
		pass(2 * time.Second)
		expect(t, m, "mended", "org_1", "v1.2")
	})
}

func TestAStoreThatIsAwayIsLookedAtEachSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("org_1")
		m, _ := run(t, f, 0)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { f.down = true })
		m.Forget()
		synctest.Wait()
		f.with(func() { f.looks = 0 })
		for range 100 { // it helps nobody to be told again
			m.Forget()
			pass(200 * time.Millisecond)
		}
		if n := f.count(func() int { return f.looks }); n < 15 || n > 21 {
			t.Errorf("%d looks within 20 s, want one a second", n)
		}
		f.with(func() { f.down = false })
		f.set("org_1", 2)
		if took := until(t, func() bool { return served(t, m, "org_1") == "v1.2" }); took > 2*time.Second {
			t.Errorf("seen %v after the store was back", took)
		}
	})
}

func TestAFailureIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := newFake("org_1")
		m := logged(t, f, &log)
		expect(t, m, "at first", "org_1", "v1.1")
		f.with(func() { f.down = true })
		pass(time.Minute)
		f.with(func() { f.down = false })
		pass(time.Minute)
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines, want that it fails, and that it does not any more:\n%s", n, log.String())
		}
	})
}
