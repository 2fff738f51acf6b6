package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/adapter/store"
)

const sqlitePrefix = "sqlite:"

// SQLite returns the address of a migrated SQLite database that is the test's alone. It
// is a copy of one that the test binary has migrated once: migrating is most of what a
// short test would do.
func SQLite(tb testing.TB) string {
	tb.Helper()
	content, err := migratedFile()
	if err != nil {
		tb.Fatal(err)
	}
	return writeSQLite(tb, content)
}

// CopySQLite returns the address of a copy of a SQLite database that nobody has open.
func CopySQLite(tb testing.TB, url string) string {
	tb.Helper()
	content, err := readSQLite(url)
	if err != nil {
		tb.Fatal(err)
	}
	return writeSQLite(tb, content)
}

var migratedFile = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "millrace-store")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	url := sqlitePrefix + filepath.Join(dir, "millrace.db")
	if err := migrate(context.Background(), url); err != nil {
		return nil, err
	}
	return readSQLite(url)
})

// migrate migrates a database and leaves it to be copied: nobody has it open.
func migrate(ctx context.Context, url string) (err error) {
	s, err := store.Open(ctx, url, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Migrate(ctx)
}

func readSQLite(url string) ([]byte, error) {
	path := strings.TrimPrefix(url, sqlitePrefix)
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil, fmt.Errorf("copying %s: its log of writes is not empty, somebody has it open", path)
	}
	return os.ReadFile(path)
}

func writeSQLite(tb testing.TB, content []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "millrace.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return sqlitePrefix + path
}
