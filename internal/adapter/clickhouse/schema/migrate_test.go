package schema_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	schemas "github.com/millrace/millrace/schemas/clickhouse"
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

// The migrations and the tables as data are two texts of one schema. Migrations may add columns in
// another order than the data lists them.
func TestMigrate_MakesTheTablesAsData(t *testing.T) {
	t.Parallel()
	migrated, data := stagetest.Migrated(t), clickhousetest.Database(t)
	for i := range schema.Tables {
		clickhousetest.Run(t, data, schema.Tables[i].CreateSQL(""))
	}
	for i := range schema.Views {
		clickhousetest.Run(t, data, schema.Views[i].CreateSQL(""))
	}
	for _, what := range []string{
		"concat(table, '.', name, ' ', type, ' ', default_kind, default_expression, compression_codec)|" +
			"system.columns WHERE table != 'schema_migrations'",
		"concat(name, ' ', engine_full)|system.tables WHERE name != 'schema_migrations' AND engine != 'MaterializedView'",
		"replaceAll(create_table_query, database, 'the database')|system.tables WHERE engine = 'MaterializedView'",
	} {
		value, from, _ := strings.Cut(what, "|")
		from += " AND database = currentDatabase()"
		want, got := clickhousetest.Column(t, data, value, from), clickhousetest.Column(t, migrated, value, from)
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("%s: %d values (-data +migrated):\n%s", from, len(got), diff)
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
		{"never migrated", "DROP TABLE schema_migrations SYNC", `has no schema yet; run "millrace migrate"`},
		{"a migration missing", "TRUNCATE TABLE schema_migrations", `lacks migration 0001_initial; run "millrace migrate"`},
		{
			"a migration changed", "ALTER TABLE schema_migrations UPDATE checksum = 'x' WHERE 1 SETTINGS mutations_sync = 1",
			"0001_initial differs from the one applied to database {db}",
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
			want := strings.ReplaceAll(tc.want, "{db}", cfg.Database)
			err := schema.Check(t.Context(), cfg)
			switch {
			case want == "" && err != nil:
				t.Errorf("Check() = %v, want nil", err)
			case want != "" && (err == nil || !errors.Is(err, schema.ErrSchema) || !strings.Contains(err.Error(), want)):
				t.Errorf("Check() = %v, want ErrSchema with %q", err, want)
			}
		})
	}
}

// A later release adds a migration. A database with rows gets it once, and keeps its rows.
func TestMigrate_AppliesWhatALaterReleaseAdds(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.InsertTo(t, cfg, record.TopicEvents, "1", clickhousetest.AnEvent("a"))
	initial, err := fs.ReadFile(schemas.Files, "0001_initial.sql")
	if err != nil {
		t.Fatal(err)
	}
	later := fstest.MapFS{
		"0001_initial.sql": {Data: initial},
		"0002_made_up.sql": {Data: []byte("ALTER TABLE events ADD COLUMN IF NOT EXISTS made_up String DEFAULT 'x';\n\n" +
			"CREATE TABLE IF NOT EXISTS made_up (id String) ENGINE = MergeTree ORDER BY id;\n")},
	}
	for range 2 {
		if err := schema.MigrateWith(t.Context(), cfg, later); err != nil {
			t.Fatal(err)
		}
	}
	stagetest.InsertTo(t, cfg, record.TopicEvents, "2", clickhousetest.AnEvent("b")) // as this release does
	if diff := cmp.Diff([]string{"a x", "b x"}, clickhousetest.Column(t, cfg, "concat(event_id, ' ', made_up)",
		"events FINAL")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1 0001_initial", "2 0002_made_up"}, clickhousetest.Column(t, cfg,
		"concat(toString(version), ' ', name)", "schema_migrations")); diff != "" {
		t.Errorf("schema_migrations (-want +got):\n%s", diff)
	}
	if err := schema.Check(t.Context(), cfg); err != nil {
		t.Errorf("Check() of this release = %v", err)
	}
	state, err := schema.ReadState(t.Context(), cfg)
	if want := (schema.State{Applied: 2, Known: 1, Newer: 1}); err != nil || state != want {
		t.Errorf("ReadState() = %+v, %v, want %+v", state, err, want)
	}
	later["0002_made_up.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE IF NOT EXISTS o (s String) ENGINE = Null;\n")}
	if err := schema.MigrateWith(t.Context(), cfg, later); !errors.Is(err, schema.ErrSchema) ||
		!strings.Contains(err.Error(), "0002_made_up") {
		t.Errorf("migrating with another file = %v, want %v", err, schema.ErrSchema)
	}
}
