package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/pressly/goose/v3"
	"github.com/uptrace/bun"
)

// ErrChanged says that another file was applied to the store under the number of a migration of
// this program. Its tables are unknown then, and no migration repairs it.
var ErrChanged = errors.New("not the migration that was applied; " +
	"use the build that created the database, or an empty database")

// sumColumn is the column of goose's table of versions that holds the SHA-256 of each file,
// hexadecimal. It is added, and filled, after the migrations: a process that dies in between leaves
// it missing or NULL.
const sumColumn = "checksum"

// checksums returns the sums of this program's migrations, with the files' names, by
// version.
func (d dialect) checksums() (sums, names map[int64]string, err error) {
	files, err := fs.Glob(d.migrations, d.name+"/*.sql")
	if err != nil {
		return nil, nil, fmt.Errorf("listing migrations for %s: %w", d.name, err)
	}
	sums, names = map[int64]string{}, map[int64]string{}
	for _, name := range files {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, nil, fmt.Errorf("numbering %s: %w", name, err)
		}
		text, err := fs.ReadFile(d.migrations, name)
		if err != nil {
			return nil, nil, fmt.Errorf("reading migration %s: %w", name, err)
		}
		sum := sha256.Sum256(text)
		sums[version], names[version] = hex.EncodeToString(sum[:]), name
	}
	return sums, names, nil
}

// hasSums reports whether the column is there.
func (d dialect) hasSums(ctx context.Context, db bun.IDB) (bool, error) {
	q := db.NewSelect().ColumnExpr("count(*)")
	if d.name == "sqlite" {
		q = q.TableExpr("pragma_table_info(?)", versionTable).Where("name = ?", sumColumn)
	} else {
		q = q.TableExpr("pg_attribute").Where("attrelid = to_regclass(?)", versionTable).Where("attname = ?",
			sumColumn).Where("NOT attisdropped")
	}
	var columns int
	err := q.Scan(ctx, &columns)
	return columns > 0, err
}

// checkSums returns ErrChanged, with the file's name, when the database was migrated by
// another file than this program has.
func (s *Store) checkSums(ctx context.Context) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if has, err := s.dialect.hasSums(ctx, s.read); err != nil || !has {
		return wrapSums(err)
	}
	want, names, err := s.dialect.checksums()
	if err != nil {
		return err
	}
	var applied []struct {
		Version  int64  `bun:"version_id"`
		Checksum string `bun:"checksum"`
	}
	err = s.read.NewSelect().ColumnExpr("version_id").ColumnExpr("?", bun.Ident(sumColumn)).
		TableExpr("?", bun.Ident(versionTable)).Where("? IS NOT NULL", bun.Ident(sumColumn)).OrderExpr("version_id").Scan(ctx,
		&applied)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return wrapSums(err)
	}
	for _, a := range applied {
		if sum, known := want[a.Version]; known && sum != a.Checksum {
			return fmt.Errorf("metadata store, migration %s: %w", names[a.Version], ErrChanged)
		}
	}
	return nil
}

func wrapSums(err error) error {
	if err != nil {
		return fmt.Errorf("reading the checksums of the metadata store's migrations: %w", err)
	}
	return nil
}

// recordSums records the sums of applied migrations that have none. It writes nothing when all have
// one, so that a user who may only read can run it on a migrated database.
func recordSums(ctx context.Context, d dialect, pool *sql.DB) error {
	sums, _, err := d.checksums()
	if err != nil {
		return err
	}
	db := bun.NewDB(pool, d.bun())
	if complete, err := d.hasAllSums(ctx, db, sums); err != nil || complete {
		return wrapSums(err)
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := d.addSums(ctx, tx); err != nil {
			return fmt.Errorf("adding the column of checksums: %w", err)
		}
		for version, sum := range sums {
			_, err := tx.NewUpdate().TableExpr("?", bun.Ident(versionTable)).Set("? = ?", bun.Ident(sumColumn), sum).
				Where("version_id = ?", version).Where("? IS NULL", bun.Ident(sumColumn)).Exec(ctx)
			if err != nil {
				return fmt.Errorf("recording checksums of migrations: %w", err)
			}
		}
		return nil
	})
}

// hasAllSums reports whether every migration of sums that was applied has one.
func (d dialect) hasAllSums(ctx context.Context, db bun.IDB, sums map[int64]string) (bool, error) {
	if has, err := d.hasSums(ctx, db); err != nil || !has {
		return false, err
	}
	var without int
	err := db.NewSelect().ColumnExpr("count(*)").TableExpr("?", bun.Ident(versionTable)).
		Where("? IS NULL", bun.Ident(sumColumn)).Where("version_id IN (?)",
		bun.List(slices.Collect(maps.Keys(sums)))).Scan(ctx, &without)
	return without == 0, err
}

// addSums adds the column unless another process was faster.
func (d dialect) addSums(ctx context.Context, tx bun.Tx) error {
	if has, err := d.hasSums(ctx, tx); err != nil || has {
		return err
	}
	add := "ALTER TABLE ? ADD COLUMN ? TEXT"
	if d.name == "postgres" { // whose transactions do not wait for one another at their beginning
		add = "ALTER TABLE ? ADD COLUMN IF NOT EXISTS ? TEXT"
	}
	_, err := tx.ExecContext(ctx, add, bun.Ident(versionTable), bun.Ident(sumColumn))
	return err
}
