package link

import (
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/displayname"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Fields are what a caller chooses about a link. Those that are nil have their default in
// a new link, and stay as they are in one that there is.
type Fields struct {
	URL            *string // required in a new link
	Domain         *string // a hostname of the organization's own; empty for the shared host
	Slug           *string // empty, or nil in a new link, for one that is made up
	Name           *string
	FolderID       *string // empty for none
	Tags           *[]string
	ExternalID     *string // empty for none
	Enabled        *bool
	StartsAt       *time.Time // zero for from the beginning
	ExpiresAt      *time.Time // zero for never
	ExpiredURL     *string    // empty for none
	MaxClicks      *int64     // 0 for no bound
	Password       *string    // empty for none
	RedirectStatus *int
	ForwardQuery   *bool
	UTM            *UTM
	Rules          *[]Rule    // empty for none; those without an id get one
	Variants       *[]Variant // likewise
	Preview        *Preview   // zero for none
}

// apply changes a link by the fields, but for its domain, which has to be looked for, the
// password, which has to be hashed, and a slug that is made up. Of what is wrong with them,
// all is in the Validation error that is returned.
func (f *Fields) apply(l *Link, rules *Rules) error {
	var bad apierr.Rejection
	managed.Apply(f.URL, func(v string) { rules.checkURL(&bad, "url", v); l.URL = v })
	l.setSlug(&bad, f)
	managed.Apply(f.Name, func(v string) { l.setName(&bad, v) })
	managed.Apply(f.FolderID, func(v string) { l.FolderID = v })
	managed.Apply(f.Tags, func(v []string) { l.Tags = displayname.Tags(&bad, v, MaxTags, MaxTagLen) })
	managed.Apply(f.ExternalID, func(v string) { l.setExternalID(&bad, v) })
	managed.Apply(f.Enabled, func(v bool) { l.Enabled = v })
	managed.Apply(f.StartsAt, func(v time.Time) { l.StartsAt = v.UTC().Truncate(time.Millisecond) })
	managed.Apply(f.ExpiresAt, func(v time.Time) { l.ExpiresAt = v.UTC().Truncate(time.Millisecond) })
	if !l.StartsAt.IsZero() && !l.ExpiresAt.IsZero() && !l.StartsAt.Before(l.ExpiresAt) {
		bad.Add("expiresAt", "order", "expiresAt must be later than startsAt")
	}
	managed.Apply(f.ExpiredURL, func(v string) {
		if v != "" {
			rules.checkURL(&bad, "expiredUrl", v)
		}
		l.ExpiredURL = v
	})
	managed.Apply(f.MaxClicks, func(v int64) { l.setMaxClicks(&bad, v) })
	managed.Apply(f.Password, func(v string) { checkPassword(&bad, v) })
	managed.Apply(f.RedirectStatus, func(v int) { l.setRedirectStatus(&bad, v) })
	managed.Apply(f.ForwardQuery, func(v bool) { l.ForwardQuery = v })
	managed.Apply(f.UTM, func(v UTM) { l.setUTM(&bad, v) })
	managed.Apply(f.Rules, func(v []Rule) { l.setRules(&bad, v, rules) })
	managed.Apply(f.Variants, func(v []Variant) { l.setVariants(&bad, v, rules) })
	managed.Apply(f.Preview, func(v Preview) { l.setPreview(&bad, v, rules) })
	return bad.Err()
}

// setSlug keeps a slug that was sent, and has a link's own fit the host that it is moved to.
func (l *Link) setSlug(bad *apierr.Rejection, f *Fields) {
	sent := f.Slug != nil && *f.Slug != ""
	if sent {
		l.Slug = *f.Slug
	}
	switch {
	case l.Slug == "" || !sent && f.Domain == nil:
	case l.DomainID == "":
		bad.Merge(CheckSlug(l.Slug))
	default:
		l.Slug = NormSlug(l.Slug)
		bad.Merge(CheckOwnSlug(l.Slug))
	}
}

func (l *Link) setName(bad *apierr.Rejection, name string) {
	if l.Name = ""; name == "" {
		return
	}
	var err error
	l.Name, err = displayname.Clean("name", name, MaxNameLen)
	bad.Merge(err)
}

func (l *Link) setExternalID(bad *apierr.Rejection, text string) {
	checkText(bad, "externalId", text, MaxExternalIDLen)
	l.ExternalID = text
}

func (l *Link) setMaxClicks(bad *apierr.Rejection, n int64) {
	if n < 0 || n > MaxClicks {
		bad.Add("maxClicks", "range", "maxClicks must be from 1 to %d, or null for no limit", MaxClicks)
	}
	l.MaxClicks = n
}

func (l *Link) setRedirectStatus(bad *apierr.Rejection, status int) {
	if !slices.Contains(redirectStatuses, status) {
		bad.Add("redirectStatus", "enum", "redirectStatus must be 301, 302, 307 or 308")
	}
	l.RedirectStatus = status
}

var redirectStatuses = []int{301, 302, 307, 308}

func (l *Link) setUTM(bad *apierr.Rejection, utm UTM) {
	for _, f := range []struct{ field, value string }{
		{"utm.source", utm.Source},
		{"utm.medium", utm.Medium},
		{"utm.campaign", utm.Campaign},
		{"utm.term", utm.Term},
		{"utm.content", utm.Content},
	} {
		checkText(bad, f.field, f.value, MaxUTMLen)
	}
	l.UTM = utm
}

// checkText adds what is wrong with a text that is the caller's own; it may be empty.
func checkText(bad *apierr.Rejection, field, text string, maxLen int) {
	if n := utf8.RuneCountInString(text); n > maxLen {
		bad.Add(field, "too_long", "%s has %d characters; at most %d are allowed", field, n, maxLen)
		return
	}
	for _, r := range text {
		if unicode.IsControl(r) || r == utf8.RuneError {
			bad.Add(field, "invalid_text", "%s must not contain control characters", field)
			return
		}
	}
}

func checkPassword(bad *apierr.Rejection, text string) {
	if text == "" {
		return
	}
	if n := utf8.RuneCountInString(text); n < MinPasswordLen || n > MaxPasswordLen || !utf8.ValidString(text) {
		bad.Add("password", "invalid_password", "password must have %d to %d characters", MinPasswordLen, MaxPasswordLen)
	}
}
