package link

import (
	"errors"
	"time"
)

// Served is what the short-link host has to know of a link. It does not change, and may be
// shared; its texts may share memory with each other.
type Served struct {
	ID             string
	OrganizationID string
	DomainID       string // empty on the host that all organizations share
	Version        int64
	SlugKey        string // what it is found by: KeyOn of its domain and slug
	URL            string
	ExpiredURL     string // empty: an expired link leads nowhere
	Enabled        bool
	StartsAt       time.Time // zero: from the beginning
	ExpiresAt      time.Time // zero: never
	MaxClicks      int64     // 0: without a bound; how many are used up only the store knows
	PasswordHash   string    // empty for none
	RedirectStatus int
	ForwardQuery   bool
	UTM            UTM
	Preview        Preview
	// Targets choose among several addresses; nil where all visitors are sent to URL.
	Targets *Targets
	// Secret stays with the link and is told nobody. What is signed for a visitor of the
	// link is signed by it.
	Secret []byte
}

// Served returns what the host has to know of the link.
func (l *Link) Served() *Served {
	s := &Served{
		ID: l.ID, OrganizationID: l.OrganizationID, DomainID: l.DomainID, Version: l.Version, SlugKey: l.Key(), URL: l.URL,
		ExpiredURL: l.ExpiredURL, Enabled: l.Enabled, StartsAt: l.StartsAt, ExpiresAt: l.ExpiresAt, MaxClicks: l.MaxClicks,
		PasswordHash:   l.PasswordHash,
		RedirectStatus: l.RedirectStatus, ForwardQuery: l.ForwardQuery, UTM: l.UTM, Preview: l.Preview, Secret: l.Secret,
	}
	if t := NewTargets(l); !t.Single() {
		s.Targets = t
	}
	return s
}

// Status returns what the link is at now, as Link.Status says it, but for what Served does
// not hold: whether it is deleted, blocked or exhausted.
func (s *Served) Status(now time.Time) Status {
	switch {
	case !s.Enabled:
		return Disabled
	case now.Before(s.StartsAt):
		return Scheduled
	case !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt):
		return Expired
	}
	return Active
}

// Change says what hosts may know wrongly: a link, by a name that it has or had; all links
// of an organization, and the Directory, where LinkID is empty; the Directory alone where
// OrganizationID is empty too.
type Change struct {
	OrganizationID string
	LinkID         string
	SlugKey        string
	// Version is the link's after the change: what is known of it, or of a later one, is
	// right.
	Version int64
}

// Cursor is how far the changes that a store has made were looked at.
type Cursor struct {
	Seq int64
	// Mark tells a store that was put back to an earlier state from what it was: it comes
	// to Seq again, by another change, which has another mark.
	Mark int64
}

// ErrChangesLost says that a store does not know what changed since a cursor: that is
// longer ago than it remembers, or the store was put back to an earlier state.
var ErrChangesLost = errors.New("the changes to links since that time are no longer known")
