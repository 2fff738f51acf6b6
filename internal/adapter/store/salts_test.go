package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// What SQLite deletes is in its file, and in its log, for longer than in the
// table.
func TestADestroyedSaltIsInNoFileOfSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(dir, "meta.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	salt, err := s.Salt(t.Context(), day)
	if err != nil {
		t.Fatal(err)
	}
	if !inFiles(t, dir, salt) {
		t.Fatal("the salt is in no file before it is destroyed; the test shows nothing")
	}
	if err := s.PruneSalts(t.Context(), day.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	if inFiles(t, dir, salt) {
		t.Error("the salt is still in a file")
	}
}

// What PostgreSQL deletes is in the table's file until another one is written, for which
// nobody may be reading the table.
func TestASaltThatIsReadInPostgreSQLIsDestroyedAfterwards(t *testing.T) {
	t.Parallel()
	url := services.Postgres(t)
	s := migratedStore(t, url)
	today := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	made := map[time.Time][]byte{}
	for _, day := range []time.Time{today.AddDate(0, 0, -1), today} {
		salt, err := s.Salt(t.Context(), day)
		if err != nil {
			t.Fatal(err)
		}
		made[day] = salt
	}
	file := func() (node int64) {
		t.Helper()
		const query = "SELECT pg_relation_filenode('visitor_salts')::bigint"
		if err := s.pools[0].QueryRowContext(t.Context(), query).Scan(&node); err != nil {
			t.Fatal(err)
		}
		return node
	}
	stay := func() {
		t.Helper()
		if salts, err := s.Salts(t.Context()); err != nil || !cmp.Equal(salts, made) {
			t.Errorf("%d salts are left, %v; want %d as they were made", len(salts), err, len(made))
		}
	}
	before := file()
	release := hold(t, url, "BEGIN", "SELECT FROM visitor_salts")
	if err := s.PruneSalts(t.Context(), today); !Unavailable(err) {
		t.Fatalf("PruneSalts() of a table that is read = %v", err)
	}
	stay()
	release()
	testkit.Eventually(t, time.Minute, func() error { return s.PruneSalts(t.Context(), today) })
	after := file()
	if after == before {
		t.Error("the table is still in the file that held the destroyed salt")
	}
	delete(made, today.AddDate(0, 0, -1))
	stay()
	hold(t, url, "BEGIN", "SELECT FROM visitor_salts")
	if err := s.PruneSalts(t.Context(), today); err != nil || file() != after {
		t.Errorf("with nothing to destroy: %v, the file was another: %t", err, file() != after)
	}
}

func inFiles(t *testing.T, dir string, want []byte) bool {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, want) {
			return true
		}
	}
	return false
}
