package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/testkit"
)

func newRunner(t *testing.T, bounds RunnerConfig) *Runner {
	t.Helper()
	r := NewRunner(clickhousetest.Database(t), bounds)
	t.Cleanup(r.Close)
	return r
}

// statement is one that no catalogue has.
func statement(sql string, columns ...string) *analytics.Statement {
	s := &analytics.Statement{SQL: sql, Type: &analytics.Type{Name: "of_a_test"}}
	for _, c := range columns {
		s.Columns = append(s.Columns, analytics.Column{Name: c})
	}
	return s
}

func TestColumnsOfEveryExpectedTypeAreRead(t *testing.T) {
	t.Parallel()
	r := newRunner(t, RunnerConfig{})
	// Two blocks, so that their memory is used again.
	got, err := r.Run(t.Context(),
		statement(`SELECT number AS a, -1 - toInt64(number) AS b, number / 2 AS c, number = 1 AS d, toString(number) AS e,
		toLowCardinality(toString(number)) AS f, toDateTime64('2026-03-29 10:00:00.123', 3, 'UTC') + toIntervalDay(number) AS g
		FROM numbers(3) ORDER BY a SETTINGS max_block_size = 2`, "a", "b", "c", "d", "e", "f", "g"))
	if err != nil {
		t.Fatal(err)
	}
	const first, day = 1774778400123, 86400000
	want := &analytics.Table{Rows: 3, Columns: []analytics.Values{
		{Name: "a", Uints: []uint64{0, 1, 2}},
		{Name: "b", Ints: []int64{-1, -2, -3}},
		{Name: "c", Floats: []float64{0, 0.5, 1}},
		{Name: "d", Uints: []uint64{0, 1, 0}},
		{Name: "e", Strings: []string{"0", "1", "2"}},
		{Name: "f", Strings: []string{"0", "1", "2"}},
		{Name: "g", Millis: []int64{first, first + day, first + 2*day}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestBoundsOfAStatementAreErrors(t *testing.T) {
	t.Parallel()
	r := newRunner(t, RunnerConfig{MaxTime: 5 * time.Minute, MaxResultBytes: 1 << 20, MaxMemoryBytes: 64 << 20})
	hasty := newRunner(t, RunnerConfig{MaxTime: 300 * time.Millisecond})
	for _, tc := range []struct {
		name, sql, want string
	}{
		{"rows", "SELECT number AS a FROM numbers(10001)", "Limit for result exceeded"},
		{"bytes", "SELECT repeat(toString(number), 1000000) AS a FROM numbers(2)", "Limit for result exceeded"},
		{"memory", "SELECT length(groupArray(number)) AS a FROM numbers(100000000)", "memory limit"},
		{"time", "SELECT sum(sleepEachRow(0.1)) AS a FROM numbers(100000) SETTINGS max_block_size = 1, " +
			"function_sleep_max_microseconds_per_block = 0", ""},
		{"a write", "CREATE TABLE x (a UInt8) ENGINE = Null", "readonly"},
		{"a type that no column has", "SELECT [1] AS a", "not expected in a result"},
		{"another name", "SELECT 1 AS b", "differ from the catalogue"},
		{"another number of columns", "SELECT 1 AS a, 2 AS b", "differ from the catalogue"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			runner := r
			if tc.name == "time" {
				runner = hasty
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // none needs nearly as long
			defer cancel()
			_, err := runner.Run(ctx, statement(tc.sql, "a"))
			if err == nil || !strings.Contains(err.Error(), tc.want) || ctx.Err() != nil {
				t.Errorf("error %v, want %q; the caller: %v", err, tc.want, ctx.Err())
			}
		})
	}
	if _, err := r.Run(t.Context(), statement("SELECT toString(number) AS a FROM numbers(10000)", "a")); err != nil {
		t.Errorf("10000 rows: %v", err)
	}
}

// What is counted by more values than fit goes to disk, by a quarter of the memory.
func TestWhatHasManyValuesIsCountedOnDisk(t *testing.T) {
	t.Parallel()
	r := newRunner(t, RunnerConfig{MaxTime: 5 * time.Minute, MaxMemoryBytes: 160 << 20})
	const sql = "SELECT count() AS a FROM (SELECT toString(number) AS value, count() AS n FROM numbers(4000000) GROUP " +
		"BY value)"
	if _, err := r.Run(t.Context(), statement(sql, "a")); err != nil {
		t.Errorf("4 million values in 160 MiB: %v", err)
	}
	_, err := r.Run(t.Context(),
		statement(sql+" SETTINGS max_bytes_before_external_group_by = 0, max_bytes_ratio_before_external_group_by = 0", "a"))
	if !errors.Is(err, analytics.ErrTooLarge) {
		t.Errorf("without it: %v, want that they are too many", err)
	}
}

func TestAStatementEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRunner(t, RunnerConfig{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := r.Run(ctx, statement("SELECT sum(number) AS a FROM numbers(1000000000000)", "a"))
	if err == nil {
		t.Fatal("a statement of hours ended")
	}
	if _, err := r.Run(t.Context(), statement("SELECT 1 AS a", "a")); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

func TestAServerThatIsAwayIsGivenARest(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	cfg.Addr = []string{"127.0.0.1:1"} // nothing listens there
	r := NewRunner(cfg, RunnerConfig{})
	t.Cleanup(r.Close)
	untilOpen(t, r)
	if r.Ping(t.Context()) == nil {
		t.Error("Ping() = nil with no server")
	}
}

// untilOpen runs statements of a server that is away until the breaker is open, which is
// after five that failed. It asks again after a pause, which a machine that stands still
// does not notice.
func untilOpen(t *testing.T, r *Runner) {
	t.Helper()
	for i := range breakerTrips {
		if _, err := r.Run(t.Context(), statement("SELECT 1 AS a", "a")); !errors.Is(err, analytics.ErrUnavailable) ||
			errors.Is(err, gobreaker.ErrOpenState) {
			t.Fatalf("statement %d: %v, want that the server was asked in vain", i+1, err)
		}
	}
	testkit.Eventually(t, time.Minute, func() error {
		_, err := r.Run(t.Context(), statement("SELECT 1 AS a", "a"))
		if !errors.Is(err, analytics.ErrUnavailable) || !errors.Is(err, gobreaker.ErrOpenState) ||
			!strings.Contains(err.Error(), "circuit breaker is open") {
			return fmt.Errorf("after %d failures: %w, want the open breaker", breakerTrips, err)
		}
		return nil
	})
}

func TestAConnectionThatWasCutIsReplaced(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	p := clickhousetest.NewProxy(t, cfg.Addr[0])
	cfg.Addr = []string{p.Addr().String()}
	r := NewRunner(cfg, RunnerConfig{Connections: 1})
	t.Cleanup(r.Close)
	for i := range 3 {
		if _, err := r.Run(t.Context(), statement("SELECT 1 AS a", "a")); err != nil {
			t.Errorf("statement %d: %v", i, err)
		}
		p.Cut()
	}
}

func TestWaitingForATurnIsNoFailureOfTheServer(t *testing.T) {
	t.Parallel()
	r := newRunner(t, RunnerConfig{Connections: 1})
	r.slots <- struct{}{}
	for range 2 * breakerTrips {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := r.Run(ctx, statement("SELECT 1 AS a", "a"))
		cancel()
		if !errors.Is(err, errBusy) {
			t.Fatalf("with no connection free: %v, want %v", err, errBusy)
		}
	}
	<-r.slots
	if _, err := r.Run(t.Context(), statement("SELECT 1 AS a", "a")); err != nil {
		t.Errorf("with a free connection: %v", err)
	}
}

// What statements may take is an error that callers can be told apart from others.
func TestBoundsSayWhichTheyAre(t *testing.T) {
	t.Parallel()
	r := newRunner(t,
		RunnerConfig{MaxTime: 5 * time.Minute, MaxResultBytes: 1 << 20, MaxMemoryBytes: 64 << 20, MaxRows: 1_000_000})
	hasty := newRunner(t, RunnerConfig{MaxTime: 300 * time.Millisecond, MaxRows: 1_000_000})
	const tooLarge, timeout, other = 0, 1, -1
	for _, tc := range []struct {
		name, sql string
		want      int
	}{
		{"rows of the result", "SELECT number AS a FROM numbers(10001)", tooLarge},
		{"bytes of the result", "SELECT repeat(toString(number), 1000000) AS a FROM numbers(2)", tooLarge},
		{"memory", "SELECT length(groupArray(repeat('x', 200) || toString(number))) AS a FROM numbers(1000000)", tooLarge},
		{"rows read", "SELECT count() AS a FROM numbers(1000001)", tooLarge},
		{"time", "SELECT sum(sleepEachRow(0.1)) AS a FROM numbers(1000) SETTINGS max_block_size = 1, " +
			"function_sleep_max_microseconds_per_block = 0", timeout},
		{"a mistake", "SELECT no_such_column AS a", other},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			runner := r
			if tc.want == timeout {
				runner = hasty
			}
			_, err := runner.Run(t.Context(), statement(tc.sql, "a"))
			for i, known := range []error{analytics.ErrTooLarge, analytics.ErrTimeout, analytics.ErrUnavailable} {
				if err == nil || errors.Is(err, known) != (i == tc.want) {
					t.Errorf("error %v is %v: %t", err, known, errors.Is(err, known))
				}
			}
		})
	}
	if _, err := r.Run(t.Context(), statement("SELECT count() AS a FROM numbers(1000000)", "a")); err != nil {
		t.Errorf("as many rows as may be read: %v", err)
	}
}

// A server that is back is found by a question that takes nothing, so that a long
// statement does not keep everybody waiting.
func TestAServerThatIsBackIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	p := clickhousetest.NewProxy(t, cfg.Addr[0])
	server := cfg.Addr[0]
	cfg.Addr = []string{p.Addr().String()}
	r := NewRunner(cfg, RunnerConfig{})
	t.Cleanup(r.Close)
	p.Point("127.0.0.1:1") // nothing listens there
	untilOpen(t, r)
	p.Point(server)
	testkit.Eventually(t, time.Minute, func() error {
		if s := r.breaker.State(); s == gobreaker.StateOpen {
			return fmt.Errorf("the breaker is %s", s)
		}
		var all errgroup.Group
		for range 8 {
			all.Go(func() error {
				_, err := r.Run(t.Context(), statement("SELECT sleep(0.2) AS a", "a"))
				if errors.Is(err, gobreaker.ErrTooManyRequests) {
					t.Errorf("somebody was kept waiting for another's statement: %v", err)
				}
				return err
			})
		}
		return all.Wait() // the question itself may not have been answered in time
	})
}

func TestWhoGoesAwaySaysNothingAboutTheServer(t *testing.T) {
	t.Parallel()
	b := newBreaker()
	run := func(err error) {
		_, _ = b.Execute(func() (*analytics.Table, error) { return nil, err }) // it is the count that matters
	}
	for range 2 * breakerTrips {
		run(context.Canceled)
		run(errBusy)
	}
	if n := b.Counts(); n.ConsecutiveFailures != 0 || n.TotalSuccesses != 0 {
		t.Errorf("counted: %+v", n)
	}
	for i := range breakerTrips {
		if b.State() != gobreaker.StateClosed {
			t.Fatalf("open after %d failures", i)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(context.DeadlineExceeded)
		run(withCause(ctx, context.Canceled)) // a server that did not answer in time
		run(context.Canceled)
	}
	if b.State() != gobreaker.StateOpen {
		t.Errorf("not open after %d failures", breakerTrips)
	}
}
