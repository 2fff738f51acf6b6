package org_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/org"
)

func TestSettingsHaveTheirRules(t *testing.T) {
	t.Parallel()
	name := func(v string) org.Settings { return org.Settings{Name: &v} }
	slug := func(v string) org.Settings { return org.Settings{Slug: &v} }
	logo := func(v string) org.Settings { return org.Settings{LogoURL: &v} }
	zone := func(v string) org.Settings { return org.Settings{Timezone: &v} }
	const https = "https://x.example/"
	for _, tc := range []struct {
		field string
		of    func(string) org.Settings
		value string
		ok    bool
	}{
		{"name", name, "Acme", true},
		{"name", name, strings.Repeat("ü", org.MaxNameLen), true},
		{"name", name, strings.Repeat("ü", org.MaxNameLen+1), false},
		{"name", name, "", false},
		{"name", name, "A\r\nX-Header: 1", false},
		{"slug", slug, "", true},
		{"slug", slug, "a1", true},
		{"slug", slug, "a", false},
		{"slug", slug, strings.Repeat("a", 40), true},
		{"slug", slug, strings.Repeat("a", 41), false},
		{"slug", slug, "-ab", false},
		{"slug", slug, "ab-", false},
		{"slug", slug, "Ab", false},
		{"slug", slug, "аb", false}, // a Cyrillic letter
		{"slug", slug, "ab\n", false},
		{"logoUrl", logo, "", true},
		{"logoUrl", logo, https + "logo.png?v=1#x", true},
		{"logoUrl", logo, "http://x.example/logo.png", false},
		{"logoUrl", logo, "javascript:alert(1)", false},
		{"logoUrl", logo, "https://u:p@x.example/", false},
		{"logoUrl", logo, "https:///x", false},
		{"logoUrl", logo, https + `"><script>`, false},
		{"logoUrl", logo, https + "a b", false},
		{"logoUrl", logo, https + strings.Repeat("a", org.MaxLogoURLLen-len(https)), true},
		{"logoUrl", logo, https + strings.Repeat("a", org.MaxLogoURLLen-len(https)+1), false},
		{"defaults.timezone", zone, "Europe/Berlin", true},
		{"defaults.timezone", zone, "UTC", true},
		{"defaults.timezone", zone, "", false},
		{"defaults.timezone", zone, "Local", false},
		{"defaults.timezone", zone, "Factory", false},
		{"defaults.timezone", zone, "right/Europe/Berlin", false},
		{"defaults.timezone", zone, "Mars/Olympus", false},
		{"defaults.timezone", zone, "../../etc/passwd", false},
	} {
		before, err := org.New("Before", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		o := *before
		err = tc.of(tc.value).Apply(&o)
		if (err == nil) != tc.ok {
			t.Errorf("%s %.50q: %v, want success %t", tc.field, tc.value, err, tc.ok)
		}
		if err == nil {
			continue
		}
		if f := apierr.Of(err); f.Code != apierr.Validation || f.Details[0].Field != tc.field {
			t.Errorf("%s %.50q: %+v", tc.field, tc.value, f)
		}
		if diff := cmp.Diff(before, &o); diff != "" {
			t.Errorf("%s %.50q changed the organization (-want +got):\n%s", tc.field, tc.value, diff)
		}
	}
}

func TestOnlyOwnersMakeChangeAndRemoveOwners(t *testing.T) {
	t.Parallel()
	roles := append([]org.Role{""}, org.Roles...)
	for _, actor := range org.Roles {
		for _, from := range roles {
			for _, to := range roles {
				err := org.MayChange(actor, from, to)
				want := actor == org.RoleOwner || from != org.RoleOwner && to != org.RoleOwner
				if (err == nil) != want || err != nil && !apierr.Is(err, apierr.Forbidden) {
					t.Errorf("MayChange(%s, %q, %q) = %v, want success %t", actor, from, to, err, want)
				}
			}
		}
	}
}
