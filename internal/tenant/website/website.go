// Package website holds the sites and apps whose events are collected, and the
// rules by which they are made, changed and deleted.
//
// It promises that a domain has one written form and belongs to one website of an
// organization, that a client id is told apart from noise without a lookup, that
// of two changes made at once one fails, and that every change names who made
// it. It does not judge origins, addresses and paths of events: package ingest
// does, with the settings kept here. Who may manage websites is for auth to say.
package website

import (
	"errors"
	"time"

	"github.com/millrace/millrace/internal/tenant/managed"
)

// Errors of stores and of the service.
var (
	ErrNotFound      = errors.New("website not found")
	ErrClientIDTaken = errors.New("another website has this client id")
	// ErrDomainTaken says that another website of the organization has the domain.
	ErrDomainTaken = errors.New("another website of the organization has this domain")
	// ErrNotCovered says that the website is the organization's, and not the one to
	// which the caller is limited.
	ErrNotCovered = errors.New("the caller is limited to another website")
	// ErrNotDeleted says that there is nothing to restore.
	ErrNotDeleted = errors.New("website is not deleted")
)

// RestoreFor is how long a deleted website can be restored.
const RestoreFor = managed.RestoreFor

// Website is one source of events. Its ID, which begins with "web_", is private and
// stable; its ClientID is the public name that browsers carry. They are equal at creation,
// and the client id can be rotated apart from the id.
type Website struct {
	managed.Record

	ClientID string
	// OldClientID is the client id before the last rotation; it is accepted
	// until OldClientIDUntil. Empty when there is none.
	OldClientID      string
	OldClientIDUntil time.Time
	Domain           string // lower-case host name without "www."
	Timezone         string // IANA name, for whoever shows the website; a query names its own
	Public           bool   // its overview may be queried without a credential
	Settings
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

// Signals are what a browser says about being tracked.
type Signals struct {
	GlobalPrivacyControl bool // it sent Sec-GPC: 1
	DoNotTrack           bool // it sent DNT: 1
}

// Declines reports whether nothing is collected of a browser that sends the
// signals. It is asked about requests with a client id only: a key's are a
// server's, whose headers say nothing about a visitor.
func (w *Website) Declines(s Signals) bool {
	return s.GlobalPrivacyControl && w.HonorGlobalPrivacyControl || s.DoNotTrack && w.HonorDoNotTrack
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

// Filter selects websites for a list.
type Filter struct {
	OrganizationID string // required
	ID             string // only this website, for a caller limited to it; empty for all
	// Search selects by a part of the name or the domain, whatever its case; empty
	// for all.
	Search string
	// DeletedAfter, where not zero, selects the websites deleted after it instead of
	// those that exist.
	DeletedAfter time.Time
	// Newest lists the latest first; otherwise the order is that of creation.
	Newest bool
	After  string // only ids after this one in the list's order; empty for the first page
	Limit  int    // most websites returned; 0 means 1000
	// Brief leaves the Settings unread and zero: for whoever lists websites and not what
	// is set for them. One whose settings cannot be read is then listed like the others.
	Brief bool
}
