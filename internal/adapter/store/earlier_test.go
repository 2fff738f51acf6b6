package store

import (
	"testing"

	"github.com/pressly/goose/v3"
)

// storeAt returns a store on SQLite with the tables of an earlier version, for tests of
// what a migration makes of rows that there were. Its Migrate goes on from there.
func storeAt(t *testing.T, version int64) *Store {
	t.Helper()
	s, err := Open(t.Context(), "sqlite:"+t.TempDir()+"/m.db", Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	p, err := provider(s.dialect, goose.DialectSQLite3, s.pools[0])
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}
