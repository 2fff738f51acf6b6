package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/org"
	"github.com/millrace/millrace/internal/website"
)

var keyTests = map[string]func(*testing.T, *Fixture){
	"a key is read back by hash and by id": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		w := f.Website(o.ID)
		full := &apikey.Key{
			ID: "key_1", OrganizationID: o.ID, WebsiteID: w.ID, Name: awkward, Start: "mlr_abcdef",
			Hash: [32]byte{0, 1, 0xff}, OldHash: [32]byte{2}, OldHashUntil: Start.Add(time.Hour),
			Scopes: []string{"read:data", "of:the:future"}, ExpiresAt: Start.Add(2 * time.Hour),
			RevokedAt: Start.Add(3 * time.Hour), RotatedAt: Start.Add(4 * time.Hour), CreatedAt: Start,
		}
		plain := &apikey.Key{ID: "key_2", OrganizationID: o.ID, Name: "n", Start: "mlr_", Hash: [32]byte{3}, CreatedAt: Start}
		for _, k := range []*apikey.Key{full, plain} {
			if err := s.CreateKey(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			want := *k
			for _, at := range []*time.Time{&want.OldHashUntil, &want.ExpiresAt, &want.RevokedAt, &want.RotatedAt, &want.CreatedAt} {
				if !at.IsZero() {
					*at = kept(*at)
				}
			}
			got, err := s.KeyByHash(t.Context(), k.Hash)
			if diff := cmp.Diff(&want, got); diff != "" || err != nil {
				t.Errorf("KeyByHash(): %v (-want +got):\n%s", err, diff)
			}
			got, err = s.KeyByID(t.Context(), k.ID)
			if diff := cmp.Diff(&want, got); diff != "" || err != nil {
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
			k := &apikey.Key{ID: "key_1", OrganizationID: tc.organizationID, WebsiteID: tc.websiteID, Name: "n", Hash: [32]byte{byte(i)}, CreatedAt: Start}
			if err := s.CreateKey(t.Context(), k); !errors.Is(err, tc.want) {
				t.Errorf("CreateKey(%s, %s) = %v, want %v", tc.organizationID, tc.websiteID, err, tc.want)
			}
		}
	},
	"a list shows the organization's keys, revoked ones too, page by page": func(t *testing.T, f *Fixture) {
		s, o, foreign := f.Store(), f.Organization(), f.Organization()
		for i, k := range []struct{ id, organizationID string }{{"key_1", o.ID}, {"key_3", o.ID}, {"key_2", o.ID}, {"key_0", foreign.ID}} {
			if err := s.CreateKey(t.Context(), &apikey.Key{ID: k.id, OrganizationID: k.organizationID, Name: "n", Hash: [32]byte{byte(i)}, CreatedAt: Start}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.RevokeKey(t.Context(), o.ID, "key_2", Start); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			filter apikey.Filter
			want   []string
		}{
			{apikey.Filter{OrganizationID: o.ID}, []string{"key_1", "key_2", "key_3"}},
			{apikey.Filter{OrganizationID: o.ID, Limit: 2}, []string{"key_1", "key_2"}},
			{apikey.Filter{OrganizationID: o.ID, Limit: 2, After: "key_2"}, []string{"key_3"}},
			{apikey.Filter{}, nil},
		} {
			var got []string
			all, err := s.ListKeys(t.Context(), tc.filter)
			for _, k := range all {
				got = append(got, k.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("ListKeys(%+v): %v (-want +got):\n%s", tc.filter, err, diff)
			}
		}
	},
	"revoking is final and keeps its first instant": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		k := f.Key(o.ID, "")
		if err := s.RevokeKey(t.Context(), f.Organization().ID, k.ID, Start); !errors.Is(err, apikey.ErrNotFound) {
			t.Errorf("RevokeKey() by another organization = %v, want %v", err, apikey.ErrNotFound)
		}
		for i := range 2 {
			if err := s.RevokeKey(t.Context(), o.ID, k.ID, Start.Add(time.Duration(i)*time.Hour)); err != nil {
				t.Errorf("RevokeKey() = %v", err)
			}
			got, err := s.KeyByHash(t.Context(), k.Hash)
			if err != nil || !got.RevokedAt.Equal(kept(Start)) || got.Active(Start) {
				t.Errorf("KeyByHash() = %+v, %v, want it revoked at %s", got, err, Start)
			}
		}
		if err := s.RotateKey(t.Context(), o.ID, k.ID, apikey.Rotation{Hash: [32]byte{1}, At: Start}); !errors.Is(err, apikey.ErrRevoked) {
			t.Errorf("RotateKey() of a revoked key = %v, want %v", err, apikey.ErrRevoked)
		}
	},
	"a rotated secret dies at once, or when its grace ends": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		k := f.Key(o.ID, "")
		hashes := [][32]byte{k.Hash, {1}, {2}, {3}}
		// accepted lists which of the secrets are found.
		accepted := func(want ...int) {
			t.Helper()
			var got []int
			for i, h := range hashes {
				if found, err := s.KeyByHash(t.Context(), h); err == nil && found.ID == k.ID && found.Accepts(h, f.Clock.Now()) {
					got = append(got, i)
				} else if err != nil && !errors.Is(err, apikey.ErrNotFound) {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("accepted secrets (-want +got):\n%s", diff)
			}
		}
		rotate := func(i int, grace time.Duration) {
			t.Helper()
			now := f.Clock.Now()
			r := apikey.Rotation{Start: "mlr_second", Hash: hashes[i], At: now, OldUntil: now.Add(grace)}
			if err := s.RotateKey(t.Context(), o.ID, k.ID, r); err != nil {
				t.Fatal(err)
			}
		}
		accepted(0)
		rotate(1, 0)
		accepted(1)
		rotate(2, time.Hour)
		accepted(1, 2)
		f.Clock.Set(Start.Add(time.Hour - time.Millisecond))
		accepted(1, 2)
		rotate(3, time.Hour)
		accepted(2, 3) // the one before the last dies in any case
		f.Clock.Set(f.Clock.Now().Add(time.Hour))
		accepted(3)
		if _, err := s.KeyByHash(t.Context(), hashes[2]); !errors.Is(err, apikey.ErrNotFound) {
			t.Errorf("KeyByHash() of a secret whose grace is over: %v, want %v", err, apikey.ErrNotFound)
		}
		got, err := s.KeyByID(t.Context(), k.ID)
		if err != nil || got.Start != "mlr_second" || !got.RotatedAt.Equal(kept(Start.Add(time.Hour-time.Millisecond))) {
			t.Errorf("KeyByID() = %+v, %v", got, err)
		}
		rotate(2, time.Hour)
		accepted(2, 3)
		rotate(1, 0)
		accepted(1)
	},
	"a key is rotated by its organization alone": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		k := f.Key(o.ID, "")
		r := apikey.Rotation{Hash: [32]byte{1}, At: Start}
		if err := s.RotateKey(t.Context(), f.Organization().ID, k.ID, r); !errors.Is(err, apikey.ErrNotFound) {
			t.Errorf("RotateKey() by another organization = %v, want %v", err, apikey.ErrNotFound)
		}
		if err := s.RotateKey(t.Context(), o.ID, "key_none", r); !errors.Is(err, apikey.ErrNotFound) {
			t.Errorf("RotateKey() of none = %v, want %v", err, apikey.ErrNotFound)
		}
		if _, err := s.KeyByHash(t.Context(), k.Hash); err != nil {
			t.Errorf("the secret died: %v", err)
		}
	},
}
