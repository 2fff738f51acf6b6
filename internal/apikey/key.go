// Package apikey holds API keys: their secret's format and what makes one valid.
//
// A secret is a prefix, an underscore, 42 random characters and a checksum of 6,
// so that scanners find leaked ones and a mistyped one is refused without a
// lookup. Only its SHA-256 is kept: the random part carries 250 bits, which
// nobody guesses, so no slow hash is needed. The package neither reads keys nor
// knows what a scope allows; those are jobs of store and auth.
package apikey

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/id"
)

// Errors of stores.
var (
	// ErrNotFound says that there is no such key.
	ErrNotFound = errors.New("API key not found")
	// ErrRevoked says that the key was revoked, which is final.
	ErrRevoked = errors.New("API key is revoked")
)

// Limits of a key's settings.
const (
	MaxNameLen = 100            // code points
	MaxGrace   = 24 * time.Hour // of the old secret after a rotation
)

// Key is one API key. Times are UTC; a zero time means never.
type Key struct {
	ID             string // "key_" + ULID
	OrganizationID string // empty when the organization is gone: the key is refused
	// WebsiteID limits the key to one website; empty means every website of the
	// organization.
	WebsiteID string
	Name      string // 1 to MaxNameLen code points
	Start     string // the secret's prefix and first characters, for lists
	Hash      [HashLen]byte
	// OldHash is the secret's hash before the last rotation; it is accepted until
	// OldHashUntil. Zero when the old secret died at once.
	OldHash      [HashLen]byte
	OldHashUntil time.Time
	Scopes       []string // names of auth.Scopes
	ExpiresAt    time.Time
	RevokedAt    time.Time
	RotatedAt    time.Time
	CreatedAt    time.Time
}

// Spec is what a caller chooses about a new key.
type Spec struct {
	OrganizationID string
	WebsiteID      string // empty for a global key
	Name           string
	Scopes         []string  // at least one
	ExpiresAt      time.Time // zero for a key that does not expire
}

// New makes a key and its secret. The secret is to be shown once and is kept
// nowhere. The caller has checked the scopes' names.
func New(prefix string, spec Spec, now time.Time) (key *Key, secret string, err error) {
	if err := spec.validate(now); err != nil {
		return nil, "", err
	}
	secret, err = Generate(prefix)
	if err != nil {
		return nil, "", err
	}
	return &Key{
		ID:             id.New("key"),
		OrganizationID: spec.OrganizationID,
		WebsiteID:      spec.WebsiteID,
		Name:           spec.Name,
		Start:          Start(secret),
		Hash:           HashOf([]byte(secret)),
		Scopes:         spec.Scopes,
		ExpiresAt:      spec.ExpiresAt,
		CreatedAt:      now,
	}, secret, nil
}

func (s Spec) validate(now time.Time) error {
	var errs []error
	if s.OrganizationID == "" {
		errs = append(errs, errors.New("a key needs an organization"))
	}
	if n := utf8.RuneCountInString(s.Name); n < 1 || n > MaxNameLen {
		errs = append(errs, fmt.Errorf("a key's name has 1 to %d characters, not %d", MaxNameLen, n))
	}
	if len(s.Scopes) == 0 {
		errs = append(errs, errors.New("a key needs at least one scope"))
	}
	if !s.ExpiresAt.IsZero() && !s.ExpiresAt.After(now) {
		errs = append(errs, errors.New("a key's expiry lies in the future"))
	}
	return errors.Join(errs...)
}

// Active reports whether the key is neither revoked nor expired at now. The
// instant of expiry is already too late.
func (k *Key) Active(now time.Time) bool {
	revoked := !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt)
	expired := !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
	return !revoked && !expired
}

// Accepts reports whether the key is active at now and hash is its secret's, or
// its old secret's within the grace of a rotation.
func (k *Key) Accepts(hash [HashLen]byte, now time.Time) bool {
	current := hash == k.Hash
	old := hash == k.OldHash && now.Before(k.OldHashUntil)
	return (current || old) && k.Active(now)
}

// Rotation replaces a key's secret.
type Rotation struct {
	Start string
	Hash  [HashLen]byte
	At    time.Time
	// OldUntil is how long the old secret is still accepted; at or before At it
	// dies at once.
	OldUntil time.Time
}

// NewRotation makes a new secret for a key. The old one is accepted for grace,
// 0 to MaxGrace, after now.
func NewRotation(prefix string, grace time.Duration, now time.Time) (r Rotation, secret string, err error) {
	if grace < 0 || grace > MaxGrace {
		return Rotation{}, "", fmt.Errorf("a rotation's grace is 0 to %s, not %s", MaxGrace, grace)
	}
	secret, err = Generate(prefix)
	if err != nil {
		return Rotation{}, "", err
	}
	return Rotation{
		Start: Start(secret), Hash: HashOf([]byte(secret)), At: now, OldUntil: now.Add(grace),
	}, secret, nil
}

// Filter selects keys for a list, ordered by id, which is the order of creation.
type Filter struct {
	OrganizationID string // required
	After          string // only ids after this one; empty for the first page
	Limit          int    // most keys returned; 0 means 1000
}
