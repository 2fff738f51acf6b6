package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

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
	if err := s.dialect.migrate(ctx); err != nil {
		return fmt.Errorf("migrating the metadata store: %w", err)
	}
	return nil
}

// CheckSchema returns ErrSchema when a migration that this program knows was not
// run. A newer schema is fine: migrations only add until no program needs the
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
	return nil
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
	err = s.read.NewSelect().ColumnExpr("coalesce(max(version_id), 0)").TableExpr("?", bun.Ident(versionTable)).Scan(ctx, &version)
	return version, err
}

// migratePostgres migrates under an advisory lock of the server.
func migratePostgres(ctx context.Context, d dialect, pool *sql.DB) error {
	p, err := provider(d, goose.DialectPostgres, pool, goose.WithSessionLocker(advisoryLock{}))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// advisoryLock is a lock of the server that ends with the session, so a process
// that dies while migrating blocks nobody.
type advisoryLock struct{}

const (
	advisoryKey  = 0x6d696c6c72616365 // "millrace"
	advisoryPoll = 100 * time.Millisecond
)

// SessionLock waits for the lock. It asks again and again instead of once: a
// statement that waits holds a snapshot open, for which the building of an index
// in another session would wait in turn.
func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	tick := time.NewTicker(advisoryPoll)
	defer tick.Stop()
	for {
		var locked bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", advisoryKey).Scan(&locked); err != nil {
			return fmt.Errorf("locking the schema: %w", err)
		}
		if locked {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for another migration: %w", context.Cause(ctx))
		}
	}
}

// SessionUnlock gives the lock back.
func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", advisoryKey); err != nil {
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
			return nil
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
