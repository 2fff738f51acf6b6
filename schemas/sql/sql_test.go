package sql_test

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/schemas/sql"
)

func TestBothDialectsHoldTheSameMigrations(t *testing.T) {
	t.Parallel()
	sqlite, postgres := names(t, sql.SQLite), names(t, sql.Postgres)
	if diff := cmp.Diff(sqlite, postgres); diff != "" {
		t.Errorf("migrations (-sqlite +postgres):\n%s", diff)
	}
	numbered := regexp.MustCompile(`^\d{5}_[a-z0-9_]+\.sql$`)
	for i, name := range sqlite {
		if !numbered.MatchString(name) {
			t.Errorf("%s is not named as 00001_what_it_adds.sql", name)
		}
		if i > 0 && name[:5] == sqlite[i-1][:5] {
			t.Errorf("%s has the number of %s", name, sqlite[i-1])
		}
	}
}

func TestMigrationsRunForwardOnly(t *testing.T) {
	t.Parallel()
	for _, dialect := range []fs.FS{sql.SQLite, sql.Postgres} {
		for name, text := range texts(t, dialect) {
			if !strings.Contains(text, "-- +goose Up\n") {
				t.Errorf("%s has no part that goes up", name)
			}
			if strings.Contains(text, "+goose Down") {
				t.Errorf("%s has a part that goes down; write a new migration instead", name)
			}
		}
	}
}

// adds is how a line may begin that is not indented: the version before works on
// beside a migration. What is added to a table has a default or may be null, or the
// version before could add no row any more.
var adds = regexp.MustCompile(
	`^(CREATE (TABLE|INDEX|UNIQUE INDEX|FUNCTION|TRIGGER) |INSERT INTO |UPDATE |BEGIN$|END|\)|--|\$\$|` +
		`ALTER TABLE \w+ ADD COLUMN \w+ \w+( NOT NULL DEFAULT .*| CHECK .*| REFERENCES .*)?;$)`)

func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	for _, dialect := range []fs.FS{sql.SQLite, sql.Postgres} {
		for name, text := range texts(t, dialect) {
			for line := range strings.Lines(text) {
				if line = strings.TrimRight(line, "\n"); line != "" && line[0] != ' ' && !adds.MatchString(line) {
					t.Errorf("%s does more than to add: %s", name, line)
				}
			}
		}
	}
	for _, line := range []string{
		"DROP TABLE users;", "drop index users_email;", "DELETE FROM users;", "TRUNCATE users;",
		"ALTER TABLE users DROP COLUMN name;", "ALTER TABLE users RENAME COLUMN name TO title;",
		"ALTER TABLE users RENAME TO people;",
		"ALTER TABLE users ALTER COLUMN name TYPE BIGINT;", "ALTER TABLE users ALTER COLUMN name SET NOT NULL;",
		"ALTER TABLE users ADD CONSTRAINT named CHECK (name <> '');", "ALTER TABLE users ADD COLUMN age BIGINT NOT NULL;",
	} {
		if adds.MatchString(line) {
			t.Errorf("%s is taken for an addition", line)
		}
	}
}

// SQLite checks no column types unless a table asks for it.
func TestTablesOfSQLiteAreStrict(t *testing.T) {
	t.Parallel()
	table := regexp.MustCompile(`(?s)CREATE TABLE (\w+) \(.*?\n\)([^;]*);`)
	for name, text := range texts(t, sql.SQLite) {
		for _, m := range table.FindAllStringSubmatch(text, -1) {
			if strings.TrimSpace(m[2]) != "STRICT" {
				t.Errorf("%s: table %s is not STRICT", name, m[1])
			}
		}
	}
}

func names(t *testing.T, files fs.FS) []string {
	t.Helper()
	found, err := fs.Glob(files, "*/*.sql")
	if err != nil || len(found) == 0 {
		t.Fatalf("found %v, %v", found, err)
	}
	for i := range found {
		found[i] = path.Base(found[i])
	}
	return found
}

func texts(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	found, err := fs.Glob(files, "*/*.sql")
	if err != nil || len(found) == 0 {
		t.Fatalf("found %v, %v", found, err)
	}
	all := map[string]string{}
	for _, name := range found {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}
