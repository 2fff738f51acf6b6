package schema_test

import (
	"strconv"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

func TestTheTokenWindowIsTheSmallest(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	for _, tc := range []struct {
		alter string
		want  int
	}{
		{"", 100_000}, // of views_1d, which three views fill
		// of clicks_1d, which two fill,
		{"ALTER TABLE views_1d MODIFY SETTING non_replicated_deduplication_window = 900000", 150_000},
		{"ALTER TABLE events_15m MODIFY SETTING non_replicated_deduplication_window = 20000", 20_000},
		{"ALTER TABLE events MODIFY SETTING non_replicated_deduplication_window = 100", 100},
	} {
		for _, s := range schema.Statements(tc.alter) {
			clickhousetest.Run(t, cfg, s)
		}
		if got, err := i.InsertTokenMemory(t.Context()); err != nil || got != (ledger.InsertTokenMemory{Inserts: tc.want}) {
			t.Errorf("after %q: InsertTokenMemory() = %+v, %v, want %d", tc.alter, got, err, tc.want)
		}
	}
}

// A page view fills views_1d through two views at least, and each leaves a token: with
// three places the second insert has the first one's forgotten there.
func TestEachViewLeavesATokenInItsTable(t *testing.T) {
	t.Parallel()
	for places, want := range map[int]string{3: "3", 4: "2"} {
		cfg := stagetest.Migrated(t)
		clickhousetest.Run(t, cfg,
			"ALTER TABLE views_1d MODIFY SETTING non_replicated_deduplication_window = "+strconv.Itoa(places))
		view := func(id string) *record.Event {
			return clickhousetest.WebEvent(id, record.TypePageView, "screen_view",
				func(e *record.Event) { e.Web.Texts[record.City] = []byte("Graz") })
		}
		for _, id := range []string{"a", "b", "a"} {
			stagetest.InsertTo(t, cfg, record.TopicEvents, id, view(id))
		}
		if got := clickhousetest.Column(t, cfg, "max(views)",
			"(SELECT dimension, sum(views) AS views FROM views_1d GROUP BY dimension, value)"); got[0] != want {
			t.Errorf("with %d places views_1d counts %s views of two, want %s", places, got[0], want)
		}
	}
}

func TestPartPressureIsThatOfTheFullestPartition(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	for _, table := range []string{"events", "events_15m", "events_1d"} {
		clickhousetest.Run(t, cfg, "SYSTEM STOP MERGES "+table)
	}
	for n, insertToken := range []string{"", "1", "2", "3"} {
		if insertToken != "" {
			clickhousetest.Insert(t, i, insertToken, clickhousetest.AnEvent(insertToken))
		}
		if got, err := i.PartPressure(t.Context()); err != nil || got != n {
			t.Errorf("after %d inserts: PartPressure() = %d, %v", n, got, err)
		}
	}
}
