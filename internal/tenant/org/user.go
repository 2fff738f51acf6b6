package org

import (
	"net/mail"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/tenant/displayname"
)

// User is a person who signs in.
type User struct {
	ID           string // "usr_" + ULID
	Email        string // in its normal form
	Name         string
	PasswordHash string // argon2id in PHC form
	CreatedAt    time.Time
	// PasswordChangedAt is when the password was set last.
	PasswordChangedAt time.Time
	// VerifiedAt is since when it is known that the user reads the mail of the address,
	// by a token that was mailed there or by the operator's word; zero while it is not.
	VerifiedAt time.Time
}

// Verified reports whether the address is known to be the user's own.
func (u *User) Verified() bool { return !u.VerifiedAt.IsZero() }

// NewUser makes a user from a hash that HashPassword or Passwords made. The address is
// not verified.
func NewUser(email, name, passwordHash string, now time.Time) (*User, error) {
	normal, err := NormalizeEmail(email)
	if err != nil {
		return nil, err
	}
	if name, err = displayname.Clean("name", name, MaxNameLen); err != nil {
		return nil, err
	}
	return &User{
		ID: id.New("usr"), Email: normal, Name: name, PasswordHash: passwordHash,
		CreatedAt: now, PasswordChangedAt: now,
	}, nil
}

// Member is a user's membership in an organization.
type Member struct {
	OrganizationID string
	UserID         string
	Role           Role
	CreatedAt      time.Time
}

// Person is a member with what others in the organization see of the user.
type Person struct {
	Member

	Email string
	Name  string
}

// Membership is a member with what the user sees of the organization.
type Membership struct {
	Member

	Organization string    // its name
	DeletedAt    time.Time // of the organization; zero while it exists
}

// mailDomains maps a domain to the one form in which it is compared.
var mailDomains = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true))

// NormalizeEmail returns the address in lower case, without surrounding space and
// with an international domain in its ASCII form; a text that is no address is a
// Validation error. The part before the @ is lowered too: no mail provider tells
// Ann from ann, and people type both. It is ASCII, since few mail servers take
// another and letters that look alike could pass for somebody else's address.
func NormalizeEmail(text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) <= MaxEmailLen {
		a, err := mail.ParseAddress(text)
		local, domain, _ := strings.Cut(text, "@")
		if err == nil && a.Address == text && isASCII(local) {
			domain, err = mailDomains.ToASCII(domain)
			normal := strings.ToLower(local) + "@" + domain
			if err == nil && len(normal) <= MaxEmailLen {
				return normal, nil
			}
		}
	}
	return "", apierr.Invalid("email", "invalid_email",
		"email must be an e-mail address of at most 254 bytes, such as ann@example.com")
}

func isASCII(s string) bool {
	for _, b := range []byte(s) {
		if b >= 0x80 {
			return false
		}
	}
	return true
}
