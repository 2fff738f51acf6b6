package org

import (
	"time"

	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/tenant/token"
)

// InvitationLife is how long an invitation is good for.
const InvitationLife = 7 * 24 * time.Hour

// Invitation offers a membership in an organization to whoever has an address. It is
// accepted with its token by a user of that address, once.
type Invitation struct {
	ID             string // "ivt_" + ULID
	OrganizationID string
	Email          string // in its normal form
	Role           Role
	TokenHash      token.Hash
	InvitedBy      string // the user's id; empty for the operator's command
	// Mailed says that the token was mailed and shown to nobody else: who has it reads
	// the mail of the address.
	Mailed    bool
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewInvitation makes an invitation and its token.
func NewInvitation(
	organizationID, email string, role Role, invitedBy string, now time.Time,
) (*Invitation, string, error) {
	normal, err := NormalizeEmail(email)
	if err != nil {
		return nil, "", err
	}
	text, hash := token.New()
	return &Invitation{
		ID: id.New("ivt"), OrganizationID: organizationID, Email: normal, Role: role, TokenHash: hash,
		InvitedBy: invitedBy, CreatedAt: now, ExpiresAt: now.Add(InvitationLife),
	}, text, nil
}
