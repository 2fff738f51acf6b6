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

// Salts of visitor ids.
const (
	saltLen  = 32             // bytes
	saltKept = 48 * time.Hour // from the beginning of its day
)

type saltRow struct {
	bun.BaseModel `bun:"table:visitor_salts,alias:v"`

	Day  string `bun:"day,pk"`
	Salt []byte `bun:"salt"`
}

// Salt returns the 32 random bytes with which visitor ids of the UTC day of t
// are hashed. Whoever asks first makes them, and everyone gets the same; making
// one also prunes old ones.
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
		return nil, fmt.Errorf("making the visitor salt of %s: %w", day, err)
	}
	salt, err = s.salt(ctx, day)
	if err != nil {
		return nil, fmt.Errorf("reading the visitor salt of %s after making it: %w", day, err)
	}
	return salt, s.PruneSalts(ctx)
}

func (s *Store) salt(ctx context.Context, day string) ([]byte, error) {
	var row saltRow
	if err := s.read.NewSelect().Model(&row).Where("v.day = ?", day).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the visitor salt of %s: %w", day, err)
	}
	return row.Salt, nil
}

// PruneSalts deletes the salts of days that began 48 hours ago or earlier. After
// that nobody can compute again which visitor a stored id belongs to.
func (s *Store) PruneSalts(ctx context.Context) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	last := s.opts.Now().Add(-saltKept).UTC().Format(time.DateOnly)
	if _, err := s.write.NewDelete().Model((*saltRow)(nil)).Where("day <= ?", last).Exec(ctx); err != nil {
		return fmt.Errorf("deleting old visitor salts: %w", err)
	}
	return nil
}
