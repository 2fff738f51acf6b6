package schema_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
)

func TestMigrateInSeveralProcessesAtOnce(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error { return schema.Migrate(t.Context(), cfg) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := schema.Check(t.Context(), cfg); err != nil {
		t.Error(err)
	}
}

// What nearly all tests take for a migrated database is a copy of one.
func TestACopyOfAMigratedDatabaseIsOne(t *testing.T) {
	t.Parallel()
	made, copied := clickhousetest.Database(t), stagetest.Migrated(t)
	if err := schema.Migrate(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{
		"replaceAll(create_table_query, database, 'the database')|system.tables WHERE database = currentDatabase()",
		"concat(table, '.', name, ' ', type, ' ', default_kind, default_expression)|system.columns WHERE database = " +
			"currentDatabase()",
		"concat(toString(version), ' ', checksum)|schema_migrations FINAL",
	} {
		value, from, _ := strings.Cut(what, "|")
		want, got := clickhousetest.Column(t, made, value, from), clickhousetest.Column(t, copied, value, from)
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("%s: %d values, migrated and copied (-want +got):\n%s", from, len(got), diff)
		}
	}
	for check, err := range map[string]error{
		"schema":       schema.Check(t.Context(), copied),
		"exactness":    schema.CheckExactness(t.Context(), copied),
		"migrating it": schema.Migrate(t.Context(), copied),
	} {
		if err != nil {
			t.Errorf("%s: %v", check, err)
		}
	}
}

func TestMigrateMakesTheDatabase(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	clickhousetest.Run(t, cfg, "DROP DATABASE "+cfg.Database+" SYNC")
	if err := schema.Migrate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := schema.Check(t.Context(), cfg); err != nil {
		t.Error(err)
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil string // run on a migrated database; {db} is its name
		want  string
	}{
		{"no database", "DROP DATABASE {db} SYNC", `is missing; run "millrace migrate"`},
		{"never migrated", "DROP TABLE schema_migrations SYNC", `was never migrated; run "millrace migrate"`},
		{"a migration missing", "TRUNCATE TABLE schema_migrations", `lacks migration 0001_events; run "millrace migrate"`},
		{
			"a migration changed", "ALTER TABLE schema_migrations UPDATE checksum = 'x' WHERE 1 SETTINGS mutations_sync = 1",
			"0001_events was changed after it had been applied",
		},
		{"a column gone", "ALTER TABLE events DROP COLUMN title", "column events.title is missing"},
		{
			"a column of another type", "ALTER TABLE events MODIFY COLUMN path LowCardinality(String)",
			"column events.path is LowCardinality(String), not String",
		},
		{"a column more", "ALTER TABLE events ADD COLUMN later String", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := stagetest.Migrated(t)
			clickhousetest.Run(t, cfg, strings.ReplaceAll(tc.spoil, "{db}", cfg.Database))
			err := schema.Check(t.Context(), cfg)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("Check() = %v, want nil", err)
			case tc.want != "" && (err == nil || !errors.Is(err, schema.ErrSchema) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("Check() = %v, want ErrSchema with %q", err, tc.want)
			}
		})
	}
}

func TestDaysFromBeforeTheRollupsAreListedAsDirty(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	clickhousetest.Run(t, cfg, schema.Events.CreateSQL(""))
	i := stagetest.OpenInserter(t, cfg)
	clickhousetest.Insert(t, i, "1", clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b"))
	for range 2 {
		if err := schema.Migrate(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	clickhousetest.Insert(t, i, "2",
		clickhousetest.AnEvent("c", func(e *record.Event) { e.TimeMillis = clickhousetest.NextDay }))
	got := clickhousetest.Column(t, cfg,
		"concat(owner_id, ' ', toString(event_date), ' ', reason, ' ', toString([base, rollup_15m, rollup_1d, cleared]))",
		"rollup_dirty FINAL")
	if diff := cmp.Diff([]string{"web_1 2026-03-31 before_rollups [2,0,0,0]"}, got); diff != "" {
		t.Errorf("dirty days (-want +got):\n%s", diff)
	}
}

// What was listed before stays as it is; what was stored after it is in the new
// tables.
func TestDaysFromBeforeTheRollupsForQuestionsAreListedAsDirty(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	schema.MigrateUpTo(t, cfg, 7)
	i, at := stagetest.OpenInserter(t, cfg), func(ms int64) func(*record.Event) {
		return func(e *record.Event) { e.TimeMillis = ms }
	}
	day := (24 * time.Hour).Milliseconds()
	clickhousetest.Insert(t, i, "1", clickhousetest.AnEvent("a", at(clickhousetest.Noon-day)), clickhousetest.AnEvent("b",
		at(clickhousetest.Noon-day)), clickhousetest.AnEvent("c", at(clickhousetest.Noon-2*day)), clickhousetest.AnEvent("d"))
	clickhousetest.Run(t, cfg, "INSERT INTO rollup_dirty (owner_id, event_date, reason, base, cleared) VALUES "+
		"('web_1', '2026-03-30', 'over', 7, 0), ('web_1', '2026-03-29', 'erased', 5, 1)")
	for range 2 {
		if err := schema.Migrate(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	clickhousetest.Insert(t, i, "2", clickhousetest.AnEvent("e", at(clickhousetest.NextDay)))
	got := clickhousetest.Column(t, cfg, "concat(toString(event_date), ' ', reason, ' ', toString(base))",
		"rollup_dirty FINAL WHERE cleared = 0")
	if diff := cmp.Diff(
		[]string{"2026-03-29 before_rollups 0", "2026-03-30 over 7", "2026-03-31 before_rollups 0"}, got); diff != "" {
		t.Errorf("dirty days (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"2026-04-01 1"}, clickhousetest.Column(t, cfg,
		"concat(toString(event_date), ' ', toString(sum(events)))", "traffic_1d GROUP BY event_date")); diff != "" {
		t.Errorf("traffic_1d (-want +got):\n%s", diff)
	}
}
