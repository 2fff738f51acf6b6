package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

func newLimiter(change func(*config.Limits)) *ratelimit.Limiter {
	cfg := config.Default().Limits
	if change != nil {
		change(&cfg)
	}
	return ratelimit.New(cfg, ratelimit.Deps{})
}

func byKey(id string, f ratelimit.Family) ratelimit.Request {
	return ratelimit.Request{Who: ratelimit.Identity{Kind: ratelimit.Key, ID: id}, Family: f}
}

func byClient(website, addr string, f ratelimit.Family) ratelimit.Request {
	return ratelimit.Request{
		Who: ratelimit.Identity{Kind: ratelimit.Client, ID: website, Addr: netip.MustParseAddr(addr)}, Family: f,
	}
}

// pass lets the time of a bubble pass.
func pass(d time.Duration) { <-time.After(d) }

// ask sends n requests, each answered at once, and returns how many were admitted
// and the first rejection.
func ask(t *testing.T, l *ratelimit.Limiter, r ratelimit.Request, n int) (admitted int, rejected *apierr.Error) {
	t.Helper()
	for range n {
		lease, err := l.Admit(t.Context(), r)
		switch {
		case err == nil:
			lease.Release(t.Context())
			admitted++
		case !apierr.Is(err, apierr.RateLimited):
			t.Fatalf("Admit() = %v, want a RateLimited error", err)
		case rejected == nil:
			rejected = apierr.Of(err)
		}
	}
	return admitted, rejected
}

func TestEachFamilyAdmitsItsLimitAndNotOneMore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		req  ratelimit.Request
		want int // specification, section 8
	}{
		{"track by key", byKey("key_1", ratelimit.Track), 600},
		{"track by website and address", byClient("web_1", "192.0.2.1", ratelimit.Track), 600},
		{"query by key", byKey("key_1", ratelimit.Query), 120},
		{
			"query by user",
			ratelimit.Request{Who: ratelimit.Identity{Kind: ratelimit.User, ID: "usr_1"}, Family: ratelimit.Query},
			120,
		},
		{"query by nobody", byClient("", "192.0.2.1", ratelimit.Query), 60},
		{"compile by key", byKey("key_1", ratelimit.Compile), 300},
		{"compile by nobody", byClient("", "192.0.2.1", ratelimit.Compile), 60},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(nil)
				if got, rejected := ask(t, l, tc.req, tc.want); got != tc.want || rejected != nil {
					t.Fatalf("%d of %d were admitted: %v", got, tc.want, rejected)
				}
				pass(time.Minute - time.Nanosecond)
				_, rejected := ask(t, l, tc.req, 1)
				if rejected == nil || rejected.Rate.Limit != tc.want || rejected.Rate.Remaining != 0 ||
					rejected.RetryAfter != time.Nanosecond {
					t.Fatalf("one more within the window: %+v", rejected)
				}
				pass(time.Nanosecond)
				if got, rejected := ask(t, l, tc.req, tc.want+1); got != tc.want || rejected == nil {
					t.Errorf("%d were admitted after the window, want %d", got, tc.want)
				}
			})
		})
	}
}

func TestTheWindowSlides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r := newLimiter(nil), byKey("key_1", ratelimit.Query)
		ask(t, l, r, 60)
		pass(50 * time.Second)
		ask(t, l, r, 60)
		_, rejected := ask(t, l, r, 1)
		if rejected == nil || rejected.RetryAfter != 10*time.Second ||
			!rejected.Rate.Reset.Equal(time.Now().Add(10*time.Second)) {
			t.Fatalf("refused with %+v, want the oldest's end in 10 s", rejected)
		}
		pass(10 * time.Second) // the first 60 leave, the others do not
		if got, _ := ask(t, l, r, 120); got != 60 {
			t.Errorf("%d were admitted, want 60", got)
		}
	})
}

func TestWhoKeepsThePaceIsNeverRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r := newLimiter(nil), byKey("key_1", ratelimit.Track)
		for i := range 3000 {
			if _, rejected := ask(t, l, r, 1); rejected != nil {
				t.Fatalf("request %d: %v", i, rejected)
			}
			pass(100 * time.Millisecond)
		}
	})
}

func TestARejectedRequestCountsAgainstNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(nil)
		track, query := byKey("key_1", ratelimit.Track), byKey("key_1", ratelimit.Query)
		track.Custom = ratelimit.Limit{Requests: 130, Window: time.Minute}
		query.Custom = track.Custom
		ask(t, l, query, 120) // its family's limit
		ask(t, l, query, 500) // which are rejected
		if got, rejected := ask(t, l, track, 500); got != 10 || rejected.Rate.Limit != 130 {
			t.Errorf("%d of the key's own limit are left, %+v; want 10", got, rejected)
		}
	})
}

func TestAKeysOwnLimitIsOverAllFamilies(t *testing.T) {
	t.Parallel()
	l := newLimiter(nil)
	track, query := byKey("key_1", ratelimit.Track), byKey("key_1", ratelimit.Query)
	track.Custom = ratelimit.Limit{Requests: 300, Window: time.Minute}
	query.Custom = track.Custom
	for _, step := range []struct {
		req     ratelimit.Request
		n, want int
	}{{track, 200, 200}, {query, 100, 100}, {query, 1, 0}, {track, 1, 0}} {
		if got, rejected := ask(t, l, step.req, step.n); got != step.want || rejected != nil && rejected.Rate.Limit != 300 {
			t.Errorf("%s: %d of %d were admitted, want %d: %v", step.req.Family, got, step.n, step.want, rejected)
		}
	}
}

func TestAKeysOwnLimitDoesNotLiftAFamilys(t *testing.T) {
	t.Parallel()
	l, r := newLimiter(nil), byKey("key_1", ratelimit.Track)
	r.Custom = ratelimit.Limit{Requests: 5000, Window: time.Hour}
	if got, rejected := ask(t, l, r, 601); got != 600 || rejected.Rate.Limit != 600 {
		t.Errorf("%d were admitted, then %v; want 600", got, rejected)
	}
}

func TestOfTwoWindowsTheOneThatTakesLongerIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r := newLimiter(nil), byKey("key_1", ratelimit.Query)
		r.Custom = ratelimit.Limit{Requests: 120, Window: time.Hour}
		if _, rejected := ask(t, l, r, 121); rejected == nil || rejected.RetryAfter != time.Hour {
			t.Errorf("refused with %+v, want an hour", rejected)
		}
	})
}

func TestAChangedLimitKeepsTheNewestRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		before, after int
		want          int // admitted at once after the change
	}{
		{"raised", 50, 80, 30},
		{"lowered", 50, 20, 0},
		{"raised from one", 1, 3, 2},
		{"lowered to one", 3, 1, 0},
		{"as it was", 7, 7, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, r := newLimiter(nil), byKey("key_1", ratelimit.Manage)
				r.Custom = ratelimit.Limit{Requests: tc.before, Window: time.Minute}
				for range tc.before {
					ask(t, l, r, 1)
					pass(time.Millisecond)
				}
				r.Custom.Requests = tc.after
				if got, _ := ask(t, l, r, 100); got != tc.want {
					t.Errorf("%d were admitted, want %d", got, tc.want)
				}
				pass(time.Minute)
				if got, _ := ask(t, l, r, 100); got != tc.after {
					t.Errorf("%d were admitted in the next window, want %d", got, tc.after)
				}
			})
		})
	}
}

func TestTwentyRequestsOfAKeyMayBeUnderWay(t *testing.T) {
	t.Parallel()
	l, ctx := newLimiter(nil), t.Context()
	var leases []ratelimit.Lease
	for i := range 20 {
		r := byKey("key_1", []ratelimit.Family{ratelimit.Track, ratelimit.Query}[i%2])
		lease, err := l.Admit(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	_, err := l.Admit(ctx, byKey("key_1", ratelimit.Track))
	f := apierr.Of(err)
	if f == nil || f.Code != apierr.RateLimited || f.Message != "Too many concurrent API key requests" ||
		f.RetryAfter != time.Second || f.Rate.Limit != 20 {
		t.Fatalf("the 21st: %+v", f)
	}
	if got, _ := ask(t, l, byKey("key_2", ratelimit.Track), 1); got != 1 {
		t.Error("another key is refused")
	}
	leases[7].Release(ctx)
	if got, _ := ask(t, l, byKey("key_1", ratelimit.Track), 1); got != 1 {
		t.Error("a place that was given back is not free")
	}
	// 600 less the ten that hold slots and the one above: the rejected one cost
	// nothing.
	for _, lease := range append(leases[:7], leases[8:]...) {
		lease.Release(ctx)
	}
	if got, _ := ask(t, l, byKey("key_1", ratelimit.Track), 700); got != 589 {
		t.Errorf("%d more were admitted, want 589", got)
	}
}

func TestUsersAndClientsMayHaveAnyNumberUnderWay(t *testing.T) {
	t.Parallel()
	l := newLimiter(nil)
	for range 40 {
		for _, r := range []ratelimit.Request{
			byClient("web_1", "192.0.2.1", ratelimit.Track),
			{Who: ratelimit.Identity{Kind: ratelimit.User, ID: "usr_1"}, Family: ratelimit.Query},
		} {
			if _, err := l.Admit(t.Context(), r); err != nil { // never given back
				t.Fatal(err)
			}
		}
	}
}

func TestWhoIsCountedAsOneCaller(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		a, b ratelimit.Request
		one  bool
	}{
		{"two keys", byKey("a", ratelimit.Track), byKey("b", ratelimit.Track), false},
		{
			"a key and a user of one id", byKey("a", ratelimit.Query),
			ratelimit.Request{Who: ratelimit.Identity{Kind: ratelimit.User, ID: "a"}, Family: ratelimit.Query},
			false,
		},
		{"one key from two addresses", keyFrom("a", "192.0.2.1"), keyFrom("a", "192.0.2.2"), true},
		{"two addresses", byClient("w", "192.0.2.1", ratelimit.Track), byClient("w", "192.0.2.2", ratelimit.Track), false},
		{"two websites", byClient("v", "192.0.2.1", ratelimit.Track), byClient("w", "192.0.2.1", ratelimit.Track), false},
		{"two families", byKey("a", ratelimit.Track), byKey("a", ratelimit.Query), false},
		{
			"one network of IPv6", byClient("w", "2001:db8::1", ratelimit.Track),
			byClient("w", "2001:db8::ffff:1", ratelimit.Track), true,
		},
		{
			"two networks of IPv6", byClient("w", "2001:db8::1", ratelimit.Track),
			byClient("w", "2001:db8:0:1::1", ratelimit.Track), false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLimiter(func(c *config.Limits) { c.Track, c.Query = 1, 1 })
			ask(t, l, tc.a, 1)
			if got, _ := ask(t, l, tc.b, 1); (got == 0) != tc.one {
				t.Errorf("%d of the other's requests admitted", got)
			}
		})
	}
}

func keyFrom(id, addr string) ratelimit.Request {
	r := byKey(id, ratelimit.Track)
	r.Who.Addr = netip.MustParseAddr(addr)
	return r
}

func TestManyCallersAtOnceGetExactlyTheLimit(t *testing.T) {
	t.Parallel()
	l := newLimiter(nil)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 100 {
				//nolint:usetesting // ends with the test
				lease, err := l.Admit(context.Background(), byKey("key_1", ratelimit.Track))
				if err == nil {
					admitted.Add(1)
					lease.Release(context.Background()) //nolint:usetesting // as above
				}
			}
		})
	}
	wg.Wait()
	if got := admitted.Load(); got != 600 {
		t.Errorf("%d were admitted, want 600", got)
	}
}

func TestALimiterThatIsOffAdmitsEverythingAndSaysSo(t *testing.T) {
	t.Parallel()
	off := newLimiter(func(c *config.Limits) { c.Enabled = false })
	for _, l := range []*ratelimit.Limiter{nil, off} {
		if got, _ := ask(t, l, byKey("key_1", ratelimit.Query), 1000); got != 1000 {
			t.Errorf("%d of 1000 were admitted", got)
		}
	}
	if off.Detail() == "" || newLimiter(nil).Detail() != "" {
		t.Errorf("Detail() = %q when off, %q when on", off.Detail(), newLimiter(nil).Detail())
	}
}

// TestAdmissionsAreThoseOfALogOfAllRequests compares with the definition: a
// request is admitted when fewer than the limit were within the window before it.
func TestAdmissionsAreThoseOfALogOfAllRequests(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		own := rapid.IntRange(1, 12).Draw(rt, "the family's")
		custom := rapid.IntRange(0, 15).Draw(rt, "the key's")
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 400).Draw(rt, "pause")) * 10 * time.Millisecond
		}), 1, 60).Draw(rt, "pauses")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = compare(t, own, custom, steps) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

func compare(t *testing.T, own, custom int, pauses []time.Duration) error {
	t.Helper()
	l := newLimiter(func(c *config.Limits) { c.Query, c.Window = own, 10*time.Second })
	r := byKey("key_1", ratelimit.Query)
	r.Custom = ratelimit.Limit{Requests: custom, Window: 15 * time.Second}
	var log []time.Time
	within := func(d time.Duration) (n int) {
		for _, at := range log {
			if time.Since(at) < d {
				n++
			}
		}
		return n
	}
	for i, pause := range pauses {
		pass(pause)
		want := within(10*time.Second) < own && (custom == 0 || within(15*time.Second) < custom)
		got, rejected := ask(t, l, r, 1)
		if (got == 1) != want {
			return fmt.Errorf("request %d: admitted is %t, want %t", i, got == 1, want)
		}
		if got == 1 {
			log = append(log, time.Now())
			continue
		}
		pass(rejected.RetryAfter - time.Nanosecond)
		if n, _ := ask(t, l, r, 1); n == 1 {
			return errors.New("admitted before the time that the refusal told")
		}
		pass(time.Nanosecond)
		if n, _ := ask(t, l, r, 1); n == 0 {
			return errors.New("refused at the time that the refusal told")
		}
		log = append(log, time.Now())
	}
	return nil
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	cfg := config.Default().Limits
	cfg.Memory = 1 << 20
	l := ratelimit.New(cfg, ratelimit.Deps{Metrics: reg})
	held, err := l.Admit(t.Context(), byKey("held", ratelimit.Track))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100_000 {
		ask(t, l, byKey(fmt.Sprintf("key_%d", i), ratelimit.Track), 1)
	}
	if n := gauge(t, reg, "millrace_limits_callers"); n < 1000 || n > (1<<20)/400 {
		t.Errorf("%v callers are remembered in 1 MiB", n)
	}
	if gauge(t, reg, "millrace_limits_callers_forgotten_total") == 0 {
		t.Error("that callers were forgotten is not told")
	}
	more := 0
	for range 20 {
		if _, err := l.Admit(t.Context(), byKey("held", ratelimit.Track)); err == nil {
			more++
		}
	}
	if more != 19 {
		t.Errorf("beside the request under way %d more were admitted, want 19", more)
	}
	held.Release(t.Context())
}

func TestCallersOfWhomNothingCountsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		l := ratelimit.New(config.Default().Limits, ratelimit.Deps{Metrics: reg})
		for round := range 3 {
			for i := range 10_000 {
				ask(t, l, byKey(fmt.Sprintf("key_%d_%d", round, i), ratelimit.Track), 1)
			}
			pass(time.Minute)
		}
		if n := gauge(t, reg, "millrace_limits_callers"); n > 11_000 {
			t.Errorf("%v callers are remembered, of which 10,000 asked in the last minute", n)
		}
		if n := gauge(t, reg, "millrace_limits_callers_forgotten_total"); n != 0 {
			t.Errorf("%v were forgotten for want of memory", n)
		}
	})
}

// gauge reads the sum of a metric's series.
func gauge(t *testing.T, reg *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return sum
}
