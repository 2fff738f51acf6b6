package store

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// CreateOwned adds an organization and makes a user its owner, where check, which is
// told the user's other memberships, agrees. It returns the error of check, and those of
// CreateOrganization and AddMember.
func (s *Store) CreateOwned(
	ctx context.Context, by audit.By, o *org.Organization, userID string, check func([]org.Membership) error,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.touch(ctx, (*userRow)(nil), userID); err != nil { // whose memberships are counted
			return err
		}
		memberships, err := tx.ListMemberships(ctx, userID)
		if err != nil {
			return err
		}
		if err := check(memberships); err != nil {
			return err
		}
		if err := tx.CreateOrganization(ctx, by, o); err != nil {
			return err
		}
		return tx.AddMember(ctx, by,
			&org.Member{OrganizationID: o.ID, UserID: userID, Role: org.RoleOwner, CreatedAt: o.CreatedAt})
	})
}

// TransferOwnership makes one member an owner, and gives another one, who has to be
// an owner, a role. It returns the errors of SetRole.
func (s *Store) TransferOwnership(
	ctx context.Context, by audit.By, t org.Transfer, now time.Time,
) (owner, former *org.Person, err error) {
	err = s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		o, err := tx.OrganizationByID(ctx, t.OrganizationID)
		if err != nil {
			return err
		}
		anybody := func(org.Role) error { return nil }
		if owner, err = tx.SetRole(ctx, by, o.ID, t.To, org.RoleOwner, now, anybody); err != nil {
			return err
		}
		if former, err = tx.SetRole(ctx, by, o.ID, t.From, t.Role, now, mustOwn); err != nil {
			return err
		}
		return tx.Record(ctx, audit.New(by, o.ID, "organization", "ownershipTransferred", now).
			Of(o.ID, o.Name).With(map[string]audit.Change{"owner": {From: t.From, To: t.To}}))
	})
	if err != nil {
		return nil, nil, err
	}
	return owner, former, nil
}

// mustOwn rejects whoever is no owner.
func mustOwn(role org.Role) error { return org.MayChange(role, org.RoleOwner, "") }
