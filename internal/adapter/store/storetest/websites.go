package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// sites returns the rules over the fixture's store.
func (f *Fixture) sites() *website.Service {
	f.tb.Helper()
	return website.NewService(f.Store(), f.Clock.Now)
}

func site(w *website.Website) managed.Target {
	return managed.Target{OrganizationID: w.OrganizationID, Ref: w.ID}
}

var websiteTests = map[string]func(*testing.T, *Fixture){
	"a website is read back by id and by client id": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		full := &website.Website{
			Record: managed.Record{
				ID: "web_1", OrganizationID: o.ID, Version: 9, Name: awkward, CreatedAt: Start, UpdatedAt: Start.Add(time.Minute),
				CreatedBy: "usr_1",
			}, ClientID: "client 1", OldClientID: "client 0", OldClientIDUntil: Start.Add(time.Hour),
			Domain: "example.com", Timezone: "Europe/Berlin", Public: true,
			Settings: website.Settings{
				AllowedOrigins: []string{"*.example.com", awkward}, AllowedIPs: []string{"10.0.0.0/8", "::1"},
				ExcludedPaths: []string{"/admin/**"}, ExcludedIPs: []string{"192.0.2.1"}, MaskPatterns: []string{"/users/*"},
				AnonymizeVisitorIDs: "auto", SessionTimeoutMinutes: 5, KeepBots: true, HonorGlobalPrivacyControl: true,
				HonorDoNotTrack: true, DataRetentionDays: 90, TrackQueryParams: []string{"q"},
			},
		}
		plain := &website.Website{
			Record:   managed.Record{ID: "web_2", OrganizationID: o.ID, Name: "n", CreatedAt: Start, UpdatedAt: Start},
			ClientID: "web_2",
			Domain:   "localhost",
		}
		for _, w := range []*website.Website{full, plain} {
			if err := s.CreateWebsite(t.Context(), somebody, w); err != nil {
				t.Fatal(err)
			}
			want := *w
			want.CreatedAt, want.UpdatedAt = kept(w.CreatedAt), kept(w.UpdatedAt)
			if !w.OldClientIDUntil.IsZero() {
				want.OldClientIDUntil = kept(w.OldClientIDUntil)
			}
			if w == plain { // what was not said has its default
				want.Version, want.Timezone, want.AnonymizeVisitorIDs, want.SessionTimeoutMinutes = 1, "UTC", "true", 30
			}
			for name, read := range map[string]func() (*website.Website, error){
				"WebsiteByID":       func() (*website.Website, error) { return s.WebsiteByID(t.Context(), w.ID) },
				"WebsiteByClientID": func() (*website.Website, error) { return s.WebsiteByClientID(t.Context(), w.ClientID) },
				"AnyWebsite by id":  func() (*website.Website, error) { return s.AnyWebsite(t.Context(), w.ID) },
				"AnyWebsite":        func() (*website.Website, error) { return s.AnyWebsite(t.Context(), w.ClientID) },
			} {
				got, err := read()
				if diff := cmp.Diff(&want, got); diff != "" || err != nil {
					t.Errorf("%s(): %v (-want +got):\n%s", name, err, diff)
				}
			}
		}
	},
	"what no website bears is not found": func(t *testing.T, f *Fixture) {
		s := f.Store()
		f.Website(f.Organization().ID)
		for _, ref := range []string{"", "web_none", "' OR 1=1 --", "%", awkward} {
			for name, read := range map[string]func(context.Context, string) (*website.Website, error){
				"WebsiteByID": s.WebsiteByID, "WebsiteByClientID": s.WebsiteByClientID, "AnyWebsite": s.AnyWebsite,
			} {
				if w, err := read(t.Context(), ref); !errors.Is(err, website.ErrNotFound) {
					t.Errorf("%s(%q) = %v, %v", name, ref, w, err)
				}
			}
		}
	},
	"a website needs an organization and a client id of its own": func(t *testing.T, f *Fixture) {
		s := f.Store()
		w := *f.Website(f.Organization().ID)
		w.ID, w.Domain = "web_other", "other.example"
		if err := s.CreateWebsite(t.Context(), somebody, &w); !errors.Is(err, website.ErrClientIDTaken) {
			t.Errorf("CreateWebsite() = %v, want %v", err, website.ErrClientIDTaken)
		}
		w.ClientID, w.OrganizationID = "web_other", "org_none"
		if err := s.CreateWebsite(t.Context(), somebody, &w); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("CreateWebsite() = %v, want %v", err, org.ErrNotFound)
		}
		if n := f.count("audit_entries WHERE resource_type = 'website'"); n != 1 {
			t.Errorf("%d entries of websites, want that of the one that was made", n)
		}
	},
	"a domain belongs to one website of an organization, until that is deleted": func(t *testing.T, f *Fixture) {
		o, foreign := f.Organization(), f.Organization()
		sites := f.sites()
		create := func(organizationID, domain string) (*website.Website, error) {
			return sites.Create(t.Context(), somebody, website.Spec{OrganizationID: organizationID, Name: "n", Domain: domain})
		}
		first, err := create(o.ID, "Shop.example")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := create(o.ID, "https://www.shop.example/"); !errors.Is(err, website.ErrDomainTaken) {
			t.Errorf("Create() of the same domain = %v, want %v", err, website.ErrDomainTaken)
		}
		if _, err := create(foreign.ID, "shop.example"); err != nil {
			t.Errorf("Create() in another organization = %v", err)
		}
		other, err := create(o.ID, "other.example")
		if err != nil {
			t.Fatal(err)
		}
		domain := "shop.example"
		if _, err := sites.Update(t.Context(), somebody, site(other), website.Patch{Domain: &domain}); !errors.Is(err,
			website.ErrDomainTaken) {
			t.Errorf("Update() to a domain that is taken = %v, want %v", err, website.ErrDomainTaken)
		}
		if _, err := sites.Delete(t.Context(), somebody, site(first)); err != nil {
			t.Fatal(err)
		}
		if _, err := sites.Update(t.Context(), somebody, site(other), website.Patch{Domain: &domain}); err != nil {
			t.Errorf("Update() to a domain that is free again = %v", err)
		}
		if _, err := sites.Restore(t.Context(), somebody, site(first)); !errors.Is(err, website.ErrDomainTaken) {
			t.Errorf("Restore() of a website whose domain is taken = %v, want %v", err, website.ErrDomainTaken)
		}
	},
	"of many who want a domain at the same time one gets it": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		var wg sync.WaitGroup
		results := make([]error, 8)
		for i := range results {
			sites := website.NewService(f.Open(), f.Clock.Now) // as another process would
			wg.Go(func() {
				_, results[i] = sites.Create(t.Context(), somebody,
					website.Spec{OrganizationID: o.ID, Name: "n", Domain: "shop.example"})
			})
		}
		wg.Wait()
		won := 0
		for i, err := range results {
			if err == nil {
				won++
			} else if !errors.Is(err, website.ErrDomainTaken) {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if n := f.count("audit_entries WHERE action = 'website.created'"); won != 1 || n != 1 {
			t.Errorf("%d won and %d entries, want one", won, n)
		}
	},
	"a rotated client id is accepted until its grace ends": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		w, until := f.Website(o.ID), Start.Add(time.Hour)
		expect := func(clientID string, want error) {
			t.Helper()
			got, err := s.WebsiteByClientID(t.Context(), clientID)
			if !errors.Is(err, want) || (err == nil && got.ID != w.ID) {
				t.Errorf("WebsiteByClientID(%s) = %v, %v, want error %v", clientID, got, err, want)
			}
		}
		second, err := f.sites().RotateClientID(t.Context(), somebody, site(w), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		expect(second.ClientID, nil)
		f.Clock.Set(until.Add(-time.Millisecond))
		expect(w.ID, nil)
		f.Clock.Set(until)
		expect(w.ID, website.ErrNotFound)
		third, err := f.sites().RotateClientID(t.Context(), somebody, site(w), 0)
		if err != nil {
			t.Fatal(err)
		}
		expect(second.ClientID, website.ErrNotFound)
		expect(third.ClientID, nil)
		got, err := s.WebsiteByID(t.Context(), w.ID)
		if err != nil || got.OldClientID != "" || !got.UpdatedAt.Equal(kept(until)) {
			t.Errorf("WebsiteByID() = %+v, %v", got, err)
		}
	},
	"a deleted website is nowhere until it is restored as it was": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		w, sites := f.Website(o.ID), f.sites()
		if _, err := sites.Delete(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(context.Context, string) (*website.Website, error){
			"WebsiteByID": s.WebsiteByID, "WebsiteByClientID": s.WebsiteByClientID,
		} {
			if _, err := read(t.Context(), w.ID); !errors.Is(err, website.ErrNotFound) {
				t.Errorf("%s() of a deleted website = %v", name, err)
			}
		}
		list := func(deletedAfter time.Time) (ids []string) {
			t.Helper()
			all, err := s.ListWebsites(t.Context(), website.Filter{OrganizationID: o.ID, DeletedAfter: deletedAfter})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range all {
				ids = append(ids, w.ID)
			}
			return ids
		}
		if got := list(time.Time{}); got != nil {
			t.Errorf("the list still has %v", got)
		}
		if diff := cmp.Diff([]string{w.ID}, list(Start.Add(-time.Hour))); diff != "" {
			t.Errorf("deleted websites (-want +got):\n%s", diff)
		}
		if got := list(Start.Add(time.Hour)); got != nil {
			t.Errorf("deleted later: %v", got)
		}
		end := kept(Start).Add(website.RestoreFor)
		f.Clock.Set(end)
		if _, err := sites.Restore(t.Context(), somebody, site(w)); !errors.Is(err, website.ErrNotFound) {
			t.Errorf("Restore() after 30 days = %v, want %v", err, website.ErrNotFound)
		}
		f.Clock.Set(end.Add(-time.Millisecond))
		if _, err := sites.Restore(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		want := *w
		want.CreatedAt, want.UpdatedAt, want.Version = kept(w.CreatedAt), end.Add(-time.Millisecond), 3
		got, err := s.WebsiteByClientID(t.Context(), w.ClientID)
		if diff := cmp.Diff(&want, got); diff != "" || err != nil {
			t.Errorf("restored: %v (-want +got):\n%s", err, diff)
		}
	},
	"a website's change, its audit entry and its change events are one": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		sites := f.sites()
		w, err := sites.Create(t.Context(), somebody,
			website.Spec{OrganizationID: o.ID, Name: "Shop", Domain: "shop.example"})
		if err != nil {
			t.Fatal(err)
		}
		name := "Store"
		steps := []struct {
			action string
			do     func() (*website.Website, error)
			gone   bool
		}{
			{"website.updated", func() (*website.Website, error) {
				return sites.Update(t.Context(), somebody, site(w), website.Patch{Name: &name})
			}, false},
			{
				"website.published",
				func() (*website.Website, error) { return sites.Publish(t.Context(), somebody, site(w), true) }, false,
			},
			{
				"website.unpublished",
				func() (*website.Website, error) { return sites.Publish(t.Context(), somebody, site(w), false) }, false,
			},
			{"website.clientIdRotated", func() (*website.Website, error) {
				return sites.RotateClientID(t.Context(), somebody, site(w), time.Hour)
			}, false},
			{"website.deleted", func() (*website.Website, error) { return sites.Delete(t.Context(), somebody, site(w)) }, true},
			{"website.restored", func() (*website.Website, error) {
				return sites.Restore(t.Context(),
					somebody, site(w))
			}, false},
		}
		refs := []string{w.ID}
		want := []control.Change{{Kind: control.Website, ID: w.ID, OrganizationID: o.ID, Version: 1, Refs: refs}}
		for i, step := range steps {
			is, err := step.do()
			if err != nil {
				t.Fatalf("%s: %v", step.action, err)
			}
			if is.ClientID != w.ID {
				refs = []string{w.ID, is.ClientID}
			}
			got, err := s.AnyWebsite(t.Context(), w.ID)
			if diff := cmp.Diff(is, got); diff != "" || err != nil || got.Version != int64(i+2) {
				t.Errorf("%s returned what is not kept: %v (-want +got):\n%s", step.action, err, diff)
			}
			if n := f.count("audit_entries WHERE action = '" + step.action +
				"' AND actor_id = 'usr_1' AND resource_id = '" + w.ID + "'"); n != 1 {
				t.Errorf("%d entries of %s", n, step.action)
			}
			want = append(want, control.Change{
				Kind: control.Website, ID: w.ID, OrganizationID: o.ID, Version: int64(i + 2), Refs: refs, Gone: step.gone,
			})
		}
		if diff := cmp.Diff(want, f.announced()); diff != "" {
			t.Errorf("change events (-want +got):\n%s", diff)
		}
	},
	"of two changes of a website made on one version the second fails": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		was := f.Website(o.ID)
		for i, want := range []error{nil, managed.ErrChanged} {
			is := *was
			is.Version, is.Public = 2, i == 0
			if err := s.SaveWebsite(t.Context(), somebody, website.Published, was, &is); !errors.Is(err, want) {
				t.Errorf("SaveWebsite() the %d. time = %v, want %v", i+1, err, want)
			}
		}
		if got, err := s.WebsiteByID(t.Context(), was.ID); err != nil || !got.Public || got.Version != 2 {
			t.Errorf("the website is %+v, %v", got, err)
		}
		if n := len(f.announced()); n != 2 {
			t.Errorf("%d change events, want 2", n)
		}
	},
	"a list shows the organization's websites, page by page": func(t *testing.T, f *Fixture) {
		s, o, foreign := f.Store(), f.Organization(), f.Organization()
		for _, w := range []struct{ id, organizationID, name string }{
			{"web_1", o.ID, "Müller"}, {"web_3", o.ID, "100%"}, {"web_2", o.ID, "n"}, {"web_0", foreign.ID, "n"},
		} {
			if err := s.CreateWebsite(t.Context(), somebody, &website.Website{
				Record: managed.Record{
					ID: w.id, OrganizationID: w.organizationID, Name: w.name, CreatedAt: Start, UpdatedAt: Start,
				}, ClientID: w.id, Domain: w.id + ".example",
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			filter website.Filter
			want   []string
		}{
			{website.Filter{}, []string{"web_1", "web_2", "web_3"}},
			{website.Filter{Limit: 2}, []string{"web_1", "web_2"}},
			{website.Filter{Limit: 2, After: "web_2"}, []string{"web_3"}},
			{website.Filter{Newest: true, Limit: 2}, []string{"web_3", "web_2"}},
			{website.Filter{Newest: true, After: "web_2"}, []string{"web_1"}},
			{website.Filter{ID: "web_2"}, []string{"web_2"}},
			{website.Filter{ID: "web_0"}, nil},
			{website.Filter{Search: "mÜLL"}, []string{"web_1"}},
			{website.Filter{Search: "WEB_2.ex"}, []string{"web_2"}},
			{website.Filter{Search: "%"}, []string{"web_3"}},
		} {
			tc.filter.OrganizationID = o.ID
			var got []string
			all, err := s.ListWebsites(t.Context(), tc.filter)
			for _, w := range all {
				got = append(got, w.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("ListWebsites(%+v): %v (-want +got):\n%s", tc.filter, err, diff)
			}
		}
		if all, err := s.ListWebsites(t.Context(), website.Filter{}); len(all) != 0 || err != nil {
			t.Errorf("ListWebsites() of no organization = %d websites, %v", len(all), err)
		}
	},
}
