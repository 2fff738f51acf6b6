package apikey

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/cidr"
	"github.com/millrace/millrace/internal/platform/suggest"
	"github.com/millrace/millrace/internal/tenant/displayname"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Limits of a key's settings.
const (
	MaxNameLen        = 100            // code points
	MaxGrace          = 24 * time.Hour // of the old secret after a rotation
	MaxRateLimit      = 100_000        // requests in a window
	MaxRateWindow     = time.Hour
	MaxIPAllow        = 100 // addresses and ranges
	MaxIdleExpiryDays = 3650
	MaxTags           = 20
	MaxTagLen         = 50 // code points
	MaxLifetimeYears  = 100
)

// A rate limit that is enabled without figures has these (specification 2.1).
const (
	DefaultRateLimit  = 300
	DefaultRateWindow = time.Minute
)

// Spec is what a caller chooses about a key.
type Spec struct {
	OrganizationID string
	WebsiteID      string // empty for a global key
	Name           string
	Scopes         []string  // at least one
	ExpiresAt      time.Time // zero for a key that does not expire
	// RateLimit is the key's own limit; figures that are zero are the default.
	RateLimit      RateLimit
	IPAllow        []string // addresses and CIDR ranges; empty for everywhere
	IdleExpiryDays int      // 0 for never
	Tags           []string
	CreatedBy      string
}

// New makes a key and its secret. The secret is to be shown once and is kept
// nowhere. Of what is wrong with spec, all is in the Validation error that is
// returned. The caller has checked the scopes' names.
func New(prefix string, spec Spec, now time.Time) (key *Key, secret string, err error) {
	k := &Key{Record: managed.New("key", spec.OrganizationID, spec.CreatedBy, now), WebsiteID: spec.WebsiteID}
	var bad apierr.Rejection
	if spec.OrganizationID == "" {
		bad.Add("organizationId", "required", "organizationId is required")
	}
	k.setName(&bad, spec.Name)
	k.setScopes(&bad, spec.Scopes)
	k.setExpiry(&bad, spec.ExpiresAt, now)
	k.setRateLimit(&bad, spec.RateLimit)
	k.setIPAllow(&bad, spec.IPAllow)
	k.setIdleExpiry(&bad, spec.IdleExpiryDays)
	k.Tags = displayname.Tags(&bad, spec.Tags, MaxTags, MaxTagLen)
	if err := bad.Err(); err != nil {
		return nil, "", err
	}
	if secret, err = Generate(prefix); err != nil {
		return nil, "", err
	}
	k.Start, k.Hash = Start(secret), HashOf([]byte(secret))
	return k, secret, nil
}

// Patch is a change of a key's settings; nil fields stay as they are.
type Patch struct {
	Name           *string
	Scopes         *[]string
	ExpiresAt      *time.Time // zero for never
	RateLimit      *RateLimit // figures that are zero stay, or are the default
	IPAllow        *[]string
	IdleExpiryDays *int
	Tags           *[]string
}

// with returns the key as the patch makes it.
func (k *Key) with(p Patch, c Config, now time.Time) (*Key, error) {
	is := managed.Next(k, now)
	var bad apierr.Rejection
	managed.Apply(p.Name, func(v string) { is.setName(&bad, v) })
	managed.Apply(p.Scopes, func(v []string) { is.setScopes(&bad, v) })
	managed.Apply(p.ExpiresAt, func(v time.Time) { is.setExpiry(&bad, v, now) })
	managed.Apply(p.RateLimit, func(v RateLimit) {
		// What the key has goes before what the operator has chosen for keys without.
		v.Limit, v.Window = cmp.Or(v.Limit, k.RateLimit.Limit), cmp.Or(v.Window, k.RateLimit.Window)
		is.setRateLimit(&bad, c.withFigures(v))
	})
	managed.Apply(p.IPAllow, func(v []string) { is.setIPAllow(&bad, v) })
	managed.Apply(p.IdleExpiryDays, func(v int) { is.setIdleExpiry(&bad, v) })
	managed.Apply(p.Tags, func(v []string) { is.Tags = displayname.Tags(&bad, v, MaxTags, MaxTagLen) })
	return is, bad.Err()
}

func (k *Key) setName(bad *apierr.Rejection, name string) {
	var err error
	k.Name, err = displayname.Clean("name", name, MaxNameLen)
	bad.Merge(err)
}

func (k *Key) setScopes(bad *apierr.Rejection, scopes []string) {
	k.Scopes = nil
	for _, s := range scopes {
		if !slices.Contains(k.Scopes, s) {
			k.Scopes = append(k.Scopes, s)
		}
	}
	if len(scopes) == 0 {
		bad.Add("scopes", "required", "scopes must have at least one entry")
	}
}

func (k *Key) setExpiry(bad *apierr.Rejection, at, now time.Time) {
	k.ExpiresAt = at.Truncate(time.Millisecond)
	switch {
	case at.IsZero():
	case !at.After(now):
		bad.Add("expiresAt", "past", "expiresAt must be in the future")
	case at.After(now.AddDate(MaxLifetimeYears, 0, 0)):
		bad.Add("expiresAt", "too_late", "expiresAt must be within %d years; omit it for a key that never expires",
			MaxLifetimeYears)
	}
}

func (k *Key) setRateLimit(bad *apierr.Rejection, r RateLimit) {
	if r.Enabled || r.Limit != 0 || r.Window != 0 {
		r.Limit, r.Window = cmp.Or(r.Limit, DefaultRateLimit), cmp.Or(r.Window, DefaultRateWindow)
		if r.Limit < 1 || r.Limit > MaxRateLimit {
			bad.Add("rateLimit.limit", "range", "rateLimit.limit must be from 1 to %d", MaxRateLimit)
		}
		if r.Window < time.Second || r.Window > MaxRateWindow || r.Window%time.Second != 0 {
			bad.Add("rateLimit.windowSeconds", "range", "rateLimit.windowSeconds must be a whole number from 1 to %d",
				MaxRateWindow/time.Second)
		}
	}
	k.RateLimit = r
}

func (k *Key) setIPAllow(bad *apierr.Rejection, list []string) {
	if len(list) > MaxIPAllow {
		bad.Add("ipAllow", "too_many", "ipAllow has %d entries; at most %d are allowed", len(list), MaxIPAllow)
		return
	}
	prefixes, at, err := cidr.ParseList(list)
	if err != nil {
		bad.Add(fmt.Sprintf("ipAllow[%d]", at), "address",
			"ipAllow[%d] must be an IP address such as 203.0.113.7, or a range in CIDR notation", at)
	}
	k.IPAllow = prefixes
}

func (k *Key) setIdleExpiry(bad *apierr.Rejection, days int) {
	k.IdleExpiryDays = days
	if days < 0 || days > MaxIdleExpiryDays {
		bad.Add("idleExpiryDays", "range", "idleExpiryDays must be from 1 to %d, or null if the key "+
			"never expires from inactivity", MaxIdleExpiryDays)
	}
}

// CheckScopes returns the problems of scope names: one for each that is none of
// known.
func CheckScopes(names, known []string) []apierr.Detail {
	var problems []apierr.Detail
	for i, n := range names {
		if slices.Contains(known, n) {
			continue
		}
		d := apierr.Detail{
			Index: apierr.NoIndex, Field: fmt.Sprintf("scopes[%d]", i), Rule: "unknown",
			Message: fmt.Sprintf("Unknown scope: %.64s", n),
		}
		if s := suggest.Closest(n, known); s != "" {
			d.Suggestion = fmt.Sprintf("Did you mean '%s'?", s)
		}
		problems = append(problems, d)
	}
	return problems
}
