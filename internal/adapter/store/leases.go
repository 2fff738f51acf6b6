package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/lease"
)

type leaseRow struct {
	bun.BaseModel `bun:"table:leases,alias:l"`

	Name   string `bun:"name,pk"`
	Holder string `bun:"holder"`
	Count  int64  `bun:"beat"`
}

// Lease returns who holds a lease; the zero State for one that nobody ever held.
func (s *Store) Lease(ctx context.Context, name string) (lease.State, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row leaseRow
	err := s.read.NewSelect().Model(&row).Where("l.name = ?", name).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return lease.State{}, nil
	}
	if err != nil {
		return lease.State{}, fmt.Errorf("reading lease %s: %w", name, err)
	}
	return lease.State{Holder: row.Holder, Count: row.Count}, nil
}

// TakeLease gives a lease to holder and reports whether it did: only when the
// lease still is as it was seen. An empty holder gives it back.
func (s *Store) TakeLease(ctx context.Context, name, holder string, seen lease.State) (bool, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var res sql.Result
	var err error
	if seen == (lease.State{}) {
		res, err = s.write.NewInsert().Model(&leaseRow{Name: name, Holder: holder, Count: 1}).On(
			"CONFLICT DO NOTHING").Exec(ctx)
	} else {
		res, err = s.write.NewUpdate().Model((*leaseRow)(nil)).Set("holder = ?", holder).Set("beat = ?", seen.Count+1).
			Where("name = ?", name).Where("holder = ?", seen.Holder).Where("beat = ?", seen.Count).Exec(ctx)
	}
	if err == nil {
		var n int64
		n, err = res.RowsAffected()
		return n == 1 && err == nil, err
	}
	return false, fmt.Errorf("taking lease %s: %w", name, err)
}
