package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// DeleteAccount deletes a user whose password is still that of u: their sessions, devices
// and tokens, their memberships with the invitations that they made, and the organizations that
// are theirs alone and have no website. It is the error of org.NeedsOwner, and changes
// nothing, where an organization has other members or websites and no other owner, and
// session.ErrPasswordChanged for another password. The audit keeps what it has.
func (s *Store) DeleteAccount(ctx context.Context, by audit.By, u *org.User, now time.Time) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockUser(ctx, u.ID, u.PasswordHash); err != nil {
			return err
		}
		memberships, err := tx.ListMemberships(ctx, u.ID)
		if err != nil {
			return err
		}
		// In one order everywhere, so that two who go at once do not wait for each other.
		slices.SortFunc(memberships, func(a, b org.Membership) int { return cmp.Compare(a.OrganizationID, b.OrganizationID) })
		if err := tx.recordUser(ctx, by, u, "deleted", now); err != nil {
			return err
		}
		var needed []org.Membership
		for _, p := range memberships {
			needs, err := tx.giveUp(ctx, by, p, now)
			if err != nil {
				return err
			}
			if needs {
				needed = append(needed, p)
			}
		}
		if len(needed) > 0 {
			return org.NeedsOwner(needed)
		}
		if _, err := tx.write.NewDelete().Model((*userRow)(nil)).Where("id = ?", u.ID).Exec(ctx); err != nil {
			return fmt.Errorf("deleting user %s: %w", u.ID, err)
		}
		return nil
	})
}

// giveUp ends a membership, and the organization with it where nothing else is in it. It reports
// whether the organization needs the membership instead.
func (s *Store) giveUp(ctx context.Context, by audit.By, p org.Membership, now time.Time) (needed bool, err error) {
	if err := s.lockOrganization(ctx, p.OrganizationID, org.ErrNotFound); err != nil {
		return false, err
	}
	others := s.write.NewSelect().Model((*memberRow)(nil)).
		Where("m.organization_id = ?", p.OrganizationID).Where("m.user_id <> ?", p.UserID)
	members, err := others.Clone().Count(ctx)
	if err != nil {
		return false, fmt.Errorf("counting the members of organization %s: %w", p.OrganizationID, err)
	}
	owners, err := others.Where("m.role = ?", string(org.RoleOwner)).Count(ctx)
	if err != nil {
		return false, fmt.Errorf("counting the owners of organization %s: %w", p.OrganizationID, err)
	}
	if owners > 0 || p.Role != org.RoleOwner {
		gone := org.Departure{OrganizationID: p.OrganizationID, UserID: p.UserID}
		_, err := s.RemoveMember(ctx, by, gone, now, func(org.Role) error { return nil })
		return false, err
	}
	websites, err := s.write.NewSelect().Model((*websiteRow)(nil)).
		Where("w.organization_id = ?", p.OrganizationID).Where("w.deleted_at IS NULL").Count(ctx)
	if err != nil {
		return false, fmt.Errorf("counting the websites of organization %s: %w", p.OrganizationID, err)
	}
	if members > 0 || websites > 0 {
		return true, nil
	}
	_, err = s.DeleteOrganization(ctx, by, p.OrganizationID, 0, now, func(*org.Organization) error { return nil })
	return false, err
}
