package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
)

// State is what the database of a store tells of itself.
type State struct {
	// Kind is sqlite or postgres, Version the server's own words.
	Kind, Version string
	// Clock is what its clock showed while it was asked.
	Clock time.Time
	// Schema is the newest migration that was run, 0 for none; Known the newest that
	// this build has.
	Schema, Known int64
	// ReadOnly says that the server takes no writes, as a standby does.
	ReadOnly bool
	// Lacking are the tables that the user may not read and write.
	Lacking []string
	// MayMigrate says that the user may make tables.
	MayMigrate bool
}

// MissingFile returns the path of a SQLite file that cfg names and that does not
// exist, which Open would make; empty for everything else.
func MissingFile(cfg config.Store) string {
	url, err := credential.Secret("store.url", cfg.URL, cfg.URLFile)
	if err != nil {
		return "" // which Connect says better
	}
	path, sqlite := strings.CutPrefix(url, "sqlite:")
	if _, err := os.Stat(path); sqlite && errors.Is(err, fs.ErrNotExist) {
		return path
	}
	return ""
}

// Inspect asks the database for what it is. It changes nothing.
func (s *Store) Inspect(ctx context.Context) (st State, err error) {
	st.Kind = s.dialect.name
	if st.Known, err = newestMigration(s.dialect); err != nil {
		return st, err
	}
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if st.Schema, err = s.schemaVersion(ctx); err != nil {
		return st, fmt.Errorf("reading the metadata store's schema version: %w", err)
	}
	if st.Kind == "sqlite" {
		err = s.inspectSQLite(ctx, &st)
	} else {
		err = s.inspectPostgres(ctx, &st)
	}
	if err != nil {
		return st, fmt.Errorf("inspecting the metadata store: %w", err)
	}
	return st, nil
}

func (s *Store) inspectSQLite(ctx context.Context, st *State) error {
	st.Clock, st.MayMigrate = time.Now(), true // a file on this machine, and its owner's
	if err := s.read.NewSelect().ColumnExpr("sqlite_version()").Scan(ctx, &st.Version); err != nil {
		return err
	}
	st.Version = "SQLite " + st.Version
	if st.Schema == 0 {
		return nil
	}
	err := s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		if _, err := tx.write.NewUpdate().Model((*leaseRow)(nil)).Set("beat = beat").Where("1 = 0").Exec(ctx); err != nil {
			return err
		}
		return errUndo
	})
	st.ReadOnly = !errors.Is(err, errUndo)
	return nil
}

var errUndo = errors.New("nothing is kept")

func (s *Store) inspectPostgres(ctx context.Context, st *State) error {
	var readOnly string
	err := s.read.NewSelect().
		ColumnExpr("'PostgreSQL ' || current_setting('server_version')").ColumnExpr("clock_timestamp()").
		ColumnExpr("current_setting('transaction_read_only')").
		ColumnExpr("coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)").
		Scan(ctx, &st.Version, &st.Clock, &readOnly, &st.MayMigrate)
	if err != nil {
		return err
	}
	st.ReadOnly = readOnly == "on"
	may := func(right string) string { return "has_table_privilege(c.oid, '" + right + "')" }
	err = s.read.NewSelect().ColumnExpr("c.relname").TableExpr("pg_class AS c").
		Where("c.relkind = 'r'").
		Where("c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass(?))", versionTable).
		Where("c.relname <> ?", versionTable).
		Where("NOT (? AND ? AND ? AND ?)", bun.Safe(may("SELECT")), bun.Safe(may("INSERT")), bun.Safe(may("UPDATE")),
			bun.Safe(may("DELETE"))).
		OrderExpr("c.relname").Scan(ctx, &st.Lacking)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
