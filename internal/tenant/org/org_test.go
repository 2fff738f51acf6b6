package org_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/tenant/org"
)

func TestEmailAddressHasOneForm(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", 64) + "@" + strings.Repeat("b", 185) + ".com"
	for text, want := range map[string]string{
		"ann@example.com":                "ann@example.com",
		" Ann@Example.COM\n":             "ann@example.com",
		"a+b@localhost":                  "a+b@localhost",
		"Ann@B\u00dcCHER.example":        "ann@xn--bcher-kva.example",
		"ann@bu\u0308cher.example":       "ann@xn--bcher-kva.example", // ü in two characters
		"ann@xn--bcher-kva.example":      "ann@xn--bcher-kva.example",
		"ann@example.com\r\nBcc: b@c.de": "",
		"ann\u202e@example.com":          "",
		"\u0430nn@example.com":           "", // a Cyrillic a
		"\"a b\"@example.com":            "",
		"ann@[127.0.0.1]":                "",
		"ann@exam\u200bple.com":          "ann@example.com", // as a browser reads it
		"@example.com":                   "",
		longest:                          longest,
		"":                               "",
		"ann":                            "",
		"ann@":                           "",
		"Ann <a@example.com>":            "",
		"a@example.com, b@c.d":           "",
		"a b@example.com":                "",
		"b" + longest:                    "",
	} {
		got, err := org.NormalizeEmail(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("NormalizeEmail(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestOrganizationNameHasItsLimits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{0: false, 1: true, org.MaxNameLen: true, org.MaxNameLen + 1: false} {
		o, err := org.New(strings.Repeat("ü", n), time.Now())
		if (err == nil) != want {
			t.Errorf("%d characters: error %v, want success %t", n, err, want)
		}
		if want && !id.Valid("org", o.ID) {
			t.Errorf("id %q", o.ID)
		}
	}
}

func TestWhoIsNeededIsToldWhere(t *testing.T) {
	t.Parallel()
	membership := org.Membership{Organization: "Acme", Member: org.Member{OrganizationID: "org_1"}}
	for n, want := range map[int]string{
		1: "owner of Acme (org_1), and these have other members",
		5: strings.Repeat("Acme (org_1), ", 5) + "and these have other members",
		7: strings.Repeat("Acme (org_1), ", 5) + "2 more, and these have other members",
	} {
		f := apierr.Of(org.NeedsOwner(slices.Repeat([]org.Membership{membership}, n)))
		if f.Code != apierr.Conflict || !strings.Contains(f.Message, want) {
			t.Errorf("%d organizations: %s %q", n, f.Code, f.Message)
		}
	}
}

func TestNewUserKeepsTheHashOfItsPassword(t *testing.T) {
	t.Parallel()
	hash, err := org.HashPassword("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	u, err := org.NewUser("Ann@Example.com", "Ann", hash, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if u.Email != "ann@example.com" || !id.Valid("usr", u.ID) {
		t.Errorf("NewUser() = %+v", u)
	}
	if ok, err := org.VerifyPassword(u.PasswordHash, "correct horse"); !ok || err != nil {
		t.Errorf("VerifyPassword() = %t, %v", ok, err)
	}
	for _, bad := range []struct{ email, name string }{
		{"ann", "Ann"},
		{"ann@example.com", ""},
		{"ann@example.com", "Ann\nBcc: x"},
	} {
		if _, err := org.NewUser(bad.email, bad.name, hash, time.Now()); err == nil {
			t.Errorf("NewUser(%+v) succeeded", bad)
		}
	}
}
