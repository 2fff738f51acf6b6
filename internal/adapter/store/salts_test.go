package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
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
