package deletion

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/retention"
	"github.com/millrace/millrace/internal/testkit"
)

var _ retention.Tables = (*Expirer)(nil)

// expiry is the beginning of the first day that is kept in these tests; the events
// of clickhousetest are of the day before.
var expiry = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

func of(owner string, at int64) func(*record.Event) {
	return clickhousetest.From(owner, "u", "v of "+owner, at)
}

// fill stores something of three websites in every table, on the last day that is
// not kept and on the first that is.
func fill(t *testing.T, cfg config.ClickHouse) {
	t.Helper()
	for n, at := range []int64{clickhousetest.Noon, clickhousetest.NextDay} {
		for topic, kind := range map[string]string{
			record.TopicEvents: record.TypeCustom, record.TopicVitals: record.TypeVital, record.TopicErrors: record.TypeError,
			record.TopicIdentities: record.TypeIdentify, record.TopicIngestion: record.TypeIngestion,
			record.TopicClicks: record.TypeClick, record.TopicExposures: record.TypeExposure,
		} {
			var events []*record.Event
			for _, owner := range []string{"web_1", "web_2", `web'\3`} {
				events = append(events,
					clickhousetest.WebEvent(fmt.Sprint(kind, n, owner), kind, "screen_view", of(owner, at), func(e *record.Event) {
						e.SessionID, e.Path, e.Properties = []byte("s"), []byte("/"), []byte(`{"plan":"pro"}`)
					}))
				if topic == record.TopicEvents {
					events = append(events, clickhousetest.WebEvent(fmt.Sprint("own", n, owner), kind, "signup", of(owner, at)))
				}
			}
			stagetest.InsertTo(t, cfg, topic, fmt.Sprint(topic, n), events...)
		}
	}
	clickhousetest.Run(t, cfg, "ALTER TABLE unstored_1h REMOVE TTL") // these days are long over
	clickhousetest.Run(t, cfg,
		"INSERT INTO unstored_1h SELECT arrayJoin(['web_1', 'web_2', 'web\\'\\\\3']), arrayJoin([toDateTime('2026-03-31 "+
			"12:00:00', 'UTC'), toDateTime('2026-04-01 12:00:00', 'UTC')]), 'events.v1', 1, 0, 0")
}

// daysIn returns the days of which a table has something of an owner.
func daysIn(t *testing.T, cfg config.ClickHouse, table, day, owner string) []string {
	t.Helper()
	return slices.Compact(clickhousetest.Column(t, cfg, day,
		table+" WHERE owner_id = '"+clickhouse.Quote.Replace(owner)+"'"))
}

func TestOfEveryTableOnlyWhatIsNotKeptIsDeleted(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	fill(t, cfg)
	e := stagetest.Opened(t, NewExpirer(cfg))
	both := []string{"2026-03-31", "2026-04-01"}
	tables, days := expirable()
	for i, table := range tables {
		if got := daysIn(t, cfg, table.Name, days[i], "web_1"); table.Name != schema.RollupDirty.Name &&
			!slices.Equal(got, both) {
			t.Errorf("%s has %v before; the test shows nothing", table.Name, got)
		}
	}
	limits := []retention.Limit{
		{Website: "web_1", Before: expiry},
		{Website: `web'\3`, Before: expiry.AddDate(0, 0, 1)},
		{Website: "web_9", Before: expiry},
	}
	rows, err := e.Expire(t.Context(), limits)
	if err != nil {
		t.Fatal(err)
	}
	if rows["events"] != 2+4 || rows["sessions_15m"] != 1+2 {
		t.Errorf("it says that it has deleted %v", rows)
	}
	for i, table := range tables {
		if table.Name == schema.RollupDirty.Name {
			continue
		}
		for owner, want := range map[string][]string{"web_1": both[1:], "web_2": both, `web'\3`: {}} {
			if diff := cmp.Diff(want, daysIn(t, cfg, table.Name, days[i], owner)); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", table.Name, owner, diff)
			}
		}
	}
	if got := clickhousetest.Column(t, cfg, "sum(events)", "usage_1d WHERE owner_id = 'web_1'"); got[0] == "0" {
		t.Error("what the organization has sent is forgotten")
	}
	if again, err := e.Expire(t.Context(), limits); err != nil || again["events"] != 0 {
		t.Errorf("a second pass finds %v, %v", again, err)
	}
}

// Whatever a new table is about, somebody has to say whether it is kept.
func TestEveryTableWithAnOwnerSaysHowOldItsRowsAre(t *testing.T) {
	t.Parallel()
	tables, _ := expirable()
	for i := range schema.Tables {
		if table := &schema.Tables[i]; table.Has(ownerColumn) && !slices.Contains(tables, table) &&
			!slices.Contains(keptForEver, table.Name) {
			t.Errorf("nothing says how old a row of %s is", table.Name)
		}
	}
	if first, last := tables[0], tables[len(tables)-1]; first.Name != schema.Events.Name ||
		last.Name != schema.Unstored1h.Name && last.Name != schema.RollupDirty.Name {
		t.Errorf("the first table is %s, the last one %s", first.Name, last.Name)
	}
}

// Queries answer a day that is half deleted from the base, and it is off the list
// as soon as nothing is left of it.
func TestDaysAreDirtyFromBeforeTheFirstRowGoesUntilTheLastIsGone(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	fill(t, cfg)
	e := stagetest.Opened(t, NewExpirer(cfg))
	limits := []retention.Limit{{Website: "web_1", Before: expiry}}
	clickhousetest.Run(t, cfg, "SYSTEM STOP MERGES events_1d") // nor will anything be deleted from it
	ended := make(chan error, 1)
	go func() {
		_, err := e.Expire(t.Context(), limits)
		ended <- err
	}()
	testkit.Eventually(t, time.Minute, func() error {
		if left := daysIn(t, cfg, "events_15m", "event_date", "web_1"); len(left) > 1 {
			return fmt.Errorf("events_15m has %v", left)
		}
		return nil
	})
	listed, err := e.Listed(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Owner != "web_1" || listed[0].Reason != ledger.ReasonExpired {
		t.Errorf("in the middle, listed are %+v, %v", listed, err)
	}
	if got := daysIn(t, cfg, "events_1d", "event_date", "web_1"); len(got) != 2 {
		t.Errorf("in the middle, events_1d has %v", got)
	}
	clickhousetest.Run(t, cfg, "SYSTEM START MERGES events_1d")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if n, err := e.Dirty(t.Context()); err != nil || n != 0 {
		t.Errorf("in the end %d days are dirty, %v", n, err)
	}
}

func TestWhatIsGoneOnPurposeIsWrittenDownOnce(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	fill(t, cfg)
	e := stagetest.Opened(t, NewExpirer(cfg))
	for _, before := range []time.Time{expiry, expiry, expiry.AddDate(0, 0, 1), expiry.AddDate(0, 0, 2)} {
		if _, err := e.Expire(t.Context(), []retention.Limit{{Website: "web_1", Before: before}}); err != nil {
			t.Fatal(err)
		}
	}
	// The last one deletes nothing, and covers nothing that is not covered.
	want := []string{"web_1 1970-01-01 2026-04-01 retention"}
	if diff := cmp.Diff(want, clickhousetest.Column(t, cfg,
		"concat(owner_id, ' ', toString(from_date), ' ', toString(to_date), ' ', reason)", "exclusions")); diff != "" {
		t.Errorf("exclusions (-want +got):\n%s", diff)
	}
}

func TestEachPartitionIsWrittenWithoutItsDeletedRowsOnceAWeek(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	fill(t, cfg)
	e := stagetest.Opened(t, NewExpirer(cfg))
	if _, err := e.Expire(t.Context(), []retention.Limit{{Website: "web_1", Before: expiry}}); err != nil {
		t.Fatal(err)
	}
	const masked = "system.parts WHERE active AND database = currentDatabase() AND has_lightweight_delete"
	before := slices.Compact(clickhousetest.Column(t, cfg, "concat(table, ' ', partition_id)", masked))
	if len(before) < 10 {
		t.Fatalf("only %v have masked rows", before)
	}
	turns := 0
	for day := range compactEvery {
		now := slices.Compact(clickhousetest.Column(t, cfg, "concat(table, ' ', partition_id)", masked))
		if err := e.Compact(t.Context(), expiry.AddDate(0, 0, day)); err != nil {
			t.Fatal(err)
		}
		if after := slices.Compact(clickhousetest.Column(t, cfg,
			"concat(table, ' ', partition_id)", masked)); len(after) < len(now) {
			turns++
		}
	}
	if left := clickhousetest.Column(t, cfg, "table", masked); len(left) > 0 {
		t.Errorf("after a week masked rows are left in %v", left)
	}
	if turns < 3 {
		t.Errorf("all the work was done on %d days of the week", turns)
	}
	if got := daysIn(t, cfg, "events", "event_date", "web_1"); !slices.Equal(got, []string{"2026-04-01"}) {
		t.Errorf("events are left of %v", got)
	}
}
