package analytics

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// slowRunner takes a second for each statement and fails those of one type.
type slowRunner struct {
	mu           sync.Mutex
	running, top int
	failType     string
	deadlines    []time.Time
}

func (r *slowRunner) Run(ctx context.Context, s *Statement) (*Table, error) {
	r.mu.Lock()
	r.running++
	r.top = max(r.top, r.running)
	if d, ok := ctx.Deadline(); ok {
		r.deadlines = append(r.deadlines, d)
	}
	r.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	r.mu.Lock()
	r.running--
	r.mu.Unlock()
	if s.Type.Name == r.failType {
		return nil, errors.New("secret of another tenant")
	}
	return &Table{Rows: 1}, ctx.Err()
}

func newTestEngine(r Runner) *Engine {
	return NewEngine(Config{OwnerSlots: 3},
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: r})
}

func TestExecuteRunsAFewStatementsAtATimeAndKeepsTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slowRunner{failType: "top_pages"}
		e := newTestEngine(r)
		plans, err := compileBody(t, `[{"parameters":["summary","top_pages","custom_events","events_by_date"],"preset":"today"},{"parameters":["pages","summary","custom_events_summary"],"preset":"yesterday"}]`, websiteEnv())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		all := e.Execute(t.Context(), plans)
		if took := time.Since(start); took != 3*time.Second || r.top != 3 {
			t.Errorf("7 statements took %v, %d at once; want 3s and 3", took, r.top)
		}
		for i := range plans {
			for j, result := range all[i] {
				o := &plans[i].Outputs[j]
				if result.Output != o || (result.Err != nil) != (o.Type.Name == "top_pages") {
					t.Errorf("result %d of plan %d is %v, %v", j, i, result.Output.Label, result.Err)
				}
			}
		}
		if n := testutil.ToFloat64(e.metrics.failures.WithLabelValues("top_pages", "QUERY_FAILED")); n != 2 {
			t.Errorf("%v failures counted, want 2", n)
		}
	})
}

// wideRunner answers with tables of a size.
type wideRunner int

func (n wideRunner) Run(context.Context, *Statement) (*Table, error) {
	return &Table{Rows: 1, Columns: []Values{{Strings: []string{strings.Repeat("x", int(n)-stringHeaderBytes)}}}}, nil
}

func TestResultsOfARequestAreBoundedTogether(t *testing.T) {
	t.Parallel()
	e := NewEngine(Config{OwnerSlots: 1, MaxResultBytes: 2000},
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: wideRunner(1000)})
	plans, err := compileBody(t, `{"parameters":["summary","custom_events","top_pages"],"preset":"today"}`, websiteEnv())
	if err != nil {
		t.Fatal(err)
	}
	beyond := 0
	for i, r := range e.Execute(t.Context(), plans)[0] {
		if (r.Table == nil) != (r.Err != nil) || r.Err != nil && !errors.Is(r.Err, errResultsTooLarge) {
			t.Errorf("result %d of 1000 bytes: %v", i, r.Err)
		}
		if r.Err != nil {
			beyond++
		}
	}
	if beyond != 1 {
		t.Errorf("%d of 3 are beyond the bound, want 1", beyond)
	}
}

// heldBytes is what the tables of an execution hold that nobody has asked for yet.
func heldBytes(x *Execution) (n int) {
	x.engine.flights.mu.Lock()
	defer x.engine.flights.mu.Unlock()
	for i := range x.runs {
		for j := range x.runs[i] {
			if t := x.runs[i][j].table; t != nil {
				n += t.Bytes()
			}
		}
	}
	return n
}

// What a request begins is there before it asks for it: the bound is of what is there.
func TestResultsThatNobodyWaitsForYetAreBoundedToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := NewEngine(Config{MaxResultBytes: 2000},
			Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: wideRunner(1000)})
		x := e.Prepare(t.Context(), plansOf(t, many(20)), Freshness{})
		defer x.Close()
		if err := x.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := heldBytes(x); n != 2000 {
			t.Errorf("20 results hold %d bytes before anybody waits, want 2000", n)
		}
		good := 0
		for i := range 20 {
			if r := x.Wait(t.Context(), 0, i); r.Err == nil {
				good++
			} else if !errors.Is(r.Err, errResultsTooLarge) {
				t.Error(r.Err)
			}
		}
		if n := testutil.ToFloat64(e.metrics.failures.WithLabelValues("summary_metrics", "QUERY_TOO_LARGE")); n != 18 ||
			good != 2 {
			t.Errorf("%d results and %v failures, want 2 and 18", good, n)
		}
	})
}

// A result for which one request has no room is another's all the same.
func TestAResultThatIsTooMuchForOneRequestIsThereForAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := NewEngine(Config{MaxResultBytes: 1000, CacheBytes: 0}, Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: slowly{wideRunner(1000)},
			Versions: &dial{},
		})
		begun := func(body string) *Execution {
			x := e.Prepare(t.Context(), plansOf(t, body), Freshness{})
			if err := x.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			return x
		}
		large := begun(`{"parameters":["summary","top_pages"],"preset":"today"}`)
		small := []*Execution{begun(oneSummary), begun(`{"parameters":["top_pages"],"preset":"today"}`)}
		rejected := 0
		for i := range 2 {
			if large.Wait(t.Context(), 0, i).Err != nil {
				rejected++
			}
			if r := small[i].Wait(t.Context(), 0, 0); r.Err != nil {
				t.Errorf("request %d: %v", i, r.Err)
			}
		}
		if shared := testutil.ToFloat64(e.metrics.served.shared); rejected != 1 || shared != 2 {
			t.Errorf("%d of 2 rejected, %v shared; want 1 and 2", rejected, shared)
		}
	})
}

// slowly has a runner take a second.
type slowly struct{ Runner }

func (r slowly) Run(ctx context.Context, s *Statement) (*Table, error) {
	<-time.After(time.Second)
	return r.Runner.Run(ctx, s)
}

func TestExecuteKeepsTimeForTheResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slowRunner{}
		e := newTestEngine(r)
		plans, err := compileBody(t, `{"parameters":["summary"],"preset":"today"}`, websiteEnv())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
		defer cancel()
		all := e.Execute(ctx, plans)
		if !errors.Is(all[0][0].Err, context.DeadlineExceeded) || all[0][0].Failure().Code != "QUERY_TIMEOUT" {
			t.Errorf("error %v, want the deadline", all[0][0].Err)
		}
		if took := time.Since(start); took != 300*time.Millisecond {
			t.Errorf("waited %v of 800ms, want 500ms to be kept", took)
		}
		synctest.Wait()
		if r.running != 0 {
			t.Error("the statement runs on though nobody waits for it")
		}
	})
}
