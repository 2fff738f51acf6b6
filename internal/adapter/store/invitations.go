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
	"github.com/millrace/millrace/internal/tenant/token"
)

type invitationRow struct {
	bun.BaseModel `bun:"table:invitations,alias:i"`

	ID             string  `bun:"id,pk"`
	OrganizationID string  `bun:"organization_id"`
	Email          string  `bun:"email"`
	Role           string  `bun:"role"`
	TokenHash      []byte  `bun:"token_hash"`
	InvitedBy      string  `bun:"invited_by"`
	Mailed         bool    `bun:"mailed"`
	CreatedAt      instant `bun:"created_at"`
	ExpiresAt      instant `bun:"expires_at"`
}

func (r *invitationRow) invitation() *org.Invitation {
	i := &org.Invitation{
		ID: r.ID, OrganizationID: r.OrganizationID, Email: r.Email, Role: org.Role(r.Role),
		InvitedBy: r.InvitedBy, Mailed: r.Mailed, CreatedAt: r.CreatedAt.Time, ExpiresAt: r.ExpiresAt.Time,
	}
	copy(i.TokenHash[:], r.TokenHash) // 32 bytes, which the schema checks
	return i
}

// CreateInvitation keeps an invitation in the place of an earlier one of the same
// address, where check, which is told what role that one offers, agrees. It returns the
// error of check, org.ErrMemberExists for the address of a member,
// org.ErrTooManyInvitations, and org.ErrNotFound for an organization that does
// not exist.
func (s *Store) CreateInvitation(
	ctx context.Context, by audit.By, i *org.Invitation, check func(earlier org.Role) error,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockOrganization(ctx, i.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		members, err := tx.write.NewSelect().Model((*memberRow)(nil)).Join("JOIN users AS u ON u.id = m.user_id").
			Where("m.organization_id = ?", i.OrganizationID).Where("u.email = ?", i.Email).Count(ctx)
		if err != nil {
			return fmt.Errorf("finding a member of organization %s: %w", i.OrganizationID, err)
		}
		if members > 0 {
			return org.ErrMemberExists
		}
		if err := tx.mayReplace(ctx, i, check); err != nil {
			return err
		}
		// Those that are past make room too.
		if _, err := tx.write.NewDelete().Model((*invitationRow)(nil)).Where("organization_id = ?", i.OrganizationID).
			Where("email = ? OR expires_at <= ?", i.Email, at(i.CreatedAt)).Exec(ctx); err != nil {
			return fmt.Errorf("replacing invitations of organization %s: %w", i.OrganizationID, err)
		}
		open, err := tx.write.NewSelect().Model((*invitationRow)(nil)).Where("i.organization_id = ?",
			i.OrganizationID).Count(ctx)
		if err != nil {
			return fmt.Errorf("counting invitations of organization %s: %w", i.OrganizationID, err)
		}
		if open >= org.MaxInvitations {
			return org.ErrTooManyInvitations
		}
		row := invitationRow{
			ID: i.ID, OrganizationID: i.OrganizationID, Email: i.Email, Role: string(i.Role), TokenHash: i.TokenHash[:],
			InvitedBy: i.InvitedBy, Mailed: i.Mailed, CreatedAt: at(i.CreatedAt), ExpiresAt: at(i.ExpiresAt),
		}
		if _, err := tx.write.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("adding invitation %s: %w", i.ID, err)
		}
		return tx.recordInvitation(ctx, by, i, "created", i.CreatedAt)
	})
}

// mayReplace asks check of an open invitation of the same address.
func (s *Store) mayReplace(ctx context.Context, i *org.Invitation, check func(earlier org.Role) error) error {
	earlier, err := s.invitationWhere(ctx, "i.organization_id = ? AND i.email = ? AND i.expires_at > ?", i.OrganizationID,
		i.Email, at(i.CreatedAt))
	if errors.Is(err, org.ErrInvitationNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return check(earlier.Role)
}

// ListInvitations returns at most limit open invitations of an organization in
// the order of their ids, those after the given one.
func (s *Store) ListInvitations(
	ctx context.Context, organizationID, after string, limit int, now time.Time,
) ([]org.Invitation, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []invitationRow
	q := s.read.NewSelect().Model(&rows).Where("i.organization_id = ?", organizationID).Where("i.expires_at > ?", at(now))
	if err := page(q, "i.id", false, after, limit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing invitations of organization %s: %w", organizationID, err)
	}
	all := make([]org.Invitation, len(rows))
	for i := range rows {
		all[i] = *rows[i].invitation()
	}
	return all, nil
}

// RevokeInvitation withdraws an invitation where check, which is told the role it
// offers, agrees. It returns the error of check and org.ErrInvitationNotFound.
func (s *Store) RevokeInvitation(
	ctx context.Context, by audit.By, organizationID, id string, now time.Time, check func(role org.Role) error,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		i, err := tx.invitationWhere(ctx, "i.organization_id = ? AND i.id = ? AND i.expires_at > ?",
			organizationID, id, at(now))
		if err != nil {
			return err
		}
		if err := check(i.Role); err != nil {
			return err
		}
		if err := tx.useUp(ctx, i); err != nil {
			return err
		}
		return tx.recordInvitation(ctx, by, i, "revoked", now)
	})
}

// AcceptInvitation gives a user the membership that an invitation for their address
// offers, and uses it up; one that was mailed verifies the address. Of two who accept at once, one is told
// org.ErrInvitationNotFound, as with any other token and with one whose inviter could
// not issue it any more. It also returns the errors
// of AddMember and org.ErrUserNotFound.
func (s *Store) AcceptInvitation(
	ctx context.Context, by audit.By, hash token.Hash, userID string, now time.Time,
) (*org.Membership, error) {
	var membership *org.Membership
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.UserByID(ctx, userID)
		if err != nil {
			return err
		}
		i, err := tx.invitationFor(ctx, hash, u.Email, now)
		if err != nil {
			return err
		}
		if err := tx.accept(ctx, by, i, u, now); err != nil {
			return err
		}
		if i.Mailed {
			if err := tx.verify(ctx, by, u, now); err != nil {
				return err
			}
		}
		o, err := tx.OrganizationByID(ctx, i.OrganizationID)
		if err != nil {
			return err
		}
		membership = &org.Membership{Organization: o.Name, Member: org.Member{
			OrganizationID: o.ID, UserID: u.ID, Role: i.Role, CreatedAt: at(now).Time,
		}}
		return nil
	})
	return membership, err
}

func (s *Store) accept(ctx context.Context, by audit.By, i *org.Invitation, u *org.User, now time.Time) error {
	if err := s.stillOffered(ctx, i); err != nil {
		return err
	}
	if err := s.useUp(ctx, i); err != nil {
		return err
	}
	if err := s.recordInvitation(ctx, by, i, "accepted", now); err != nil {
		return err
	}
	return s.AddMember(ctx, by, &org.Member{OrganizationID: i.OrganizationID, UserID: u.ID, Role: i.Role, CreatedAt: now})
}

// stillOffered returns org.ErrInvitationNotFound for an invitation that its inviter could
// not issue any more. Until the transaction ends nobody's role changes.
func (s *Store) stillOffered(ctx context.Context, i *org.Invitation) error {
	if err := s.lockOrganization(ctx, i.OrganizationID, org.ErrInvitationNotFound); err != nil || i.InvitedBy == "" {
		return err
	}
	inviter, err := s.person(ctx, i.OrganizationID, i.InvitedBy)
	switch {
	case errors.Is(err, org.ErrMemberNotFound):
		return org.ErrInvitationNotFound
	case err != nil:
		return err
	case !inviter.Role.Invites(i.Role):
		return org.ErrInvitationNotFound
	}
	return nil
}

// useUp removes an invitation, unless somebody else was faster.
func (s *Store) useUp(ctx context.Context, i *org.Invitation) error {
	res, err := s.write.NewDelete().Model((*invitationRow)(nil)).Where("id = ?", i.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("consuming invitation %s: %w", i.ID, err)
	}
	return mustTouch(res, org.ErrInvitationNotFound)
}

func (s *Store) invitationFor(
	ctx context.Context, hash token.Hash, email string, now time.Time,
) (*org.Invitation, error) {
	return s.invitationWhere(ctx, "i.token_hash = ? AND i.email = ? AND i.expires_at > ?", hash[:], email, at(now))
}

func (s *Store) invitationWhere(ctx context.Context, where string, args ...any) (*org.Invitation, error) {
	var row invitationRow
	err := s.read.NewSelect().Model(&row).Where(where, args...).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, org.ErrInvitationNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading an invitation: %w", err)
	}
	return row.invitation(), nil
}

func (s *Store) recordInvitation(
	ctx context.Context, by audit.By, i *org.Invitation, action string, now time.Time,
) error {
	return s.Record(ctx, audit.New(by, i.OrganizationID, "invitation", action, now).
		Of(i.ID, i.Email).With(map[string]audit.Change{"role": {To: string(i.Role)}}))
}
