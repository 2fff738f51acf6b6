// Package org holds organizations and the people in them. An organization is the
// tenant: everything else belongs to exactly one.
//
// It promises that an e-mail address has one written form and that a password is
// kept only as an argon2id hash. Sessions and invitations are not its business.
package org

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/id"
)

// Errors of stores.
var (
	ErrNotFound     = errors.New("organization not found")
	ErrUserNotFound = errors.New("user not found")
	ErrEmailTaken   = errors.New("a user with this e-mail address exists already")
	ErrMemberExists = errors.New("the user is a member of the organization already")
)

// Limits of organizations and users.
const (
	MaxNameLen  = 100 // code points
	MaxEmailLen = 254 // bytes
)

// Organization is one tenant.
type Organization struct {
	ID        string // "org_" + ULID
	Name      string
	CreatedAt time.Time
}

// New makes an organization.
func New(name string, now time.Time) (*Organization, error) {
	if err := checkName("an organization", name); err != nil {
		return nil, err
	}
	return &Organization{ID: id.New("org"), Name: name, CreatedAt: now}, nil
}

// Role is what a member may do in an organization.
type Role string

// The roles, most powerful first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleEditor Role = "editor"
	RoleViewer Role = "viewer"
)

// User is a person who signs in.
type User struct {
	ID           string // "usr_" + ULID
	Email        string // lower case
	Name         string
	PasswordHash string // argon2id in PHC form
	CreatedAt    time.Time
}

// NewUser makes a user; the password is kept as its hash only. It takes the tens
// of milliseconds of HashPassword.
func NewUser(email, name, password string, now time.Time) (*User, error) {
	normal, err := NormalizeEmail(email)
	if err != nil {
		return nil, err
	}
	if err := checkName("a user", name); err != nil {
		return nil, err
	}
	hash, err := HashPassword(password)
	if err != nil {
		return nil, err
	}
	return &User{ID: id.New("usr"), Email: normal, Name: name, PasswordHash: hash, CreatedAt: now}, nil
}

// Member is a user's place in an organization.
type Member struct {
	OrganizationID string
	UserID         string
	Role           Role
	CreatedAt      time.Time
}

// NormalizeEmail returns the address in lower case, without surrounding space.
// The part before the @ is lowered too: no mail provider tells Ann from ann, and
// people type both.
func NormalizeEmail(text string) (string, error) {
	text = strings.TrimSpace(text)
	a, err := mail.ParseAddress(text)
	if err != nil || a.Address != text || len(text) > MaxEmailLen {
		return "", fmt.Errorf("%q is not an e-mail address", text)
	}
	return strings.ToLower(text), nil
}

func checkName(whose, name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxNameLen {
		return fmt.Errorf("%s's name has 1 to %d characters, not %d", whose, MaxNameLen, n)
	}
	return nil
}
