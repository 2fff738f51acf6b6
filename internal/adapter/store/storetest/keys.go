package storetest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

var samePrefix = cmpopts.EquateComparable(netip.Prefix{})

// keys returns the rules over the fixture's store.
func (f *Fixture) keys() *apikey.Service {
	f.tb.Helper()
	return apikey.NewService(apikey.Config{Prefix: "mlr", Scopes: []string{"read:data"}}, f.Store(), f.Clock.Now)
}

func target(k *apikey.Key) managed.Target {
	return managed.Target{OrganizationID: k.OrganizationID, Ref: k.ID}
}

// named makes a key with nothing but an id, a name and a hash of its own.
func named(id, organizationID string, hash byte) *apikey.Key {
	return &apikey.Key{
		Record: managed.Record{
			ID: id, OrganizationID: organizationID, Version: 1, Name: "n", CreatedAt: Start, UpdatedAt: Start,
		},
		Hash: [32]byte{hash, 1},
	}
}

// announced returns what was announced, without the time and what the relay adds.
func (f *Fixture) announced() []control.Change {
	f.tb.Helper()
	pending, err := f.Store().Pending(f.tb.Context(), 100)
	if err != nil {
		f.tb.Fatal(err)
	}
	all := make([]control.Change, len(pending))
	for i, p := range pending {
		all[i] = p.Change
		all[i].At, all[i].Epoch = time.Time{}, 0
	}
	return all
}

var keyTests = map[string]func(*testing.T, *Fixture){
	"a key is read back by hash and by id": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		w := f.Website(o.ID)
		full := &apikey.Key{
			Record: managed.Record{
				ID: "key_1", OrganizationID: o.ID, Version: 7, Name: awkward, CreatedAt: Start, UpdatedAt: Start.Add(6 * time.Hour),
				CreatedBy: "usr_1",
			}, WebsiteID: w.ID, Start: "mlr_abcdef",
			Hash: [32]byte{0, 1, 0xff}, OldHash: [32]byte{2}, OldHashUntil: Start.Add(time.Hour),
			Scopes:         []string{"read:data", "of:the:future"},
			RateLimit:      apikey.RateLimit{Enabled: true, Limit: 300, Window: time.Minute},
			IPAllow:        []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")},
			IdleExpiryDays: 30, Tags: []string{awkward, "ci"},
			ExpiresAt: Start.Add(2 * time.Hour), RevokedAt: Start.Add(3 * time.Hour), RotatedAt: Start.Add(4 * time.Hour),
			LastUsedAt: Start.Add(5 * time.Hour),
		}
		for _, k := range []*apikey.Key{full, named("key_2", o.ID, 3)} {
			if err := s.CreateKey(t.Context(), somebody, k); err != nil {
				t.Fatal(err)
			}
			want := *k
			for _, at := range []*time.Time{
				&want.OldHashUntil, &want.ExpiresAt, &want.RevokedAt, &want.RotatedAt, &want.LastUsedAt, &want.CreatedAt,
				&want.UpdatedAt,
			} {
				if !at.IsZero() {
					*at = kept(*at)
				}
			}
			got, err := s.KeyByHash(t.Context(), k.Hash)
			if diff := cmp.Diff(&want, got, samePrefix); diff != "" || err != nil {
				t.Errorf("KeyByHash(): %v (-want +got):\n%s", err, diff)
			}
			got, err = s.KeyByID(t.Context(), k.ID)
			if diff := cmp.Diff(&want, got, samePrefix); diff != "" || err != nil {
				t.Errorf("KeyByID(): %v (-want +got):\n%s", err, diff)
			}
		}
		if _, err := s.KeyByHash(t.Context(), [32]byte{}); !errors.Is(err, apikey.ErrNotFound) {
			t.Errorf("KeyByHash() of none: %v", err)
		}
		if _, err := s.KeyByID(t.Context(), "key_none"); !errors.Is(err, apikey.ErrNotFound) {
			t.Errorf("KeyByID() of none: %v", err)
		}
	},
	"a key belongs to an organization and to a website of it": func(t *testing.T, f *Fixture) {
		s, o, foreign := f.Store(), f.Organization(), f.Organization()
		w := f.Website(foreign.ID)
		for i, tc := range []struct {
			organizationID, websiteID string
			want                      error
		}{
			{"org_none", "", org.ErrNotFound},
			{o.ID, "web_none", website.ErrNotFound},
			{o.ID, w.ID, website.ErrNotFound},
			{foreign.ID, w.ID, nil},
		} {
			k := named("key_1", tc.organizationID, byte(i))
			k.WebsiteID = tc.websiteID
			if err := s.CreateKey(t.Context(), somebody, k); !errors.Is(err, tc.want) {
				t.Errorf("CreateKey(%s, %s) = %v, want %v", tc.organizationID, tc.websiteID, err, tc.want)
			}
		}
		if n := f.count("audit_entries WHERE resource_type = 'apikey'"); n != 1 {
			t.Errorf("%d entries of keys, want that of the one that was made", n)
		}
	},
	"a list shows the organization's keys, revoked ones too, page by page": func(t *testing.T, f *Fixture) {
		s, o, foreign := f.Store(), f.Organization(), f.Organization()
		w := f.Website(o.ID)
		for i, k := range []struct {
			id, organizationID, name string
			edit                     func(*apikey.Key)
		}{
			{"key_1", o.ID, "Érable 50%", func(k *apikey.Key) { k.Tags = []string{"ci", `a"b`}; k.Start = "mlr_aBc123" }},
			{"key_3", o.ID, "érable_x", func(k *apikey.Key) { k.ExpiresAt = Start.Add(time.Hour) }},
			{"key_2", o.ID, "plain", func(k *apikey.Key) { k.RevokedAt, k.WebsiteID = Start, w.ID }},
			{"key_4", o.ID, "idle", func(k *apikey.Key) { k.IdleExpiryDays = 1; k.Tags = []string{"ci2"} }},
			{"key_5", o.ID, "gone", func(k *apikey.Key) { k.DeletedAt = Start }},
			{"key_0", foreign.ID, "theirs", nil},
		} {
			key := named(k.id, k.organizationID, byte(i))
			key.Name = k.name
			if k.edit != nil {
				k.edit(key)
			}
			if err := s.CreateKey(t.Context(), somebody, key); err != nil {
				t.Fatal(err)
			}
		}
		day := Start.Add(24*time.Hour + apikey.IdleSlack)
		for _, tc := range []struct {
			filter apikey.Filter
			want   []string
		}{
			{apikey.Filter{}, []string{"key_1", "key_2", "key_3", "key_4"}},
			{apikey.Filter{Limit: 2}, []string{"key_1", "key_2"}},
			{apikey.Filter{Limit: 2, After: "key_2"}, []string{"key_3", "key_4"}},
			{apikey.Filter{Newest: true, Limit: 3}, []string{"key_4", "key_3", "key_2"}},
			{apikey.Filter{Newest: true, After: "key_2"}, []string{"key_1"}},
			{apikey.Filter{WebsiteID: w.ID}, []string{"key_2"}},
			{apikey.Filter{Tag: "ci"}, []string{"key_1"}},
			{apikey.Filter{Tag: `a"b`}, []string{"key_1"}},
			{apikey.Filter{Tag: "c"}, nil},
			{apikey.Filter{Search: "ÉRABLE"}, []string{"key_1", "key_3"}},
			{apikey.Filter{Search: "%"}, []string{"key_1"}},
			{apikey.Filter{Search: "_"}, []string{"key_3"}},
			{apikey.Filter{Search: "mlr_aBc"}, []string{"key_1"}},
			{apikey.Filter{Search: "mlr_abc"}, nil},
			{apikey.Filter{Search: "' OR 1=1 --"}, nil},
			{apikey.Filter{Status: apikey.Revoked, Now: Start}, []string{"key_2"}},
			{apikey.Filter{Status: apikey.Active, Now: Start}, []string{"key_1", "key_3", "key_4"}},
			{apikey.Filter{Status: apikey.Expired, Now: Start}, nil},
			{apikey.Filter{Status: apikey.Expired, Now: Start.Add(time.Hour)}, []string{"key_3"}},
			{apikey.Filter{Status: apikey.Active, Now: day.Add(-time.Millisecond)}, []string{"key_1", "key_4"}},
			{apikey.Filter{Status: apikey.Expired, Now: day}, []string{"key_3", "key_4"}},
		} {
			tc.filter.OrganizationID = o.ID
			var got []string
			all, err := s.ListKeys(t.Context(), tc.filter)
			for _, k := range all {
				got = append(got, k.ID)
				if tc.filter.Status != "" && k.Status(kept(tc.filter.Now)) != tc.filter.Status {
					t.Errorf("ListKeys(%+v) has %s, which is %s", tc.filter, k.ID, k.Status(tc.filter.Now))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("ListKeys(%+v): %v (-want +got):\n%s", tc.filter, err, diff)
			}
		}
		if all, err := s.ListKeys(t.Context(), apikey.Filter{}); len(all) != 0 || err != nil {
			t.Errorf("ListKeys() of no organization = %d keys, %v", len(all), err)
		}
	},
	"a key's change, its audit entry and its change events are one": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		keys := f.keys()
		k, _, err := keys.Create(t.Context(), somebody,
			apikey.Spec{OrganizationID: o.ID, Name: "ci", Scopes: []string{"read:data"}})
		if err != nil {
			t.Fatal(err)
		}
		hash := func(k *apikey.Key) string { return hex.EncodeToString(k.Hash[:]) }
		first := hash(k)
		name := "deploy"
		steps := []struct {
			action string
			do     func() (*apikey.Key, error)
			gone   bool
			refs   func(is *apikey.Key) []string
		}{
			{"apikey.updated", func() (*apikey.Key, error) {
				return keys.Update(t.Context(), somebody, target(k), apikey.Patch{Name: &name})
			}, false, func(*apikey.Key) []string { return []string{first} }},
			{"apikey.rotated", func() (*apikey.Key, error) {
				is, _, err := keys.Rotate(t.Context(), somebody, target(k), time.Hour)
				return is, err
			}, false, func(is *apikey.Key) []string { return []string{first, hash(is)} }},
			{"apikey.revoked", func() (*apikey.Key, error) {
				return keys.Revoke(t.Context(), somebody, target(k))
			}, false, func(is *apikey.Key) []string { return []string{hash(is), first} }},
			{"apikey.deleted", func() (*apikey.Key, error) {
				return keys.Delete(t.Context(), somebody, target(k))
			}, true, func(is *apikey.Key) []string { return []string{hash(is), first} }},
		}
		want := []control.Change{{Kind: control.Key, ID: k.ID, OrganizationID: o.ID, Version: 1, Refs: []string{first}}}
		for i, step := range steps {
			is, err := step.do()
			if err != nil {
				t.Fatalf("%s: %v", step.action, err)
			}
			got, err := s.KeyByID(t.Context(), k.ID)
			if diff := cmp.Diff(is, got, samePrefix); diff != "" || err != nil || got.Version != int64(i+2) {
				t.Errorf("%s returned what is not kept: %v (-want +got):\n%s", step.action, err, diff)
			}
			if n := f.count("audit_entries WHERE action = '" + step.action +
				"' AND actor_id = 'usr_1' AND resource_id = '" + k.ID + "'"); n != 1 {
				t.Errorf("%d entries of %s", n, step.action)
			}
			want = append(want, control.Change{
				Kind: control.Key, ID: k.ID, OrganizationID: o.ID, Version: int64(i + 2), Refs: step.refs(is), Gone: step.gone,
			})
		}
		if diff := cmp.Diff(want, f.announced()); diff != "" {
			t.Errorf("change events (-want +got):\n%s", diff)
		}
		for _, secret := range []string{first, first[:16]} {
			if n := f.count("audit_entries WHERE CAST(changes AS TEXT) LIKE '%" + secret + "%'"); n != 0 {
				t.Errorf("%d entries hold a hash", n)
			}
		}
	},
	"of two changes made on one version the second fails and leaves no trace": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		was := f.Key(o.ID, "")
		first, second := *was, *was
		first.Version, second.Version = 2, 2
		first.Name, second.Name = "first", "second"
		if err := s.SaveKey(t.Context(), somebody, managed.Updated, was, &first); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveKey(t.Context(), somebody, managed.Updated, was, &second); !errors.Is(err, managed.ErrChanged) {
			t.Errorf("SaveKey() on an old version = %v, want %v", err, managed.ErrChanged)
		}
		if got, err := s.KeyByID(t.Context(), was.ID); err != nil || got.Name != "first" || got.Version != 2 {
			t.Errorf("the key is %+v, %v", got, err)
		}
		if n := f.count("audit_entries WHERE action = 'apikey.updated'"); n != 1 {
			t.Errorf("%d entries, want 1", n)
		}
		if n := len(f.announced()); n != 2 {
			t.Errorf("%d change events, want 2", n)
		}
	},
}

// manyKeys adds keys named "key 0" and so on in one statement, past the store.
func (f *Fixture) manyKeys(organizationID string, n int) {
	f.tb.Helper()
	hash := `'\x%064x'`
	if strings.HasPrefix(f.URL, "sqlite:") {
		hash = "x'%064x'"
	}
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("('key_%05d', '%s', 'key %d', 'mlr_x', "+hash+", '[]', 1, 'key %d')", i,
			organizationID, i, i, i)
	}
	f.exec("INSERT INTO api_keys (id, organization_id, name, start, hash, scopes, created_at, search_text) VALUES " +
		strings.Join(rows, ","))
}

// exec runs a statement past the store.
func (f *Fixture) exec(statement string) {
	f.tb.Helper()
	f.Store()
	db := f.database()
	defer db.Close()
	if _, err := db.ExecContext(f.tb.Context(), statement); err != nil {
		f.tb.Fatal(err)
	}
}
