package readcache_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/platform/readcache"
)

const (
	fresh       = 5 * time.Second
	stale       = 10 * time.Minute
	loadTimeout = 2 * time.Second
)

var (
	errAbsent = errors.New("no such thing")
	errDown   = errors.New("the store is down")
)

// source is a store whose answer, error and slowness a test sets.
type source struct {
	mu    sync.Mutex
	value string
	err   error
	hang  bool // until the context ends
	loads atomic.Int64
}

func (s *source) set(value string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.err, s.hang = value, err, false
}

func (s *source) setHanging() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = true
}

func (s *source) load(ctx context.Context, _ string) (string, error) {
	s.loads.Add(1)
	s.mu.Lock()
	value, err, hang := s.value, s.err, s.hang
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return value, err
}

func notFound(err error) bool { return errors.Is(err, errAbsent) }

// open returns a cache over a source that answers "v1".
func open(t *testing.T) (*source, *readcache.Cache[string, string]) {
	t.Helper()
	s := &source{value: "v1"}
	c := readcache.New(readcache.Config{Name: "things", Fresh: fresh, Stale: stale, LoadTimeout: loadTimeout},
		s.load, notFound, nil)
	t.Cleanup(c.Close)
	return s, c
}

// expect calls Get and compares; want is a value or the error wanted.
func expect(t *testing.T, c *readcache.Cache[string, string], when string, want any) {
	t.Helper()
	got, err := c.Get(t.Context(), "k", time.Now())
	synctest.Wait() // reads in the background, and ristretto's own work
	switch want := want.(type) {
	case error:
		if !errors.Is(err, want) {
			t.Errorf("%s: Get() = %q, %v, want error %v", when, got, err, want)
		}
	default:
		if err != nil || got != want {
			t.Errorf("%s: Get() = %q, %v, want %q", when, got, err, want)
		}
	}
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.After(d) }

func TestAnswerIsReadAgainWhenItIsNoLongerFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		s.set("v2", nil)
		pass(fresh/2 - 1)
		expect(t, c, "in the first half of its life", "v1")
		if n := s.loads.Load(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
		pass(fresh/2 + 1)
		expect(t, c, "at the end of its life", "v2")
		if n := s.loads.Load(); n != 2 {
			t.Errorf("%d loads, want 2", n)
		}
	})
}

func TestBusyResultIsReadAheadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		s.set("v2", nil)
		pass(fresh / 2)
		for range 10 {
			_, _ = c.Get(t.Context(), "k", time.Now()) // none of them waits
		}
		synctest.Wait()
		if n := s.loads.Load(); n != 2 {
			t.Errorf("%d loads, want 2", n)
		}
		expect(t, c, "after the read ahead", "v2")
	})
}

func TestPeekTellsWhatIsRememberedAndAsksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		peek := func(when string, want bool) {
			t.Helper()
			loads := s.loads.Load()
			if v, ok := c.Peek("k"); ok != want || ok && v != "v1" {
				t.Errorf("%s: Peek() = %q, %t", when, v, ok)
			}
			synctest.Wait()
			if n := s.loads.Load(); n != loads {
				t.Errorf("%s: the source was asked", when)
			}
		}
		peek("at first", false)
		expect(t, c, "first", "v1")
		peek("after a read", true)
		pass(2 * fresh)
		peek("when it is old", true)
		c.DropUnless("k", nil)
		peek("when it was dropped", false)
		s.set("", errAbsent)
		expect(t, c, "of what does not exist", errAbsent)
		peek("of what does not exist", false)
	})
}

func TestAbsenceIsAResultAndNeverServedStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		s.set("", errAbsent)
		expect(t, c, "first", errAbsent)
		pass(fresh/2 - 1)
		expect(t, c, "known to be absent", errAbsent)
		if n := s.loads.Load(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
		s.set("", errDown)
		pass(fresh)
		expect(t, c, "no longer known, store down", errDown)
		s.set("v2", nil)
		pass(fresh)
		expect(t, c, "made meanwhile", "v2")
	})
}

func TestDeletedThingIsNotServedAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t)
		expect(t, c, "first", "v1")
		s.set("", errAbsent)
		pass(fresh)
		expect(t, c, "deleted", errAbsent)
		s.set("", errDown)
		expect(t, c, "deleted, store down", errAbsent)
	})
}

func TestManyCallersCauseOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var loads atomic.Int64
		c := readcache.New(readcache.Config{}, func(context.Context, string) (string, error) {
			loads.Add(1)
			<-release
			return "v", nil
		}, notFound, nil)
		defer c.Close()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if v, err := c.Get(t.Context(), "k", time.Now()); v != "v" || err != nil {
					t.Errorf("Get() = %q, %v", v, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if n := loads.Load(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
	})
}

func TestCallerWhoLeavesDoesNotSpoilTheReadOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := readcache.New(readcache.Config{}, func(ctx context.Context, _ string) (string, error) {
			select {
			case <-release:
				return "v", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}, notFound, nil)
		defer c.Close()
		leaving, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Get(leaving, "k", time.Now()); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who left got %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if v, err := c.Get(t.Context(), "k", time.Now()); v != "v" || err != nil {
				t.Errorf("the one who stayed got %q, %v", v, err)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		close(release)
		wg.Wait()
	})
}

type cache = *readcache.Cache[string, string]

// slow is a cache whose reads have their value at once, and tell it after release.
func slow(s *source) (c cache, release func()) {
	released := make(chan struct{})
	return readcache.New(readcache.Config{Fresh: fresh}, func(ctx context.Context, k string) (string, error) {
		v, err := s.load(ctx, k)
		<-released
		return v, err
	}, notFound, nil), func() { close(released) }
}

func TestDropForgetsAlsoWhatIsBeingRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{value: "v1"}
		c, release := slow(s)
		defer c.Close()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.Get(t.Context(), "k", time.Now()) }) // has read v1, and is slow to tell
		synctest.Wait()
		s.set("v2", nil)
		c.DropUnless("k", nil)
		wg.Go(func() {
			if v, err := c.Get(t.Context(), "k", time.Now()); v != "v2" || err != nil {
				t.Errorf("asked after Drop: Get() = %q, %v, want v2", v, err)
			}
		})
		synctest.Wait()
		s.set("v3", nil)
		c.DropUnless("k", nil)
		release()
		wg.Wait()
		synctest.Wait()
		expect(t, c, "after Drop during two reads", "v3")
		s.set("v4", nil)
		c.DropUnless("k", nil)
		expect(t, c, "after Drop", "v4")
	})
}

// Where much changes, something else always does while a thing is read.
func TestDropLeavesWhatIsBeingReadOfOtherKeysAndWhatIsCurrent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		drop func(context.Context, cache)
		kept bool
	}{
		"another key":          {func(_ context.Context, c cache) { c.DropUnless("other", nil) }, true},
		"unless it is current": {func(_ context.Context, c cache) { c.DropUnless("k", is("v1")) }, true},
		"unless it is another": {func(_ context.Context, c cache) { c.DropUnless("k", is("v2")) }, false},
		"twice": {
			func(_ context.Context, c cache) { c.DropUnless("k", is("v1")); c.DropUnless("k", is("v2")) }, false,
		},
		"in any case": {func(_ context.Context, c cache) { c.DropUnless("k", nil) }, false},
		"between two reads": {func(ctx context.Context, c cache) {
			c.DropUnless("k", is("v1"))
			go func() { _, _ = c.Get(ctx, "k", time.Now()) }()
			synctest.Wait()
			c.DropUnless("k", is("v2"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &source{value: "v1"}
				c, release := slow(s)
				defer c.Close()
				go func() { _, _ = c.Get(t.Context(), "k", time.Now()) }()
				synctest.Wait()
				tc.drop(t.Context(), c)
				release()
				synctest.Wait()
				s.set("v2", nil)
				want := "v2"
				if tc.kept {
					want = "v1"
				}
				expect(t, c, "afterwards", want)
			})
		})
	}
}

func is(want string) func(string) bool { return func(v string) bool { return v == want } }

func TestStringKeyMayBeReusedAfterTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loads := 0
		c := readcache.New(readcache.Config{}, func(_ context.Context, k string) (string, error) {
			loads++
			return strings.Clone(k), nil
		}, notFound, nil)
		defer c.Close()
		buf := []byte("first")
		_, _ = c.Get(t.Context(), alias(buf), time.Now())
		synctest.Wait()
		copy(buf, "other")
		if v, err := c.Get(t.Context(), alias(buf), time.Now()); v != "other" || err != nil {
			t.Errorf("Get() = %q, %v, want other", v, err)
		}
		if v, err := c.Get(t.Context(), "first", time.Now()); v != "first" || err != nil || loads != 2 {
			t.Errorf("Get() = %q, %v after %d loads, want first after 2", v, err, loads)
		}
	})
}

// TestResultsAreRightUnderPressure has far more keys than room, so entries are
// rejected and evicted all the time.
func TestResultsAreRightUnderPressure(t *testing.T) {
	t.Parallel()
	c := readcache.New(readcache.Config{MaxEntries: 16},
		func(_ context.Context, k string) (string, error) { return "value of " + k, nil }, notFound, nil)
	defer c.Close()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 5000 {
				k := strconv.Itoa((i * (g + 1)) % 501)
				if v, err := c.Get(t.Context(), k, time.Now()); v != "value of "+k || err != nil {
					t.Errorf("Get(%s) = %q, %v", k, v, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestMetricsCountOutcomesAndAreSharedByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		for range 2 { // two daemons in one process
			s := &source{value: "v1"}
			c := readcache.New(readcache.Config{Name: "things", Fresh: fresh, Stale: stale}, s.load, notFound, reg)
			expect(t, c, "miss", "v1")
			expect(t, c, "hit", "v1")
			s.set("", errDown)
			pass(fresh)
			expect(t, c, "miss that fails", "v1")
			expect(t, c, "stale", "v1")
			pass(stale)
			s.set("", errAbsent)
			expect(t, c, "miss that finds nothing", errAbsent)
			expect(t, c, "negative", errAbsent)
			c.Close()
		}
		want := `
# HELP millrace_lookup_load_failures_total Failed reads of the metadata store. Reading something that does not exist is not a failure.
# TYPE millrace_lookup_load_failures_total counter
millrace_lookup_load_failures_total{lookup="things"} 2
# HELP millrace_lookup_loads_total Reads of the metadata store.
# TYPE millrace_lookup_loads_total counter
millrace_lookup_loads_total{lookup="things"} 6
# HELP millrace_lookup_requests_total Cached reads of the metadata store. outcome is hit, negative (known not to exist), stale (served while the store fails) or miss.
# TYPE millrace_lookup_requests_total counter
millrace_lookup_requests_total{lookup="things",outcome="hit"} 2
millrace_lookup_requests_total{lookup="things",outcome="miss"} 6
millrace_lookup_requests_total{lookup="things",outcome="negative"} 2
millrace_lookup_requests_total{lookup="things",outcome="stale"} 4
`
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "millrace_lookup_requests_total",
			"millrace_lookup_loads_total", "millrace_lookup_load_failures_total"); err != nil {
			t.Error(err)
		}
	})
}
