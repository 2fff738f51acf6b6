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
	for i, r := range e.Execute(t.Context(), plans)[0] {
		if beyond := i == 2; errors.Is(r.Err, errResultsTooLarge) != beyond || (r.Table == nil) != beyond {
			t.Errorf("result %d of 1000 bytes: %v", i, r.Err)
		}
	}
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
