package clickhouse_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
)

// sums are what the rollups have counted of all rows.
func sums(t *testing.T, cfg config.ClickHouse) []string {
	t.Helper()
	got := []string{}
	for _, q := range [][2]string{
		{"count()", "events"},
		{"sum(events)", "traffic_15m"},
		{"sum(events)", "traffic_1d"},
		{"sum(events)", "sessions_15m"},
		{"sum(events)", "custom_15m"},
		{"sumIf(views, dimension = 'os')", "views_1d"},
		{"sumIf(views, dimension = 'referrer' AND detail != '')", "views_1d"},
	} {
		got = append(got, clickhousetest.Column(t, cfg, q[0], q[1])...)
	}
	return got
}

func TestARetryDoublesNoRollup(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	web := func(name string) func(*record.Event) {
		return func(e *record.Event) {
			e.Name, e.SessionID, e.Web = []byte(name), []byte("s"), new(record.Web)
			e.Web.Texts[record.OS] = []byte("Linux")
		}
	}
	for range 3 {
		clickhousetest.Insert(t, i, "1:a:0:0-499:202603", clickhousetest.AnEvent("a", web("screen_view")),
			clickhousetest.AnEvent("b", web("screen_view")), clickhousetest.AnEvent("c", web("signup")),
			clickhousetest.AnEvent("d"))
		if diff := cmp.Diff([]string{"4", "4", "4", "3", "2", "2", "2"}, sums(t, cfg)); diff != "" {
			t.Fatalf("events in base and rollups (-want +got):\n%s", diff)
		}
	}
	clickhousetest.Insert(t, i, "2", clickhousetest.AnEvent("a", web("screen_view")))
	if diff := cmp.Diff([]string{"5", "5", "5", "4", "2", "3", "3"}, sums(t, cfg)); diff != "" {
		t.Errorf("after the same event under another token (-want +got):\n%s", diff)
	}
}

// Each view makes one part of each insert, also where grouping sets make many more
// rows than were inserted.
func TestAnInsertIsOnePartOfEachView(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	n := manyKeys(t, cfg, i)
	events := make([]*record.Event, n)
	for k := range events {
		events[k] = clickhousetest.AnEvent(strconv.Itoa(k), func(e *record.Event) {
			e.Name, e.Path, e.SessionID, e.Web = []byte("screen_view"), fmt.Append(nil, "/", k),
				fmt.Append(nil, "s", k), new(record.Web)
			e.Web.Texts[record.City], e.Web.Texts[record.ReferrerHost] = fmt.Append(nil, "c", k), fmt.Append(nil, "h", k)
			e.Web.Texts[record.ReferrerKind], e.Web.Texts[record.OS] = []byte("other"), []byte("Linux")
		})
	}
	want := strconv.Itoa(n)
	for range 2 {
		clickhousetest.Insert(t, i, "1:a:0:0-1:202603", events...)
		if diff := cmp.Diff([]string{want, want, want, want, "0", want, want}, sums(t, cfg)); diff != "" {
			t.Fatalf("events in base and rollups (-want +got):\n%s", diff)
		}
	}
	for table, parts := range map[string]string{
		"traffic_15m": "1", "traffic_1d": "1", "sessions_15m": "1", "views_1d": "2",
	} {
		got := clickhousetest.Column(t, cfg, "max(max_block_number)",
			"system.parts WHERE database = currentDatabase() AND table = '"+table+"'")
		if diff := cmp.Diff([]string{parts}, got); diff != "" {
			t.Errorf("parts of %s (-want +got):\n%s", table, diff)
		}
	}
}

// Each day has a fault of its own: the rows of a view are gone, or there twice. Of
// the last one, nothing is wrong.
func TestEachRollupIsHeldAgainstTheBaseAndMadeAnew(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	filled := []string{
		"events_15m WHERE 1", "events_1d WHERE 1", "traffic_15m WHERE 1", "traffic_1d WHERE 1", "sessions_15m WHERE 1",
		"custom_15m WHERE 1", "views_1d WHERE dimension IN ('path', 'os')", "views_1d WHERE dimension LIKE 'utm%'",
		"views_1d WHERE dimension = 'referrer'",
	}
	b, days := stagetest.Opened(t, ledgerstore.NewStore(cfg)), stagetest.Browsed(t, cfg, 2*len(filled)+1)
	wrong := days[:2*len(filled)]
	for i, rows := range filled {
		at := func(d ledger.Touched) string {
			return fmt.Sprintf(" AND owner_id = '%s' AND event_date = toDate(%d)", d.Owner, d.Day)
		}
		table, _, _ := strings.Cut(rows, " ")
		clickhousetest.Run(t, cfg, "DELETE FROM "+rows+at(wrong[2*i]))
		clickhousetest.Run(t, cfg, "INSERT INTO "+table+" SELECT * FROM "+rows+at(wrong[2*i+1]))
	}
	differ := func(when string, want []ledger.Touched) {
		t.Helper()
		counts, err := b.Count(t.Context(), record.TopicEvents, days)
		if err != nil {
			t.Fatal(err)
		}
		var off []ledger.Touched
		for i, c := range counts {
			if c.Base == 0 || c.Quarters != c.Base || c.Days != c.Base {
				off = append(off, days[i])
			}
		}
		slices.Reverse(want) // as the days are, from the first
		found, err := b.Differing(t.Context(), days)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, found, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, days that differ (-want +got):\n%s", when, diff)
		}
		slices.Reverse(off)
		if diff := cmp.Diff(want, off, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, days with other counts (-want +got):\n%s", when, diff)
		}
	}
	differ("with faults", slices.Clone(wrong))
	if err := b.Rebuild(t.Context(), days); err != nil {
		t.Fatal(err)
	}
	differ("recreated", nil)
}

// What the rollups say is what the base says, in words of its own.
func TestRollupsForQuestionsSayWhatTheBaseSays(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.Browsed(t, cfg, 2)
	for i := range 2 { // as inserted, and merged
		for _, c := range saidTwice() {
			base, rollup := clickhousetest.Column(t, cfg, "toString(tuple("+c.base+"))", c.from), clickhousetest.Column(t, cfg,
				"toString(tuple("+c.rollup+"))", c.of)
			if diff := cmp.Diff(base, rollup); diff != "" || len(base) < 2 {
				t.Errorf("%s (%d rows, -base +rollup):\n%.2000s", c.of, len(base), diff)
			}
		}
		if i == 0 {
			for _, table := range []string{"traffic_15m", "traffic_1d", "sessions_15m", "views_1d", "custom_15m"} {
				clickhousetest.Run(t, cfg, "OPTIMIZE TABLE "+table+" FINAL")
			}
		}
	}
}

// twice is one thing said by the base and by a rollup: a list of expressions and
// all that follows FROM.
type twice struct{ base, from, rollup, of string }

func saidTwice() []twice {
	const (
		bySlot   = " GROUP BY owner_id, toStartOfInterval(event_time, INTERVAL 15 MINUTE)"
		visitors = "uniqExactIf(anonymous_id, anonymous_id != '')"
		sessions = "uniqExactIf(session_id, session_id != '')"
		traffic  = "count(), countIf(name = 'screen_view'), countIf(session_id != ''), countIf(name = 'screen_view' AND " +
			"session_id != ''), " + visitors + ", " + sessions
		said = "sum(events), sum(views), sum(session_events), sum(session_views), uniqCombined64Merge(17)(visitors), " +
			"uniqCombined64Merge(17)(sessions)"
		onPage = "multiIf(name != 'page_exit', NULL, bitTest(measured, 3), time_on_page, JSONExtract(properties, " +
			"'time_on_page', 'Nullable(Float64)'))"
		custom = "name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')"
		people = "uniqExactIf(tuple(anonymous_id, if(anonymous_id = '', profile_id, '')), anonymous_id != '' OR " +
			"profile_id != '')"
		unixMilli = "toUnixTimestamp64Milli"
	)
	all := []twice{
		{
			"owner_id, toUInt32(toStartOfInterval(event_time, INTERVAL 15 MINUTE)), " + traffic, "events" + bySlot,
			"owner_id, toUInt32(slot), " + said, "traffic_15m GROUP BY owner_id, slot",
		},
		{
			"owner_id, event_date, " + traffic, "events GROUP BY owner_id, event_date", "owner_id, event_date, " + said,
			"traffic_1d GROUP BY owner_id, event_date",
		},
		{
			"owner_id, sipHash64(session_id), toUInt32(toStartOfInterval(event_time, INTERVAL 15 MINUTE)), count(), " +
				"countIf(name = 'screen_view'), " +
				"countIf(name != 'screen_view' AND name != 'page_exit'), countIf(" + onPage + " >= 0), ifNull(sumIf(" + onPage +
				", " + onPage + " >= 0), 0), " +
				unixMilli + "(min(event_time)), " + unixMilli + "(max(event_time))",
			"events WHERE session_id != ''" + bySlot + ", session_id",
			"owner_id, session_key, toUInt32(slot), sum(events), sum(views), sum(others), sum(exits), sum(exit_time), " +
				unixMilli + "(min(first)), " + unixMilli + "(max(last))",
			"sessions_15m GROUP BY owner_id, session_key, slot",
		},
		{
			"owner_id, name, toUInt32(toStartOfInterval(event_time, INTERVAL 15 MINUTE)), count(), countIf(properties != '' " +
				"AND properties != '{}'), " + people + ", " + sessions + ", uniqExactIf(path, path != ''), " +
				unixMilli + "(min(event_time)), " + unixMilli + "(max(event_time))",
			"events WHERE " + custom + bySlot + ", name",
			"owner_id, name, toUInt32(slot), sum(events), sum(with_properties), uniqCombined64Merge(14)(users), " +
				"uniqCombined64Merge(14)(sessions), uniqCombined64Merge(14)(pages), " +
				unixMilli + "(min(first)), " + unixMilli + "(max(last))",
			"custom_15m GROUP BY owner_id, name, slot",
		},
	}
	const (
		views = "owner_id, event_date, value, detail, sum(views), uniqCombined64Merge(14)(visitors), min(referrer), " +
			"min(utm_source), min(referrer_host)"
		byView = " GROUP BY owner_id, event_date, value, detail"
		kind   = "if(referrer_kind = '', 'direct', referrer_kind)"
		site   = "multiIf(referrer_kind IN ('', 'direct'), 'Direct', referrer_name != '', referrer_name, referrer_host)"
		seen   = ", count(), " + visitors
	)
	all = append(all, twice{
		"owner_id, event_date, v, d" + seen + ", min(referrer), min(toString(utm_source)), min(referrer_host)",
		"(SELECT *, " + site + " AS v, toString(" + kind +
			") AS d FROM events WHERE name = 'screen_view' AND referrer_kind != 'internal') GROUP BY owner_id, event_date, v, d",
		views, "views_1d WHERE dimension = 'referrer'" + byView,
	})
	for name, of := range map[string][2]string{
		"path": {"path", "''"}, "browser": {"browser", "''"}, "os": {"os", "''"}, "device": {"device", "''"},
		"country": {"country", "''"},
		"region":  {"region", "country"}, "city": {"city", "country"}, "browser_version": {"browser", "browser_version"},
		"language": {"language", "''"},
		"timezone": {"timezone", "''"}, "screen": {"screen", "''"}, "utm_source": {"utm_source", "''"},
		"utm_medium":   {"utm_medium", "''"},
		"utm_campaign": {"utm_campaign", "''"}, "utm_term": {"utm_term", "''"}, "utm_content": {"utm_content", "''"},
	} {
		all = append(all, twice{
			"owner_id, event_date, v, d" + seen + ", '', '', ''",
			"(SELECT *, toString(" + of[0] + ") AS v, toString(" + of[1] +
				") AS d FROM events WHERE name = 'screen_view' AND v != '') GROUP BY owner_id, event_date, v, d",
			views, "views_1d WHERE dimension = '" + name + "'" + byView,
		})
	}
	return all
}
