package store

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSQLiteFileMayHaveAnyName(t *testing.T) {
	t.Chdir(t.TempDir())
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const odd = "odd ?#%41&_pragma=x(1) name.db"
	for url, file := range map[string]string{
		"sqlite:relative.db":                 "relative.db",
		"sqlite:./dotted.db":                 "dotted.db",
		"sqlite:" + folder + "/absolute.db":  "absolute.db",
		"sqlite://" + folder + "/slashes.db": "slashes.db",
		"sqlite:" + odd:                      odd,
		"sqlite:日本.db":                       "日本.db",
	} {
		s, err := Open(t.Context(), url, Options{})
		if err != nil {
			t.Errorf("Open(%q) = %v", url, err)
			continue
		}
		s.exec(t, "CREATE TABLE x (n INTEGER)")
		if file == odd { // migrating takes long
			if err := s.Migrate(t.Context()); err != nil {
				t.Errorf("Migrate() of %q = %v", url, err)
			}
		}
		if _, err := os.Stat(filepath.Join(folder, file+"-wal")); err != nil {
			t.Errorf("%q keeps no write-ahead log: %v", url, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close() of %q = %v", url, err)
		}
		info, err := os.Stat(filepath.Join(folder, file))
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		if info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%q has %d bytes and mode %s, want the database, for its owner only", file, info.Size(), info.Mode())
		}
	}
}
