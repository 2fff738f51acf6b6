package link

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

var (
	now   = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	rules = Rules{Schemes: []string{"https", "http"}, PublicURL: "https://Go.Example.com", MaxLinks: 10}
)

func TestASlugIsMadeOfWhatTheSharedHostTakes(t *testing.T) {
	t.Parallel()
	for slug, want := range map[string]string{
		"abc": "", "A-b_9": "", strings.Repeat("x", 50): "", "_ab": "",
		"ab": "invalid_slug", strings.Repeat("x", 51): "invalid_slug", "a/b": "invalid_slug", "a.b": "invalid_slug",
		"a b": "invalid_slug", "äbc": "invalid_slug", "ab\x00": "invalid_slug",
		"admin": "reserved", "ADMIN": "reserved", "well-known": "reserved", "admins": "",
	} {
		err := CheckSlug(slug)
		f, _ := errors.AsType[*apierr.Error](err)
		if want == "" && err != nil || want != "" && (f == nil || f.Details[0].Rule != want || f.Details[0].Field != "slug") {
			t.Errorf("%q: %v, want %q", slug, err, want)
		}
	}
}

func TestASlugThatIsMadeUpIsOneThatMayBeChosen(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		slug := newSlug()
		if CheckSlug(slug) != nil || len(slug) != 8 || strings.Trim(slug, slugLetters) != "" {
			t.Fatalf("%q", slug)
		}
		seen[slug] = true
	}
	if len(seen) < 999 {
		t.Errorf("%d different ones of 1000", len(seen))
	}
}

func TestADestinationIsWhereABrowserMayBeSent(t *testing.T) {
	t.Parallel()
	at := func(n int) string { return "https://x.example/" + strings.Repeat("p", n-len("https://x.example/")) }
	for text, want := range map[string]string{
		"https://example.com":                  "",
		"http://example.com:8080/a?b=c#d":      "",
		"HTTPS://example.com/":                 "",
		"https://bücher.example/ü":             "",
		"https://[2001:db8::1]/":               "",
		"https://go.example.com.evil.example/": "",
		at(MaxURLBytes):                        "",
		at(MaxURLBytes + 1):                    "too_long",
		"":                                     "required",
		"example.com":                          "scheme",
		"/relative":                            "scheme",
		"//example.com":                        "scheme",
		"ftp://example.com":                    "scheme",
		"javascript:alert(1)":                  "scheme",
		"https://":                             "invalid_url",
		"https:example.com":                    "invalid_url",
		"https:///path":                        "invalid_url",
		"https://exa mple.com":                 "invalid_url",
		"https://example.com\\@evil.example":   "invalid_url",
		"https://example.com/\r\nX: y":         "invalid_url",
		"https://example.com/\x00":             "invalid_url",
		"https://example.com/\u2028":           "invalid_url",
		"https://example.com/%zz":              "invalid_url",
		"https://example.com/\xff":             "invalid_url",
		"https://xn--a.example/":               "invalid_host",
		"https://xn--.evil.example/":           "invalid_host", // punycode of nothing
		"https://XN--A.ｅvil.example/":          "invalid_host",
		"https://a\u0378.evil.example/":        "invalid_host", // no character
		"https://a%CD%B8.evil.example/":        "invalid_host",
		"https://a\u200db.evil.example/":       "invalid_host",
		"https://אa.evil.example/":             "invalid_host", // both directions
		"https://evil..example/":               "invalid_host",
		"https://a_b.-c-.r3---sn.example./":    "",
		"https://xn--bcher-kva.example/":       "",
		"https://127.1/":                       "",
		"https://user@example.com":             "userinfo",
		"https://user:secret@example.com":      "userinfo",
		"https://go.example.com/abc":           "own_host",
		"http://GO.example.com.:8082/abc":      "own_host",
	} {
		var bad apierr.Rejection
		rules.checkURL(&bad, "url", text)
		f, _ := errors.AsType[*apierr.Error](bad.Err())
		if want == "" && f != nil || want != "" && (f == nil || f.Details[0].Rule != want || f.Details[0].Field != "url") {
			t.Errorf("%.60q: %v, want %q", text, f, want)
		}
	}
	apps := Rules{Schemes: []string{"https", "myapp", "mailto"}}
	for _, text := range []string{"myapp://open/x", "mailto:ann@example.com"} {
		var bad apierr.Rejection
		if apps.checkURL(&bad, "url", text); bad.Err() != nil {
			t.Errorf("%q: %v", text, bad.Err())
		}
	}
}

func TestTheStatusOfALinkIsTheFirstThatHolds(t *testing.T) {
	t.Parallel()
	all := Link{
		Record: managed.Record{DeletedAt: now}, StartsAt: now.Add(time.Second), ExpiresAt: now, MaxClicks: 1, Uses: 1,
		Blocked: true,
	}
	for _, want := range []struct {
		status Status
		mend   func(*Link)
	}{
		{Deleted, func(l *Link) { l.DeletedAt = time.Time{} }},
		{Blocked, func(l *Link) { l.Blocked = false }},
		{Disabled, func(l *Link) { l.Enabled = true }},
		{Scheduled, func(l *Link) { l.StartsAt = now }},
		{Expired, func(l *Link) { l.ExpiresAt = now.Add(1) }},
		{Exhausted, func(l *Link) { l.Uses = 0 }},
		{Active, func(*Link) {}},
	} {
		if got := all.Status(now); got != want.status {
			t.Errorf("status %s, want %s", got, want.status)
		}
		want.mend(&all)
	}
}

func TestEachFieldOfALinkHasItsRule(t *testing.T) {
	t.Parallel()
	tags := func(n int) *[]string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint("t", i)
		}
		return &list
	}
	for name, tc := range map[string]struct {
		fields Fields
		want   string // the field that is rejected; empty for none
	}{
		"everything": {Fields{
			URL: new("https://example.com"), Slug: new("abc"), Name: new("A"), Tags: tags(10), ExternalID: new("x"),
			Enabled:  new(false),
			StartsAt: new(now), ExpiresAt: new(now.Add(time.Millisecond)), ExpiredURL: new("https://example.com/gone"),
			MaxClicks: new(int64(MaxClicks)),
			Password:  new("1234"), RedirectStatus: new(301), ForwardQuery: new(false),
			UTM: &UTM{Source: strings.Repeat("ü", 255)},
		}, ""},
		"nothing": {Fields{}, ""},
		"emptied": {
			Fields{
				Slug: new(""), Name: new(""), Tags: tags(0), ExternalID: new(""), ExpiredURL: new(""), Password: new(""),
				UTM: &UTM{},
			},
			"",
		},
		"a longest name":              {Fields{Name: new(strings.Repeat("n", 255))}, ""},
		"a name too long":             {Fields{Name: new(strings.Repeat("n", 256))}, "name"},
		"eleven tags":                 {Fields{Tags: tags(11)}, "tags"},
		"a longest tag":               {Fields{Tags: &[]string{strings.Repeat("t", 50)}}, ""},
		"a tag too long":              {Fields{Tags: &[]string{"a", strings.Repeat("t", 51)}}, "tags[1]"},
		"an empty tag":                {Fields{Tags: &[]string{""}}, "tags[0]"},
		"a longest external id":       {Fields{ExternalID: new(strings.Repeat("e", 255))}, ""},
		"an external id too long":     {Fields{ExternalID: new(strings.Repeat("e", 256))}, "externalId"},
		"an external id of two lines": {Fields{ExternalID: new("a\nb")}, "externalId"},
		"an end at the beginning":     {Fields{StartsAt: new(now), ExpiresAt: new(now)}, "expiresAt"},
		"an expired address":          {Fields{ExpiredURL: new("ftp://x")}, "expiredUrl"},
		"too many clicks":             {Fields{MaxClicks: new(int64(MaxClicks + 1))}, "maxClicks"},
		"fewer than no clicks":        {Fields{MaxClicks: new(int64(-1))}, "maxClicks"},
		"a password too short":        {Fields{Password: new("123")}, "password"},
		"a longest password":          {Fields{Password: new(strings.Repeat("ü", 128))}, ""},
		"a password too long":         {Fields{Password: new(strings.Repeat("p", 129))}, "password"},
		"another status":              {Fields{RedirectStatus: new(303)}, "redirectStatus"},
		"a campaign too long":         {Fields{UTM: &UTM{Content: strings.Repeat("c", 256)}}, "utm.content"},
		"a campaign of two lines":     {Fields{UTM: &UTM{Term: "a\r"}}, "utm.term"},
		"a slug":                      {Fields{Slug: new("a")}, "slug"},
	} {
		err := tc.fields.apply(&Link{}, &rules)
		f, _ := errors.AsType[*apierr.Error](err)
		if tc.want == "" && err != nil ||
			tc.want != "" && (f == nil || len(f.Details) != 1 || f.Details[0].Field != tc.want) {
			t.Errorf("%s: %v, want a fault of %q", name, err, tc.want)
		}
	}
}

func TestAllThatIsWrongIsToldAtOnce(t *testing.T) {
	t.Parallel()
	bad := Fields{URL: new("x"), Slug: new("a"), MaxClicks: new(int64(-1))}
	f, _ := errors.AsType[*apierr.Error](bad.apply(&Link{}, &rules))
	if f == nil || len(f.Details) != 3 {
		t.Errorf("%v", f)
	}
}

// crowd is a store whose first slugs are all taken.
type crowd struct {
	Store
	FolderStore
	DomainStore

	taken int
	kept  []string
}

func (c *crowd) CreateLink(_ context.Context, _ audit.By, l *Link, _ Caps) error {
	c.kept = append(c.kept, l.Slug)
	if len(c.kept) <= c.taken {
		return ErrSlugTaken
	}
	return nil
}

func (*crowd) BlockedHosts(context.Context, []string) ([]string, error) { return nil, nil }

// ServingHosts knows none.
func (*crowd) ServingHosts(context.Context, []string) ([]string, error) { return nil, nil }

func TestAMadeUpSlugThatIsTakenIsDrawnAgain(t *testing.T) {
	t.Parallel()
	for taken, want := range map[int]error{0: nil, slugTries - 1: nil, slugTries: ErrSlugTaken} {
		c := &crowd{taken: taken}
		l, err := NewService(rules, Deps{Store: c, Folders: c, Domains: c}).Create(t.Context(), audit.By{}, "org_1",
			Fields{URL: new("https://example.com")})
		if !errors.Is(err, want) || (err == nil) != (l != nil) || len(c.kept) != min(taken+1, slugTries) {
			t.Errorf("with %d taken: %v, %v, tried %q", taken, l, err, c.kept)
		}
	}
	chosen := &crowd{taken: 1}
	if _, err := NewService(rules, Deps{Store: chosen, Folders: chosen, Domains: chosen}).Create(t.Context(),
		audit.By{}, "org_1", Fields{
			URL: new("https://example.com"), Slug: new("mine"),
		}); !errors.Is(err, ErrSlugTaken) || len(chosen.kept) != 1 {
		t.Errorf("a chosen one: %v, tried %q", err, chosen.kept)
	}
}
