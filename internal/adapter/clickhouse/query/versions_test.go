package query

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/analytics"
)

// Whatever changes a response changes the version, and what does not change it is
// left out.
func TestAVersionChangesWithWhatItIsOf(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	conns := clickhouse.NewPool(cfg)
	t.Cleanup(func() { conns.Close() })
	do := func(sql string) {
		t.Helper()
		if err := conns.Use(t.Context(),
			func(c *clickhouse.Client) error { return c.Do(t.Context(), ch.Query{Body: sql}) }); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	versions := NewVersions(cfg)
	t.Cleanup(func() { versions.Close() })
	if got := strings.Join(versions.Bases([]string{"views_1d", "vitals_15m", "traffic_1d", "events", "identities"}),
		" "); got != "events identities vitals" {
		t.Errorf("base tables: %s", got)
	}
	// unstored_1h forgets what is old.
	sinceMarch := analytics.Range{
		Start: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), End: time.Now().AddDate(0, 0, 1), Zone: time.UTC,
	}
	ofIngestion := []string{"ingestion_1m", "unstored_1h"}
	asked := map[string]struct {
		subject analytics.Subject
		tables  []string
	}{
		"events":             {analytics.Subject{Kind: analytics.Website, ID: "w1"}, []string{"events"}},
		"a rollup of events": {analytics.Subject{Kind: analytics.Website, ID: "w1"}, []string{"events_15m", "events"}},
		"vitals":             {analytics.Subject{Kind: analytics.Website, ID: "w1"}, []string{"vitals"}},
		"errors":             {analytics.Subject{Kind: analytics.Website, ID: "w1"}, []string{"errors", "errors_15m"}},
		"profiles":           {analytics.Subject{Kind: analytics.Website, ID: "w1"}, []string{"profiles"}},
		"ingestion":          {analytics.Subject{Kind: analytics.Website, ID: "w1"}, ofIngestion},
		"ingestion of all":   {analytics.Subject{Kind: analytics.Organization, ID: "o1"}, ofIngestion},
		"of a new tenant":    {analytics.Subject{Kind: analytics.Organization, ID: "o9"}, ofIngestion},
		"ingestion moved":    {analytics.Organized("o8", nil, []string{"w9"}), ofIngestion},
		"ingestion left":     {analytics.Organized("o9", []string{"w9"}, nil), ofIngestion},
		"the exposures":      {analytics.Subject{Kind: analytics.Website, ID: "w1"}, []string{"flag_exposures"}},
		"the clicks":         {analytics.Subject{Kind: analytics.Link, ID: "l1"}, []string{"clicks_15m", "clicks"}},
		"the organization":   {analytics.Subject{Kind: analytics.Organization, ID: "o1"}, []string{"events"}},
		"where it was":       {analytics.Organized("o1", []string{"w1"}, nil), []string{"events"}},
		"where it moved to":  {analytics.Organized("o2", nil, []string{"w1"}), []string{"events"}},
		"another website": {
			analytics.Subject{Kind: analytics.Website, ID: "w2"},
			[]string{"events", "vitals", "errors", "identities", "ingestion_1m"},
		},
		"a foreign tenant": {
			analytics.Subject{Kind: analytics.Organization, ID: "o2"},
			[]string{"events", "vitals", "errors", "identities", "ingestion_1m"},
		},
	}
	read := func() map[string]analytics.Version {
		t.Helper()
		got := map[string]analytics.Version{}
		for name, a := range asked {
			v, err := versions.Of(t.Context(), a.subject, sinceMarch, a.tables)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got[name] = v
		}
		return got
	}
	row := func(table, owner, organization, day string) string {
		extra, values := "", ""
		if table == "ingestion_1m" {
			extra, values = ", events", ", 1"
		}
		return "INSERT INTO " + table + " (owner_id, organization_id, event_date, event_time, received_at, name, event_id" +
			extra + ") VALUES ('" +
			owner + "', '" + organization + "', '" + day + "', '" + day + " 10:00:00', now64(3), 'x', '" + table +
			day + "'" + values + ")"
	}
	const whole = "events,a rollup of events,vitals,errors,profiles,ingestion,ingestion of all,the exposures," +
		"the organization,where it moved to" // what is of w1
	last := read()
	for _, step := range []struct {
		name, sql string
		changed   string // names, separated by commas
		settling  bool
	}{
		{
			"an event", row("events", "w1", "o1", "2026-03-10"),
			"events,a rollup of events,the organization,where it moved to", false,
		},
		{"an event of another month", row("events", "w1", "o1", "2026-02-10"), "", false},
		{"a measurement", row("vitals", "w1", "o1", "2026-03-10"), "vitals", false},
		{"an error", row("errors", "w1", "o1", "2026-03-10"), "errors", false},
		{"a click", "INSERT INTO clicks (link_id, event_date, event_time, click_id) VALUES ('l1', '2026-03-10', " +
			"'2026-03-10 10:00:00', 'c')", "the clicks", false},
		{"a click of another link", "INSERT INTO clicks (link_id, event_date, event_time, click_id) VALUES ('l2', " +
			"'2026-03-10', '2026-03-10 10:00:00', 'c')", "", false},
		{"an exposure", row("flag_exposures", "w1", "o1", "2026-03-10"), "the exposures", false},
		{"what is told of a user, whenever", row("identities", "w1", "o1", "2026-01-10"), "profiles", false},
		{"a count of an edge", row("ingestion_1m", "w1", "o1", "2026-03-10"), "ingestion,ingestion of all", false},
		{
			"a refusal of a tenant that has nothing stored", row("ingestion_1m", "w9", "o9", "2026-03-10"),
			"of a new tenant,ingestion moved", false,
		},
		{
			"another of its website", row("ingestion_1m", "w9", "o9", "2026-03-11"), "of a new tenant,ingestion moved", false,
		},
		{
			"one of none of its websites", row("ingestion_1m", "o9", "o9", "2026-03-11"),
			"of a new tenant,ingestion left", false,
		},
		{
			"a record of the new tenant that is no row",
			"INSERT INTO unstored_1h (owner_id, hour, topic, duplicates) VALUES ('w9', now(), 'events.v1', 1)",
			"of a new tenant,ingestion moved", false,
		},
		{
			"a record that is no row",
			"INSERT INTO unstored_1h (owner_id, hour, topic, duplicates) VALUES ('w1', now(), 'events.v1', 1)",
			"ingestion,ingestion of all", false,
		},
		{
			"a tombstone",
			"INSERT INTO tombstones (owner_id, kind, id, before, erasure_id) VALUES ('w1', 'visitor', 'x', now64(3), 'era_1')",
			whole, false,
		},
		{
			"a dirty day",
			"INSERT INTO rollup_dirty (owner_id, event_date, reason, cleared, found_at) VALUES ('w1', '2026-03-10', 'x', 0, " +
				"'2026-03-11 00:00:00')",
			whole, true,
		},
		{
			"a day that is repaired",
			"INSERT INTO rollup_dirty (owner_id, event_date, reason, cleared, found_at) VALUES ('w1', '2026-03-10', 'x', 1, " +
				"'2026-03-12 00:00:00')",
			whole, false,
		},
		{
			"a dirty day of another month",
			"INSERT INTO rollup_dirty (owner_id, event_date, reason, cleared) VALUES ('w1', '2026-02-10', 'x', 0)",
			"", false,
		},
		{
			"an event of a foreign tenant", row("events", "w3", "o2", "2026-03-10"), "a foreign tenant,where it moved to", false,
		},
	} {
		do(step.sql)
		now := read()
		for name := range asked {
			want := strings.Contains(","+step.changed+",", ","+name+",")
			if got := now[name].Number != last[name].Number; got != want {
				t.Errorf("%s: the version of %s changed: %t, want %t", step.name, name, got, want)
			}
			if now[name].Settling != (step.settling && want) {
				t.Errorf("%s: %s is settling: %t", step.name, name, now[name].Settling)
			}
		}
		last = now
	}
}

// A type that reads a table of which nothing tells when it changes would never be
// kept.
func TestEveryTableOfTheCatalogueHasAVersion(t *testing.T) {
	t.Parallel()
	for i := range analytics.Catalog {
		typ := &analytics.Catalog[i]
		requests, batch, err := analytics.Decode([]byte(typ.Example("today")))
		if err != nil {
			t.Fatal(err)
		}
		subject := subjectOf(typ, "w")
		plans, err := analytics.Compile(requests, batch, analytics.Environment{Subject: subject, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plans[0].Statements {
			if _, err := versionSQL(subject, s.Tables); err != nil || len(s.Tables) == 0 {
				t.Errorf("%s reads %v: %v", typ.Name, s.Tables, err)
			}
		}
	}
	if _, err := versionSQL(analytics.Subject{Kind: analytics.Website}, []string{"no_such_table"}); err == nil {
		t.Error("an unknown table has a version")
	}
}

func TestAVersionIsNotWaitedForBeyondTheContext(t *testing.T) {
	t.Parallel()
	v := NewVersions(clickhousetest.Database(t))
	t.Cleanup(func() { v.Close() })
	for range versionsAtOnce {
		v.turns <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Of(ctx, analytics.Subject{Kind: analytics.Website}, analytics.Range{}, []string{"events"}); err == nil {
		t.Error("more versions are read at once than may be")
	}
}
