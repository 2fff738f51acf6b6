package analytics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// countingRunner answers after a second with how often it was asked.
type countingRunner struct {
	mu        sync.Mutex
	runs      int
	cancelled int
	err       error
}

func (r *countingRunner) Run(ctx context.Context, _ *Statement) (*Table, error) {
	r.mu.Lock()
	r.runs++
	n := r.runs
	r.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cancelled++
		return nil, ctx.Err()
	}
	if r.err != nil {
		return nil, r.err
	}
	return &Table{Rows: 1, Columns: []Values{{Name: "n", Uints: []uint64{uint64(n)}}}}, nil
}

// dial is a version that tests turn.
type dial struct {
	mu      sync.Mutex
	version Version
	err     error
	reads   int
}

// Bases takes everything for a rollup of events, but vitals.
func (d *dial) Bases(tables []string) []string {
	if slices.Equal(tables, []string{"vitals"}) {
		return tables
	}
	return []string{"events"}
}

func (d *dial) Of(context.Context, Subject, Range, []string) (Version, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	return d.version, d.err
}

func (d *dial) set(v Version, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.version, d.err = v, err
}

// cachingEngine is an engine that keeps responses.
func cachingEngine(t *testing.T, r Runner, v Versions, cfg Config) *Engine {
	t.Helper()
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = 1 << 20
	}
	e := NewEngine(cfg,
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: r, Versions: v})
	t.Cleanup(e.Close)
	return e
}

func plansOf(t *testing.T, body string) []Plan {
	t.Helper()
	plans, err := compileBody(t, body, websiteEnv())
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

const oneSummary = `{"parameters":["summary"],"preset":"today"}`

// ask returns the number that answers a question, or the error.
func ask(ctx context.Context, t *testing.T, e *Engine, wants Freshness) (uint64, error) {
	t.Helper()
	x := e.Prepare(ctx, plansOf(t, oneSummary), wants)
	defer x.Close()
	if err := x.Begin(ctx); err != nil {
		return 0, err
	}
	r := x.Wait(ctx, 0, 0)
	if e.results != nil {
		e.results.kept.Wait()
	}
	if r.Err != nil {
		return 0, r.Err
	}
	return r.Table.Columns[0].Uints[0], nil
}

func expectResult(t *testing.T, e *Engine, why string, wants Freshness, want uint64) {
	t.Helper()
	if got, err := ask(t.Context(), t, e, wants); err != nil || got != want {
		t.Errorf("%s: answer %d, %v; want that of run %d", why, got, err, want)
	}
}

func TestAResponseIsKeptUntilTheDataChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dial{version: Version{Number: 1}}
		e := cachingEngine(t, &countingRunner{}, d, Config{})
		expectResult(t, e, "first", Freshness{}, 1)
		expectResult(t, e, "at once", Freshness{}, 1)
		<-time.After(fresh)
		expectResult(t, e, "a moment after data that may have just changed", Freshness{}, 2)
		<-time.After(settled)
		expectResult(t, e, "after data that has settled", Freshness{}, 3)
		<-time.After(oldest - time.Second)
		expectResult(t, e, "long after", Freshness{}, 3)
		d.set(Version{Number: 2}, nil)
		<-time.After(fresh)
		expectResult(t, e, "after a change", Freshness{}, 4)
	})
}

func TestAResponseIsKeptForAMomentWhileTheDataSettles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := cachingEngine(t, &countingRunner{}, &dial{version: Version{Number: 1, Settling: true}}, Config{})
		expectResult(t, e, "first", Freshness{}, 1)
		<-time.After(settled)
		expectResult(t, e, "later", Freshness{}, 2)
		<-time.After(fresh)
		expectResult(t, e, "and later", Freshness{}, 3)
	})
}

func TestAVersionIsReadOnceInAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dial{version: Version{Number: 1}}
		e := cachingEngine(t, &countingRunner{}, d, Config{})
		for range 3 {
			e.Prepare(t.Context(),
				plansOf(t, `{"parameters":["summary","top_pages","top_pages"],"preset":"today"}`), Freshness{}).Close()
		}
		if d.reads != 1 {
			t.Errorf("%d reads of one version, want 1", d.reads)
		}
		<-time.After(fresh)
		e.Prepare(t.Context(), plansOf(t, oneSummary), Freshness{}).Close()
		if d.reads != 2 {
			t.Errorf("%d reads a moment later, want 2", d.reads)
		}
	})
}

func TestWhatIsMadeOfTheSameTableHasOneVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			names string
			want  int
		}{{`"summary","top_pages","top_referrers"`, 1}, {`"summary","web_vitals_by_os"`, 2}} {
			d := &dial{version: Version{Number: 1}}
			e := cachingEngine(t, &countingRunner{}, d, Config{})
			env := websiteEnv()
			env.Rollups = true
			plans, err := compileBody(t, `{"parameters":[`+tc.names+`],"preset":"last_7d"}`, env)
			if err != nil {
				t.Fatal(err)
			}
			e.Prepare(t.Context(), plans, Freshness{}).Close()
			if d.reads != tc.want {
				t.Errorf("%s: %d versions were read, want %d", tc.names, d.reads, tc.want)
			}
		}
	})
}

func TestWithoutAVersionNothingIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := cachingEngine(t, &countingRunner{}, &dial{err: errors.New("away")}, Config{})
		expectResult(t, e, "first", Freshness{}, 1)
		expectResult(t, e, "at once", Freshness{}, 2)
		if _, ok := e.Prepare(t.Context(), plansOf(t, oneSummary), Freshness{}).Tag(); ok {
			t.Error("an answer of an unknown state has a tag")
		}
	})
}

func TestACallerMayDoWithoutTheCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dial{version: Version{Number: 1}}
		e := cachingEngine(t, &countingRunner{}, d, Config{})
		expectResult(t, e, "not stored", Freshness{NoRead: true, NoStore: true}, 1)
		if d.reads != 0 {
			t.Errorf("%d versions were read for an answer that nobody keeps", d.reads)
		}
		expectResult(t, e, "stored", Freshness{}, 2)
		expectResult(t, e, "not read, and stored", Freshness{NoRead: true}, 3)
		expectResult(t, e, "read", Freshness{}, 3)
	})
}

func TestARequestRunsWhatItAsksTwiceOnce(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string]Freshness{"kept": {}, "not kept": {NoRead: true, NoStore: true}} {
		synctest.Test(t, func(t *testing.T) {
			r := &countingRunner{}
			e := cachingEngine(t, r, &dial{version: Version{Number: 1}}, Config{})
			plans := plansOf(t, `[{"parameters":["top_pages"],"preset":"yesterday"},{"parameters":["top_pages"],"preset":"yesterday"},{"parameters":["top_pages"],"preset":"today"}]`)
			x := e.Prepare(t.Context(), plans, wants)
			defer x.Close()
			if err := x.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i := range plans {
				if result := x.Wait(t.Context(), i, 0); result.Err != nil {
					t.Error(result.Err)
				}
			}
			if r.runs != 2 {
				t.Errorf("%s: %d runs, want 2", name, r.runs)
			}
		})
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &countingRunner{err: fmt.Errorf("%w: 4 GiB", ErrTooLarge)}
		e := cachingEngine(t, r, &dial{version: Version{Number: 1}}, Config{})
		for range 2 {
			if _, err := ask(t.Context(), t, e, Freshness{}); !errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v", err)
			}
		}
		if r.runs != 2 {
			t.Errorf("%d runs, want 2", r.runs)
		}
	})
}

func TestEqualQuestionsAtTheSameTimeRunOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &countingRunner{}
		e := cachingEngine(t, r, &dial{version: Version{Number: 1}}, Config{})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { expectResult(t, e, "together", Freshness{}, 1) })
		}
		all.Wait()
		if shared := testutil.ToFloat64(e.metrics.served.shared); r.runs != 1 || shared != 19 {
			t.Errorf("%d runs, %v shared", r.runs, shared)
		}
		if len(e.flights.byKey) != 0 {
			t.Error("a flight is left")
		}
	})
}

func TestOneRequestThatAsksTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, wants := range []Freshness{{}, {NoRead: true}} {
			r := &countingRunner{}
			e := cachingEngine(t, r, &dial{version: Version{Number: 1}}, Config{})
			x := e.Prepare(t.Context(), plansOf(t,
				`[{"parameters":["summary","summary"],"preset":"today"},{"parameters":["summary"],"preset":"today"}]`), wants)
			if err := x.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, at := range [][2]int{{0, 0}, {0, 1}, {1, 0}} {
				if got := x.Wait(t.Context(), at[0], at[1]); got.Err != nil || got.Table.Columns[0].Uints[0] != 1 {
					t.Errorf("answer %v: %v, %v", at, got.Table, got.Err)
				}
			}
			x.Close()
			if r.runs != 1 {
				t.Errorf("%d runs, want 1", r.runs)
			}
		}
	})
}

func TestACallerThatGoesAwayFailsNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &countingRunner{}
		e := cachingEngine(t, r, &dial{version: Version{Number: 1}}, Config{})
		first, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := ask(first, t, e, Freshness{}); !errors.Is(err, context.Canceled) {
				t.Errorf("who went away: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() { expectResult(t, e, "who stayed", Freshness{}, 1) })
		synctest.Wait()
		leave()
		all.Wait()
		if r.cancelled != 0 {
			t.Error("the run was cancelled")
		}
	})
}

func TestARunEndsWithTheLastWhoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &countingRunner{}
		e := cachingEngine(t, r, &dial{version: Version{Number: 1}}, Config{})
		var executions []*Execution
		for range 3 {
			x := e.Prepare(t.Context(), plansOf(t, oneSummary), Freshness{})
			if err := x.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			executions = append(executions, x)
		}
		synctest.Wait()
		for i, x := range executions {
			if r.cancelled != 0 {
				t.Errorf("cancelled when %d of 3 were gone", i)
			}
			x.Close()
			x.Close()
			synctest.Wait()
		}
		if r.runs != 1 || r.cancelled != 1 {
			t.Errorf("%d runs, %d cancelled; want 1 and 1", r.runs, r.cancelled)
		}
		expectResult(t, e, "who comes after", Freshness{}, 2)
		if n := testutil.CollectAndCount(e.metrics.failures); n != 0 {
			t.Errorf("%d failures counted: nobody waited", n)
		}
	})
}

func TestAStatementEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := cachingEngine(t, &countingRunner{}, &dial{}, Config{MaxTime: 999 * time.Millisecond})
		_, err := ask(t.Context(), t, e, Freshness{})
		if r := (&Result{Err: err}); r.Failure().Code != "QUERY_TIMEOUT" {
			t.Errorf("error %v", err)
		}
	})
}

// many is a request of n statements that differ.
func many(n int) string {
	parameters := make([]string, n)
	for i := range parameters {
		parameters[i] = fmt.Sprintf(`{"name":"summary","id":"%d","start_date":"2026-01-%02d"}`, i, i+1)
	}
	return `{"parameters":[` + strings.Join(parameters, ",") + `],"startDate":"2026-01-01","endDate":"2026-03-01"}`
}

func TestARequestFindsSlotsOrIsRejectedAsAWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &countingRunner{}
		e := cachingEngine(t, r, &dial{}, Config{Slots: 4, OwnerSlots: 2})
		var waiting []*Execution
		admit := func(body string) error {
			x := e.Prepare(t.Context(), plansOf(t, body), Freshness{NoRead: true})
			waiting = append(waiting, x)
			return x.Begin(t.Context())
		}
		for range 10 { // 250 of 2 + 256
			if err := admit(many(25)); err != nil {
				t.Fatal(err)
			}
		}
		if err := admit(many(8)); err != nil {
			t.Errorf("as many as there is room for: %v", err)
		}
		err := admit(many(1))
		f := apierr.Of(err)
		if f == nil || f.Code != apierr.RateLimited || f.Message != "Too many queries of this website are waiting" ||
			f.RetryAfter != time.Second || f.Rate == nil || f.Rate.Limit != 258 {
			t.Errorf("one more: %+v", f)
		}
		synctest.Wait()
		if r.runs != 2 {
			t.Errorf("%d run, want 2", r.runs)
		}
		for _, x := range waiting {
			x.Close()
		}
		synctest.Wait()
		if err := admit(many(25)); err != nil {
			t.Errorf("after all went away: %v", err)
		}
		waiting[len(waiting)-1].Close()
	})
}

func TestTooManyOfAllAreRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := cachingEngine(t, &countingRunner{}, &dial{}, Config{Slots: 1, OwnerSlots: 1, Queue: 256})
		var all []*Execution
		var err error
		for owner := 0; err == nil && owner < 20; owner++ {
			env := websiteEnv()
			env.Subject.ID = fmt.Sprint("web_", owner)
			plans, cerr := compileBody(t, many(25), env)
			if cerr != nil {
				t.Fatal(cerr)
			}
			x := e.Prepare(t.Context(), plans, Freshness{})
			err = x.Begin(t.Context())
			all = append(all, x)
		}
		if f := apierr.Of(err); f == nil || f.Code != apierr.ServiceUnavailable ||
			f.RetryAfter != time.Second || len(all) != 11 {
			t.Errorf("request %d: %+v; want the 11th to be refused", len(all), f)
		}
		for _, x := range all {
			x.Close()
		}
	})
}

// An organization that asks about all of its websites leaves room for the others.
func TestTheWebsitesOfAnOrganizationShareTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := cachingEngine(t, &countingRunner{}, &dial{}, Config{Slots: 4, OwnerSlots: 4, Queue: 600})
		var all []*Execution
		begin := func(website int, organization, body string) *apierr.Error {
			env := websiteEnv()
			env.Subject.ID, env.Subject.Organization = fmt.Sprint("web_", website), organization
			plans, err := compileBody(t, body, env)
			if err != nil {
				t.Fatal(err)
			}
			x := e.Prepare(t.Context(), plans, Freshness{NoRead: true})
			all = append(all, x)
			if err := x.Begin(t.Context()); err != nil {
				return apierr.Of(err)
			}
			return nil
		}
		for i := range 12 { // 300 of 4 + 300
			if f := begin(i%3, "org_1", many(25)); f != nil {
				t.Fatalf("request %d: %v", i, f)
			}
		}
		if f := begin(3, "org_1", many(4)); f != nil {
			t.Errorf("as many as there is room for: %v", f)
		}
		f := begin(3, "org_1", many(1))
		if f == nil || f.Code != apierr.RateLimited || f.Rate == nil || f.Rate.Limit != 304 ||
			f.Message != "Too many queries of this organization are waiting" {
			t.Errorf("one more: %+v", f)
		}
		if f := begin(5, "org_2", many(25)); f != nil {
			t.Errorf("another organization: %v", f)
		}
		for _, x := range all {
			x.Close()
		}
	})
}

func TestATagChangesWithTheQuestionAndTheData(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dial{version: Version{Number: 1}}
		e := cachingEngine(t, &countingRunner{}, d, Config{})
		tag := func(body string) string {
			got, ok := e.Prepare(t.Context(), plansOf(t, body), Freshness{}).Tag()
			if !ok {
				t.Fatal("no tag")
			}
			return string(got)
		}
		first := tag(oneSummary)
		if tag(oneSummary) != first {
			t.Error("the same question has another tag")
		}
		if tag(`{"parameters":["summary"],"preset":"yesterday"}`) == first {
			t.Error("another range has the same tag")
		}
		d.set(Version{Number: 2}, nil)
		<-time.After(fresh)
		if tag(oneSummary) == first {
			t.Error("other data has the same tag")
		}
	})
}

func TestARejectedParameterRunsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := websiteEnv()
		env.Reject = func(typ *Type, _ bool) error {
			if typ.Name == "top_pages" {
				return ErrNotCovered
			}
			return nil
		}
		plans, err := compileBody(t, `{"parameters":["top_pages","summary"],"preset":"today"}`, env)
		if err != nil {
			t.Fatal(err)
		}
		r := &countingRunner{}
		e := cachingEngine(t, r, &dial{}, Config{})
		all := e.Execute(t.Context(), plans)[0]
		if all[0].Failure() == nil || all[0].Failure().Code != "FORBIDDEN" || all[1].Err != nil || r.runs != 1 {
			t.Errorf("%v, %v, %d runs", all[0].Err, all[1].Err, r.runs)
		}
	})
}

func TestLargeTablesAreNotKept(t *testing.T) {
	t.Parallel()
	c := newResults(80<<10, prometheus.NewRegistry())
	t.Cleanup(c.close)
	table := func(n int) *Table {
		return &Table{Rows: 1, Columns: []Values{{Strings: []string{strings.Repeat("x", n-stringHeaderBytes-keptBytes)}}}}
	}
	small, large := resultKey{1}, resultKey{2}
	c.put(small, table(10<<10), time.Hour)
	c.put(large, table(10<<10+1), time.Hour)
	c.kept.Wait()
	if c.get(small, time.Now()) == nil || c.get(large, time.Now()) != nil {
		t.Errorf("an eighth of the memory is kept: %t; a byte more: %t",
			c.get(small, time.Now()) != nil, c.get(large, time.Now()) != nil)
	}
	if c.get(small, time.Now().Add(time.Hour)) != nil {
		t.Error("a table is kept beyond its time")
	}
}

func TestKeysTellStatementsApart(t *testing.T) {
	t.Parallel()
	base := Statement{SQL: "SELECT 1", Params: []Param{{Name: "a", Type: "String", Text: "b"}}}
	seen := map[resultKey]string{keyOf(&base, 1): "the first"}
	for name, s := range map[string]*Statement{
		"other SQL":              {SQL: "SELECT 2", Params: base.Params},
		"no parameter":           {SQL: "SELECT 1"},
		"another value":          {SQL: "SELECT 1", Params: []Param{{Name: "a", Type: "String", Text: "c"}}},
		"another name":           {SQL: "SELECT 1", Params: []Param{{Name: "c", Type: "String", Text: "b"}}},
		"a moved boundary":       {SQL: "SELECT 1", Params: []Param{{Name: "aS", Type: "tring", Text: "b"}}},
		"another moved boundary": {SQL: "SELECT 1a", Params: []Param{{Name: "", Type: "String", Text: "b"}}},
	} {
		key := keyOf(s, 1)
		if other, ok := seen[key]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[key] = name
	}
	if _, ok := seen[keyOf(&base, 2)]; ok {
		t.Error("another version has the same key")
	}
}
