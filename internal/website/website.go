// Package website holds the sites and apps whose events are collected.
//
// It promises that a domain has one written form and that a client id is told
// apart from noise without a lookup. It does not judge origins or addresses:
// package ingest does, with the lists kept here.
package website

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/id"
)

// Errors of stores.
var (
	ErrNotFound      = errors.New("website not found")
	ErrClientIDTaken = errors.New("another website bears this client id")
)

// Limits of a website's settings.
const (
	MaxNameLen = 100 // code points
	MaxRefLen  = 128 // bytes of an id or a client id
)

// Website is one source of events. Its ID is private and stable; its ClientID is
// the public name that browsers carry. They are equal at creation, and the
// client id can be rotated apart from the id. Times are UTC.
type Website struct {
	ID             string // "web_" + ULID
	OrganizationID string // empty when the organization is gone: the website is not usable
	ClientID       string
	// OldClientID is the client id before the last rotation; it is accepted
	// until OldClientIDUntil. Empty when there is none.
	OldClientID      string
	OldClientIDUntil time.Time
	Name             string
	Domain           string // lower-case host name without "www."
	// AnonymizeVisitorIDs is the default for events that do not say: "true",
	// "false" or "auto". Empty means "true".
	AnonymizeVisitorIDs string
	// AllowedOrigins, where not empty, are the only hosts from which the client
	// id is accepted: exact names or "*.example.com".
	AllowedOrigins []string
	// AllowedIPs, where not empty, are the only addresses from which the client
	// id is accepted: addresses or CIDR ranges.
	AllowedIPs []string
	Public     bool // its overview may be queried without a credential
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// New makes a website of an organization, with the default settings and a client
// id equal to its id. The domain is brought into its normal form.
func New(organizationID, name, domain string, now time.Time) (*Website, error) {
	if organizationID == "" {
		return nil, errors.New("a website needs an organization")
	}
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxNameLen {
		return nil, fmt.Errorf("a website's name has 1 to %d characters, not %d", MaxNameLen, n)
	}
	normal, err := NormalizeDomain(domain)
	if err != nil {
		return nil, err
	}
	webID := id.New("web")
	return &Website{
		ID: webID, OrganizationID: organizationID, ClientID: webID,
		Name: name, Domain: normal, AnonymizeVisitorIDs: "true",
		CreatedAt: now, UpdatedAt: now,
	}, nil
}

// AcceptsClientID reports whether clientID names the website in public at now:
// it is the client id, or the one before within the grace of a rotation.
func (w *Website) AcceptsClientID(clientID string, now time.Time) bool {
	if clientID == "" {
		return false
	}
	return clientID == w.ClientID || (clientID == w.OldClientID && now.Before(w.OldClientIDUntil))
}

// Accepts reports whether ref names the website at now for a caller with a key
// or a session: by its id, or as AcceptsClientID says.
func (w *Website) Accepts(ref string, now time.Time) bool {
	return ref == w.ID || w.AcceptsClientID(ref, now)
}

// PlausibleRef reports whether ref can be an id or a client id at all: 1 to
// MaxRefLen printable ASCII characters without spaces. What is not is unknown
// without a lookup, so that no caller fills a cache with long nonsense.
func PlausibleRef(ref string) bool {
	if ref == "" || len(ref) > MaxRefLen {
		return false
	}
	for i := range len(ref) {
		if ref[i] <= ' ' || ref[i] > '~' {
			return false
		}
	}
	return true
}

// Filter selects websites for a list, ordered by id, which is the order of
// creation.
type Filter struct {
	OrganizationID string // required
	ID             string // only this website, for a caller limited to it; empty for all
	After          string // only ids after this one; empty for the first page
	Limit          int    // most websites returned; 0 means 1000
}
