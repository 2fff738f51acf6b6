package linkcache_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

// special is a link of which everything is told.
func special(n int) *link.Served {
	l := plain(n, 1<<40)
	l.SlugKey, l.ExpiredURL, l.PasswordHash = fmt.Sprintf("sale-ü-%d", n), "https://example.com/gone", "$argon2id$…"
	l.Enabled, l.ForwardQuery, l.MaxClicks, l.RedirectStatus = false, true, link.MaxClicks, 308
	l.StartsAt, l.ExpiresAt = time.UnixMilli(-1).UTC(), time.Date(2999, 1, 1, 0, 0, 0, 999e6, time.UTC)
	l.UTM = link.UTM{Source: "s", Medium: "m", Campaign: strings.Repeat("ü", 255), Term: "t", Content: "c"}
	l.Preview = link.Preview{Title: "t", Description: "d", ImageURL: "i"}
	l.Targets = link.NewTargets(&link.Link{URL: l.URL, Rules: []link.Rule{{ID: "r", URL: "https://example.com/r"}}})
	return l
}

var sameTargets = cmp.Comparer(func(a, b *link.Targets) bool { return a == b })

func TestFindTellsAllThatWasReadOfALink(t *testing.T) {
	t.Parallel()
	own, lower := special(3), special(4)
	own.DomainID, own.SlugKey = "dom_1", link.KeyOn("dom_1", true, "Été/Sale")
	lower.DomainID, lower.SlugKey = "dom_1", link.KeyOn("dom_1", true, "été/sale")
	links := []*link.Served{plain(1, 1), special(2), {SlugKey: "bare"}, own, lower}
	f := newFake(links...)
	c, _ := run(t, f, 10)
	for _, want := range links {
		var got link.Served
		if err := c.Find(t.Context(), []byte(want.SlugKey), time.Now(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, &got, sameTargets); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.SlugKey, diff)
		}
	}
	for _, key := range []string{
		"", "SLUG-1", "Été/Sale", "dom_1/ÉTÉ/Sale", strings.Repeat("a", 512), strings.Repeat("a", 513),
	} {
		expect(t, c, "no link", key, absent)
	}
	if n := f.count(&f.reads); n != 4 {
		t.Errorf("%d reads of the store, want those of the keys that there may be", n)
	}
}

func TestWhatIsHeldIsNotAskedForAndWhatThereIsNotIsNotRemembered(t *testing.T) {
	t.Parallel()
	f := newFake(plain(1, 1))
	c, reg := run(t, f, 10)
	for range 5 {
		expect(t, c, "held", "slug-1", "v1")
		expect(t, c, "not there", "slug-2", absent)
	}
	f.with(func() { f.links["slug-2"] = plain(2, 1) }) // and nobody is told
	for range 5 {
		expect(t, c, "made since", "slug-2", "v1")
	}
	if n := f.count(&f.reads); n != 6 {
		t.Errorf("%d reads, want 6", n)
	}
	for outcome, want := range map[string]float64{"hit": 9, "miss": 6, "stale": 0} {
		if got := value(t, reg, "millrace_link_cache_requests_total", outcome); got != want {
			t.Errorf("%v of outcome %s, want %v", got, outcome, want)
		}
	}
	if n := value(t, reg, "millrace_link_cache_entries", ""); n != 2 {
		t.Errorf("%v entries, want 2", n)
	}
}

func TestManyWhoAskForOneSlugCauseOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, release := newFake(), make(chan struct{})
		c, _ := run(t, f, 10)
		f.with(func() { f.links["slug-1"], f.read = plain(1, 1), func() { <-release } })
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { expect(t, c, "asked for by many", "slug-1", "v1") })
		}
		synctest.Wait()
		if n := f.count(&f.reads); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
		close(release)
		wg.Wait()
	})
}

// TestAFloodOfUnknownSlugsIsBounded asks for as many slugs as may wait, and one more.
func TestAFloodOfUnknownSlugsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const waiting, atATime = 1024, 8
		f, release := newFake(), make(chan struct{})
		c, _ := run(t, f, 10)
		f.with(func() { f.read = func() { <-release } })
		var wg sync.WaitGroup
		for i := range waiting {
			wg.Go(func() { expect(t, c, "waiting", fmt.Sprint("none-", i), absent) })
		}
		synctest.Wait()
		if n := f.count(&f.reads); n != atATime {
			t.Errorf("%d reads at a time, want %d", n, atATime)
		}
		expect(t, c, "one too many", "none", away)
		close(release)
		wg.Wait()
		expect(t, c, "after the flood", "none", absent)
	})
}

func TestAStoreThatHangsHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, release := newFake(), make(chan struct{})
		c, _ := run(t, f, 10)
		f.with(func() { f.read = func() { <-release } })
		began := time.Now()
		var l link.Served
		err := c.Find(t.Context(), []byte("none"), time.Now(), &l)
		if f := apierr.Of(err); f.Code != apierr.ServiceUnavailable || f.RetryAfter != 5*time.Second {
			t.Errorf("Find() = %+v", f)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		close(release)
	})
}

func TestACacheIsReadyOnceItIsFilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 1))
		c, _ := open(f, 10)
		expect(t, c, "not begun: the store says it", "slug-1", "v1")
		f.setDown(true)
		start(t, c)
		<-time.After(time.Minute)
		if err := c.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), errDown.Error()) {
			t.Errorf("Ready() = %v while the store is down", err)
		}
		expect(t, c, "never filled", "slug-1", away)
		expect(t, c, "never filled", "none", away)
		f.setDown(false)
		<-time.After(2 * time.Second)
		if err := c.Ready(t.Context()); err != nil {
			t.Errorf("Ready() = %v", err)
		}
		expect(t, c, "filled", "slug-1", "v1")
		f.setDown(true)
		if err := c.Ready(t.Context()); err != nil {
			t.Errorf("Ready() = %v after it was filled", err)
		}
	})
}

func TestWhatIsHeldAnswersForADayWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 1))
		c, reg := run(t, f, 10)
		f.setDown(true)
		// It was known to be right within the last two seconds.
		<-time.After(24*time.Hour - 2*time.Second)
		expect(t, c, "within a day", "slug-1", "v1")
		expect(t, c, "unknown", "none", away)
		if n := value(t, reg, "millrace_link_cache_requests_total", "stale"); n != 1 {
			t.Errorf("%v stale answers, want 1", n)
		}
		<-time.After(2 * time.Second)
		expect(t, c, "after a day", "slug-1", away)
		f.setDown(false)
		<-time.After(5 * time.Second)
		expect(t, c, "the store is back", "slug-1", "v1")
		expect(t, c, "the store is back", "none", absent)
	})
}
