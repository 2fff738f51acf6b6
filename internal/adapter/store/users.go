package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
)

type userRow struct {
	bun.BaseModel `bun:"table:users,alias:u"`

	ID                string  `bun:"id,pk"`
	Email             string  `bun:"email"`
	Name              string  `bun:"name"`
	PasswordHash      string  `bun:"password_hash"`
	CreatedAt         instant `bun:"created_at"`
	PasswordChangedAt instant `bun:"password_changed_at"`
	VerifiedAt        instant `bun:"verified_at"`
}

func (r *userRow) user() *org.User {
	return &org.User{
		ID: r.ID, Email: r.Email, Name: r.Name, PasswordHash: r.PasswordHash,
		CreatedAt: r.CreatedAt.Time, PasswordChangedAt: r.PasswordChangedAt.Time, VerifiedAt: r.VerifiedAt.Time,
	}
}

// CreateUser adds a user. An address in use is org.ErrEmailTaken.
func (s *Store) CreateUser(ctx context.Context, by audit.By, u *org.User) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		row := userRow{
			ID: u.ID, Email: u.Email, Name: u.Name, PasswordHash: u.PasswordHash,
			CreatedAt: at(u.CreatedAt), PasswordChangedAt: at(u.PasswordChangedAt), VerifiedAt: at(u.VerifiedAt),
		}
		_, err := tx.write.NewInsert().Model(&row).Exec(ctx)
		if tx.dialect.violation(err) == uniqueViolation {
			return org.ErrEmailTaken
		}
		if err != nil {
			return fmt.Errorf("adding user %s: %w", u.ID, err)
		}
		return tx.Record(ctx, audit.New(by, "", "user", "created", u.CreatedAt).Of(u.ID, u.Email))
	})
}

// UserByEmail returns the user with an address in its normal form, or
// org.ErrUserNotFound.
func (s *Store) UserByEmail(ctx context.Context, email string) (*org.User, error) {
	return s.userWhere(ctx, "u.email = ?", email)
}

// UserByID returns a user, or org.ErrUserNotFound.
func (s *Store) UserByID(ctx context.Context, id string) (*org.User, error) {
	return s.userWhere(ctx, "u.id = ?", id)
}

func (s *Store) userWhere(ctx context.Context, where string, args ...any) (*org.User, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row userRow
	err := s.read.NewSelect().Model(&row).Where(where, args...).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, org.ErrUserNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a user: %w", err)
	}
	return row.user(), nil
}

// ListUsers returns at most limit users in the order of their ids, those after
// the given one. It serves the operator's command, not tenants.
func (s *Store) ListUsers(ctx context.Context, after string, limit int) ([]*org.User, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []userRow
	if err := page(s.read.NewSelect().Model(&rows), "u.id", false, after, limit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing users: %w", err)
	}
	users := make([]*org.User, len(rows))
	for i := range rows {
		users[i] = rows[i].user()
	}
	return users, nil
}

// CreateAccount adds a user who begins alone in a new organization, as its owner.
func (s *Store) CreateAccount(ctx context.Context, by audit.By, u *org.User, o *org.Organization) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.CreateUser(ctx, by, u); err != nil {
			return err
		}
		if err := tx.CreateOrganization(ctx, by, o); err != nil {
			return err
		}
		return tx.AddMember(ctx, by,
			&org.Member{OrganizationID: o.ID, UserID: u.ID, Role: org.RoleOwner, CreatedAt: u.CreatedAt})
	})
}

// CreateInvited adds a user by an invitation for their address, which is verified where
// the invitation was mailed; u tells so then. Any other token is
// org.ErrInvitationNotFound.
func (s *Store) CreateInvited(ctx context.Context, by audit.By, u *org.User, hash token.Hash) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		// The invitation first: without a good one nobody learns whether the address
		// has an account.
		i, err := tx.invitationFor(ctx, hash, u.Email, u.CreatedAt)
		if err != nil {
			return err
		}
		if i.Mailed {
			u.VerifiedAt = u.CreatedAt
		}
		if err := tx.CreateUser(ctx, by, u); err != nil {
			return err
		}
		return tx.accept(ctx, by, i, u, u.CreatedAt)
	})
}

type resetRow struct {
	bun.BaseModel `bun:"table:password_resets,alias:r"`

	TokenHash []byte  `bun:"token_hash,pk"`
	UserID    string  `bun:"user_id"`
	ExpiresAt instant `bun:"expires_at"`
}

// CreateReset keeps the hash of a token with which a user may set a new password
// until r.ExpiresAt. It is org.ErrUserNotFound for a user who does not exist.
func (s *Store) CreateReset(ctx context.Context, by audit.By, r *session.Reset) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.UserByID(ctx, r.UserID)
		if err != nil {
			return err
		}
		row := resetRow{TokenHash: r.TokenHash[:], UserID: r.UserID, ExpiresAt: at(r.ExpiresAt)}
		if _, err := tx.write.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("storing a password reset token of user %s: %w", r.UserID, err)
		}
		return tx.recordUser(ctx, by, u, "passwordResetRequested", r.CreatedAt)
	})
}

// ResetUser returns the user who may set a new password with a token; any other
// token is session.ErrResetNotFound.
func (s *Store) ResetUser(ctx context.Context, hash token.Hash, now time.Time) (*org.User, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row userRow
	err := s.read.NewSelect().Model(&row).Join("JOIN password_resets AS r ON r.user_id = u.id").
		Where("r.token_hash = ?", hash[:]).Where("r.expires_at > ?", at(now)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, session.ErrResetNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a password reset token: %w", err)
	}
	return row.user(), nil
}

// ResetPassword sets the password of the user whom a token permits it, and ends
// the user's sessions, devices and all permissions, this one among them: of two who use
// it at once, one is told session.ErrResetNotFound. The address is verified from then on:
// the token was mailed there, or the operator gave it to its owner.
func (s *Store) ResetPassword(
	ctx context.Context, by audit.By, hash token.Hash, passwordHash string, now time.Time,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.ResetUser(ctx, hash, now)
		if err != nil {
			return err
		}
		res, err := tx.write.NewDelete().Model((*resetRow)(nil)).Where("token_hash = ?", hash[:]).Exec(ctx)
		if err != nil {
			return fmt.Errorf("consuming the password reset token of user %s: %w", u.ID, err)
		}
		if err := mustTouch(res, session.ErrResetNotFound); err != nil {
			return err
		}
		if err := tx.verify(ctx, by, u, now); err != nil {
			return err
		}
		return tx.setPassword(ctx, by, u, "passwordReset", passwordHash, now)
	})
}

// SetPassword sets a user's password, where the one before has the hash was or
// was is empty; it ends the user's sessions and permissions to set a new one, forgets
// their devices, and begins next, unless that is nil. It returns org.ErrUserNotFound, and
// session.ErrPasswordChanged when the hash is not was any more.
func (s *Store) SetPassword(
	ctx context.Context, by audit.By, userID, was, passwordHash string, now time.Time, next *session.Session,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.UserByID(ctx, userID)
		if err != nil {
			return err
		}
		if was != "" {
			if err := tx.lockUser(ctx, userID, was); err != nil {
				return err
			}
		}
		if err := tx.setPassword(ctx, by, u, "passwordChanged", passwordHash, now); err != nil || next == nil {
			return err
		}
		u.PasswordHash = passwordHash
		return tx.CreateSession(ctx, by, u, next)
	})
}

func (s *Store) setPassword(
	ctx context.Context, by audit.By, u *org.User, action, passwordHash string, now time.Time,
) error {
	if _, err := s.write.NewUpdate().Model((*userRow)(nil)).Where("id = ?", u.ID).
		Set("password_hash = ?", passwordHash).Set("password_changed_at = ?", at(now)).Exec(ctx); err != nil {
		return fmt.Errorf("setting the password of user %s: %w", u.ID, err)
	}
	if _, err := s.write.NewDelete().Model((*resetRow)(nil)).Where("user_id = ?", u.ID).Exec(ctx); err != nil {
		return fmt.Errorf("deleting the password reset tokens of user %s: %w", u.ID, err)
	}
	if _, err := s.write.NewDelete().Model((*sessionRow)(nil)).Where("user_id = ?", u.ID).Exec(ctx); err != nil {
		return fmt.Errorf("ending the sessions of user %s: %w", u.ID, err)
	}
	if _, err := s.write.NewDelete().Model((*deviceRow)(nil)).Where("user_id = ?", u.ID).Exec(ctx); err != nil {
		return fmt.Errorf("deleting the devices of user %s: %w", u.ID, err)
	}
	return s.recordUser(ctx, by, u, action, now)
}

func (s *Store) recordUser(ctx context.Context, by audit.By, u *org.User, action string, now time.Time) error {
	return s.recordPerson(ctx, u.ID, audit.New(by, "", "user", action, now).Of(u.ID, u.Email))
}

// RecordRejectedPassword remembers a wrong password for the account of an address; without
// such an account it does nothing.
func (s *Store) RecordRejectedPassword(ctx context.Context, by audit.By, email, action string, now time.Time) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.UserByEmail(ctx, email)
		if errors.Is(err, org.ErrUserNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.recordUser(ctx, by, u, action, now)
	})
}

// lockUser keeps others from setting a user's password until the transaction
// ends. It is session.ErrPasswordChanged when they have done it already.
func (s *Store) lockUser(ctx context.Context, id, passwordHash string) error {
	res, err := s.write.NewUpdate().Model((*userRow)(nil)).Where("id = ?", id).Where("password_hash = ?", passwordHash).
		Set("name = name").Exec(ctx)
	if err != nil {
		return fmt.Errorf("locking user %s: %w", id, err)
	}
	return mustTouch(res, session.ErrPasswordChanged)
}
