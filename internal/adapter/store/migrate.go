package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/uptrace/bun"
)

const versionTable = "millrace_schema"

// ErrSchema says that the store's schema is older than this program needs.
var ErrSchema = errors.New("the metadata store's schema is too old; run `millrace migrate`")

// Migrate brings the schema up to date. Any number of processes may call it at
// the same time; each returns when the schema is up to date. It has no deadline
// but ctx, because rewriting a large table takes its time.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.checkSums(ctx); err != nil {
		return err
	}
	if err := s.dialect.migrate(ctx, s.log); err != nil {
		return fmt.Errorf("migrating the metadata store: %w", err)
	}
	return nil
}

// CheckSchema returns ErrSchema when a migration that this program knows was not
// run, and ErrChanged when one was another file. A newer schema is fine: migrations only add until no program needs the
// old shape.
func (s *Store) CheckSchema(ctx context.Context) error {
	want, err := newestMigration(s.dialect)
	if err != nil {
		return err
	}
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	have, err := s.schemaVersion(ctx)
	if err != nil {
		return fmt.Errorf("reading the metadata store's schema version: %w", err)
	}
	if have < want {
		return fmt.Errorf("%w (version %d, needed %d)", ErrSchema, have, want)
	}
	return s.checkSums(ctx)
}

// schemaVersion returns the newest migration that was run; 0 for an empty
// database.
func (s *Store) schemaVersion(ctx context.Context) (version int64, err error) {
	exists := s.read.NewSelect().ColumnExpr("count(*)")
	if s.dialect.name == "sqlite" {
		exists = exists.TableExpr("sqlite_master").Where("type = 'table'").Where("name = ?", versionTable)
	} else {
		exists = exists.TableExpr("pg_class").Where("oid = to_regclass(?)", versionTable)
	}
	var tables int
	if err := exists.Scan(ctx, &tables); err != nil || tables == 0 {
		return 0, err
	}
	err = s.read.NewSelect().ColumnExpr("coalesce(max(version_id), 0)").TableExpr("?", bun.Ident(versionTable)).Scan(ctx,
		&version)
	return version, err
}

// migratePostgres migrates under an advisory lock of the server. A migration that
// changes a table which somebody reads, such as a backup, waits for it, and whoever
// comes after waits behind the migration: all daemons would stand still for as long
// as that backup takes. So it gives up soon, which leaves nothing behind, lets the
// others by and tries again.
func migratePostgres(ctx context.Context, d dialect, pool *sql.DB, log *slog.Logger) error {
	p, err := provider(d, goose.DialectPostgres, pool,
		goose.WithSessionLocker(advisoryLock{schemaLock, "another migration of the metadata store", log}))
	if err != nil {
		return err
	}
	tell := sync.OnceFunc(func() { waiting(ctx, log, "a table of the metadata store that is in use") })
	for {
		if _, err = p.Up(ctx); err == nil {
			err = recordSums(ctx, d, pool)
		}
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != lockNotAvailable {
			return err
		}
		tell()
		select {
		case <-time.After(tablePause):
		case <-ctx.Done():
			return fmt.Errorf("waiting for a table that is in use: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

// How long a migration waits for a table, far less than a daemon waits for a
// response, how long it lets others by, and how the server says that it gave up.
const (
	tableWait        = 500 * time.Millisecond
	tablePause       = time.Second
	lockNotAvailable = "55P03"
)

// advisoryLock is a lock of the server that ends with the session, so a process
// that dies while migrating blocks nobody.
type advisoryLock struct {
	number int64
	holder string // in the sentence that tells who is waited for
	log    *slog.Logger
}

// Numbers of advisory locks.
const (
	schemaLock int64 = 0x6d696c6c72616365 // "millrace"
	aloneLock        = schemaLock + 1
)

const advisoryPoll = 100 * time.Millisecond

// waiting logs that a migration stands still, which an operator would else take for
// one that hangs.
func waiting(ctx context.Context, log *slog.Logger, what string) {
	log.LogAttrs(ctx, slog.LevelInfo, "migration is waiting", slog.String("waiting_for", what))
}

// Alone runs do while no other process does so through the same PostgreSQL: for
// what has no lock of its own, such as the migrations of ClickHouse. A process that
// dies blocks nobody. SQLite, which is for one machine, locks nothing.
func (s *Store) Alone(ctx context.Context, do func(context.Context) error) error {
	if s.dialect.alone == nil {
		return do(ctx)
	}
	return s.dialect.alone(ctx, s.log, do)
}

// alonePostgres holds the lock on a connection of its own.
func alonePostgres(ctx context.Context, pool *sql.DB, log *slog.Logger, do func(context.Context) error) (err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting for the lock: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	lock := advisoryLock{aloneLock, "another process that migrates ClickHouse", log}
	if err := lock.SessionLock(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	return do(ctx)
}

// SessionLock waits for the lock. It asks again and again instead of once: a
// statement that waits holds a snapshot open, for which the building of an index
// in another session would wait in turn.
func (l advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	tick := time.NewTicker(advisoryPoll)
	defer tick.Stop()
	tell := sync.OnceFunc(func() { waiting(ctx, l.log, l.holder) })
	for {
		var locked bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", l.number).Scan(&locked); err != nil {
			return fmt.Errorf("locking the schema: %w", err)
		}
		if locked {
			return nil
		}
		tell()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for another migration: %w", context.Cause(ctx))
		}
	}
}

// SessionUnlock gives the lock back.
func (l advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", l.number); err != nil {
		return fmt.Errorf("unlocking the schema: %w", err)
	}
	return nil
}

// migrateSQLite migrates without a lock beyond the one that each migration's
// transaction takes. When another process was faster, a migration fails on what
// it finds there; the schema has then moved on, and the rest is tried again.
func migrateSQLite(ctx context.Context, d dialect, pool *sql.DB) error {
	for version := int64(0); ; {
		p, err := provider(d, goose.DialectSQLite3, pool)
		if err != nil {
			return err
		}
		_, err = p.Up(ctx)
		if err == nil {
			return recordSums(ctx, d, pool)
		}
		now, errVersion := p.GetDBVersion(ctx)
		if errVersion != nil || now <= version {
			return err
		}
		version = now
	}
}

func provider(d dialect, gd goose.Dialect, pool *sql.DB, opts ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(d.migrations, d.name)
	if err != nil {
		return nil, err
	}
	opts = append(opts, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	return goose.NewProvider(gd, pool, files, opts...)
}

// newestMigration returns the number of the last migration that this program
// holds.
func newestMigration(d dialect) (int64, error) {
	names, err := fs.Glob(d.migrations, d.name+"/*.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("listing migrations for %s: %w", d.name, err)
	}
	return goose.NumericComponent(names[len(names)-1])
}
