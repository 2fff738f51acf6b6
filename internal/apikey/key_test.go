package apikey_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/id"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestKeyAcceptsItsSecretUntilItEnds(t *testing.T) {
	t.Parallel()
	current, old, other := apikey.HashOf([]byte("current")), apikey.HashOf([]byte("old")), apikey.HashOf([]byte("other"))
	ms := time.Millisecond
	for name, tc := range map[string]struct {
		key  apikey.Key
		hash [apikey.HashLen]byte
		want bool
	}{
		"plain":                           {apikey.Key{Hash: current}, current, true},
		"another secret":                  {apikey.Key{Hash: current}, other, false},
		"a moment before it expires":      {apikey.Key{Hash: current, ExpiresAt: now.Add(ms)}, current, true},
		"at the instant of expiry":        {apikey.Key{Hash: current, ExpiresAt: now}, current, false},
		"a moment before it is revoked":   {apikey.Key{Hash: current, RevokedAt: now.Add(ms)}, current, true},
		"at the instant of revocation":    {apikey.Key{Hash: current, RevokedAt: now}, current, false},
		"old secret within the grace":     {apikey.Key{Hash: current, OldHash: old, OldHashUntil: now.Add(ms)}, old, true},
		"old secret at the grace's end":   {apikey.Key{Hash: current, OldHash: old, OldHashUntil: now}, old, false},
		"old secret of a revoked key":     {apikey.Key{Hash: current, OldHash: old, OldHashUntil: now.Add(ms), RevokedAt: now}, old, false},
		"new secret within the grace":     {apikey.Key{Hash: current, OldHash: old, OldHashUntil: now.Add(ms)}, current, true},
		"zero hash and no old secret":     {apikey.Key{Hash: current}, [apikey.HashLen]byte{}, false},
		"old secret without an end of it": {apikey.Key{Hash: current, OldHash: old}, old, false},
	} {
		if got := tc.key.Accepts(tc.hash, now); got != tc.want {
			t.Errorf("%s: Accepts() = %t, want %t", name, got, tc.want)
		}
	}
}

func TestNewKeyHoldsTheHashAndStartOfItsSecret(t *testing.T) {
	t.Parallel()
	k, secret, err := apikey.New("mlr", apikey.Spec{OrganizationID: "org_1", Name: "ci", Scopes: []string{"read:data"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	if !id.Valid("key", k.ID) || k.Hash != apikey.HashOf([]byte(secret)) || k.Start != apikey.Start(secret) || !k.Accepts(k.Hash, now) {
		t.Errorf("New() = %+v", k)
	}
}

func TestNewKeyReportsEveryProblem(t *testing.T) {
	t.Parallel()
	ok := apikey.Spec{OrganizationID: "org_1", Name: strings.Repeat("é", apikey.MaxNameLen), Scopes: []string{"read:data"}, ExpiresAt: now.Add(1)}
	if _, _, err := apikey.New("mlr", ok, now); err != nil {
		t.Errorf("at the limits: %v", err)
	}
	_, secret, err := apikey.New("mlr", apikey.Spec{Name: strings.Repeat("é", apikey.MaxNameLen+1), ExpiresAt: now}, now)
	if err == nil || secret != "" {
		t.Fatalf("New() = %q, %v, want an error", secret, err)
	}
	var fields []string
	for _, d := range fault.Of(err).Details {
		fields = append(fields, d.Field)
	}
	if diff := cmp.Diff([]string{"organizationId", "name", "scopes", "expiresAt"}, fields); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
