// Package link holds short links, their folders and the domains of organizations' own, and
// the rules by which they are made, changed and deleted.
//
// It promises that a slug names one link of a host at a time, and on the host that all
// organizations share one organization for good; that a hostname is one organization's at a
// time, which has proved that it is theirs; that a destination is an address that a browser
// may be sent to, and none of ours; that of two changes made at once one fails;
// and that every change names who made it. It does not redirect: it says what a link is
// at a moment, and what it leads to. Who may manage links is for auth to say.
package link

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/tenant/managed"
)

// Errors of stores and of the service.
var (
	ErrNotFound       = errors.New("link not found")
	ErrFolderNotFound = errors.New("folder not found")
	// ErrSlugTaken says that the host has a link of this slug, or that it belongs to
	// another organization for good.
	ErrSlugTaken = errors.New("the slug is taken")
	// ErrExternalIDTaken says that another link of the organization has the external id.
	ErrExternalIDTaken = errors.New("another link has this external id")
	// ErrFolderNameTaken says that another folder of the organization has the name.
	ErrFolderNameTaken = errors.New("another folder has this name")
	// ErrNotDeleted says that there is nothing to restore.
	ErrNotDeleted = errors.New("link is not deleted")
	// ErrTooMany says that an organization has as many of something as it may have.
	ErrTooMany = managed.ErrTooMany
)

// TooMany returns a QuotaExceeded error that names the limit.
func TooMany(what string, limit int) error { return managed.TooMany(what, limit) }

// Limits of links.
const (
	MaxNameLen       = 255 // code points
	MaxExternalIDLen = 255 // code points
	MaxTags          = 10  // of a link
	MaxTagLen        = 50  // code points
	MaxUTMLen        = 255 // code points of each field
	MaxClicks        = 1_000_000_000
	MinPasswordLen   = 4    // code points
	MaxPasswordLen   = 128  // code points
	MaxURLBytes      = 2048 // of each address
	MaxFolderNameLen = 80   // code points
	MaxFolders       = 1000 // of an organization
	MaxOwnTags       = 1000 // different ones of an organization
	MaxBulk          = 100  // links of one call
)

// DefaultStatus is how a link redirects that does not say it: found, and asked for again
// each time.
const DefaultStatus = 302

// RestoreFor is how long a deleted link can be restored.
const RestoreFor = managed.RestoreFor

// Link is one short link; its id begins with "lnk_". Its name may be empty.
type Link struct {
	managed.Record

	// DomainID is of the organization's own host that the link is on; empty on the host that
	// all organizations share. Hostname and CaseSensitive are the domain's; both are empty
	// where it is no more.
	DomainID      string
	Hostname      string
	CaseSensitive bool
	// Slug is the link's path as it was chosen. There is one link of a Key.
	Slug string
	URL  string // where it leads
	// FolderID is empty for a link that is in no folder.
	FolderID   string
	Tags       []string
	ExternalID string // the caller's own id; empty for none
	Enabled    bool
	StartsAt   time.Time // zero: from the beginning
	ExpiresAt  time.Time // zero: never
	ExpiredURL string    // where it leads once it is expired or exhausted; empty: nowhere
	MaxClicks  int64     // 0: without a bound
	// PasswordHash is of the password that visitors are asked for, argon2id in PHC form;
	// empty for none.
	PasswordHash   string
	RedirectStatus int
	ForwardQuery   bool // the visitor's query is handed on
	UTM            UTM
	Rules          []Rule    // in the order in which they are looked at
	Variants       []Variant // none, or MinVariants and more
	Preview        Preview
	// Secret is what the link's variants are drawn by: secretLen random bytes that stay,
	// and are told nobody.
	Secret []byte
	// Uses is how many of MaxClicks are used up. It changes without a version, as Blocked
	// does: whether an operator has blocked the link, or a host that it leads to.
	Uses    int64
	Blocked bool
}

// secretLen is the length of a link's secret in bytes.
const secretLen = 16

// newSecret returns a random secret.
func newSecret() []byte {
	secret := make([]byte, secretLen)
	rand.Read(secret) // never fails: crypto/rand ends the program instead
	return secret
}

// UTM are the campaign parameters that a link adds to where it leads; empty ones are not
// added.
type UTM struct {
	Source   string `json:"source,omitempty"`
	Medium   string `json:"medium,omitempty"`
	Campaign string `json:"campaign,omitempty"`
	Term     string `json:"term,omitempty"`
	Content  string `json:"content,omitempty"`
}

// Status is what a link is at a moment.
type Status string

// The statuses, in the order in which they are looked for.
const (
	Deleted   Status = "deleted"
	Blocked   Status = "blocked" // by an operator
	Disabled  Status = "disabled"
	Scheduled Status = "scheduled" // not begun yet
	Expired   Status = "expired"
	Exhausted Status = "exhausted" // as many clicks as there may be
	Active    Status = "active"
)

// Status returns what the link is at now. The instant of expiry is already too late.
func (l *Link) Status(now time.Time) Status {
	switch {
	case l.Deleted():
		return Deleted
	case l.Blocked:
		return Blocked
	case !l.Enabled:
		return Disabled
	case now.Before(l.StartsAt):
		return Scheduled
	case !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt):
		return Expired
	case l.MaxClicks > 0 && l.Uses >= l.MaxClicks:
		return Exhausted
	}
	return Active
}

// Key is what the link is found by.
func (l *Link) Key() string { return KeyOn(l.DomainID, l.CaseSensitive, l.Slug) }

// Folder is a place for links; its id begins with "fld_". Deleting it leaves its links in
// no folder.
type Folder struct {
	managed.Record
}

// Filter selects links for a list.
type Filter struct {
	OrganizationID string // required
	// Domain is the hostname whose links are selected, and Shared selects those of the
	// shared host.
	Domain string
	Shared bool
	// DomainID is what the service finds Domain to be.
	DomainID string
	// FolderID selects a folder's links, and Unfiled those that are in none.
	FolderID string
	Unfiled  bool
	Tag      string // empty for all
	// Search selects by a part of the slug, name, address or external id, whatever its
	// case; empty for all.
	Search string
	// Status selects by status at Now; empty for all but those that are deleted.
	Status Status
	Now    time.Time
	// Newest lists the latest first; otherwise the order is that of creation.
	Newest bool
	After  string // only ids after this one in the list's order; empty for the first page
	Limit  int    // most links returned; 0 means 1000
}

// TagCount is a tag and how many links bear it.
type TagCount struct {
	Tag   string
	Links int64
}
