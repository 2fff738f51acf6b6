package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

var moveTests = map[string]func(*testing.T, *Fixture){
	"a website that is moved is another organization's, and both are told": func(t *testing.T, f *Fixture) {
		s, from, to := f.Store(), f.Organization(), f.Organization()
		w := f.Website(from.ID)
		limited, global := f.Key(from.ID, w.ID), f.Key(from.ID, "")
		before := len(f.announced())
		f.Clock.Set(Start.Add(time.Hour))
		moved, err := f.sites().Move(t.Context(), somebody, site(w), to.ID, nil)
		if err != nil || moved.RevokedKeys != 1 {
			t.Fatalf("Move() = %+v, %v", moved, err)
		}
		want := *w
		want.OrganizationID, want.Version, want.UpdatedAt, want.CreatedAt = to.ID, 2, kept(f.Clock.Now()), kept(w.CreatedAt)
		got, err := s.WebsiteByID(t.Context(), w.ID)
		if diff := cmp.Diff(&want, got); diff != "" || err != nil {
			t.Errorf("the website: %v (-want +got):\n%s", err, diff)
		}
		if _, err := f.sites().Get(t.Context(), site(w)); !errors.Is(err, website.ErrNotFound) {
			t.Errorf("where it was: %v", err)
		}
		for id, active := range map[string]bool{limited.ID: false, global.ID: true} {
			if k, err := s.KeyByID(t.Context(), id); err != nil || k.Active(f.Clock.Now()) != active {
				t.Errorf("key %+v, %v, want active: %t", k, err, active)
			}
		}
		for _, id := range []string{from.ID, to.ID} {
			e := f.entryOf(id, "website.moved")
			if diff := cmp.Diff(map[string]audit.Change{"organizationId": {From: from.ID, To: to.ID}}, e.Changes); diff != "" ||
				e.ResourceID != w.ID {
				t.Errorf("the entry of %s (-want +got):\n%s", id, diff)
			}
		}
		f.entryOf(from.ID, "apikey.revoked")
		var told []string
		for _, n := range f.announced()[before:] {
			told = append(told, string(n.Kind)+" "+n.ID)
		}
		wantTold := []string{
			string(control.Key) + " " + limited.ID, string(control.Website) + " " + w.ID,
			string(control.Organization) + " " + from.ID, string(control.Organization) + " " + to.ID,
		}
		if diff := cmp.Diff(wantTold, told); diff != "" {
			t.Errorf("change events (-want +got):\n%s", diff)
		}
	},
	"which websites left and came is known, also after they are back": func(t *testing.T, f *Fixture) {
		s, a, b := f.Store(), f.Organization(), f.Organization()
		w, stays := f.Website(a.ID), f.Website(a.ID)
		expect := func(when, id string, want website.Moves) {
			t.Helper()
			got, err := s.WebsiteMoves(t.Context(), id)
			if err != nil || !slices.Equal(got.Left, want.Left) || !slices.Equal(got.Came, want.Came) {
				t.Errorf("%s: %+v, %v, want %+v", when, got, err, want)
			}
		}
		move := func(from, to string) {
			t.Helper()
			if _, err := f.sites().Move(t.Context(), somebody,
				managed.Target{OrganizationID: from, Ref: w.ID}, to, nil); err != nil {
				t.Fatal(err)
			}
		}
		expect("at first", a.ID, website.Moves{})
		for range 2 {
			move(a.ID, b.ID)
			expect("moved", a.ID, website.Moves{Left: []string{w.ID}})
			expect("moved", b.ID, website.Moves{Came: []string{w.ID}})
			move(b.ID, a.ID)
			expect("moved back", a.ID, website.Moves{Came: []string{w.ID}})
			expect("moved back", b.ID, website.Moves{Left: []string{w.ID}})
		}
		if _, err := f.sites().Delete(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		expect("deleted", a.ID, website.Moves{Left: []string{w.ID}})
		expect("deleted elsewhere", b.ID, website.Moves{Left: []string{w.ID}})
		if _, err := f.sites().Delete(t.Context(), somebody, site(stays)); err != nil {
			t.Fatal(err)
		}
		expect("both deleted", a.ID, website.Moves{Left: slices.Sorted(slices.Values([]string{w.ID, stays.ID}))})
		for _, gone := range []*website.Website{w, stays} {
			if _, err := f.sites().Restore(t.Context(), somebody, site(gone)); err != nil {
				t.Fatal(err)
			}
		}
		expect("restored", a.ID, website.Moves{Came: []string{w.ID}})
		if got, err := s.WebsiteByID(t.Context(), stays.ID); err != nil || got.OrganizationID != a.ID {
			t.Errorf("another website is %+v, %v", got, err)
		}
	},
	"a move that cannot be made changes nothing": func(t *testing.T, f *Fixture) {
		s, from, to, gone := f.Store(), f.Organization(), f.Organization(), f.Organization()
		w := f.Website(from.ID)
		k := f.Key(from.ID, w.ID)
		taken, err := website.New(to.ID, "Shop", w.Domain, Start)
		if err == nil {
			err = s.CreateWebsite(t.Context(), somebody, taken)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.delete(gone.ID, Start)
		free := f.Organization()
		no := &audit.Grant{
			OrganizationID: free.ID, UserID: "usr_a", SessionID: "ses_a", Judge: func(audit.Standing) error { return errStop },
		}
		stale := site(w)
		stale.Version = 7
		for _, tc := range []struct {
			target managed.Target
			to     string
			also   *audit.Grant
			want   error
		}{
			{site(w), to.ID, nil, website.ErrDomainTaken},
			{site(w), "org_none", nil, org.ErrNotFound},
			{site(w), gone.ID, nil, org.ErrNotFound},
			{site(w), free.ID, no, errStop},
			{stale, free.ID, nil, managed.ErrChanged},
			{managed.Target{OrganizationID: to.ID, Ref: w.ID}, free.ID, nil, website.ErrNotFound},
		} {
			if _, err := f.sites().Move(t.Context(), somebody, tc.target, tc.to, tc.also); !errors.Is(err, tc.want) {
				t.Errorf("Move(%+v, %s) = %v, want %v", tc.target, tc.to, err, tc.want)
			}
		}
		if got, err := s.WebsiteByID(t.Context(), w.ID); err != nil || got.OrganizationID != from.ID || got.Version != 1 {
			t.Errorf("the website is %+v, %v", got, err)
		}
		if got, err := s.KeyByID(t.Context(), k.ID); err != nil || !got.Active(Start) {
			t.Errorf("its key is %+v, %v", got, err)
		}
		if n := f.count("audit_entries WHERE action = 'website.moved'") + f.count("website_moves"); n != 0 {
			t.Errorf("%d traces are left", n)
		}
	},
	"websites are moved both ways at once": func(t *testing.T, f *Fixture) {
		a, b := f.Organization(), f.Organization()
		const each = 4
		var sites []*website.Website
		for range each {
			sites = append(sites, f.Website(a.ID), f.Website(b.ID))
		}
		ends := f.race(len(sites), func(i int, s *store.Store) error {
			w, to := sites[i], b.ID
			if w.OrganizationID == b.ID {
				to = a.ID
			}
			_, err := website.NewService(s, f.Clock.Now).Move(context.WithoutCancel(t.Context()), somebody, site(w), to, nil)
			return err
		})
		if ends[nil] != len(sites) {
			t.Errorf("ended as %v, want all moved", ends)
		}
	},
}
