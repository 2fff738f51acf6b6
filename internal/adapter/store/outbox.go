package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
)

// Pending returns up to atMost changes that were announced and are still to be
// published, oldest first. What is not committed is not among them.
func (s *Store) Pending(ctx context.Context, atMost int) ([]control.Posted, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []outboxRow
	if err := s.read.NewSelect().Model(&rows).Order("o.seq").Limit(int64(atMost)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	all := make([]control.Posted, len(rows))
	for i := range rows {
		all[i] = rows[i].posted()
	}
	return all, nil
}

func (r *outboxRow) posted() control.Posted {
	return control.Posted{Seq: r.Seq, Change: control.Change{
		Kind: control.Kind(r.Kind), ID: r.ID, OrganizationID: r.OrganizationID, Version: r.Version,
		Refs: r.Refs, State: r.State, Gone: r.Gone, At: r.CreatedAt.Time,
	}}
}

// Relayed takes published rows out of the outbox and notes the highest of them.
func (s *Store) Relayed(ctx context.Context, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		if _, err := tx.write.NewDelete().Model((*outboxRow)(nil)).Where("seq IN (?)", bun.List(seqs)).Exec(ctx); err != nil {
			return fmt.Errorf("emptying the outbox: %w", err)
		}
		highest := slices.Max(seqs)
		if _, err := tx.write.NewUpdate().Table("control_head").Set("relayed = ?", highest).
			Where("relayed < ?", highest).Exec(ctx); err != nil {
			return fmt.Errorf("recording the published position of the outbox: %w", err)
		}
		return nil
	})
}

// ControlHead returns what the outbox has come to.
func (s *Store) ControlHead(ctx context.Context) (control.Head, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var h control.Head
	if err := s.read.NewSelect().Table("control_head").Column("epoch", "relayed").Scan(ctx,
		&h.Epoch, &h.Relayed); err != nil {
		return control.Head{}, fmt.Errorf("reading the outbox's head: %w", err)
	}
	return h, nil
}

// RaiseEpoch begins an epoch of the store, unless it has reached that or a later
// one.
func (s *Store) RaiseEpoch(ctx context.Context, to int64) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if _, err := s.write.NewUpdate().Table("control_head").Set("epoch = ?", to).Where("epoch < ?",
		to).Exec(ctx); err != nil {
		return fmt.Errorf("beginning epoch %d of the metadata store: %w", to, err)
	}
	return nil
}
