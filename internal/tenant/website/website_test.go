package website_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNewWebsiteBearsItsIDAsClientID(t *testing.T) {
	t.Parallel()
	w, err := website.New("org_1", "Shop", "https://WWW.Example.com/", now)
	if err != nil {
		t.Fatal(err)
	}
	if !id.Valid("web", w.ID) || w.ClientID != w.ID || w.Domain != "example.com" || w.AnonymizeVisitorIDs != "true" {
		t.Errorf("New() = %+v", w)
	}
}

func TestNewWebsiteHasItsLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		org, name, domain string
		want              bool
	}{
		{"org_1", "n", "example.com", true},
		{"org_1", strings.Repeat("ü", website.MaxNameLen), "example.com", true},
		{"org_1", strings.Repeat("ü", website.MaxNameLen+1), "example.com", false},
		{"org_1", "", "example.com", false},
		{"", "n", "example.com", false},
		{"org_1", "n", "", false},
	} {
		if _, err := website.New(tc.org, tc.name, tc.domain, now); (err == nil) != tc.want {
			t.Errorf("New(%q, %q, %q): error %v, want success %t", tc.org, tc.name, tc.domain, err, tc.want)
		}
	}
}

func TestDomainHasOneForm(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("a", 63)
	longest := strings.Join([]string{label, label, label, strings.Repeat("b", 61)}, ".") // 253 bytes
	for text, want := range map[string]string{
		"example.com":      "example.com",
		" Example.COM ":    "example.com",
		"www.example.com":  "example.com",
		"www2.example.com": "www2.example.com",
		"shop.example.com": "shop.example.com",
		"https://user:pw@www.example.com:8443/a?b#": "example.com",
		"example.com.":           "example.com",
		"localhost":              "localhost",
		"localhost:3000":         "localhost",
		"http://localhost:3000/": "localhost",
		"bücher.example":         "xn--bcher-kva.example",
		"BÜCHER.example":         "xn--bcher-kva.example",
		"xn--bcher-kva.example":  "xn--bcher-kva.example",
		"127.0.0.1":              "127.0.0.1",
		"127.0.0.1:8080":         "127.0.0.1",
		"[2001:DB8::1]:443":      "2001:db8::1",
		"2001:db8::1":            "2001:db8::1",
		longest:                  longest,
		"b" + longest:            "",
		label + "a.com":          "",
		"":                       "",
		"https://":               "",
		"exa mple.com":           "",
		"a_b.com":                "",
		"-a.com":                 "",
		"a..com":                 "",
		"www.":                   "www",
		"www.com":                "www.com",
		"www.co.uk":              "www.co.uk",
		"www.shop.co.uk":         "shop.co.uk",
		"www.github.io":          "www.github.io",
		"www.shop.github.io":     "shop.github.io",
		"www.city.kawasaki.jp":   "city.kawasaki.jp",
		"www.other.kawasaki.jp":  "www.other.kawasaki.jp",
		"www.ck":                 "www.ck",
		"www.www.example.com":    "example.com",
		"example.com:port":       "",
		"fe80::1%eth0":           "",
		"xn--a.example":          "",
		"xn--.example":           "",
		"a\u0378.example":        "",
		"אa.example":             "",
	} {
		got, err := website.NormalizeDomain(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("NormalizeDomain(%q) = %q, %v, want %q", text, got, err, want)
		}
		if again, err := website.NormalizeDomain(got); want != "" && (again != want || err != nil) {
			t.Errorf("NormalizeDomain(%q) = %q, %v: the normal form is not stable", got, again, err)
		}
	}
}

func TestClientIDIsAcceptedUntilTheGraceOfARotationEnds(t *testing.T) {
	t.Parallel()
	w := &website.Website{Record: managed.Record{ID: "id"}, ClientID: "new", OldClientID: "old", OldClientIDUntil: now}
	bare := &website.Website{Record: managed.Record{ID: "id"}, ClientID: "id"}
	for _, tc := range []struct {
		w               *website.Website
		ref             string
		at              time.Time
		public, private bool
	}{
		{w, "new", now, true, true},
		{w, "old", now.Add(-1), true, true},
		{w, "old", now, false, false},
		{w, "id", now, false, true},
		{w, "other", now, false, false},
		{bare, "id", now, true, true},
		{bare, "", now, false, false},
	} {
		if got := tc.w.AcceptsClientID(tc.ref, tc.at); got != tc.public {
			t.Errorf("AcceptsClientID(%q) at %s = %t, want %t", tc.ref, tc.at, got, tc.public)
		}
		if got := tc.w.Accepts(tc.ref, tc.at); got != tc.private {
			t.Errorf("Accepts(%q) at %s = %t, want %t", tc.ref, tc.at, got, tc.private)
		}
	}
}

func TestSignalsCountForWebsitesThatHonorThem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ honorGPC, honorDNT, gpc, dnt, want bool }{
		{false, false, true, true, false},
		{true, false, true, false, true},
		{true, false, false, true, false},
		{false, true, true, false, false},
		{false, true, false, true, true},
		{true, true, false, false, false},
		{true, true, true, true, true},
	} {
		w := &website.Website{
			Settings: website.Settings{HonorGlobalPrivacyControl: tc.honorGPC, HonorDoNotTrack: tc.honorDNT},
		}
		if got := w.Declines(website.Signals{GlobalPrivacyControl: tc.gpc, DoNotTrack: tc.dnt}); got != tc.want {
			t.Errorf("%+v: Declines() = %t", tc, got)
		}
	}
}

func TestImplausibleRefsAreTold(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]bool{
		"web_01J9ZC5Q3V8M4T2K7R6N0PBXYD":         true,
		"3f2b8c1e-0000-4000-8000-000000000000":   true,
		"!":                                      true,
		strings.Repeat("x", website.MaxRefLen):   true,
		strings.Repeat("x", website.MaxRefLen+1): false,
		"":                                       false,
		"a b":                                    false,
		"a\x00b":                                 false,
		"a\x7fb":                                 false,
		"webé":                                   false,
		"web_01J9ZC5Q3V8M4T2K7R6N0PBXYD\n":       false,
		"\xff":                                   false,
		"' OR 1=1 --":                            false,
		strings.Repeat("x", website.MaxRefLen) + " ": false,
	} {
		if got := website.PlausibleRef(ref); got != want {
			t.Errorf("PlausibleRef(%q) = %t, want %t", ref, got, want)
		}
	}
}
