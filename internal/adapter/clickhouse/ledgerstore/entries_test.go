package ledgerstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/platform/config"
)

var (
	_ ledger.Store   = (*Store)(nil)
	_ repair.Store   = (*Store)(nil)
	_ repair.Rollups = (*Store)(nil)
	_ verify.Base    = (*Store)(nil)
)

func newStore(t *testing.T, cfg config.ClickHouse) *Store {
	t.Helper()
	b := NewStore(cfg)
	t.Cleanup(func() { b.Close() })
	return b
}

var here = ledger.Partition{Topic: "events.v1", TopicID: topicID, Index: 3}

func TestEntriesComeBackInOrderAndOnce(t *testing.T) {
	t.Parallel()
	b := newStore(t, stagetest.Migrated(t))
	touched := func(e *ledger.Entry) {
		e.Touched = []ledger.Touched{{Owner: "web_1", Day: 20543}, {Owner: "o'org", Day: 0}}
	}
	gone := func(e *ledger.Entry) { e.Kind, e.Stored, e.Skipped = ledger.EntryGap, 0, e.Span.Len() }
	second := func(e *ledger.Entry) { e.Epoch = 2 }
	for insertToken, e := range map[string]*ledger.Entry{
		"a": entry(0, 9, touched), "b": entry(10, 19), "again, beyond the window": entry(10, 19), "c": entry(20, 24, gone),
		"d": entry(5, 19, second), "e": entry(0, 9, func(e *ledger.Entry) { e.Partition = 4 }),
		"f": entry(0, 9, func(e *ledger.Entry) { e.TopicID = [16]byte{1} }),
	} {
		write(t, b.Ledger, insertToken, e)
	}
	for name, tt := range map[string]struct {
		from  ledger.Cursor
		limit int
		want  []*ledger.Entry
	}{
		"all": {
			ledger.Cursor{},
			100,
			[]*ledger.Entry{entry(0, 9, touched), entry(10, 19), entry(20, 24, gone), entry(5, 19, second)},
		},
		"a page": {ledger.Cursor{}, 1, []*ledger.Entry{entry(0, 9, touched)}},
		"what ends at the offset": {
			ledger.Cursor{Epoch: 1, Next: 19}, 100, []*ledger.Entry{entry(10, 19), entry(20, 24, gone), entry(5, 19, second)},
		},
		"what ends after it": {
			ledger.Cursor{Epoch: 1, Next: 20}, 100, []*ledger.Entry{entry(20, 24, gone), entry(5, 19, second)},
		},
		"only those of a later epoch":  {ledger.Cursor{Epoch: 2, Next: 0}, 100, []*ledger.Entry{entry(5, 19, second)}},
		"none behind the last of them": {ledger.Cursor{Epoch: 2, Next: 20}, 100, nil},
	} {
		got, err := b.Entries(t.Context(), here, tt.from, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		var want []ledger.Entry
		for _, e := range tt.want {
			want = append(want, *e)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got, err := b.StoredTo(t.Context(), topicID, 3); err != nil || got != 20 {
		t.Errorf("partition 3 was stored up to %d, %v; want 20: a gap is not stored", got, err)
	}
	if got, err := b.InsertRate(t.Context()); err != nil || got != 2.0/600 {
		t.Errorf("%v inserts a second, %v; want those of 2 months in 600 s", got, err)
	}
}

func TestTheFurthestMarkCounts(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	b := newStore(t, cfg)
	if _, known, err := b.Mark(t.Context(), here); known || err != nil {
		t.Errorf("there is a mark before any was set, %v", err)
	}
	for _, c := range []ledger.Cursor{{Epoch: 1, Next: 50}, {Epoch: 2, Next: 10}, {Epoch: 1, Next: 60}} {
		if err := b.SetMarks(t.Context(),
			[]ledger.Mark{{Partition: here, Cursor: c}, {
				Partition: ledger.Partition{Topic: "events.v1", TopicID: topicID, Index: 4},
				Cursor:    ledger.Cursor{Epoch: 9, Next: 9},
			}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, known, err := b.Mark(t.Context(), here); !known || err != nil || got != (ledger.Cursor{Epoch: 2, Next: 10}) {
		t.Errorf("the mark is %v (%t), %v; want that of the highest epoch", got, known, err)
	}
	clickhousetest.Run(t, cfg, "INSERT INTO ingest_marks SELECT topic, topic_id, 5, epoch, mark, now64(3) - INTERVAL "+
		"81 DAY FROM ingest_marks LIMIT 1")
	old := here
	old.Index = 5
	if _, known, err := b.Mark(t.Context(), old); known || err != nil {
		t.Errorf("a mark older than the ledger reaches back counts, %v", err)
	}
}

// The days of the two events below.
var (
	march = ledger.Touched{Owner: "web_1", Day: record.Day(clickhousetest.Noon)}
	april = ledger.Touched{Owner: "web_1", Day: record.Day(clickhousetest.NextDay)}
	never = ledger.Touched{Owner: "o'none", Day: 1}
)

// filled has one event in March and two in April.
func filled(t *testing.T) (config.ClickHouse, *Store, *insert.Inserter) {
	t.Helper()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	later := func(e *record.Event) { e.TimeMillis, e.AnonymousID, e.SessionID = clickhousetest.NextDay, e.ID, e.ID }
	clickhousetest.Insert(t, i, "march", clickhousetest.AnEvent("a"))
	clickhousetest.Insert(t, i, "april", clickhousetest.AnEvent("b", later), clickhousetest.AnEvent("c", later))
	return cfg, newStore(t, cfg), i
}

func TestCountsOfBaseAndRollups(t *testing.T) {
	t.Parallel()
	_, b, i := filled(t)
	clickhousetest.Insert(t, i, "march again, beyond the window", clickhousetest.AnEvent("a"))
	got, err := b.Count(t.Context(), "", []ledger.Touched{never, april, march})
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Counts{{}, {Base: 2, Quarters: 2, Days: 2}, {Base: 1, Quarters: 2, Days: 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestADayDiffersWhenAnyCellDoes(t *testing.T) {
	t.Parallel()
	asked := []ledger.Touched{march, april, never}
	for name, tt := range map[string]struct {
		change []string
		want   []ledger.Touched
	}{
		"untouched": {nil, nil},
		"a rollup's row is gone": {
			[]string{"DELETE FROM events_1d WHERE event_date < '2026-04-01'"}, []ledger.Touched{march},
		},
		"a row of the base is gone": {[]string{"DELETE FROM events WHERE event_id = 'b'"}, []ledger.Touched{april}},
		"the sums are right, in the wrong slot": {[]string{
			"CREATE TABLE was AS events_15m ENGINE = Memory",
			"INSERT INTO was SELECT * FROM events_15m WHERE event_date < '2026-04-01'",
			"DELETE FROM events_15m WHERE event_date < '2026-04-01'",
			"INSERT INTO events_15m SELECT owner_id, event_date, slot + 900, name, events, visitors, sessions FROM was",
		}, []ledger.Touched{march}},
		"only the visitors are wrong": {[]string{
			"INSERT INTO events_1d SELECT owner_id, event_date, name, toUInt64(0), uniqState('somebody'), sessions FROM (" +
				"SELECT owner_id, event_date, name, uniqMergeState(sessions) AS sessions FROM events_1d WHERE event_date >= " +
				"'2026-04-01' GROUP BY ALL) GROUP BY ALL",
		}, []ledger.Touched{april}},
		"somebody's row is not among those asked about": {[]string{
			"INSERT INTO events_1d SELECT 'else', '2026-04-01', 'x', toUInt64(1), uniqState('a'), uniqState('a')",
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, b, _ := filled(t)
			for _, sql := range tt.change {
				clickhousetest.Run(t, cfg, sql)
			}
			got, err := b.Differing(t.Context(), asked)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("differing days (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRebuiltDaysAnswerAsTheBaseDoes(t *testing.T) {
	t.Parallel()
	cfg, b, i := filled(t)
	clickhousetest.Insert(t, i, "another owner",
		clickhousetest.AnEvent("z", func(e *record.Event) { e.Owner, e.Website = []byte("o'2"), []byte("o'2") }))
	for _, insertToken := range []string{"march again", "and again"} {
		clickhousetest.Insert(t, i, insertToken, clickhousetest.AnEvent("a"))
	}
	clickhousetest.Run(t, cfg, "DELETE FROM events_15m WHERE event_date >= '2026-04-01'")
	for range 2 { // the second time as after a stop in between
		for _, days := range [][]ledger.Touched{{march, {Owner: "o'2", Day: march.Day}}, {april}} {
			if err := b.Rebuild(t.Context(), days); err != nil {
				t.Fatal(err)
			}
		}
		all := []ledger.Touched{march, april, {Owner: "o'2", Day: march.Day}}
		if differ, err := b.Differing(t.Context(), all); err != nil || len(differ) > 0 {
			t.Errorf("days that differ afterwards: %v, %v", differ, err)
		}
		counts, err := b.Count(t.Context(), "", all)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]ledger.Counts{
			{Base: 1, Quarters: 1, Days: 1}, {Base: 2, Quarters: 2, Days: 2}, {Base: 1, Quarters: 1, Days: 1},
		}, counts); diff != "" {
			t.Errorf("counts afterwards (-want +got):\n%s", diff)
		}
	}
	clickhousetest.Insert(t, i, "april", clickhousetest.AnEvent("b"), clickhousetest.AnEvent("c")) // a late retry
	if differ, err := b.Differing(t.Context(), []ledger.Touched{march, april}); err != nil || len(differ) > 0 {
		t.Errorf("after a retry under a known token, days differ: %v, %v", differ, err)
	}
	if busy, err := b.Rebuilding(t.Context()); busy || err != nil {
		t.Errorf("a rebuild goes on, %v", err)
	}
}

func TestTheListOfDirtyDays(t *testing.T) {
	t.Parallel()
	b := newStore(t, stagetest.Migrated(t))
	counts := ledger.Counts{Base: 1, Quarters: 2, Days: 3}
	days := []ledger.Listed{
		{Touched: april, Reason: ledger.ReasonUnder},
		{Touched: march, Counts: counts, Reason: ledger.ReasonOver},
		{Touched: never, Reason: ledger.ReasonReplay},
	}
	if err := b.List(t.Context(), days); err != nil {
		t.Fatal(err)
	}
	look := func(want ...ledger.Listed) {
		t.Helper()
		got, err := b.Listed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(ledger.Listed{}, "FoundAt"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
		if n, err := b.Dirty(t.Context()); err != nil || n != len(want) {
			t.Errorf("%d days are dirty, %v; want %d", n, err, len(want))
		}
	}
	look(days[2], days[1], days[0])
	found, err := b.Found(t.Context(), 10)
	if err != nil || len(found) != 2 {
		t.Errorf("found to differ are %v, %v; want those that no replay listed", found, err)
	}
	if err := b.Clear(t.Context(), []ledger.Touched{march, never}); err != nil {
		t.Fatal(err)
	}
	look(days[0])
	if err := b.List(t.Context(), days[1:2]); err != nil {
		t.Fatal(err)
	}
	look(days[1], days[0])
}
