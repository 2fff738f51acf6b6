package auth

import (
	"context"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/org"
)

// Sessions recognises the tokens of session cookies.
type Sessions interface {
	// SignedIn returns the session that a token opens, its user and the user's
	// memberships in organizations, oldest first. A token that opens none, or none any
	// more, is an AuthRequired error; a store that cannot be asked a
	// ServiceUnavailable one.
	SignedIn(ctx context.Context, token string) (sessionID string, user *org.User, memberships []org.Member, err error)
}

// Enter returns the principal of a signed-in person in one of their
// organizations: the named one, or the only one when organizationID is empty. An
// organization in which the person has no membership is org.ErrNotFound. Someone
// without any membership is in none, and so is who has several and names none: see
// Unnamed.
func Enter(sessionID string, user *org.User, memberships []org.Member, organizationID string) (Principal, error) {
	p := Principal{Kind: KindSession, UserID: user.ID, SessionID: sessionID, Name: user.Email}
	for _, m := range memberships {
		if len(memberships) == 1 && organizationID == "" || m.OrganizationID == organizationID {
			p.OrganizationID, p.Role, p.Scopes = m.OrganizationID, m.Role, ScopesOf(m.Role)
			return p, nil
		}
	}
	if organizationID != "" {
		return Principal{}, org.ErrNotFound
	}
	return p, nil
}

// Unnamed is the Validation error for a person of several organizations who names
// none where one is acted in. It lists them with the person's roles: which of them
// is meant is nobody's to guess.
func Unnamed(memberships []org.Member) error {
	names := make([]string, len(memberships))
	for i, m := range memberships {
		names[i] = m.OrganizationID + " (" + string(m.Role) + ")"
	}
	return apierr.Invalid("organizationId", "required",
		"organizationId is required because you belong to several organizations: "+strings.Join(names, ", "))
}
