package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	migrations "github.com/millrace/millrace/schemas/sql"
)

// sqlitePragmas are set on every connection. WAL lets readers go on while
// another process writes; a writer waits for the other's lock as long as
// busy_timeout says, in milliseconds; FULL keeps a commit through a power cut;
// secure_delete overwrites what is deleted with zeros.
var sqlitePragmas = []string{
	"busy_timeout(4000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)",
}

// openSQLite opens the file at path. Writes of this process go through one
// connection, so that they queue here, in order, instead of meeting SQLite's
// lock; other processes meet that lock and wait.
func openSQLite(path string, readers int, opts Options) (*Store, error) {
	if path == "" {
		return nil, errors.New("sqlite: needs a path, such as sqlite:./data/millrace.db")
	}
	if err := writableFile(path); err != nil {
		return nil, err
	}
	write, err := sqlitePool(path, 1)
	if err != nil {
		return nil, err
	}
	read, err := sqlitePool(path, readers)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	d := dialect{
		name:       "sqlite",
		bun:        func() schema.Dialect { return sqlitedialect.New() },
		migrations: migrations.SQLite,
		holds:      "EXISTS (SELECT 1 FROM json_each(?) WHERE value = ?)",
		pruneSalts: pruneSQLite,
		violation:  sqliteViolation,
	}
	d.migrate = func(ctx context.Context, _ *slog.Logger) error { return migrateSQLite(ctx, d, write) }
	return &Store{
		read: bun.NewDB(read, d.bun()), write: bun.NewDB(write, d.bun()),
		pools: []*sql.DB{write, read}, dialect: d, opts: opts,
	}, nil
}

func sqlitePool(path string, conns int) (*sql.DB, error) {
	// BEGIN IMMEDIATE takes the write lock at once; a transaction that began as a
	// reader would fail, not wait, when another process wrote in between.
	query := url.Values{"_pragma": sqlitePragmas, "_txlock": {"immediate"}}
	dsn := url.URL{
		Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: query.Encode(),
	}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// writableFile says in one sentence what SQLite would call "unable to open
// database file".
func writableFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the SQLite file: %w", err)
	}
	return f.Close()
}

func sqliteViolation(err error) violation {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return noViolation
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return uniqueViolation
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return foreignKeyViolation
	default:
		return noViolation
	}
}

// pruneSQLite deletes the rows, carries the zeros into the database's file, and empties
// the log of writes, which holds pages as they were. The latter is done also when nothing
// was deleted just now: the last time, readers may have been in the way.
func pruneSQLite(ctx context.Context, s *Store, first string) error {
	if _, err := s.write.NewDelete().Model((*saltRow)(nil)).Where("day < ?", first).Exec(ctx); err != nil {
		return err
	}
	var busy, pages, carried int
	err := s.pools[0].QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &carried)
	if err != nil {
		return fmt.Errorf("truncating the write-ahead log: %w", err)
	}
	return nil
}
