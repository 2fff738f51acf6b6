// Package org holds organizations and the people in them: accounts, their memberships
// in organizations with a role each, invitations and an organization's settings.
// An organization is the tenant: everything else belongs to exactly one.
//
// It promises that an e-mail address has one written form, that a password is
// kept only as an argon2id hash and hashed by no more at a time than there are
// cores, that an organization always has an owner, and that only owners make,
// change or remove owners. Who may call an operation is package auth's to say,
// and who is signed in package session's.
package org

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/platform/timezone"
	"github.com/millrace/millrace/internal/tenant/displayname"
)

// Errors of stores.
var (
	ErrNotFound           = errors.New("organization not found")
	ErrUserNotFound       = errors.New("user not found")
	ErrMemberNotFound     = errors.New("member not found")
	ErrInvitationNotFound = errors.New("invitation not found")
	ErrEmailTaken         = errors.New("a user with this e-mail address already exists")
	ErrMemberExists       = errors.New("the user is already a member of the organization")
	ErrSlugTaken          = errors.New("another organization has this slug")
	ErrLastOwner          = errors.New("an organization must have at least one owner")
	ErrTooManyInvitations = errors.New("the organization has reached its limit of open invitations")
	// ErrNotDeleted says that there is nothing to restore.
	ErrNotDeleted         = errors.New("the organization is not deleted")
	ErrTooManyMemberships = errors.New("the user has reached the limit of organizations")
)

// Limits of organizations and users.
const (
	MaxNameLen     = 100  // code points
	MaxEmailLen    = 254  // bytes
	MaxLogoURLLen  = 2048 // bytes
	MaxInvitations = 100  // open ones of an organization
	MaxMemberships = 100  // organizations that one user belongs to
)

// ReservedID is the organization that the installation keeps for itself: its probe
// sends events there. Nobody belongs to it, it has no quota, and lists of
// organizations leave it out.
const ReservedID = "org_0000000000000000000000PRBE"

// Organization is one tenant.
type Organization struct {
	ID   string // "org_" + ULID
	Name string
	// Slug is a short name for addresses, unlike every other organization's; empty
	// when it has none.
	Slug    string
	LogoURL string // https; may be empty
	// Timezone is the IANA time zone that new websites begin with.
	Timezone  string
	CreatedBy string // the user's id; empty for the operator's command
	Version   int64  // 1 at first, and one more with every change
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt time.Time // zero while it exists
}

// New makes an organization.
func New(name string, now time.Time) (*Organization, error) {
	name, err := displayname.Clean("name", name, MaxNameLen)
	if err != nil {
		return nil, err
	}
	return &Organization{ID: id.New("org"), Name: name, Timezone: "UTC", Version: 1, CreatedAt: now, UpdatedAt: now}, nil
}

// Settings are changes of an organization; nil keeps what there is.
type Settings struct {
	Name     *string
	Slug     *string // empty removes it
	LogoURL  *string // empty removes it
	Timezone *string
}

// slugForm is 2 to 40 characters of DNS.
var slugForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$`)

// Apply changes an organization, or returns a Validation error and leaves it as
// it is.
func (s Settings) Apply(o *Organization) error {
	changed := *o
	for _, step := range []struct {
		from *string
		to   *string
		read func(string) (string, error)
	}{
		{s.Name, &changed.Name, func(v string) (string, error) { return displayname.Clean("name", v, MaxNameLen) }},
		{s.Slug, &changed.Slug, readSlug},
		{s.LogoURL, &changed.LogoURL, readLogoURL},
		{s.Timezone, &changed.Timezone, readTimezone},
	} {
		if step.from == nil {
			continue
		}
		v, err := step.read(*step.from)
		if err != nil {
			return err
		}
		*step.to = v
	}
	*o = changed
	return nil
}

func readSlug(text string) (string, error) {
	if text != "" && !slugForm.MatchString(text) {
		return "", apierr.Invalid("slug", "invalid_value",
			"slug must have 2 to 40 lower-case letters, digits and hyphens, and must not begin or end with a hyphen")
	}
	return text, nil
}

// readLogoURL takes addresses that a page may show without warning.
func readLogoURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > MaxLogoURLLen ||
		strings.ContainsFunc(text, notInURL) {
		return "", apierr.Invalid("logoUrl", "invalid_value",
			"logoUrl must be an https:// URL of at most 2048 bytes")
	}
	return text, nil
}

func notInURL(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^`+"`{|}", r) }

func readTimezone(text string) (string, error) {
	if _, err := timezone.Load(text); err != nil || text == "" {
		return "", apierr.Invalid("defaults.timezone", "invalid_value",
			"defaults.timezone must be an IANA time zone such as Europe/Berlin")
	}
	return text, nil
}

// View returns the fields that can change, by their names on the wire, for the
// audit.
func (o *Organization) View() map[string]any {
	return map[string]any{"name": o.Name, "slug": o.Slug, "logoUrl": o.LogoURL, "defaults.timezone": o.Timezone}
}
