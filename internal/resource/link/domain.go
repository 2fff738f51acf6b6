package link

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Errors of domains.
var (
	ErrDomainNotFound = errors.New("domain not found")
	// ErrHostnameClaimed says that the organization has a domain of the hostname.
	ErrHostnameClaimed = errors.New("the organization already has this hostname")
	// ErrHostnameVerified says that the hostname is another organization's.
	ErrHostnameVerified = errors.New("another organization has verified this hostname")
	// ErrDomainInUse says that links are on a domain.
	ErrDomainInUse = errors.New("the domain has links")
	// ErrDomainGone says that a link's domain is no more.
	ErrDomainGone = errors.New("the link's domain no longer exists")
)

// DomainInUse returns a Conflict error that says how many links a domain has.
func DomainInUse(links int) error {
	return &apierr.Error{
		Code:    apierr.Conflict,
		Message: fmt.Sprintf("The domain has links (%d); delete them or move them to another host", links),
		Err:     ErrDomainInUse,
	}
}

// MaxDomains is how many domains an organization may have.
const MaxDomains = 100

// What proves a domain: a TXT record of the name RecordPrefix + value below recordLabel.
const (
	recordLabel  = "_millrace."
	RecordPrefix = "millrace-verification="
)

// DomainStatus is how far a domain has come.
type DomainStatus string

// The statuses. Verified and Failing serve: a hostname is one domain's at a time in them.
const (
	DomainPending  DomainStatus = "pending"  // it is not proved that it is theirs
	DomainVerified DomainStatus = "verified" // it was, and still is
	DomainFailing  DomainStatus = "failing"  // it was, but is no more
)

// Domain is a host of an organization's own for its short links; its id begins with "dom_",
// and its name is the hostname, in ASCII and lower case.
type Domain struct {
	managed.Record

	Status      DomainStatus
	Token       string // which the record has to say
	RootURL     string // where "/" leads; empty: nowhere
	NotFoundURL string // where unknown slugs lead; empty: nowhere
	ExpiredURL  string // where links lead that are over and say nothing themselves; empty: nowhere
	// CaseSensitive has slugs be matched by case. It does not change.
	CaseSensitive bool
	Problem       string // what was wrong when it was looked at last, for a person; empty: nothing
	PointsHere    bool   // visitors of the hostname reached the short-link host then
	BadDays       int    // daily looks, one after the other, that did not find the record
	CheckedAt     time.Time
	VerifiedAt    time.Time // when it became Verified last; zero: never
	DueAt         time.Time // when it is to be looked at again; zero while it does not serve
}

// Serves reports whether the hostname is this domain's.
func (d *Domain) Serves() bool { return d.Status == DomainVerified || d.Status == DomainFailing }

// RecordName is the name of the TXT record that proves the domain.
func (d *Domain) RecordName() string { return recordLabel + d.Name }

// RecordValue is the text of that record.
func (d *Domain) RecordValue() string { return RecordPrefix + d.Token }

// newToken returns a random token of 130 bits.
func newToken() string { return rand.Text() }

// Proof is what DNS says of a domain at a moment.
type Proof struct {
	Problem    string // why it does not prove the domain, for a person; empty: it does
	PointsHere bool
	Reached    bool // a resolver answered something
}

// When a domain that serves is looked at, and how often it may not be proved until it is
// failing.
const (
	checkEvery = 24 * time.Hour
	maxBadDays = 3
)

// looked returns what a domain is after a look at DNS at its owner's wish. It proves it, or
// changes nothing but what is told: bad days are those of the daily look.
func (d *Domain) looked(p Proof, now time.Time) *Domain {
	is := *d
	is.Problem, is.CheckedAt = p.Problem, now
	if p.Reached {
		is.PointsHere = p.PointsHere
	}
	if p.Problem == "" {
		is.prove(now)
	}
	return is.stepped(d, now)
}

// lookedDaily is looked by the daily look.
func (d *Domain) lookedDaily(p Proof, now time.Time) *Domain {
	is := *d
	is.Problem, is.CheckedAt, is.PointsHere, is.DueAt = p.Problem, now, p.PointsHere, now.Add(checkEvery)
	if p.Problem == "" {
		is.prove(now)
	} else if is.BadDays++; is.BadDays >= maxBadDays {
		is.Status = DomainFailing
	}
	return is.stepped(d, now)
}

func (d *Domain) prove(now time.Time) {
	if d.Status != DomainVerified {
		d.Status, d.VerifiedAt = DomainVerified, now
	}
	d.BadDays, d.DueAt = 0, now.Add(checkEvery)
}

// stepped returns the domain, one version later than it was if its fields are others.
func (d *Domain) stepped(was *Domain, now time.Time) *Domain {
	if len(Domains.Diff(was, d)) > 0 {
		d.Step(now)
	}
	return d
}

// Lost returns the domain after another organization proved that the hostname is its own.
func (d *Domain) Lost(now time.Time) *Domain {
	is := managed.Next(d, now)
	is.Status, is.BadDays, is.DueAt = DomainPending, 0, time.Time{}
	is.Problem = "Another organization has verified the hostname."
	return is
}
