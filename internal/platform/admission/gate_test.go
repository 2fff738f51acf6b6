package admission

import (
	"context"
	"errors"
	"hash/maphash"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/apierr"
)

const mib = 1 << 20

func newGate(tb testing.TB, memory int64, outside func() int64) *Gate {
	tb.Helper()
	g := New(Config{Host: "test", Memory: memory, QueueTime: time.Second},
		Deps{Metrics: prometheus.NewRegistry(), Outside: outside})
	for !apart(g) {
		g.seed = maphash.MakeSeed()
	}
	return g
}

// apart reports whether none of the callers of the tests share an account.
func apart(g *Gate) bool {
	taken := map[*account]bool{}
	for _, name := range []string{
		"hot", "second", "third", "other", "newcomer", "acme", "else", "new", "a", "b", "c", "website", "organization",
	} {
		a := g.of(&g.owners, name)
		if taken[a] {
			return false
		}
		taken[a] = true
	}
	return true
}

// take opens a claim and takes n bytes.
func take(g *Gate, kind Kind, owner, group string, n int64) (*Claim, error) {
	c := g.Open(kind, owner, group)
	return &c, c.Take(n)
}

// rejected returns the only reason by which claims were rejected, and how often.
func rejected(t *testing.T, g *Gate) (why Reason, times float64) {
	t.Helper()
	for r := Memory; r < reasons; r++ {
		if n := testutil.ToFloat64(g.metrics.rejected[r]); n > 0 {
			if times > 0 {
				t.Errorf("refused for %s and %s", why, r)
			}
			why, times = r, n
		}
	}
	return why, times
}

func TestTheBudgetIsGivenUpToItsLastByteAndNotBeyond(t *testing.T) {
	t.Parallel()
	g := newGate(t, 10*largeBytes, nil)
	var claims []*Claim
	for range 20 {
		c, err := take(g, Work, "", "", largeBytes/2)
		if err != nil {
			t.Fatal(err)
		}
		claims = append(claims, c)
	}
	_, err := take(g, Work, "", "", 1)
	f := apierr.Of(err)
	if !errors.Is(err, ErrRejected) || f.Code != apierr.ServiceUnavailable || f.RetryAfter < 2*time.Second ||
		f.RetryAfter > 10*time.Second {
		t.Errorf("one byte more: %v, retry after %s", err, f.RetryAfter)
	}
	if why, n := rejected(t, g); why != Memory || n != 1 {
		t.Errorf("refused %v times for %s", n, why)
	}
	for _, c := range claims {
		c.Release(true)
		c.Release(true) // which gives nothing back twice
	}
	if g.Used() != 0 {
		t.Errorf("%d bytes are left", g.Used())
	}
	if c, err := take(g, Work, "", "", 1); err != nil || c.Bytes() != 1 {
		t.Errorf("afterwards: %d bytes, %v", c.Bytes(), err)
	}
}

func TestLargeClaimsLeaveSomeToSmallOnesAndBodiesHalfToWork(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		kind Kind
		n    int64
		most int64 // that claims of this kind and size get
	}{
		{"small work", Work, largeBytes - 1, 8 * mib},
		{"large work", Work, largeBytes, 7 * mib},
		{"small bodies", Body, largeBytes - 1, 4 * mib},
		{"large bodies", Body, largeBytes, 4 * mib},
		{"answers", Response, largeBytes, 4 * mib},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, 8*mib, nil)
			got := int64(0)
			for {
				if _, err := take(g, tc.kind, "", "", tc.n); err != nil {
					break
				}
				got += tc.n
			}
			if got > tc.most || got+tc.n <= tc.most {
				t.Errorf("%d bytes were given, want %d", got, tc.most)
			}
			if _, err := take(g, Work, "", "", largeBytes/2); (err == nil) != (tc.most < 8*mib) {
				t.Errorf("a small claim beside them: %v", err)
			}
			if _, err := take(g, Body, "", "", largeBytes); (err == nil) != (tc.kind == Response) {
				t.Errorf("a large body beside them: %v", err)
			}
		})
	}
}

func TestWhatCouldNeverBeGivenCountsAsAllThereIs(t *testing.T) {
	t.Parallel()
	g := newGate(t, 8*mib, nil)
	c, err := take(g, Work, "w", "o", 100*mib)
	if err != nil || c.Bytes() != 7*mib {
		t.Errorf("%d bytes, %v; want %d", c.Bytes(), err, 7*mib)
	}
	if err := c.Take(1); err != nil || c.Bytes() != 7*mib {
		t.Errorf("and one more: %d bytes, %v", c.Bytes(), err)
	}
	c.Keep(mib)
	if c.Bytes() != mib || g.Used() != mib {
		t.Errorf("%d bytes are kept, %d used", c.Bytes(), g.Used())
	}
	if c.Keep(2 * mib); c.Bytes() != mib {
		t.Errorf("%d bytes are kept of fewer", c.Bytes())
	}
}

func TestWhatIsHeldOutsideIsNotGivenTwice(t *testing.T) {
	t.Parallel()
	outside := int64(3 * mib)
	g := newGate(t, 4*mib, func() int64 { return outside })
	for range 32 {
		if _, err := take(g, Work, "", "", mib/32); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := take(g, Work, "", "", 1); err == nil {
		t.Error("more than the budget was given")
	}
	outside = 0
	if _, err := take(g, Work, "", "", 1); err != nil {
		t.Errorf("once the memory is free: %v", err)
	}
}

func TestAWebsiteHoldsNoMoreThanIsFreeAndAnOrganizationFourTimesThat(t *testing.T) {
	t.Parallel()
	const n = 32 << 10
	g := newGate(t, 100*n, nil)
	fill := func(owner, group string) (got int) {
		for {
			if _, err := take(g, Work, owner, group, n); err != nil {
				return got
			}
			got++
		}
	}
	if got := fill("hot", "acme"); got != 50 {
		t.Errorf("one website got %d of 100", got)
	}
	if why, _ := rejected(t, g); why != Share {
		t.Errorf("it was refused for %s", why)
	}
	if got := fill("second", "acme"); got != 25 {
		t.Errorf("another one got %d of the 50 that were left", got)
	}
	if got := fill("third", "acme"); got != 5 {
		t.Errorf("a third one got %d of 25, of an organization that may hold 80", got)
	}
	if got := fill("other", "else"); got != 10 {
		t.Errorf("another organization's website got %d of the 20 that were left", got)
	}
	if _, err := take(g, Work, "newcomer", "new", n); err != nil {
		t.Errorf("who holds nothing was refused: %v", err)
	}
}

func TestAnAddressHoldsNoMoreThanHalfOfWhatBodiesMayTake(t *testing.T) {
	t.Parallel()
	const n = 32 << 10
	g := newGate(t, 100*n, nil)
	fill := func(owner string) (got int) {
		for {
			if _, err := take(g, Body, owner, "", n); err != nil {
				return got
			}
			got++
		}
	}
	for _, step := range []struct {
		owner string
		want  int
	}{{"hot", 25}, {"second", 13}, {"third", 6}} { // of the 50, of the 25 and of the 12 that are left
		if got := fill(step.owner); got != step.want {
			t.Errorf("%s got %d bodies of the 50 that all may have, want %d", step.owner, got, step.want)
		}
	}
	if why, _ := rejected(t, g); why != Share {
		t.Errorf("they were refused for %s", why)
	}
	if _, err := take(g, Body, "newcomer", "", n); err != nil {
		t.Errorf("who holds nothing was refused: %v", err)
	}
}

func TestALargeClaimWaitsForMemoryAndASmallOneDoesNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 8*mib, nil)
		first, err := take(g, Work, "a", "", 6*mib)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		large := g.Open(Work, "b", "")
		if err := large.Await(t.Context(), 2*mib); err == nil || time.Since(began) != longestWait {
			t.Errorf("without memory: %v after %s", err, time.Since(began))
		}
		done := make(chan error)
		go func() { done <- large.Await(t.Context(), 2*mib) }()
		synctest.Wait()
		time.Sleep(longestWait / 2) //nolint:forbidigo // synctest's time
		first.Release(true)
		if err := <-done; err != nil || large.Bytes() != 2*mib || g.waiting.Load() != 0 {
			t.Errorf("once there is memory: %v, %d bytes, %d still wait", err, large.Bytes(), g.waiting.Load())
		}
		rest, err := take(g, Work, "", "", 5*mib)
		if err != nil {
			t.Fatal(err)
		}
		for g.Used() < 8*mib {
			if _, err := take(g, Work, "", "", largeBytes/4); err != nil {
				t.Fatal(err)
			}
		}
		began = time.Now()
		small := g.Open(Work, "c", "")
		if err := small.Await(t.Context(), 1); err == nil || time.Since(began) != 0 {
			t.Errorf("a small one: %v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- small.Await(ctx, mib) }()
		synctest.Wait()
		cancel()
		if err := <-done; err == nil || len(g.line) != 0 {
			t.Errorf("one whose caller is gone: %v, %d in line", err, len(g.line))
		}
		rest.Release(true)
	})
}

func TestWhoMayNotHaveItHoldsNobodyUpInLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 8*mib, nil)
		hot, err := take(g, Work, "hot", "", 3*mib)
		if err != nil {
			t.Fatal(err)
		}
		others, err := take(g, Work, "", "", 4*mib)
		if err != nil {
			t.Fatal(err)
		}
		responses := map[string]chan error{"hot": make(chan error), "other": make(chan error)}
		for _, owner := range []string{"hot", "other"} {
			c := g.Open(Work, owner, "")
			go func() { responses[owner] <- c.Await(t.Context(), 2*mib) }()
			synctest.Wait()
		}
		others.Keep(mib) // 4 MiB are free: not enough for the hot one's third to fifth
		if err := <-responses["other"]; err != nil {
			t.Errorf("the second in line: %v", err)
		}
		if err := <-responses["hot"]; err == nil {
			t.Error("the first in line got more than its share")
		}
		hot.Release(true)
	})
}

func TestManyAtOnceNeverHoldMoreThanTheBudget(t *testing.T) {
	t.Parallel()
	g := newGate(t, 4*mib, nil)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			owner := strings.Repeat("o", w)
			for i := range 3000 {
				c := g.Open(Kind(w%2), owner, "g")
				if c.Await(t.Context(), int64(i%5)*largeBytes/3+1) == nil {
					if c.Take(1000) == nil {
						c.Keep(500)
					}
				}
				if used := g.Used(); used > 4*mib+8*2*largeBytes { // what attempts take for a moment
					t.Errorf("%d bytes are claimed", used)
				}
				c.Release(i%3 > 0)
			}
		})
	}
	all.Wait()
	if g.Used() != 0 || g.parts[Body].Load() != 0 || g.waiting.Load() != 0 {
		t.Errorf("%d bytes, %d of them bodies, and %d in line are left", g.Used(), g.parts[Body].Load(), g.waiting.Load())
	}
	for i := range g.owners {
		if g.owners[i].Load() != 0 || g.groups[i].Load() != 0 {
			t.Fatal("an account is not empty")
		}
	}
}

func TestAClaimTakesNoMemoryOfItsOwn(t *testing.T) { //nolint:paralleltest // allocations are the process's
	g := newGate(t, 64*mib, nil)
	ctx := t.Context()
	var c Claim // kept with the request's other state
	if n := testing.AllocsPerRun(1000, func() {
		c = g.Open(Work, "website", "organization")
		if c.Await(ctx, 8000) != nil {
			t.Error("refused")
		}
		c.Keep(6000)
		c.Release(true)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkClaim(b *testing.B) {
	g := newGate(b, 64*mib, nil)
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var c Claim
		for pb.Next() {
			c = g.Open(Work, "website", "organization")
			if c.Await(ctx, 8000) != nil {
				b.Error("refused")
			}
			c.Release(true)
		}
	})
}
