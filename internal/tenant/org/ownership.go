package org

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// Ownership keeps who owns which organization.
type Ownership interface {
	// ListMemberships returns the memberships of a user, oldest first.
	ListMemberships(ctx context.Context, userID string) ([]Membership, error)
	// CreateOwned adds an organization with its first owner, where check, which is
	// told the owner's other memberships, agrees.
	CreateOwned(ctx context.Context, by audit.By, o *Organization, userID string, check func([]Membership) error) error
	// TransferOwnership makes one member an owner, and then gives another one, who is
	// an owner, a role.
	TransferOwnership(ctx context.Context, by audit.By, t Transfer, now time.Time) (owner, former *Person, err error)
}

// Transfer hands what an owner is over to another member.
type Transfer struct {
	OrganizationID string
	From, To       string // user ids
	Role           Role   // that From has afterwards
}

// Memberships returns the organizations of a user, oldest membership first.
func (s *Service) Memberships(ctx context.Context, userID string) ([]Membership, error) {
	return s.deps.Ownership.ListMemberships(ctx, userID)
}

// Create makes an organization that the user owns. Where not everybody may sign up,
// only who owns one already may make another; anybody else is told so by a Forbidden
// error. It returns ErrTooManyMemberships, ErrSlugTaken or a Validation error.
func (s *Service) Create(
	ctx context.Context, by audit.By, userID, name string, settings Settings,
) (*Organization, error) {
	o, err := New(name, s.deps.Now().UTC())
	if err != nil {
		return nil, err
	}
	if err := settings.Apply(o); err != nil {
		return nil, err
	}
	o.CreatedBy = userID
	if err := s.deps.Ownership.CreateOwned(ctx, by, o, userID, s.mayCreate); err != nil {
		return nil, err
	}
	return o, nil
}

// mayCreate says whether somebody with these memberships may make an organization.
func (s *Service) mayCreate(memberships []Membership) error {
	if s.deps.AnyoneCreates {
		return nil
	}
	for _, p := range memberships {
		if p.Role == RoleOwner {
			return nil
		}
	}
	return &apierr.Error{
		Code: apierr.Forbidden, Message: "Only owners of an organization can create another one on this installation; ask " +
			"the operator",
	}
}

// Transfer hands an ownership over. It returns ErrMemberNotFound for somebody who is
// no member, and a Validation error for somebody who hands it to themselves or wants
// to stay an owner.
func (s *Service) Transfer(ctx context.Context, by audit.By, t Transfer) (owner, former *Person, err error) {
	switch {
	case t.From == t.To:
		return nil, nil, apierr.Invalid("userId", "invalid_value", "userId must be the id of another member")
	case t.Role == RoleOwner:
		return nil, nil, apierr.Invalid("role", "invalid_value", "role must be admin, editor or viewer")
	}
	return s.deps.Ownership.TransferOwnership(ctx, by, t, s.deps.Now().UTC())
}
