package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// keyLifeTests are those of how a key is used, gets a new secret and ends.
var keyLifeTests = map[string]func(*testing.T, *Fixture){
	"of many who end a key at the same time one wins": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		k := f.Key(o.ID, "")
		want := target(k)
		want.Version = k.Version
		var wg sync.WaitGroup
		results := make([]error, 12)
		for i := range results {
			// As processes of their own would.
			keys := apikey.NewService(apikey.Config{Prefix: "mlr"}, f.Open(), f.Clock.Now)
			wg.Go(func() {
				switch i % 3 {
				case 0:
					_, _, results[i] = keys.Rotate(t.Context(), somebody, want, 0)
				case 1:
					_, results[i] = keys.Revoke(t.Context(), somebody, want)
				default:
					_, results[i] = keys.Delete(t.Context(), somebody, want)
				}
			})
		}
		wg.Wait()
		won := 0
		for i, err := range results {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, managed.ErrChanged) && !errors.Is(err, apikey.ErrRevoked) &&
				!errors.Is(err, apikey.ErrNotFound):
				t.Errorf("call %d: %v", i, err)
			}
		}
		got, err := f.Store().KeyByID(t.Context(), k.ID)
		if won != 1 || err != nil || got.Version != 2 {
			t.Errorf("%d of %d won, version %d, %v; want one", won, len(results), got.Version, err)
		}
		if n := f.count("audit_entries WHERE resource_id = '" + k.ID + "'"); n != 2 {
			t.Errorf("%d entries, want those of the creation and of one end", n)
		}
	},
	"a rotated secret dies at once, or when its grace ends": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		k := f.Key(o.ID, "")
		hashes := [][32]byte{k.Hash}
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
		rotate := func(grace time.Duration) {
			t.Helper()
			is, secret, err := f.keys().Rotate(t.Context(), somebody, target(k), grace)
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, apikey.HashOf([]byte(secret)))
			if is.Start != apikey.Start(secret) || !is.RotatedAt.Equal(kept(f.Clock.Now())) {
				t.Errorf("Rotate() = %+v", is)
			}
		}
		accepted(0)
		rotate(0)
		accepted(1)
		rotate(time.Hour)
		accepted(1, 2)
		f.Clock.Set(Start.Add(time.Hour - time.Millisecond))
		accepted(1, 2)
		rotate(time.Hour)
		accepted(2, 3) // the one before the last dies in any case
		f.Clock.Set(f.Clock.Now().Add(time.Hour))
		accepted(3)
		if _, err := s.KeyByHash(t.Context(), hashes[2]); !errors.Is(err, apikey.ErrNotFound) {
			t.Errorf("KeyByHash() of a secret whose grace is over: %v, want %v", err, apikey.ErrNotFound)
		}
	},
	"a use is noted when it is later, and is no change": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		first, second := f.Key(o.ID, ""), f.Key(o.ID, "")
		before := f.announced()
		for _, uses := range [][]apikey.Use{
			nil,
			{{KeyID: first.ID, At: Start.Add(time.Hour)}, {KeyID: second.ID, At: Start}, {KeyID: "key_none", At: Start}},
			{{KeyID: first.ID, At: Start}, {KeyID: second.ID, At: Start.Add(2 * time.Hour)}},
		} {
			if err := s.TouchKeys(t.Context(), uses); err != nil {
				t.Fatal(err)
			}
		}
		for k, want := range map[*apikey.Key]time.Time{
			first: kept(Start.Add(time.Hour)), second: kept(Start.Add(2 * time.Hour)),
		} {
			got, err := s.KeyByID(t.Context(), k.ID)
			if err != nil || !got.LastUsedAt.Equal(want) || got.Version != 1 || !got.UpdatedAt.Equal(kept(Start)) {
				t.Errorf("key %+v, %v; want it used at %s and otherwise the same", got, err, want)
			}
			// A change that was worked out before the use does not undo it.
			is := *k
			is.Version, is.Name = 2, "other"
			if err := s.SaveKey(t.Context(), somebody, managed.Updated, k, &is); err != nil {
				t.Error(err)
			}
			if got, err := s.KeyByID(t.Context(), k.ID); err != nil || !got.LastUsedAt.Equal(want) {
				t.Errorf("after a change the key was used at %s, %v, want %s", got.LastUsedAt, err, want)
			}
		}
		if n := len(f.announced()); n != len(before)+2 {
			t.Errorf("%d change events, want those of the two changes besides the %d before", n, len(before))
		}
	},
	"ten thousand keys of an organization are listed page by page": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		const keys = 10_000
		f.manyKeys(o.ID, keys)
		seen, after := 0, ""
		for {
			page, err := s.ListKeys(t.Context(), apikey.Filter{OrganizationID: o.ID, After: after, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			seen, after = seen+len(page), page[len(page)-1].ID
		}
		if seen != keys {
			t.Errorf("the pages held %d keys, want %d", seen, keys)
		}
		found, err := s.ListKeys(t.Context(), apikey.Filter{OrganizationID: o.ID, Search: "KEY 9999", Limit: 100})
		if err != nil || len(found) != 1 || found[0].ID != "key_09999" {
			t.Errorf("a search found %d keys, %v", len(found), err)
		}
	},
	"every change of a key names who made it": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		k := f.Key(o.ID, "")
		by := audit.By{Actor: audit.Actor{Type: audit.Operator, Name: "millrace"}}
		if _, err := f.keys().Revoke(t.Context(), by, target(k)); err != nil {
			t.Fatal(err)
		}
		for who, want := range map[string]int{
			"actor_type = 'user' AND action = 'apikey.created'": 1, "actor_type = 'operator' AND action = 'apikey.revoked'": 1,
		} {
			if n := f.count("audit_entries WHERE resource_type = 'apikey' AND organization_id = '" + o.ID +
				"' AND " + who); n != want {
				t.Errorf("%d entries where %s, want %d", n, who, want)
			}
		}
	},
}
