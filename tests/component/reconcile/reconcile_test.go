// Package reconcile_test holds the reconciler and the verification against a real
// sink, a broker and ClickHouse.
package reconcile_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness/stage"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

// watch is a reconciler of a stage.
type watch struct {
	*ledger.Reconciler

	store    *ledgerstore.Store
	registry *prometheus.Registry
	log      strings.Builder
}

// settle is short: nothing inserts while these tests look.
const settle = time.Millisecond

func newWatch(t *testing.T, s *stage.Stage) *watch {
	t.Helper()
	w := &watch{store: ledgerstore.NewStore(s.ClickHouse), registry: prometheus.NewRegistry()}
	t.Cleanup(func() { w.store.Close() })
	inserter := insert.NewInserter(s.ClickHouse, "")
	t.Cleanup(func() { inserter.Close() })
	var err error
	w.Reconciler, err = ledger.New(ledger.Config{Interval: time.Minute, Settle: settle, Pairs: 1000}, ledger.Deps{
		Log: slog.New(slog.NewTextHandler(&w.log, nil)), Metrics: w.registry, Store: w.store,
		Remembered: inserter.InsertTokenMemory,
		Settled:    func() []ledger.Settled { return positions(t, s, w.store) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// positions are what a sink that has stored everything would tell.
func positions(t *testing.T, s *stage.Stage, store *ledgerstore.Store) []ledger.Settled {
	t.Helper()
	id, _, err := s.Offsets.Describe(t.Context(), record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := s.Offsets.Committed(t.Context(), s.Sink.Group, record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := store.Epoch(t.Context(), record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	var all []ledger.Settled
	for p, c := range committed {
		all = append(all, ledger.Settled{Topic: record.TopicEvents, TopicID: id, Partition: p, Epoch: epoch, Next: c.Offset})
	}
	return all
}

// runRounds makes rounds until no pair waits and listed days were looked at twice.
func (w *watch) runRounds(t *testing.T) {
	t.Helper()
	n := 0
	testkit.Eventually(t, time.Minute, func() error {
		if err := w.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n++; n < 4 || w.metric(t, "millrace_reconciler_pairs_waiting") > 0 {
			return fmt.Errorf("after %d rounds, %v pairs wait", n, w.metric(t, "millrace_reconciler_pairs_waiting"))
		}
		return nil
	})
}

func (w *watch) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// finds compares what the reconciler tells.
func (w *watch) finds(t *testing.T, gaps, overlaps, miscounts, lost, dirty float64) {
	t.Helper()
	want := map[string]float64{
		"gap_offsets": gaps, "overlaps_total": overlaps, "miscounts_total": miscounts, "lost_offsets_total": lost,
		"dirty_days": dirty, "behind_offsets": 0,
	}
	got := map[string]float64{}
	for name := range want {
		got[name] = w.metric(t, "millrace_reconciler_"+name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s\nthe log says\n%s", diff, w.log.String())
	}
}

func several(from, to int) []stage.Event {
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	var all []stage.Event
	for i := from; i < to; i++ {
		all = append(all,
			stage.Event{
				ID:        fmt.Sprint("e", i),
				Owner:     fmt.Sprint("web_", i%2),
				Partition: int32(i % 2),
				At:        noon.AddDate(0, 0, -(i / 2 % 2)),
			})
	}
	return all
}

func TestASinksLedgerIsInOrder(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	s.Produce(t, several(0, 60)...)
	s.Produce(t, several(0, 60)...)
	s.Produce(t, stage.Event{ID: "no event", Broken: true})
	s.Store(t)
	w := newWatch(t, s)
	w.runRounds(t)
	w.finds(t, 0, 0, 0, 0, 0)
	if rate := w.metric(t, "millrace_sink_inserts_per_second"); rate <= 0 {
		t.Errorf("%v inserts a second", rate)
	}
	if h := w.metric(t, "millrace_sink_token_horizon_seconds"); h <= 0 || h > 600*300_000 {
		t.Errorf("the token horizon is %v s", h)
	}
	s.Produce(t, several(60, 80)...)
	s.Store(t)
	w.runRounds(t)
	w.finds(t, 0, 0, 0, 0, 0)
	again := newWatch(t, s) // from the marks of the first one
	again.runRounds(t)
	again.finds(t, 0, 0, 0, 0, 0)
	if n := testutil.CollectAndCount(w.registry, "millrace_reconciler_rounds_total"); n != 1 {
		t.Errorf("rounds have %d outcomes, want only done", n)
	}
}

func TestTheReconcilerFindsWhatWasDoneByHand(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sql                                   []string
		gaps, overlaps, miscounts, lost, days float64
	}{
		"an entry is gone": {
			sql: []string{"DELETE FROM ingest_ledger WHERE partition = 1 AND first = 10"}, gaps: 10,
		},
		"an entry overlaps": {
			sql: []string{"INSERT INTO ingest_ledger SELECT * REPLACE (first + 5 AS first, stored - 5 AS stored) FROM " +
				"(SELECT * FROM ingest_ledger WHERE partition = 1 AND first = 10)"},
			overlaps: 1,
		},
		"an entry miscounts": {
			sql: []string{
				"CREATE TABLE was AS ingest_ledger ENGINE = Memory",
				"INSERT INTO was SELECT * FROM ingest_ledger WHERE partition = 1 AND first = 10",
				"DELETE FROM ingest_ledger WHERE partition = 1 AND first = 10",
				"INSERT INTO ingest_ledger SELECT * REPLACE (stored - 1 AS stored) FROM was",
			},
			miscounts: 1,
		},
		"an entry says that its records were gone": {
			sql: []string{
				"CREATE TABLE was AS ingest_ledger ENGINE = Memory",
				"INSERT INTO was SELECT * FROM ingest_ledger WHERE partition = 1 AND first = 10",
				"DELETE FROM ingest_ledger WHERE partition = 1 AND first = 10",
				"INSERT INTO ingest_ledger SELECT * REPLACE ('gap' AS kind, 0 AS stored, stored AS skipped) FROM was",
			},
			lost: 10,
		},
		"a row is deleted": {sql: []string{"DELETE FROM events WHERE _partition = 1 AND _offset = 12"}, days: 1},
		"a rollup's day is deleted": {
			sql: []string{
				"DELETE FROM events_15m WHERE owner_id = 'web_0' AND event_date = (SELECT max(event_date) FROM events)",
			},
			days: 1,
		},
		"rows are inserted once more": {
			sql: []string{"INSERT INTO events SELECT * REPLACE (received_at_inv - 1 AS received_at_inv) FROM events"}, days: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t)
			s.Produce(t, several(0, 60)...)
			s.Store(t)
			for _, sql := range tt.sql {
				s.Run(t, sql)
			}
			w := newWatch(t, s)
			w.runRounds(t)
			w.finds(t, tt.gaps, tt.overlaps, tt.miscounts, tt.lost, tt.days)
		})
	}
}

func TestAViewThatIsHealedTakesItsDayOffTheList(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	s.Produce(t, several(0, 20)...)
	s.Store(t)
	s.Run(t, "CREATE TABLE was AS events_1d ENGINE = Memory")
	s.Run(t, "INSERT INTO was SELECT * FROM events_1d WHERE owner_id = 'web_1'")
	s.Run(t, "DELETE FROM events_1d WHERE owner_id = 'web_1'")
	w := newWatch(t, s)
	w.runRounds(t)
	w.finds(t, 0, 0, 0, 0, 2)
	s.Run(t, "INSERT INTO events_1d SELECT * FROM was")
	w.runRounds(t)
	w.finds(t, 0, 0, 0, 0, 0)
}

// TestAReplayFindsNoGapsAndItsDaysStayListed is an offset reset under a new epoch,
// with the reconciler looking before, between and after.
func TestAReplayFindsNoGapsAndItsDaysStayListed(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	s.Produce(t, several(0, 60)...)
	s.Store(t)
	newWatch(t, s).runRounds(t)
	store := ledgerstore.NewStore(s.ClickHouse)
	t.Cleanup(func() { store.Close() })
	pipeline := repair.Pipeline{Topic: record.TopicEvents, Group: s.Sink.Group}
	moves, err := repair.Replay(t.Context(), repair.ReplayDeps{Groups: s.Offsets, Log: s.Offsets, Store: store},
		repair.ReplayOptions{Pipeline: pipeline, Partitions: []int32{1}, Offset: 5})
	if err != nil || len(moves) != 1 || moves[0].Again != 25 {
		t.Fatalf("moved: %+v, %v", moves, err)
	}
	w := newWatch(t, s)
	w.runRounds(t)
	w.finds(t, 0, 0, 0, 0, 2)
	s.Produce(t, several(60, 80)...)
	s.Store(t)
	w = newWatch(t, s)
	w.runRounds(t)
	w.finds(t, 0, 0, 0, 0, 2)
	s.Run(t, "DELETE FROM ingest_ledger WHERE partition = 1 AND epoch = 2 AND first = 5")
	s.Run(t, "TRUNCATE TABLE ingest_marks")
	s.Run(t, "INSERT INTO ingest_marks (topic, topic_id, partition, epoch, mark) SELECT DISTINCT topic, topic_id, "+
		"partition, 2, 5 FROM ingest_ledger WHERE partition = 1")
	w = newWatch(t, s)
	w.runRounds(t)
	if got := w.metric(t, "millrace_reconciler_gap_offsets"); got == 0 {
		t.Error("the first range of a replay is gone, and no gap is found")
	}
}

func options(s *stage.Stage) verify.Options {
	return verify.Options{
		Pipelines: []repair.Pipeline{{Topic: record.TopicEvents, Group: s.Sink.Group}}, Known: []string{record.TopicEvents},
		Since: time.Now().Add(-24 * time.Hour), Until: time.Now().Add(time.Hour), Settle: settle, Examples: 10,
		Window: s.Sink.Window,
	}
}

func TestSlicesOfAnySizeCountTheSame(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	s.Produce(t, several(0, 9)...)
	s.Produce(t, several(0, 12)...)
	// of which the second is taken for a duplicate
	s.Produce(t, stage.Event{ID: "no event", Broken: true}, stage.Event{ID: "no event"})
	s.Store(t)
	for _, sql := range []string{
		"DELETE FROM events WHERE event_id = 'e7'", // is in the topic twice
		"INSERT INTO events SELECT * REPLACE (9 AS event_key) FROM events WHERE event_id = 'e8'",
	} {
		s.Run(t, sql)
	}
	store := ledgerstore.NewStore(s.ClickHouse)
	t.Cleanup(func() { store.Close() })
	want := verify.Day{
		Date: "total", InTopic: 23, Distinct: 14, InBase: 11, Missing: 1, Unexpected: 1, DeadLettered: 2, Rollups: 1,
	}
	for _, size := range []int64{1, 3, 1000} {
		o := options(s)
		o.SliceRecords = size
		r, err := verify.Run(t.Context(), s.Offsets, store, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Total, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("slices of %d records (-want +got):\n%s", size, diff)
		}
	}
}

// patient is a base whose second look at what differs is as late as a settle has to be:
// when no insert is under way any more.
type patient struct {
	verify.Base

	looks   int
	settled func()
}

func (p *patient) Count(ctx context.Context, topic string, pairs []ledger.Touched) ([]ledger.Counts, error) {
	if p.looks++; p.looks%2 == 0 {
		p.settled()
	}
	return p.Base.Count(ctx, topic, pairs)
}

func TestVerifyBesideARunningSink(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	s.Produce(t, several(0, 20)...)
	stop := s.Start(t)
	defer stop()
	s.CaughtUp(t)
	store := ledgerstore.NewStore(s.ClickHouse)
	t.Cleanup(func() { store.Close() })
	batches := 16
	if testkit.Strict() {
		batches = 40
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range batches {
			s.Produce(t, several(20+i*10, 30+i*10)...)
		}
	}()
	verified := 0
	for running := true; running; verified++ {
		select {
		case <-done:
			running = false
		default:
		}
		base := &patient{Base: store, settled: func() {
			<-done
			s.CaughtUp(t)
		}}
		r, err := verify.Run(t.Context(), s.Offsets, base, options(s))
		if err != nil {
			t.Fatal(err)
		}
		if !r.Same() {
			t.Errorf("a difference where there is none: %+v\n%+v", r.Total, r.Examples)
		}
	}
	s.CaughtUp(t)
	s.Run(t, "DELETE FROM events_1d WHERE owner_id = 'web_1' AND event_date = (SELECT max(event_date) FROM events)")
	r, err := verify.Run(t.Context(), s.Offsets, store, options(s))
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.Rollups != 1 || r.Total.Missing+r.Total.Unexpected != 0 {
		t.Errorf("after %d runs, a rollup's day is deleted: %+v", verified, r.Total)
	}
}
