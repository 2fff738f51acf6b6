package audit_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/tenant/audit"
)

func TestDiffNamesTheFieldsThatChangedAndMasksSecrets(t *testing.T) {
	t.Parallel()
	before := map[string]any{"name": "a", "scopes": []string{"read:data"}, "secret": "old", "gone": 1}
	after := map[string]any{"name": "b", "scopes": []string{"read:data"}, "secret": "new", "fresh": "x"}
	want := map[string]audit.Change{
		"name": {From: "a", To: "b"}, "secret": {From: audit.Masked, To: audit.Masked},
		"gone": {From: 1}, "fresh": {To: "x"},
	}
	before["tags"], after["tags"] = []string(nil), []string{}
	if diff := cmp.Diff(want, audit.Diff(before, after, "secret")); diff != "" {
		t.Errorf("Diff() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]audit.Change{"secret": {To: audit.Masked}},
		audit.Diff(nil, map[string]any{"secret": "s"}, "secret")); diff != "" {
		t.Errorf("Diff() of a new record (-want +got):\n%s", diff)
	}
}

func TestAnEntryKeepsNoMoreThanItsShareOfAUserAgent(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{
		"curl/8", strings.Repeat("x", audit.MaxUserAgent+1), "x" + strings.Repeat("ü", audit.MaxUserAgent),
	} {
		e := audit.New(audit.By{UserAgent: agent}, "org_1", "website", "created", time.Now()).Of("web_1", "Shop")
		got := e.By.UserAgent
		if len(got) > audit.MaxUserAgent || !strings.HasPrefix(agent, got) || !utf8.ValidString(got) ||
			len(agent) <= audit.MaxUserAgent && got != agent {
			t.Errorf("%d bytes became %d: %q", len(agent), len(got), got)
		}
		if e.Action != "website.created" || !id.Valid("aud", e.ID) || e.ResourceID != "web_1" {
			t.Errorf("entry %+v", e)
		}
	}
}
