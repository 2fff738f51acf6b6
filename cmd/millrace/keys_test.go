package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// shownKey is what --json prints of a key.
type shownKey struct {
	ID, Name, Secret, Status string
	Version                  int64
	Scopes, IPAllow, Tags    []string
	ExpiresAt, LastUsedAt    *time.Time
	IdleExpiryDays           *int
	RateLimit                struct {
		Enabled              bool
		Limit, WindowSeconds int
	}
}

// shown runs a command and reads the key that it prints.
func shown(t *testing.T, args ...string) (k shownKey) {
	t.Helper()
	out := mustMillrace(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &k); err != nil { //nolint:musttag // the names differ in case only
		t.Fatalf("%v prints %q: %v", args, out, err)
	}
	return k
}

func TestEverySettingOfAKeyIsAFlag(t *testing.T) {
	t.Parallel()
	url, db, _ := seeded(t)
	k := shown(t, "keys", "create", url, "--name", "ci", "--scope", "read:data", "--rate-limit", "500", "--rate-window",
		"30s", "--ip", "192.0.2.1", "--ip", "10.0.0.0/8", "--idle-days", "30", "--tag", "a", "--tag", "b", "--expires", "1h")
	if !apikey.WellFormed("mlr", []byte(k.Secret)) || !k.RateLimit.Enabled || k.RateLimit.Limit != 500 ||
		k.RateLimit.WindowSeconds != 30 ||
		*k.IdleExpiryDays != 30 || k.ExpiresAt == nil {
		t.Errorf("created %+v", k)
	}
	if diff := cmp.Diff([][]string{{"192.0.2.1", "10.0.0.0/8"}, {"a", "b"}}, [][]string{k.IPAllow, k.Tags}); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	changed := shown(t, "keys", "update", url, k.ID, "--name", "deploy", "--scope", "all")
	if changed.Name != "deploy" || len(changed.Scopes) != 11 || changed.Secret != "" || changed.Version != 2 ||
		*changed.IdleExpiryDays != 30 || len(changed.Tags) != 2 {
		t.Errorf("updated %+v", changed)
	}
	if changed = shown(t, "keys", "update", url, k.ID, "--rate-limit", "600"); changed.RateLimit.Limit != 600 ||
		changed.RateLimit.WindowSeconds != 30 {
		t.Errorf("with another limit: %+v", changed)
	}
	if _, _, err := millrace(t, "keys", "update", url, k.ID, "--rate-window", "1h"); err == nil ||
		!strings.Contains(err.Error(), "requires --rate-limit") {
		t.Errorf("a window alone: %v", err)
	}
	changed = shown(t, "keys", "update", url, k.ID, "--rate-limit", "0", "--ip", "", "--tag", "", "--idle-days",
		"0", "--expires", "never")
	if changed.RateLimit.Enabled || len(changed.IPAllow)+len(changed.Tags) != 0 || changed.IdleExpiryDays != nil ||
		changed.ExpiresAt != nil {
		t.Errorf("cleared %+v", changed)
	}
	var got shownKey
	//nolint:musttag // the names differ in case only
	if err := json.Unmarshal([]byte(mustMillrace(t, "keys", "get", url, k.ID)), &got); err != nil || got.Version != 4 {
		t.Errorf("get prints %+v, %v", got, err)
	}
	key, err := db.KeyByHash(t.Context(), apikey.HashOf([]byte(k.Secret)))
	if err != nil || key.ID != k.ID {
		t.Errorf("the secret is of %+v, %v", key, err)
	}
}

func TestAKeyIsRotatedRevokedAndDeletedByCommand(t *testing.T) {
	t.Parallel()
	url, db, _ := seeded(t)
	first := shown(t, "keys", "create", url, "--name", "ci", "--scope", "all")
	second := strings.TrimSpace(mustMillrace(t, "keys", "rotate", url, first.ID))
	third := shown(t, "keys", "rotate", url, first.ID, "--grace", "1h")
	for secret, want := range map[string]bool{first.Secret: false, second: true, third.Secret: true} {
		k, err := db.KeyByHash(t.Context(), apikey.HashOf([]byte(secret)))
		if got := err == nil && k.Accepts(apikey.HashOf([]byte(secret)), time.Now()); got != want {
			t.Errorf("a secret is accepted: %t, %v, want %t", got, err, want)
		}
	}
	if k := shown(t, "keys", "revoke", url, first.ID); k.Status != "revoked" {
		t.Errorf("revoked %+v", k)
	}
	for _, args := range [][]string{{"rotate"}, {"update", "--name", "x"}, {"revoke"}} {
		if _, _, err := millrace(t, append([]string{"keys", args[0], url, first.ID}, args[1:]...)...); err == nil ||
			!strings.Contains(err.Error(), "revoked") {
			t.Errorf("keys %v of a revoked key: %v", args, err)
		}
	}
	if out := mustMillrace(t, "keys", "list", url, "--status", "revoked", "--json"); strings.Count(out, "\n") != 1 ||
		!strings.Contains(out, first.ID) {
		t.Errorf("the list is %q", out)
	}
	mustMillrace(t, "keys", "delete", url, first.ID)
	if out := mustMillrace(t, "keys", "list", url, "--json"); out != "" {
		t.Errorf("after the deletion the list is %q", out)
	}
	if _, _, err := millrace(t, "keys", "delete", url, first.ID); err == nil ||
		!strings.Contains(err.Error(), apikey.ErrNotFound.Error()) {
		t.Errorf("deleting again: %v", err)
	}
}

func TestAListHasMoreKeysThanOnePage(t *testing.T) {
	t.Parallel()
	url, db, w := seeded(t)
	const keys = 1001
	for range keys {
		k, _, err := apikey.New("mlr",
			apikey.Spec{OrganizationID: w.OrganizationID, Name: "k", Scopes: []string{"read:data"}}, time.Now())
		if err == nil {
			err = db.CreateKey(t.Context(), audit.ByOperator("test"), k)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(mustMillrace(t, "keys", "list", url), "\n"); n != keys+1 {
		t.Errorf("%d lines, want %d and a heading", n, keys)
	}
}
