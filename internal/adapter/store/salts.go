package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// saltLen is the length of a salt of visitor ids, in bytes.
const saltLen = 32

type saltRow struct {
	bun.BaseModel `bun:"table:visitor_salts,alias:v"`

	Day  string `bun:"day,pk"`
	Salt []byte `bun:"salt"`
}

// Salt returns the 32 random bytes with which visitor ids of the UTC day of t
// are hashed. Whoever asks first makes them, and everyone gets the same. Who asks
// for a day whose salt was destroyed gets a new one, which matches nothing.
func (s *Store) Salt(ctx context.Context, t time.Time) ([]byte, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	day := t.UTC().Format(time.DateOnly)
	salt, err := s.salt(ctx, day)
	if !errors.Is(err, sql.ErrNoRows) {
		return salt, err
	}
	row := saltRow{Day: day, Salt: make([]byte, saltLen)}
	rand.Read(row.Salt)
	if _, err := s.write.NewInsert().Model(&row).On("CONFLICT (day) DO NOTHING").Exec(ctx); err != nil {
		return nil, fmt.Errorf("creating the visitor salt of %s: %w", day, err)
	}
	salt, err = s.salt(ctx, day)
	if err != nil {
		return nil, fmt.Errorf("reading the visitor salt of %s after creating it: %w", day, err)
	}
	return salt, nil
}

func (s *Store) salt(ctx context.Context, day string) ([]byte, error) {
	var row saltRow
	if err := s.read.NewSelect().Model(&row).Where("v.day = ?", day).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the visitor salt of %s: %w", day, err)
	}
	return row.Salt, nil
}

// Salts returns the salts there are, by the beginning of their UTC day.
func (s *Store) Salts(ctx context.Context) (map[time.Time][]byte, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []saltRow
	if err := s.read.NewSelect().Model(&rows).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the visitor salts: %w", err)
	}
	salts := make(map[time.Time][]byte, len(rows))
	for _, r := range rows {
		day, err := time.Parse(time.DateOnly, r.Day)
		if err != nil {
			return nil, fmt.Errorf("reading the visitor salts: %w", err)
		}
		salts[day] = r.Salt
	}
	return salts, nil
}

// PruneSalts destroys the salts of the UTC days before that of first, also in the
// database's own files, as far as it can: what backups, replicas and archived logs
// of a server hold is its operator's.
func (s *Store) PruneSalts(ctx context.Context, first time.Time) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if err := s.dialect.pruneSalts(ctx, s, first.UTC().Format(time.DateOnly)); err != nil {
		return fmt.Errorf("deleting visitor salts: %w", err)
	}
	return nil
}
