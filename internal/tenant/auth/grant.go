package auth

import (
	"errors"
	"net/netip"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// Grant returns what the right of p to a change by an operation of a class rests on,
// for the store to ask for again when the change is made. secret is what a key was shown
// by, from addr. Changes of class Public rest on nothing.
func Grant(p Principal, class Class, secret []byte, addr netip.Addr) *audit.Grant {
	row := class.Row()
	if row == nil || class == Public || p.Kind == KindAnonymous {
		return nil
	}
	g := &audit.Grant{UserID: p.UserID, SessionID: p.SessionID, Addr: addr, Judge: func(now audit.Standing) error {
		if p.Kind == KindKey {
			return p.keyStill(now)
		}
		return p.personStill(row, now)
	}}
	if row.Role != "" {
		g.OrganizationID = p.OrganizationID
	}
	if p.Kind == KindKey {
		g.KeyID, g.KeyHash = p.KeyID, apikey.HashOf(secret)
	}
	return g
}

var (
	errEnded   = errors.New("the credential became invalid during the request")
	errLowered = &apierr.Error{
		Code: apierr.Forbidden, Message: "Your permissions changed during the request; try again",
	}
)

// personStill judges a person. One whose role has been lowered may ask again: what the
// request was allowed rests on the role of its beginning.
func (p Principal) personStill(row *ClassRow, now audit.Standing) error {
	switch {
	case !now.Good:
		return apierr.Wrap(apierr.AuthRequired, errEnded)
	case row.Role == "":
		return nil
	case now.Role == "":
		return &apierr.Error{Code: apierr.NotFound, Message: "Organization not found", Err: org.ErrNotFound}
	case !AtLeast(org.Role(now.Role), p.Role):
		return errLowered
	}
	return nil
}

// keyStill judges a key likewise.
func (p Principal) keyStill(now audit.Standing) error {
	if !now.Good {
		return apierr.Wrap(apierr.AuthRequired, errEnded)
	}
	if p.Scopes&^knownScopes(now.Scopes) != 0 {
		return errLowered
	}
	return nil
}
