package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/tenant/audit"
)

func TestTheAuditListsWhatWasChanged(t *testing.T) {
	t.Parallel()
	url, _, w := seeded(t)
	secret := strings.TrimSpace(mustMillrace(t, "keys", "create", url, "--name", "server", "--scope", "all"))
	var entries []jsonEntry
	for line := range strings.Lines(mustMillrace(t, "audit", url, "--json", "--type", "apikey",
		"--organization", w.OrganizationID)) {
		var e jsonEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		entries = append(entries, e)
	}
	if len(entries) != 1 {
		t.Fatalf("%d entries, want 1", len(entries))
	}
	e := entries[0]
	if diff := cmp.Diff([]string{"apikey.created", "server", string(audit.Operator)},
		[]string{e.Action, e.Resource.Name, string(e.Actor.Type)}); diff != "" {
		t.Errorf("the entry (-want +got):\n%s", diff)
	}
	for _, args := range [][]string{
		{"--action", "apikey.created"}, {"--resource", e.Resource.ID}, {"--since", "1h"}, {"--limit", "0"},
	} {
		list := mustMillrace(t, append([]string{"audit", url}, args...)...)
		if !strings.Contains(list, "apikey.created") || !strings.Contains(list, e.Resource.ID+" server") ||
			strings.Contains(list, secret) {
			t.Errorf("audit %v:\n%s", args, list)
		}
	}
	for _, args := range [][]string{{"--action", "apikey.revoked"}, {"--until", "1h"}, {"--organization", "org_x"}} {
		if list := mustMillrace(t, append([]string{"audit", url}, args...)...); strings.Count(list, "\n") != 1 {
			t.Errorf("audit %v:\n%s", args, list)
		}
	}
	if list := mustMillrace(t, "audit", url, "--limit", "1"); strings.Count(list, "\n") != 2 {
		t.Errorf("audit --limit 1:\n%s", list)
	}
	if _, _, err := millrace(t, "audit", url, "--until", "soon"); err == nil || !strings.Contains(err.Error(), "--until") {
		t.Errorf("audit --until soon: %v", err)
	}
}
