package deletion

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// everywhere gives a website rows in every table that can have any: those of each topic,
// what views make of them, and what checks write beside them.
func everywhere(t *testing.T, cfg config.ClickHouse, owner string) {
	t.Helper()
	of := clickhousetest.From(owner, "anna", "v1", clickhousetest.Received)
	session := func(e *record.Event) { e.SessionID, e.Path = []byte("s"), []byte("/") }
	web := func(kind, name string, change ...func(*record.Event)) *record.Event {
		return clickhousetest.WebEvent(owner+" "+kind, kind, name, append(change, of, session)...)
	}
	for topic, events := range map[string][]*record.Event{
		record.TopicEvents: {
			web(record.TypeCustom, "signup"), web(record.TypePageView, "screen_view"),
		},
		record.TopicVitals: {web(record.TypeVital, "LCP", func(e *record.Event) { e.Web.Set(record.Value, 1) })},
		record.TopicErrors: {
			web(record.TypeError, "TypeError", func(e *record.Event) { e.Web.Texts[record.Message] = []byte("boom") }),
		},
		record.TopicIngestion: {web(record.TypeIngestion, "accepted", func(e *record.Event) { e.Web.Set(record.Value, 1) })},
		record.TopicClicks:    {clickOfLink("a click", owner)},
		record.TopicExposures: {clickhousetest.AnEvent("an exposure", of, func(e *record.Event) {
			e.Type, e.Name = []byte(record.TypeExposure), []byte("flag")
			e.Exposure = &record.Exposure{Variant: []byte("on"), Sample: 100}
		})},
	} {
		stagetest.InsertTo(t, cfg, topic, owner+" "+topic, events...)
	}
	told(t, cfg, clickhousetest.AnEvent(owner+" identity", of))
	for _, row := range []string{
		"unstored_1h (owner_id, hour, topic, duplicates) SELECT '" + owner + "', toStartOfHour(now()), 'events.v1', 1",
		"rollup_dirty (owner_id, event_date, reason) SELECT '" + owner + "', toDate('2026-03-31'), 'replay'",
		"exclusions (owner_id, from_date, to_date) SELECT '" + owner + "', toDate('2026-03-31'), toDate('2026-03-31')",
	} {
		clickhousetest.Run(t, cfg, "INSERT INTO "+row)
	}
}

func TestAWebsiteLeavesNothingButItsOrganizationsUsage(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	e := stagetest.Opened(t, NewEraser(cfg))
	everywhere(t, cfg, "web_1")
	everywhere(t, cfg, "web_2")
	has := func(table *schema.Table, owner string) bool {
		return clickhousetest.Column(t, cfg, "toString(count())", table.Name+" WHERE owner_id = '"+owner+"'")[0] != "0"
	}
	for _, table := range ofOwners() {
		if !has(table, "web_1") || !has(table, "web_2") {
			t.Errorf("%s lacks rows of a website before one is erased; the test shows nothing", table.Name)
		}
	}
	stones := []tombstone.Tombstone{clickhousetest.Stone("web_1", tombstone.Website, "")}
	for range 2 { // the second time as after a stop
		if err := e.Delete(t.Context(), stones); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range ofOwners() {
		if has(table, "web_1") {
			t.Errorf("rows of the website are left in %s", table.Name)
		}
		if !has(table, "web_2") {
			t.Errorf("the rows of another website are gone from %s", table.Name)
		}
	}
	// Events, vitals and errors count.
	want := []string{"org_1 4", "web_2 4"}
	if diff := cmp.Diff(want, clickhousetest.Column(t, cfg, "concat(owner_id, ' ', toString(sum(events)))",
		"usage_1d GROUP BY owner_id")); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// ofOwners are the tables with anything of an owner, as their columns say; tombstones are
// what an erasure writes.
func ofOwners() (all []*schema.Table) {
	for i := range schema.Tables {
		if table := &schema.Tables[i]; table.Has("owner_id") && table.Name != schema.Tombstones.Name {
			all = append(all, table)
		}
	}
	return all
}
