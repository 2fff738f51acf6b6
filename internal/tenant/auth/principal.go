// Package auth turns credentials into a Principal and says what a Principal may
// do. It is the only package that decides about access; routes declare the scope
// that they need and ask.
package auth

import (
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Kind is how a caller proved who it is.
type Kind uint8

// The kinds of callers.
const (
	KindAnonymous Kind = iota // no credential: a client id, or nothing
	KindKey                   // an API key
	KindSession               // a signed-in person, by the session's cookie
)

// Principal is a caller after authentication. The zero value is anonymous and
// may do nothing.
type Principal struct {
	Kind           Kind
	OrganizationID string
	KeyID          string
	Key            *apikey.Key // of a key: its limits and settings, which are shared; nil for others
	UserID         string      // of a session
	SessionID      string      // of a session
	Role           org.Role    // of a session, in the organization
	// Name is how the audit calls the caller: a key's name, a person's address.
	Name   string
	Scopes ScopeSet
	// WebsiteID limits the principal to one website; empty means all websites of
	// the organization.
	WebsiteID string
}

// Global reports whether the principal reaches every website of its
// organization.
func (p Principal) Global() bool { return p.Kind != KindAnonymous && p.WebsiteID == "" }

// Limit returns a key's own limit over all routes; zero for none.
func (p Principal) Limit() ratelimit.Limit {
	if p.Key == nil || !p.Key.RateLimit.Enabled {
		return ratelimit.Limit{}
	}
	return ratelimit.Limit{Requests: p.Key.RateLimit.Limit, Window: p.Key.RateLimit.Window}
}

// Has reports whether the principal holds the scope.
func (p Principal) Has(s Scope) bool { return p.Scopes.Has(s) }
