package clickhouse

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	schemas "github.com/millrace/millrace/schemas/clickhouse"
)

func migrated(t *testing.T) config.ClickHouse {
	t.Helper()
	return clickhousetest.Migrated(t, Migrate)
}

func run(t *testing.T, cfg config.ClickHouse, sql string) {
	t.Helper()
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := exec(t.Context(), c, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestMigrateInSeveralProcessesAtOnce(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error { return Migrate(t.Context(), cfg) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := CheckSchema(t.Context(), cfg); err != nil {
		t.Error(err)
	}
}

// What nearly all tests take for a migrated database is a copy of one.
func TestACopyOfAMigratedDatabaseIsOne(t *testing.T) {
	t.Parallel()
	made, copied := clickhousetest.Database(t), migrated(t)
	if err := Migrate(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{
		"replaceAll(create_table_query, database, 'the database')|system.tables WHERE database = currentDatabase()",
		"concat(table, '.', name, ' ', type, ' ', default_kind, default_expression)|system.columns WHERE database = currentDatabase()",
		"concat(toString(version), ' ', checksum)|schema_migrations FINAL",
	} {
		value, from, _ := strings.Cut(what, "|")
		want, got := column(t, made, value, from), column(t, copied, value, from)
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("%s: %d values, migrated and copied (-want +got):\n%s", from, len(got), diff)
		}
	}
	for check, err := range map[string]error{"schema": CheckSchema(t.Context(), copied), "exactness": CheckExactness(t.Context(), copied), "migrating it": Migrate(t.Context(), copied)} {
		if err != nil {
			t.Errorf("%s: %v", check, err)
		}
	}
}

func TestMigrateMakesTheDatabase(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	run(t, cfg, "DROP DATABASE "+cfg.Database+" SYNC")
	if err := Migrate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := CheckSchema(t.Context(), cfg); err != nil {
		t.Error(err)
	}
}

func TestCheckSchemaSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil string // run on a migrated database; {db} is its name
		want  string
	}{
		{"no database", "DROP DATABASE {db} SYNC", `is missing; run "millrace migrate"`},
		{"never migrated", "DROP TABLE schema_migrations SYNC", `was never migrated; run "millrace migrate"`},
		{"a migration missing", "TRUNCATE TABLE schema_migrations", `lacks migration 0001_events; run "millrace migrate"`},
		{"a migration changed", "ALTER TABLE schema_migrations UPDATE checksum = 'x' WHERE 1 SETTINGS mutations_sync = 1", "0001_events was changed after it had been applied"},
		{"a column gone", "ALTER TABLE events DROP COLUMN title", "column events.title is missing"},
		{"a column of another type", "ALTER TABLE events MODIFY COLUMN path LowCardinality(String)", "column events.path is LowCardinality(String), not String"},
		{"a column more", "ALTER TABLE events ADD COLUMN later String", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := migrated(t)
			run(t, cfg, strings.ReplaceAll(tc.spoil, "{db}", cfg.Database))
			err := CheckSchema(t.Context(), cfg)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("CheckSchema() = %v, want nil", err)
			case tc.want != "" && (err == nil || !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("CheckSchema() = %v, want ErrSchema with %q", err, tc.want)
			}
		})
	}
}

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{Data: []byte("-- why\nCREATE TABLE a (x UInt8)\nENGINE = Null;\nCREATE TABLE b (x UInt8) ENGINE = Null;\n")}
	all, err := migrations(fstest.MapFS{"0001_a.sql": file, "0002_b.sql": file})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || len(all[0].statements) != 2 || all[1].version != 2 || all[1].name != "0002_b" {
		t.Errorf("migrations() = %+v", all)
	}
	if want := "CREATE TABLE a (x UInt8)\nENGINE = Null"; all[0].statements[0] != want {
		t.Errorf("first statement is %q, want %q", all[0].statements[0], want)
	}
	if _, err := migrations(fstest.MapFS{"0001_a.sql": file, "0003_b.sql": file}); err == nil {
		t.Error("a gap is accepted")
	}
}

func TestDaysFromBeforeTheRollupsAreListedAsDirty(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	run(t, cfg, Events.CreateSQL(""))
	i := newInserter(t, cfg, "")
	insert(t, i, "1", anEvent("a"), anEvent("b"))
	for range 2 {
		if err := Migrate(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, i, "2", anEvent("c", func(e *record.Event) { e.TimeMillis = nextDay }))
	got := column(t, cfg, "concat(owner_id, ' ', toString(event_date), ' ', reason, ' ', toString([base, rollup_15m, rollup_1d, cleared]))", "rollup_dirty FINAL")
	if diff := cmp.Diff([]string{"web_1 2026-03-31 before_rollups [2,0,0,0]"}, got); diff != "" {
		t.Errorf("dirty days (-want +got):\n%s", diff)
	}
}

// What was listed before stays as it is; what was stored after it is in the new
// tables.
func TestDaysFromBeforeTheRollupsForQuestionsAreListedAsDirty(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	upTo(t, cfg, 7)
	i, at := newInserter(t, cfg, ""), func(ms int64) func(*record.Event) {
		return func(e *record.Event) { e.TimeMillis = ms }
	}
	day := (24 * time.Hour).Milliseconds()
	insert(t, i, "1", anEvent("a", at(noon-day)), anEvent("b", at(noon-day)), anEvent("c", at(noon-2*day)), anEvent("d"))
	run(t, cfg, "INSERT INTO rollup_dirty (owner_id, event_date, reason, base, cleared) VALUES ('web_1', '2026-03-30', 'over', 7, 0), ('web_1', '2026-03-29', 'erased', 5, 1)")
	for range 2 {
		if err := Migrate(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, i, "2", anEvent("e", at(nextDay)))
	got := column(t, cfg, "concat(toString(event_date), ' ', reason, ' ', toString(base))", "rollup_dirty FINAL WHERE cleared = 0")
	if diff := cmp.Diff([]string{"2026-03-29 before_rollups 0", "2026-03-30 over 7", "2026-03-31 before_rollups 0"}, got); diff != "" {
		t.Errorf("dirty days (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"2026-04-01 1"}, column(t, cfg, "concat(toString(event_date), ' ', toString(sum(events)))", "traffic_1d GROUP BY event_date")); diff != "" {
		t.Errorf("traffic_1d (-want +got):\n%s", diff)
	}
}

// upTo applies the migrations up to a version, as a build of then did.
func upTo(t *testing.T, cfg config.ClickHouse, version uint32) {
	t.Helper()
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := exec(t.Context(), c, migrationsTable.CreateSQL("")); err != nil {
		t.Fatal(err)
	}
	all, err := migrations(schemas.Files)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.version > version {
			return
		}
		if err := apply(t.Context(), c, m, ""); err != nil {
			t.Fatal(err)
		}
	}
}
