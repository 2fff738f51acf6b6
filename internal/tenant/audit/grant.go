package audit

import "net/netip"

// Grant is what a caller's right to a change rests on. It held when the request was
// looked at; the store asks for it again in the transaction of the change, so that who
// was removed, signed out or revoked meanwhile changes nothing.
type Grant struct {
	// OrganizationID is the organization of the change; empty for a change of a
	// person's own account.
	OrganizationID string
	// UserID and SessionID are those of a person, KeyID and KeyHash those of a key: the
	// hash is that of the secret that was sent, from Addr.
	UserID, SessionID string
	KeyID             string
	KeyHash           [32]byte
	Addr              netip.Addr
	// Judge says what becomes of the change with what the store finds now: nil, or the
	// error that the caller is told.
	Judge func(Standing) error
}

// Standing is what the store finds of a caller, in the transaction of a change.
type Standing struct {
	// Good says that the session is there still, or that the key accepts the secret.
	Good bool
	// Role is a person's in the organization; empty where they have no membership in it.
	Role string
	// Scopes are those of a key.
	Scopes []string
}
