package schema

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	schemas "github.com/millrace/millrace/schemas/clickhouse"
)

// clusterStatements are the statements of every migration on a cluster, those of
// the table of migrations first.
func clusterStatements(t *testing.T) []string {
	t.Helper()
	all, err := migrations(schemas.Files)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{migrationsTable.CreateSQL("main")}
	for _, m := range all {
		for _, s := range m.statements {
			replicated, err := onEveryReplica(s, "main")
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, replicated)
		}
	}
	return out
}

func TestTheStatementsForACluster(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "cluster.sql")
	got := strings.Join(clusterStatements(t), ";\n\n") + ";\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-file +tables); run with -update:\n%s", file, diff)
	}
}

// No cluster runs here, so the server reads the statements and makes nothing.
func TestAServerReadsTheStatementsForACluster(t *testing.T) {
	t.Parallel()
	c, err := clickhouse.Dial(t.Context(), clickhousetest.Migrated(t, Migrate))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reads := func(s string) {
		t.Helper()
		if _, err := clickhouse.Texts(t.Context(), c, "SELECT formatQuery('"+clickhouse.Quote.Replace(s)+"')"); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range clusterStatements(t) {
		reads(s)
		for _, part := range []string{"ON CLUSTER `main`", "IF NOT EXISTS"} {
			if !strings.Contains(s, part) {
				t.Errorf("a statement without %s:\n%s", part, s)
			}
		}
		if isTable := strings.HasPrefix(s, "CREATE TABLE"); isTable && !strings.Contains(s, "ENGINE = Replicated") {
			t.Errorf("a table that is not replicated:\n%s", s)
		}
	}
	reads("SYSTEM SYNC REPLICA ingest_ledger LIGHTWEIGHT")
}

// Columns, keys and settings are the same; only engine and window differ.
func TestAClusterHasTheSameTables(t *testing.T) {
	t.Parallel()
	for i := range Tables {
		table := &Tables[i]
		same := func(cluster string) []string {
			return slices.DeleteFunc(strings.Split(table.CreateSQL(cluster), "\n"), func(line string) bool {
				return strings.HasPrefix(line, "CREATE") || strings.HasPrefix(line, "ENGINE") ||
					strings.Contains(line, "deduplication_window")
			})
		}
		if diff := cmp.Diff(same(""), same("main")); diff != "" {
			t.Errorf("%s (-single +cluster):\n%s", table.Name, diff)
		}
	}
}

// What a later migration may do.
func TestOnEveryReplica_AddsTheCluster(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"ALTER TABLE events\n    ADD COLUMN IF NOT EXISTS x String": "ALTER TABLE events ON CLUSTER `main`\n" +
			"    ADD COLUMN IF NOT EXISTS x String",
		"CREATE MATERIALIZED VIEW IF NOT EXISTS v TO t AS SELECT 1": "CREATE MATERIALIZED VIEW IF NOT EXISTS v " +
			"ON CLUSTER `main` TO t AS SELECT 1",
		"INSERT INTO rollup_dirty SELECT 1":                   "INSERT INTO rollup_dirty SELECT 1",
		"CREATE TABLE IF NOT EXISTS tombstones (id String)":   Tombstones.CreateSQL("main"),
		"CREATE TABLE IF NOT EXISTS in_no_list (name String)": "",
		"OPTIMIZE TABLE events":                               "",
	} {
		if got, err := onEveryReplica(statement, "main"); got != want || (err == nil) != (want != "") {
			t.Errorf("onEveryReplica(%q) = %q, %v, want %q", statement, got, err, want)
		}
	}
}
