package website

import (
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/platform/timezone"
	"github.com/millrace/millrace/internal/tenant/displayname"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Spec is what a caller chooses about a new website.
type Spec struct {
	OrganizationID string
	Name           string
	Domain         string
	Timezone       string // IANA name; empty means UTC
	Public         bool
	Settings       Settings
	CreatedBy      string
}

// New makes a website of an organization, with the default settings and a client
// id equal to its id. Errors are those of NewFrom.
func New(organizationID, name, domain string, now time.Time) (*Website, error) {
	return NewFrom(Spec{OrganizationID: organizationID, Name: name, Domain: domain}, now)
}

// NewFrom makes a website. The domain and the settings are brought into their
// normal form. Of what is wrong with spec, all is in the Validation error that is
// returned.
func NewFrom(spec Spec, now time.Time) (*Website, error) {
	w := &Website{
		Record: managed.New("web", spec.OrganizationID, spec.CreatedBy, now), Public: spec.Public, Settings: spec.Settings,
	}
	w.ClientID = w.ID
	var bad apierr.Rejection
	if spec.OrganizationID == "" {
		bad.Add("organizationId", "required", "organizationId is required")
	}
	w.setName(&bad, spec.Name)
	w.setDomain(&bad, spec.Domain)
	w.setTimezone(&bad, spec.Timezone)
	w.normalize(&bad)
	if err := bad.Err(); err != nil {
		return nil, err
	}
	return w, nil
}

// Patch is a change of a website; nil fields stay as they are.
type Patch struct {
	Name     *string
	Domain   *string
	Timezone *string // empty means UTC
	// Settings changes single settings in place of a copy of those there are.
	Settings func(*Settings)
}

// with returns the website as the patch makes it.
func (w *Website) with(p Patch, now time.Time) (*Website, error) {
	is := managed.Next(w, now)
	var bad apierr.Rejection
	managed.Apply(p.Name, func(v string) { is.setName(&bad, v) })
	managed.Apply(p.Domain, func(v string) { is.setDomain(&bad, v) })
	managed.Apply(p.Timezone, func(v string) { is.setTimezone(&bad, v) })
	if p.Settings != nil {
		p.Settings(&is.Settings)
		is.normalize(&bad)
	}
	return is, bad.Err()
}

func (w *Website) setName(bad *apierr.Rejection, name string) {
	var err error
	w.Name, err = displayname.Clean("name", name, MaxNameLen)
	bad.Merge(err)
}

func (w *Website) setDomain(bad *apierr.Rejection, domain string) {
	normal, err := NormalizeDomain(domain)
	if err != nil {
		bad.Add("domain", "domain", "domain must be a host name of at most %d characters, such as example.com", MaxDomainLen)
	}
	w.Domain = normal
}

func (w *Website) setTimezone(bad *apierr.Rejection, name string) {
	if name == "" {
		name = "UTC"
	}
	w.Timezone = name
	if _, err := timezone.Load(name); err != nil || len(name) > MaxTimezoneLen {
		bad.Add("timezone", "timezone", "timezone must be an IANA time zone such as Europe/Berlin")
	}
}

// rotated returns the website with a new client id. The old one is accepted for
// grace after now, and no longer when that is 0.
func (w *Website) rotated(grace time.Duration, now time.Time) (*Website, error) {
	if grace < 0 || grace > MaxGrace {
		var bad apierr.Rejection
		bad.Add("gracePeriodSeconds", "range", "gracePeriodSeconds must be from 0 to %d", MaxGrace/time.Second)
		return nil, bad.Err()
	}
	is := managed.Next(w, now)
	is.ClientID = id.New("web")
	is.OldClientID, is.OldClientIDUntil = "", time.Time{}
	if grace > 0 {
		is.OldClientID, is.OldClientIDUntil = w.ClientID, now.Add(grace)
	}
	return is, nil
}

// MaxGrace is the longest time for which an old client id is accepted after a
// rotation: sites are rebuilt and caches of pages run out within it.
const MaxGrace = 30 * 24 * time.Hour
