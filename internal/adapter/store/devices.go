package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
)

type deviceRow struct {
	bun.BaseModel `bun:"table:devices,alias:d"`

	Hash   []byte  `bun:"hash,pk"`
	UserID string  `bun:"user_id"`
	SeenAt instant `bun:"seen_at"`
}

// KnowsDevice reports whether the account of an address knows the device with a token
// of that hash, from a sign-in after since.
func (s *Store) KnowsDevice(ctx context.Context, hash token.Hash, email string, since time.Time) (bool, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	n, err := s.read.NewSelect().Model((*deviceRow)(nil)).Join("JOIN users AS u ON u.id = d.user_id").
		Where("d.hash = ?", hash[:]).Where("u.email = ?", email).Where("d.seen_at > ?", at(since)).Count(ctx)
	if err != nil {
		return false, fmt.Errorf("finding a device: %w", err)
	}
	return n > 0, nil
}

// ReplaceDevice has a user know the device by the hash next and not by old any more,
// which may be another user's or nobody's. It forgets the oldest beyond
// session.MaxDevices.
func (s *Store) ReplaceDevice(ctx context.Context, userID string, old, next token.Hash, now time.Time) error {
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		// One after the other, so that none is left beyond the most.
		if err := tx.touch(ctx, (*userRow)(nil), userID); err != nil {
			return err
		}
		row := deviceRow{Hash: next[:], UserID: userID, SeenAt: at(now)}
		if _, err := tx.write.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("adding a device of user %s: %w", userID, err)
		}
		kept := tx.write.NewSelect().Model((*deviceRow)(nil)).Column("hash").
			Where("d.user_id = ?", userID).Where("d.hash NOT IN (?, ?)", old[:], next[:]).
			Order("d.seen_at DESC", "d.hash").Limit(session.MaxDevices - 1)
		if _, err := tx.write.NewDelete().Model((*deviceRow)(nil)).Where("user_id = ?", userID).
			Where("hash <> ?", next[:]).Where("hash NOT IN (?)", kept).Exec(ctx); err != nil {
			return fmt.Errorf("deleting devices of user %s: %w", userID, err)
		}
		return nil
	})
}
