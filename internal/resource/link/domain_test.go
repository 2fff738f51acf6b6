package link

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// brokenRule returns the rule that an error names first; empty for nil.
func brokenRule(err error) string {
	if f, ok := errors.AsType[*apierr.Error](err); ok && len(f.Details) > 0 {
		return f.Details[0].Rule
	}
	return ""
}

// longName is a hostname of n bytes.
func longName(n int) string {
	name := strings.Repeat(strings.Repeat("x", 49)+".", n/50)
	return name + strings.Repeat("y", n-len(name)-2) + ".z"
}

func TestAHostnameIsOneThatAnOrganizationCanOwn(t *testing.T) {
	t.Parallel()
	rules := Rules{PublicURL: "https://links.example:8443", OwnHosts: []string{"api.example.com", "in.example.com"}}
	for text, want := range map[string]string{
		"go.example.com": "go.example.com", "GO.Example.com.": "go.example.com", "bücher.example": "xn--bcher-kva.example",
		"a.b": "a.b", "xn--bcher-kva.example": "xn--bcher-kva.example", "1.example": "1.example",
		"go.links.example":                   "go.links.example",
		longName(243):                        longName(243),
		strings.Repeat("x", 63) + ".y":       strings.Repeat("x", 63) + ".y",
		longName(244):                        "!too_long",
		strings.Repeat("x", 64) + ".y":       "!too_long",
		"*.example.com":                      "!wildcard",
		"192.0.2.1":                          "!ip_address",
		"1.2":                                "!ip_address",
		"0x7f.1":                             "!ip_address",
		"go.0x1f":                            "!ip_address",
		"2001:db8::1":                        "!ip_address",
		"[2001:db8::1]":                      "!ip_address",
		"localhost":                          "!no_dot",
		"":                                   "!invalid_hostname",
		".":                                  "!invalid_hostname",
		"go..example.com":                    "!invalid_hostname",
		".example.com":                       "!invalid_hostname",
		"example.com..":                      "!invalid_hostname",
		"https://go.example.com":             "!invalid_hostname",
		"go.example.com/path":                "!invalid_hostname",
		"go.example.com:443":                 "!invalid_hostname",
		"go_1.example.com":                   "!invalid_hostname",
		"-go.example.com":                    "!invalid_hostname",
		"go example.com":                     "!invalid_hostname",
		"go.example.com\x00":                 "!invalid_hostname",
		"links.example":                      "!own_host",
		"API.example.com":                    "!own_host",
		"in.example.com.":                    "!own_host",
		"xn--a.example":                      "!invalid_hostname",
		"xn--.example.com":                   "!invalid_hostname",
		"a\u0378.example":                    "!invalid_hostname",
		"אa.example":                         "!invalid_hostname",
		"go。example.com":                     "go.example.com",
		strings.Repeat("é", 60) + ".example": "!too_long",
	} {
		got, err := rules.cleanHostname(text)
		if err != nil {
			got = "!" + brokenRule(err)
		}
		if got != want {
			t.Errorf("%.80q: %.80q (%v), want %.80q", text, got, err, want)
		}
		if f := apierr.Of(err); err != nil && f.Details[0].Field != "hostname" {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

func TestASlugOfAnOwnDomainIsAPathOfAFewParts(t *testing.T) {
	t.Parallel()
	for slug, want := range map[string]string{
		"a": "", "Sale-26": "", "a/b/c": "", "a.b_c~d-e": "", "grüße/日本語/٣": "", strings.Repeat("x", 190): "", "a/_b": "",
		"नमस्ते/ที่นี่": "", "..a": "", "...": "",
		"1/2/3/4/5/6/7/8": "", "admin": "", "robots": "", "robots.txt/a": "", "well-known": "", "healthy": "",
		"": "invalid_slug", strings.Repeat("x", 191): "invalid_slug", strings.Repeat("ü", 95) + "x": "invalid_slug",
		"1/2/3/4/5/6/7/8/9": "invalid_slug", "/a": "invalid_slug", "a/": "invalid_slug", "a//b": "invalid_slug",
		".": "invalid_slug", "..": "invalid_slug", "a/..": "invalid_slug", "./a": "invalid_slug", "_a": "invalid_slug",
		"a b": "invalid_slug", "a?b": "invalid_slug", "a#b": "invalid_slug", "a%20b": "invalid_slug", "a\\b": "invalid_slug",
		"a\x00": "invalid_slug", "a\xff": "invalid_slug", "a\u200db": "invalid_slug", "a:b": "invalid_slug",
		"☃": "invalid_slug",
		"ि": "invalid_slug", "a/\u0301": "invalid_slug", "a\u034fb": "invalid_slug", "a\ufe0f": "invalid_slug",
		"robots.txt": "reserved", "Favicon.ico": "reserved", ".well-known": "reserved",
		".well-known/acme-challenge/x": "reserved",
		".Well-Known/x":                "reserved", "health": "reserved",
	} {
		if got := brokenRule(CheckOwnSlug(slug)); got != want {
			t.Errorf("%.80q: %q, want %q", slug, got, want)
		}
	}
	if decomposed, composed := "gru\u0308n", "gr\u00fcn"; NormSlug(decomposed) != composed ||
		CheckOwnSlug(decomposed) == nil {
		t.Error("a slug is not normalized, or is taken as it is")
	}
}

func TestAShortAddressNamesTheHostOfItsLink(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]*Link{
		"https://Go.Example.com/Sale":         {Slug: "Sale"},
		"https://go.shop.example/a/b":         {DomainID: "dom_1", Hostname: "go.shop.example", Slug: "a/b"},
		"https://go.shop.example/gr%C3%BCn.1": {DomainID: "dom_1", Hostname: "go.shop.example", Slug: "grün.1"},
		"":                                    {DomainID: "dom_1", Slug: "gone"},
	} {
		if got := rules.ShortURL(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&Rules{}).ShortURL(&Link{Slug: "x"}); got != "" {
		t.Errorf("without a host: %q", got)
	}
}

func TestAKeyTellsTheLinksOfHostsApart(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]*Link{
		"sale": {Slug: "Sale"}, "dom_1/sale": {DomainID: "dom_1", Slug: "Sale"},
		"dom_2/Sale": {DomainID: "dom_2", CaseSensitive: true, Slug: "Sale"},
	} {
		if got, served := l.Key(), l.Served(); got != want || served.SlugKey != want || served.DomainID != l.DomainID {
			t.Errorf("%q, %+v, want %q", got, served, want)
		}
	}
}

// look is a look at DNS, and what a domain is after it.
type look struct {
	name                string
	daily               bool
	proof               Proof
	status              DomainStatus
	badDays             int
	version             int64
	problem, pointsHere bool
	verified, due       time.Duration // since the first; due -1 for never
}

var (
	good = Proof{Reached: true, PointsHere: true}
	bad  = Proof{Reached: true, Problem: "none"}
	away = Proof{Problem: "silence"}
)

func TestADomainIsProvedAndFailsAfterThreeBadDays(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	d := &Domain{Record: managed.Record{ID: "dom_1", Name: "go.example.com", Version: 1}, Status: DomainPending}
	at := now
	for i, step := range []look{
		{name: "not there", proof: bad, status: DomainPending, version: 2, problem: true, due: -1},
		{name: "the same again", proof: bad, status: DomainPending, version: 2, problem: true, due: -1},
		{name: "silence", proof: away, status: DomainPending, version: 3, problem: true, due: -1},
		{name: "there", proof: good, status: DomainVerified, version: 4, pointsHere: true, verified: 3 * day, due: 4 * day},
		{
			name: "daily, as it was", daily: true, proof: good, status: DomainVerified, version: 4, pointsHere: true,
			verified: 3 * day, due: 5 * day,
		},
		{
			name: "daily, bad", daily: true, proof: bad, status: DomainVerified, badDays: 1, version: 5, problem: true,
			verified: 3 * day, due: 6 * day,
		},
		{
			name: "bad by hand is no day", proof: bad, status: DomainVerified, badDays: 1, version: 5, problem: true,
			verified: 3 * day, due: 6 * day,
		},
		{
			name: "daily, bad again", daily: true, proof: bad, status: DomainVerified, badDays: 2, version: 5, problem: true,
			verified: 3 * day, due: 8 * day,
		},
		{
			name: "daily, good", daily: true, proof: good, status: DomainVerified, version: 6, pointsHere: true,
			verified: 3 * day, due: 9 * day,
		},
		{
			name: "daily, bad 1", daily: true, proof: bad, status: DomainVerified, badDays: 1, version: 7, problem: true,
			verified: 3 * day, due: 10 * day,
		},
		{
			name: "daily, bad 2", daily: true, proof: bad, status: DomainVerified, badDays: 2, version: 7, problem: true,
			verified: 3 * day, due: 11 * day,
		},
		{
			name: "daily, bad 3", daily: true, proof: bad, status: DomainFailing, badDays: 3, version: 8, problem: true,
			verified: 3 * day, due: 12 * day,
		},
		{
			name: "silence by hand", proof: away, status: DomainFailing, badDays: 3, version: 9, problem: true,
			verified: 3 * day, due: 12 * day,
		},
		{
			name: "there again", proof: good, status: DomainVerified, version: 10, pointsHere: true, verified: 13 * day,
			due: 14 * day,
		},
	} {
		before := *d
		if step.daily {
			d = d.lookedDaily(step.proof, at)
		} else {
			d = d.looked(step.proof, at)
		}
		got := look{
			name: step.name, daily: step.daily, proof: step.proof, status: d.Status, badDays: d.BadDays, version: d.Version,
			problem: d.Problem != "", pointsHere: d.PointsHere, due: -1,
		}
		if !d.VerifiedAt.IsZero() {
			got.verified = d.VerifiedAt.Sub(now)
		}
		if !d.DueAt.IsZero() {
			got.due = d.DueAt.Sub(now)
		}
		if got != step || !d.CheckedAt.Equal(at) {
			t.Errorf("%d, %s:\n got %+v\nwant %+v", i, step.name, got, step)
		}
		if before.Version == d.Version && len(Domains.Diff(&before, d)) > 0 {
			t.Errorf("%s: it changed within its version", step.name)
		}
		at = at.Add(day)
	}
	lost := d.Lost(at)
	if lost.Serves() || lost.Version != d.Version+1 || lost.Problem == "" || !lost.DueAt.IsZero() || lost.BadDays != 0 {
		t.Errorf("one that another organization proved: %+v", lost)
	}
}
