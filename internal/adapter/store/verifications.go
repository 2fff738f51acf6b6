package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
)

type verificationRow struct {
	bun.BaseModel `bun:"table:email_verifications,alias:v"`

	TokenHash []byte  `bun:"token_hash,pk"`
	UserID    string  `bun:"user_id"`
	ExpiresAt instant `bun:"expires_at"`
}

// CreateVerification keeps the hash of a token with which a user verifies their address
// until v.ExpiresAt. It is org.ErrUserNotFound for a user who does not exist.
func (s *Store) CreateVerification(ctx context.Context, by audit.By, v *session.Verification) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.UserByID(ctx, v.UserID)
		if err != nil {
			return err
		}
		row := verificationRow{TokenHash: v.TokenHash[:], UserID: v.UserID, ExpiresAt: at(v.ExpiresAt)}
		if _, err := tx.write.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("storing a verification of user %s: %w", v.UserID, err)
		}
		return tx.recordUser(ctx, by, u, "emailVerificationRequested", v.CreatedAt)
	})
}

// VerifyEmail verifies the address of a user who has the token of their verification,
// and uses up all of theirs. Any other token, another user's too, is
// session.ErrVerificationNotFound.
func (s *Store) VerifyEmail(ctx context.Context, by audit.By, userID string, hash token.Hash, now time.Time) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.UserByID(ctx, userID)
		if err != nil {
			return err
		}
		res, err := tx.write.NewDelete().Model((*verificationRow)(nil)).Where("token_hash = ?", hash[:]).
			Where("user_id = ?", userID).Where("expires_at > ?", at(now)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("consuming the verification of user %s: %w", userID, err)
		}
		if err := mustTouch(res, session.ErrVerificationNotFound); err != nil {
			return err
		}
		return tx.verify(ctx, by, u, now)
	})
}

// SetVerified verifies the address of a user by the word of whoever calls, or returns
// org.ErrUserNotFound. It serves the operator's command.
func (s *Store) SetVerified(ctx context.Context, by audit.By, userID string, now time.Time) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.UserByID(ctx, userID)
		if err != nil {
			return err
		}
		return tx.verify(ctx, by, u, now)
	})
}

// verify notes that a user's address is verified, unless it is already, and ends their
// verifications.
func (s *Store) verify(ctx context.Context, by audit.By, u *org.User, now time.Time) error {
	if _, err := s.write.NewDelete().Model((*verificationRow)(nil)).Where("user_id = ?", u.ID).Exec(ctx); err != nil {
		return fmt.Errorf("ending the verifications of user %s: %w", u.ID, err)
	}
	res, err := s.write.NewUpdate().Model((*userRow)(nil)).Where("id = ?", u.ID).Where("verified_at IS NULL").
		Set("verified_at = ?", at(now)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("verifying the address of user %s: %w", u.ID, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return s.recordUser(ctx, by, u, "emailVerified", now)
}
