package schema

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	schemas "github.com/millrace/millrace/schemas/clickhouse"
)

var update = flag.Bool("update", false, "write the golden files")

// Two processes may migrate at once.
func TestEveryStatementIsSafeToRunTwice(t *testing.T) {
	t.Parallel()
	all, err := migrations(schemas.Files)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		for _, s := range m.statements {
			if !strings.Contains(s, "IF NOT EXISTS") {
				t.Errorf("%s: a statement without IF NOT EXISTS:\n%s", m.name, s)
			}
		}
	}
}

// The version before works on beside a migration.
func TestEveryStatementOnlyAdds(t *testing.T) {
	t.Parallel()
	all, err := migrations(schemas.Files)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		for _, s := range m.statements {
			if !adds.MatchString(s) {
				t.Errorf("%s: a statement that does more than to add:\n%s", m.name, s)
			}
		}
	}
	for _, s := range []string{
		"DROP TABLE IF EXISTS a", "RENAME TABLE a TO b", "ALTER TABLE a DROP COLUMN IF EXISTS x",
		"ALTER TABLE a ADD COLUMN IF NOT EXISTS x String, DROP COLUMN y",
		"ALTER TABLE a ADD COLUMN IF NOT EXISTS x String,\n    MODIFY COLUMN y String",
		"ALTER TABLE a DELETE WHERE 1", "TRUNCATE TABLE a", "ALTER TABLE a_mv MODIFY QUERY SELECT 1",
	} {
		if adds.MatchString(s) {
			t.Errorf("%s is taken for an addition", s)
		}
	}
}

// adds is what a statement may do; a column has no comma but in its type's brackets.
var adds = regexp.MustCompile(
	`^CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS |^INSERT INTO |` +
		`^ALTER TABLE \w+(\s+ADD COLUMN IF NOT EXISTS ([^,()]|\([^()]*(\([^()]*\))*[^()]*\))+,?)+\n?$`)

func TestEveryColumnIsDocumentedOnceAndNeverNullable(t *testing.T) {
	t.Parallel()
	for _, table := range Tables {
		seen := map[string]bool{}
		for _, c := range table.Columns {
			if c.Doc == "" || !strings.HasSuffix(c.Doc, ".") {
				t.Errorf("%s.%s: its Doc is not a sentence: %q", table.Name, c.Name, c.Doc)
			}
			if seen[c.Name] {
				t.Errorf("%s.%s stands there twice", table.Name, c.Name)
			}
			if strings.Contains(c.Type, "Nullable") {
				t.Errorf("%s.%s is Nullable, which slows inserts; use an empty value", table.Name, c.Name)
			}
			seen[c.Name] = true
		}
		for _, key := range table.OrderBy {
			if !seen[key] {
				t.Errorf("%s is ordered by %s, which is no column", table.Name, key)
			}
		}
	}
}

// FINAL looks at one partition at a time, which is right only when nothing but
// sort key columns decides the partition; and a sort key with anything in it
// that two sendings of one event may differ in would keep both.
func TestIdentityOfAnEvent(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"owner_id", "event_date", "name", "event_key"}, Events.OrderBy); diff != "" {
		t.Errorf("sort key (-want +got):\n%s", diff)
	}
	if Events.PartitionBy != "toYYYYMM(event_date)" || !slices.Contains(Events.OrderBy, "event_date") {
		t.Errorf("partition key %s uses more than the sort key", Events.PartitionBy)
	}
}

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{
		Data: []byte("-- why\nCREATE TABLE a (x UInt8)\nENGINE = Null;\nCREATE TABLE b (x UInt8) ENGINE = Null;\n"),
	}
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

// What Keeper must hold follows from how many tables an insert leaves tokens in.
func TestThePageSaysHowManyTablesHaveTokens(t *testing.T) {
	t.Parallel()
	tables, ofEvents := map[string]stored{}, map[string]bool{Events.Name: true, IngestLedger.Name: true}
	for range Views { // as often as one may lead to the next
		for i := range Views {
			if v := &Views[i]; ofEvents[v.From] {
				ofEvents[v.To] = true
			}
		}
	}
	for i := range Views {
		v := &Views[i]
		from := tables[v.From]
		from.views = append(from.views, v.Name)
		tables[v.From], tables[v.Name] = from, stored{target: v.To}
	}
	all := 0
	if err := fed(tables, func(string, string) error { all++; return nil }); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "architecture", "exactly-once.md"))
	if err != nil {
		t.Fatal(err)
	}
	const each = 0.3 // million tokens
	want := fmt.Sprintf("write to %d tables, %d of them for events, with the ledger's; "+
		"300,000 in all of them are %.1f million nodes",
		all, len(ofEvents), each*float64(all))
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), want) {
		t.Errorf("docs/architecture/exactly-once.md does not say: %s", want)
	}
}
