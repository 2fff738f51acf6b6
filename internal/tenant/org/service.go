package org

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/token"
)

// Store keeps organizations and their members.
type Store interface {
	OrganizationByID(ctx context.Context, id string) (*Organization, error)
	// UpdateOrganization applies a change to the organization as it is now and
	// keeps it with the next version. It is managed.ErrChanged when version is neither 0 nor
	// the organization's, or when somebody else is faster.
	UpdateOrganization(
		ctx context.Context, by audit.By, id string, version int64, now time.Time, change func(*Organization) error,
	) (*Organization, error)
	// ListPeople returns at most limit members in the order of their users' ids,
	// those after the given one.
	ListPeople(ctx context.Context, organizationID, after string, limit int) ([]Person, error)
	// SetRole changes a member's role where check, which is told the one before,
	// agrees. RemoveMember takes a membership away likewise, and returns the API keys that
	// the member made. Neither leaves an organization without an owner.
	SetRole(ctx context.Context, by audit.By, organizationID, userID string, role Role, now time.Time, check func(
		from Role,
	) error) (*Person, error)
	RemoveMember(ctx context.Context, by audit.By, d Departure, now time.Time, check func(from Role) error) (
		*MadeKeys, error,
	)
}

// Invitations keeps invitations.
type Invitations interface {
	// CreateInvitation keeps an invitation in the place of an earlier one of the
	// same address, where check, which is told the role that the earlier one offers,
	// agrees.
	CreateInvitation(ctx context.Context, by audit.By, i *Invitation, check func(earlier Role) error) error
	ListInvitations(ctx context.Context, organizationID, after string, limit int, now time.Time) ([]Invitation, error)
	RevokeInvitation(
		ctx context.Context, by audit.By, organizationID, id string, now time.Time, check func(role Role) error,
	) error
	// AcceptInvitation gives the user the membership that an invitation offers, and
	// uses it up. An invitation that is past or meant for another address, or whose
	// inviter could not issue it any more, is ErrInvitationNotFound.
	AcceptInvitation(ctx context.Context, by audit.By, hash token.Hash, userID string, now time.Time) (*Membership, error)
}

// Mailer sends mails. Send does not wait for the mail server; an error means that
// the mail will not be sent.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}

// Deps are what a service works with.
type Deps struct {
	Store       Store
	Invitations Invitations
	Ownership   Ownership
	Deletions   Deletions
	// AnyoneCreates lets everybody with an account make organizations; otherwise only
	// who owns one may make another.
	AnyoneCreates bool
	// Attempts counts the mails of invitations.
	Attempts attempt.Store
	// Mail is nil where no mail can be sent.
	Mail Mailer
	Now  func() time.Time // nil means time.Now
}

// Service is what members do to their organizations. It is safe for concurrent
// use.
type Service struct {
	deps Deps
	url  string
}

// NewService returns a service; publicURL is where people reach the query host.
func NewService(publicURL string, deps Deps) *Service {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Service{deps: deps, url: publicURL}
}

// Get returns an organization, or ErrNotFound.
func (s *Service) Get(ctx context.Context, id string) (*Organization, error) {
	return s.deps.Store.OrganizationByID(ctx, id)
}

// Update changes an organization's settings. It returns managed.ErrChanged when version is
// neither 0 nor the organization's, ErrSlugTaken, ErrNotFound or a Validation
// error.
func (s *Service) Update(
	ctx context.Context, by audit.By, id string, version int64, settings Settings,
) (*Organization, error) {
	return s.deps.Store.UpdateOrganization(ctx, by, id, version, s.deps.Now().UTC(), settings.Apply)
}

// People returns at most limit members of an organization, those after the given
// user id.
func (s *Service) People(ctx context.Context, organizationID, after string, limit int) ([]Person, error) {
	return s.deps.Store.ListPeople(ctx, organizationID, after, limit)
}

// SetRole gives a member another role. actor is the role of who does it. It
// returns ErrMemberNotFound, ErrLastOwner or a Forbidden error.
func (s *Service) SetRole(
	ctx context.Context, by audit.By, actor Role, organizationID, userID string, role Role,
) (*Person, error) {
	return s.deps.Store.SetRole(ctx, by, organizationID, userID, role, s.deps.Now().UTC(),
		func(from Role) error { return MayChange(actor, from, role) })
}

// Remove takes a member's membership away, with the errors of SetRole, and returns the API
// keys that the member made.
func (s *Service) Remove(ctx context.Context, by audit.By, actor Role, d Departure) (*MadeKeys, error) {
	return s.deps.Store.RemoveMember(ctx, by, d, s.deps.Now().UTC(),
		func(from Role) error { return MayChange(actor, from, "") })
}

// Leave gives up one's own membership: anybody may but the last owner, who is told
// ErrLastOwner. It returns the API keys that one made.
func (s *Service) Leave(ctx context.Context, by audit.By, d Departure) (*MadeKeys, error) {
	return s.deps.Store.RemoveMember(ctx, by, d, s.deps.Now().UTC(), func(Role) error { return nil })
}

// Invitations returns at most limit open invitations of an organization, those
// after the given id.
func (s *Service) Invitations(ctx context.Context, organizationID, after string, limit int) ([]Invitation, error) {
	return s.deps.Invitations.ListInvitations(ctx, organizationID, after, limit, s.deps.Now().UTC())
}

// Revoke withdraws an invitation. It returns ErrInvitationNotFound, or a
// Forbidden error where only an owner may.
func (s *Service) Revoke(ctx context.Context, by audit.By, actor Role, organizationID, id string) error {
	return s.deps.Invitations.RevokeInvitation(ctx, by, organizationID, id, s.deps.Now().UTC(),
		func(role Role) error { return MayChange(actor, "", role) })
}

// Accept gives a user the membership that an invitation for their address offers. It
// returns ErrInvitationNotFound for any other token, ErrMemberExists or
// ErrTooManyMemberships.
func (s *Service) Accept(ctx context.Context, by audit.By, text, userID string) (*Membership, error) {
	if !token.WellFormed(text) {
		return nil, ErrInvitationNotFound
	}
	return s.deps.Invitations.AcceptInvitation(ctx, by, token.HashOf(text), userID, s.deps.Now().UTC())
}
