package apikey_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
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
		"revoked by a clock that is fast": {apikey.Key{Hash: current, RevokedAt: now.Add(time.Hour)}, current, false},
		"at the instant of revocation":    {apikey.Key{Hash: current, RevokedAt: now}, current, false},
		"old secret within the grace":     {apikey.Key{Hash: current, OldHash: old, OldHashUntil: now.Add(ms)}, old, true},
		"old secret at the grace's end":   {apikey.Key{Hash: current, OldHash: old, OldHashUntil: now}, old, false},
		"old secret of a revoked key": {
			apikey.Key{Hash: current, OldHash: old, OldHashUntil: now.Add(ms), RevokedAt: now}, old, false,
		},
		"new secret within the grace": {
			apikey.Key{Hash: current, OldHash: old, OldHashUntil: now.Add(ms)}, current, true,
		},
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
	k, secret, err := apikey.New("mlr",
		apikey.Spec{OrganizationID: "org_1", Name: "ci", Scopes: []string{"read:data"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	if !id.Valid("key", k.ID) || k.Hash != apikey.HashOf([]byte(secret)) || k.Start != apikey.Start(secret) ||
		!k.Accepts(k.Hash, now) {
		t.Errorf("New() = %+v", k)
	}
}

func TestNewKeyReportsEveryProblem(t *testing.T) {
	t.Parallel()
	ok := apikey.Spec{
		OrganizationID: "org_1",
		Name:           strings.Repeat("é", apikey.MaxNameLen),
		Scopes:         []string{"read:data"},
		ExpiresAt:      now.Add(1),
	}
	if _, _, err := apikey.New("mlr", ok, now); err != nil {
		t.Errorf("at the limits: %v", err)
	}
	_, secret, err := apikey.New("mlr", apikey.Spec{Name: strings.Repeat("é", apikey.MaxNameLen+1), ExpiresAt: now}, now)
	if err == nil || secret != "" {
		t.Fatalf("New() = %q, %v, want an error", secret, err)
	}
	var fields []string
	for _, d := range apierr.Of(err).Details {
		fields = append(fields, d.Field)
	}
	if diff := cmp.Diff([]string{"organizationId", "name", "scopes", "expiresAt"}, fields); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestAKeyExpiresForWantOfUse(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for name, tc := range map[string]struct {
		key  apikey.Key
		want time.Time // the first instant of being expired; zero for never
	}{
		"without the setting": {apikey.Key{Record: managed.Record{CreatedAt: now}}, time.Time{}},
		"never used": {
			apikey.Key{Record: managed.Record{CreatedAt: now}, IdleExpiryDays: 1}, now.Add(day + apikey.IdleSlack),
		},
		"used": {
			apikey.Key{Record: managed.Record{CreatedAt: now}, LastUsedAt: now.Add(day), IdleExpiryDays: 1},
			now.Add(2*day + apikey.IdleSlack),
		},
		"rotated after the last use": {apikey.Key{
			Record: managed.Record{CreatedAt: now}, LastUsedAt: now.Add(day), RotatedAt: now.Add(2 * day), IdleExpiryDays: 2,
		}, now.Add(4*day + apikey.IdleSlack)},
	} {
		if got := tc.key.IdleAt(); !got.Equal(tc.want) {
			t.Errorf("%s: IdleAt() = %s, want %s", name, got, tc.want)
		}
		if tc.want.IsZero() {
			if !tc.key.Active(now.AddDate(100, 0, 0)) {
				t.Errorf("%s: it expired", name)
			}
			continue
		}
		if tc.key.Status(tc.want.Add(-1)) != apikey.Active || tc.key.Status(tc.want) != apikey.Expired {
			t.Errorf("%s: %s before and %s at the end", name, tc.key.Status(tc.want.Add(-1)), tc.key.Status(tc.want))
		}
	}
}

func TestAKeyIsAllowedFromItsList(t *testing.T) {
	t.Parallel()
	k := apikey.Key{IPAllow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	if !k.AllowsAddr(netip.MustParseAddr("::ffff:10.0.0.1")) || k.AllowsAddr(netip.MustParseAddr("11.0.0.1")) ||
		k.AllowsAddr(netip.Addr{}) {
		t.Errorf("the list is not what decides")
	}
	if open := (&apikey.Key{}); !open.AllowsAddr(netip.Addr{}) {
		t.Error("a key without a list is not accepted from everywhere")
	}
}

func TestTheChangeEventOfAKeyNamesEverySecretThatIsWrongNow(t *testing.T) {
	t.Parallel()
	hex := func(first byte) string { return fmt.Sprintf("%02x%062d", first, 0) }
	first, second, third := [32]byte{1}, [32]byte{2}, [32]byte{3}
	was := &apikey.Key{
		Record: managed.Record{ID: "key_1", OrganizationID: "org_1", Version: 1}, Hash: second, OldHash: first,
	}
	is := &apikey.Key{
		Record:  managed.Record{ID: "key_1", OrganizationID: "org_1", Version: 2, UpdatedAt: now, DeletedAt: now},
		Hash:    third,
		OldHash: second,
	}
	want := control.Change{
		Kind: control.Key, ID: "key_1", OrganizationID: "org_1", Version: 2, Refs: []string{hex(2), hex(1), hex(3)},
		Gone: true, At: now,
	}
	if diff := cmp.Diff(want, apikey.Noun.Event(was, is)); diff != "" {
		t.Errorf("Event() (-want +got):\n%s", diff)
	}
	if got := apikey.Noun.Event(nil, &apikey.Key{Hash: first}).Refs; len(got) != 1 || got[0] != hex(1) {
		t.Errorf("the change event of a new key names %v", got)
	}
}

func TestTheAuditOfAKeyHoldsNoSecret(t *testing.T) {
	t.Parallel()
	was := &apikey.Key{
		Record: managed.Record{ID: "key_1", OrganizationID: "org_1", Name: "ci", UpdatedAt: now}, Hash: [32]byte{1},
	}
	is := &apikey.Key{
		Record: managed.Record{ID: "key_1", OrganizationID: "org_1", Name: "ci", UpdatedAt: now},
		Hash:   [32]byte{2},
		Start:  "mlr_abcdef",
	}
	e := apikey.Noun.Entry(audit.By{Actor: audit.Actor{Type: audit.User, ID: "usr_1"}}, apikey.Rotated, was, is)
	want := map[string]audit.Change{
		"secret": {From: audit.Masked, To: audit.Masked}, "start": {From: "", To: "mlr_abcdef"},
	}
	if diff := cmp.Diff(want, e.Changes); diff != "" || e.Action != "apikey.rotated" ||
		e.ResourceName != "ci" || !e.At.Equal(now) {
		t.Errorf("Entry() = %+v, changes (-want +got):\n%s", e, diff)
	}
}
