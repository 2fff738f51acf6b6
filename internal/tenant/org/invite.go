package org

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// Allowances is the table of mails with an invitation: how many an address gets, and how
// many an organization and a person have sent. Within a day that is Burst and, of the day's
// Intervals, one each.
var Allowances = struct{ Recipient, Organization, Inviter attempt.Allowance }{
	Recipient:    attempt.Allowance{Burst: 3, Interval: 8 * time.Hour},
	Organization: attempt.Allowance{Burst: 100, Interval: 15 * time.Minute},
	Inviter:      attempt.Allowance{Burst: 50, Interval: 30 * time.Minute},
}

// Inviter is what an invitation needs to know of who makes it.
type Inviter struct {
	Role     Role
	Verified bool // whether their address is
}

var errUnverified = &apierr.Error{
	Code: apierr.Forbidden,
	Message: "Verify your e-mail address before you send invitations: account/sendVerification sends you a token for " +
		"account/verifyEmail",
}

// Invite offers a membership to whoever has an address, and mails the offer. Where no
// mail can be sent the token is returned, for the inviter to pass on; otherwise
// it is empty, so that accepting shows that the address is one's own. An earlier
// invitation of the address ends. It returns ErrMemberExists,
// ErrTooManyInvitations or an API error: Forbidden where the inviter might not revoke
// the earlier one or has no verified address for mails in their name, RateLimited
// where one of the Allowances is used up.
func (s *Service) Invite(
	ctx context.Context, by audit.By, inviter Inviter, organizationID, email string, role Role,
) (i *Invitation, text string, err error) {
	if err := MayChange(inviter.Role, "", role); err != nil {
		return nil, "", err
	}
	o, err := s.deps.Store.OrganizationByID(ctx, organizationID)
	if err != nil {
		return nil, "", err
	}
	i, text, err = NewInvitation(organizationID, email, role, by.Actor.ID, s.deps.Now().UTC())
	if err != nil {
		return nil, "", err
	}
	replaces := func(earlier Role) error { return MayChange(inviter.Role, "", earlier) }
	if s.deps.Mail == nil {
		if err := s.deps.Invitations.CreateInvitation(ctx, by, i, replaces); err != nil {
			return nil, "", err
		}
		return i, text, nil
	}
	if !inviter.Verified {
		return nil, "", errUnverified
	}
	i.Mailed = true
	charges := mailCharges(i)
	if err := attempt.Take(ctx, s.deps.Attempts, i.CreatedAt, charges...); err != nil {
		return nil, "", err
	}
	err = s.deps.Invitations.CreateInvitation(ctx, by, i, replaces)
	if err == nil {
		err = s.mail(ctx, o, i, by.Actor.Name, text)
	}
	if err != nil { // nothing was mailed
		return nil, "", errors.Join(err, s.deps.Attempts.Refund(ctx, charges...))
	}
	return i, "", nil
}

// mailCharges are what the mail of an invitation is charged to.
func mailCharges(i *Invitation) []attempt.Charge {
	charge := func(a attempt.Allowance, what, who, whose string) attempt.Charge {
		c := attempt.Of(a, "invitation "+what, who)
		c.Message = "As many invitations as may be at a time were mailed " + whose + "; try again later"
		return c
	}
	return []attempt.Charge{
		charge(Allowances.Recipient, "recipient", i.Email, "to this e-mail address"),
		charge(Allowances.Organization, "organization", i.OrganizationID, "for this organization"),
		charge(Allowances.Inviter, "inviter", i.InvitedBy, "in your name"),
	}
}

func (s *Service) mail(ctx context.Context, o *Organization, i *Invitation, inviter, text string) error {
	subject, body := invitationMail(s.url, o, i, inviter, text)
	if err := s.deps.Mail.Send(ctx, i.Email, subject, body); err != nil {
		// Inviting again replaces the invitation that nobody heard of.
		return apierr.Wrap(apierr.ServiceUnavailable, fmt.Errorf("mailing invitation %s: %w", i.ID, err))
	}
	return nil
}
