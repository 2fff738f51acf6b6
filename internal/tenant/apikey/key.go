// Package apikey holds API keys: their secret's format, what makes one valid,
// and the rules by which they are made, changed and ended.
//
// A secret is a prefix, an underscore, 42 random characters and a checksum of 6,
// so that scanners find leaked ones and a mistyped one is rejected without a
// lookup. Only its SHA-256 is kept: the random part carries 250 bits, which
// nobody guesses, so no slow hash is needed.
//
// The package promises that a revoked or deleted key never comes back, that of
// two changes made at once one fails, and that every change names who made it.
// It neither reads keys nor knows what a scope allows nor who may manage keys;
// those are jobs of store and auth.
package apikey

import (
	"errors"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/platform/cidr"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Errors of stores and of the service.
var (
	// ErrNotFound says that there is no such key, or no more.
	ErrNotFound = errors.New("API key not found")
	// ErrRevoked says that the key was revoked, which is final.
	ErrRevoked = errors.New("API key is revoked")
)

// Key is one API key; its id begins with "key_", and without an organization it is
// rejected. Deletion is final.
type Key struct {
	managed.Record

	// WebsiteID limits the key to one website; empty means every website of the
	// organization.
	WebsiteID string
	Start     string // the secret's prefix and first characters, for lists
	Hash      [HashLen]byte
	// OldHash is the secret's hash before the last rotation; it is accepted until
	// OldHashUntil. Zero when the old secret died at once.
	OldHash      [HashLen]byte
	OldHashUntil time.Time
	Scopes       []string // names of auth.Scopes
	RateLimit    RateLimit
	// IPAllow, where not empty, are the only addresses from which the key is
	// accepted, on every host.
	IPAllow []netip.Prefix
	// IdleExpiryDays is after how many days without use the key expires; 0 means
	// never.
	IdleExpiryDays int
	Tags           []string
	ExpiresAt      time.Time
	RevokedAt      time.Time
	RotatedAt      time.Time
	// LastUsedAt is exact to the minute and known a minute late.
	LastUsedAt time.Time
}

// RateLimit is a key's own limit, over all endpoints together. It comes on top of
// the endpoints' own limits and lifts none.
type RateLimit struct {
	Enabled bool
	Limit   int           // requests in a window
	Window  time.Duration // whole seconds
}

// Status is what became of a key.
type Status string

// The statuses.
const (
	Active  Status = "active"
	Revoked Status = "revoked"
	Expired Status = "expired" // at its date, or for want of use
)

// Status returns what the key is at now. A revoked key stays revoked when it
// expires too. It is from the moment that somebody hears of it: clocks of two
// machines differ, so its date says when it was, and not from when on it is.
func (k *Key) Status(now time.Time) Status {
	switch {
	case !k.RevokedAt.IsZero(), !k.DeletedAt.IsZero():
		return Revoked
	case reached(k.ExpiresAt, now), k.Idle(now):
		return Expired
	default:
		return Active
	}
}

// Active reports whether the key is neither ended nor expired at now. The
// instant of expiry is already too late.
func (k *Key) Active(now time.Time) bool { return k.Status(now) == Active }

// IdleSlack is how much longer than its days a key lives without use: the last
// one may be known that late. See Usage.
const IdleSlack = 5 * time.Minute

// Idle reports whether the key has expired for want of use.
func (k *Key) Idle(now time.Time) bool { return reached(k.IdleAt(), now) }

// IdleAt is when the key expires for want of use; zero means never.
func (k *Key) IdleAt() time.Time {
	if k.IdleExpiryDays == 0 {
		return time.Time{}
	}
	from := k.CreatedAt
	for _, t := range []time.Time{k.RotatedAt, k.LastUsedAt} {
		if t.After(from) {
			from = t
		}
	}
	return from.AddDate(0, 0, k.IdleExpiryDays).Add(IdleSlack)
}

func reached(end, now time.Time) bool { return !end.IsZero() && !now.Before(end) }

// Accepts reports whether the key is active at now and hash is its secret's, or
// its old secret's within the grace of a rotation. From where the secret came is
// for AllowsAddr to judge.
func (k *Key) Accepts(hash [HashLen]byte, now time.Time) bool {
	current := hash == k.Hash
	old := hash == k.OldHash && now.Before(k.OldHashUntil)
	return (current || old) && k.Active(now)
}

// AllowsAddr reports whether the key may be used from an address. Where the
// address is not known, the zero Addr, only a key without a list may be.
func (k *Key) AllowsAddr(addr netip.Addr) bool {
	return len(k.IPAllow) == 0 || cidr.Contains(k.IPAllow, addr)
}

// Filter selects keys for a list. Deleted ones are in none.
type Filter struct {
	OrganizationID string // required
	WebsiteID      string // only keys limited to this website; empty for all
	Tag            string // only keys with this tag; empty for all
	CreatedBy      string // only keys that the person with this id made; empty for all
	// Search selects by a part of the name, whatever its case, or by the start of
	// the secret; empty for all.
	Search string
	// Status selects by status at Now; empty for all.
	Status Status
	Now    time.Time
	// Newest lists the latest first; otherwise the order is that of creation.
	Newest bool
	After  string // only ids after this one in the list's order; empty for the first page
	Limit  int    // most keys returned; 0 means 1000
}
