package clickhouse_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of a machine without any

	"github.com/ClickHouse/ch-go"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

// totals of events in the base without FINAL, and in both rollups.
func totals(t *testing.T, cfg config.ClickHouse) []string {
	t.Helper()
	return append(append(clickhousetest.Column(t, cfg, "count()", "events"), clickhousetest.Column(t, cfg,
		"sum(events)", "events_15m")...), clickhousetest.Column(t, cfg, "sum(events)", "events_1d")...)
}

func TestARetryDoublesNeitherBaseNorRollups(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	events := clickhousetest.SomeEvents(rand.New(rand.NewPCG(3, 4)), 500)
	for range 3 {
		clickhousetest.Insert(t, i, "1:a:0:0-499:202603", events...)
	}
	if diff := cmp.Diff([]string{"500", "500", "500"}, totals(t, cfg)); diff != "" {
		t.Errorf("events in base and rollups (-want +got):\n%s", diff)
	}
}

// manyKeys returns more keys than a view groups in one piece by default, and than fit
// into a block by default. The server's own defaults, of 65,409 rows and of 100,000 keys,
// take seconds to exceed: the inserter gets a connection whose defaults are lower.
func manyKeys(t *testing.T, cfg config.ClickHouse, i *insert.Inserter) int {
	t.Helper()
	c, err := ch.Dial(t.Context(), ch.Options{
		Address: cfg.Addr[0], Database: cfg.Database, Compression: ch.CompressionLZ4, ReadTimeout: ch.NoTimeout,
		Settings: []ch.Setting{
			ch.SettingInt("group_by_two_level_threshold", 1000), ch.SettingInt("group_by_two_level_threshold_bytes", 500_000),
			ch.SettingInt("max_block_size", 650), ch.SettingInt("max_insert_block_size", 650),
			ch.SettingInt("min_insert_block_size_rows", 650),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	i.Keep(&clickhouse.Client{Client: c}, cfg.Addr[0])
	return 1010
}

// A view groups many keys in several passes, whose results must not arrive as
// several blocks in an order of their own: each would have a token of its own.
func TestARetryOfManyKeysDoublesNothing(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	n := manyKeys(t, cfg, i)
	events := make([]*record.Event, n)
	for k := range events {
		events[k] = clickhousetest.AnEvent(strconv.Itoa(k), func(e *record.Event) {
			e.Name, e.AnonymousID, e.SessionID = fmt.Append(nil, "name", k), fmt.Append(nil, "v", k), fmt.Append(nil, "s", k)
		})
	}
	want := strconv.Itoa(n)
	for range 2 {
		clickhousetest.Insert(t, i, "1:a:0:0-1:202603", events...)
		if diff := cmp.Diff([]string{want, want, want}, totals(t, cfg)); diff != "" {
			t.Fatalf("events in base and rollups (-want +got):\n%s", diff)
		}
	}
	for _, table := range []string{"events", "events_15m", "events_1d"} {
		// Every part that was ever made took a number.
		got := clickhousetest.Column(t, cfg, "max(max_block_number)",
			"system.parts WHERE database = currentDatabase() AND table = '"+table+"'")
		if diff := cmp.Diff([]string{"1"}, got); diff != "" {
			t.Errorf("parts of %s (-want +got):\n%s", table, diff)
		}
	}
}

// What the settings on the targets are there for.
func TestATargetThatRemembersNothingIsDoubledByARetry(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	clickhousetest.Run(t, cfg, "ALTER TABLE events_1d MODIFY SETTING "+"non_replicated_deduplication_window"+" = 0")
	i := stagetest.OpenInserter(t, cfg)
	clickhousetest.Insert(t, i, "1", clickhousetest.AnEvent("a"))
	clickhousetest.Insert(t, i, "1", clickhousetest.AnEvent("a"))
	if diff := cmp.Diff([]string{"1", "1", "2"}, totals(t, cfg)); diff != "" {
		t.Errorf("events in base and rollups (-want +got):\n%s", diff)
	}
}

func TestARetryHealsAViewThatFailed(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	clickhousetest.Run(t, cfg, "ALTER TABLE events_1d ADD CONSTRAINT c CHECK name != 'signup'")
	for range 2 {
		if err := i.Insert(t.Context(), clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b")),
			"1"); !clickhousetest.ClassIs(err, sink.ClassRejected) {
			t.Fatalf("Insert() = %v, want class %s", err, sink.ClassRejected)
		}
	}
	clickhousetest.Run(t, cfg, "ALTER TABLE events_1d DROP CONSTRAINT c")
	clickhousetest.Insert(t, i, "1", clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b"))
	if diff := cmp.Diff([]string{"2", "2", "2"}, totals(t, cfg)); diff != "" {
		t.Errorf("events in base and rollups (-want +got):\n%s", diff)
	}
}

// The same events under another token, which is what happens beyond the windows:
// distinct counts stay right, and the number of events does not.
func TestDistinctCountsDoNotGrowWhenEventsComeTwice(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	visit := func(e *record.Event) { e.AnonymousID, e.SessionID = []byte("v"), []byte("s") }
	clickhousetest.Insert(t, i, "1", clickhousetest.AnEvent("a", visit), clickhousetest.AnEvent("b"))
	clickhousetest.Insert(t, i, "2", clickhousetest.AnEvent("a", visit), clickhousetest.AnEvent("b"))
	for _, table := range []string{"events_15m", "events_1d"} {
		got := clickhousetest.Column(t, cfg, "toString([sum(events), uniqMerge(visitors), uniqMerge(sessions)])", table)
		if diff := cmp.Diff([]string{"[4,1,1]"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table, diff)
		}
	}
}

func TestTheTypesOfTheViewsAreThoseOfTheirTargets(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	for i := range schema.Views {
		v := &schema.Views[i]
		clickhousetest.Run(t, cfg, "CREATE TABLE made_"+v.Name+" ENGINE = Memory AS "+v.Select)
		// a sum is stored as one, and made as a number
		const kind = `replaceRegexpOne(type, '^SimpleAggregateFunction\\(\\w+, (.*)\\)$', '\\1')`
		diff := cmp.Diff(
			clickhousetest.Column(t, cfg, "concat(name, ' ', "+kind+")",
				"system.columns WHERE database = currentDatabase() AND table = '"+v.To+"'"),
			clickhousetest.Column(t, cfg, "concat(name, ' ', "+kind+")",
				"system.columns WHERE database = currentDatabase() AND table = 'made_"+v.Name+"'"))
		if diff != "" {
			t.Errorf("%s (-target +view):\n%s", v.Name, diff)
		}
	}
}

// Zones with whole, half and quarter hours, and with changes of the clock; the
// last one changes by half an hour.
var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "Asia/Kathmandu", "Asia/Kolkata", "Australia/Eucla",
	"Pacific/Chatham", "Australia/Lord_Howe",
}

// Random events around the changes of the clock of both halves of a year: each
// rollup says what the base says, for every hour and day of every zone.
func TestRollupsSayWhatTheBaseSays(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	r := rand.New(rand.NewPCG(5, 6))
	for n, day := range []string{
		"2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01", "2026-12-31",
	} {
		from, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		events := clickhousetest.SomeEvents(r, 400)
		for _, e := range events {
			// Within the month, because a block is of one.
			e.TimeMillis = from.Add(time.Duration(r.Int64N(int64(24 * time.Hour)))).UnixMilli()
			e.Name = fmt.Append(nil, "n", r.IntN(3))
		}
		clickhousetest.Insert(t, i, fmt.Sprint("1:", n), events...)
	}
	clickhousetest.Run(t, cfg, "OPTIMIZE TABLE events_15m FINAL")
	for _, zone := range zones {
		for _, unit := range []string{"toStartOfHour(%s, '%s')", "toDate(%s, '%s')"} {
			bucket := func(of string) string { return strings.Replace(fmt.Sprintf(unit, of, zone), "%%", "%", 1) }
			base := clickhousetest.Column(t, cfg, "x",
				"(SELECT concat(owner_id, ' ', name, ' ', toString("+bucket("event_time")+"), ' ', toString(count()), ' ', "+
					"toString(uniqIf(anonymous_id, anonymous_id != '')), ' ', toString(uniqIf(session_id, session_id != ''))) AS x "+
					"FROM events GROUP BY owner_id, name, "+bucket("event_time")+")")
			rollup := clickhousetest.Column(t, cfg, "x",
				"(SELECT concat(owner_id, ' ', name, ' ', toString("+bucket("slot")+"), ' ', toString(sum(events)), ' ', "+
					"toString(uniqMerge(visitors)), ' ', toString(uniqMerge(sessions))) AS x FROM events_15m GROUP BY owner_id, "+
					"name, "+
					bucket("slot")+")")
			if diff := cmp.Diff(base, rollup); diff != "" {
				t.Errorf("%s (-base +events_15m):\n%.2000s", bucket("…"), diff)
			}
		}
	}
	day := func(count, visitors, sessions, table string) []string {
		return clickhousetest.Column(t, cfg, "x", "(SELECT concat(owner_id, ' ', name, ' ', toString(event_date), ' ', "+
			"toString("+count+"), ' ', toString("+visitors+"), ' ', toString("+sessions+
			")) AS x FROM "+table+" GROUP BY owner_id, name, event_date)")
	}
	if diff := cmp.Diff(
		day("count()", "uniqIf(anonymous_id, anonymous_id != '')", "uniqIf(session_id, session_id != '')", "events"),
		day("sum(events)", "uniqMerge(visitors)", "uniqMerge(sessions)", "events_1d")); diff != "" {
		t.Errorf("UTC days (-base +events_1d):\n%.2000s", diff)
	}
}
