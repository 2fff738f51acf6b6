package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/org"
	"github.com/millrace/millrace/internal/website"
)

var websiteTests = map[string]func(*testing.T, *Fixture){
	"a website is read back by id and by client id": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		full := &website.Website{
			ID: "web_1", OrganizationID: o.ID, ClientID: "client 1", OldClientID: "client 0", OldClientIDUntil: Start.Add(time.Hour),
			Name: awkward, Domain: "example.com", AnonymizeVisitorIDs: "auto",
			AllowedOrigins: []string{"*.example.com", awkward}, AllowedIPs: []string{"10.0.0.0/8", "::1"},
			Public: true, CreatedAt: Start, UpdatedAt: Start.Add(time.Minute),
		}
		plain := &website.Website{ID: "web_2", OrganizationID: o.ID, ClientID: "web_2", Name: "n", Domain: "localhost", CreatedAt: Start, UpdatedAt: Start}
		for _, w := range []*website.Website{full, plain} {
			if err := s.CreateWebsite(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			want := *w
			want.CreatedAt, want.UpdatedAt = kept(w.CreatedAt), kept(w.UpdatedAt)
			if !w.OldClientIDUntil.IsZero() {
				want.OldClientIDUntil = kept(w.OldClientIDUntil)
			}
			if want.AnonymizeVisitorIDs == "" {
				want.AnonymizeVisitorIDs = "true"
			}
			got, err := s.WebsiteByID(t.Context(), w.ID)
			if diff := cmp.Diff(&want, got); diff != "" || err != nil {
				t.Errorf("WebsiteByID(): %v (-want +got):\n%s", err, diff)
			}
			got, err = s.WebsiteByClientID(t.Context(), w.ClientID)
			if diff := cmp.Diff(&want, got); diff != "" || err != nil {
				t.Errorf("WebsiteByClientID(): %v (-want +got):\n%s", err, diff)
			}
		}
	},
	"what no website bears is not found": func(t *testing.T, f *Fixture) {
		s := f.Store()
		f.Website(f.Organization().ID)
		for _, ref := range []string{"", "web_none", "' OR 1=1 --", "%", awkward} {
			if w, err := s.WebsiteByID(t.Context(), ref); !errors.Is(err, website.ErrNotFound) {
				t.Errorf("WebsiteByID(%q) = %v, %v", ref, w, err)
			}
			if w, err := s.WebsiteByClientID(t.Context(), ref); !errors.Is(err, website.ErrNotFound) {
				t.Errorf("WebsiteByClientID(%q) = %v, %v", ref, w, err)
			}
		}
	},
	"a website needs an organization and a client id of its own": func(t *testing.T, f *Fixture) {
		s := f.Store()
		w := *f.Website(f.Organization().ID)
		w.ID = "web_other"
		if err := s.CreateWebsite(t.Context(), &w); !errors.Is(err, website.ErrClientIDTaken) {
			t.Errorf("CreateWebsite() = %v, want %v", err, website.ErrClientIDTaken)
		}
		w.ClientID, w.OrganizationID = "web_other", "org_none"
		if err := s.CreateWebsite(t.Context(), &w); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("CreateWebsite() = %v, want %v", err, org.ErrNotFound)
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
		if err := s.RotateClientID(t.Context(), o.ID, w.ID, "second", Start, until); err != nil {
			t.Fatal(err)
		}
		expect("second", nil)
		f.Clock.Set(until.Add(-time.Millisecond))
		expect(w.ID, nil)
		f.Clock.Set(until)
		expect(w.ID, website.ErrNotFound)
		if err := s.RotateClientID(t.Context(), o.ID, w.ID, "third", until, until); err != nil {
			t.Fatal(err)
		}
		expect("second", website.ErrNotFound)
		expect("third", nil)
		got, err := s.WebsiteByID(t.Context(), w.ID)
		if err != nil || got.OldClientID != "" || !got.UpdatedAt.Equal(kept(until)) {
			t.Errorf("WebsiteByID() = %+v, %v", got, err)
		}
	},
	"a client id is rotated by its organization alone, to one that is free": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		w, other := f.Website(o.ID), f.Website(o.ID)
		for _, tc := range []struct {
			organizationID, id, clientID string
			want                         error
		}{
			{f.Organization().ID, w.ID, "free", website.ErrNotFound},
			{o.ID, "web_none", "free", website.ErrNotFound},
			{o.ID, w.ID, other.ClientID, website.ErrClientIDTaken},
		} {
			if err := s.RotateClientID(t.Context(), tc.organizationID, tc.id, tc.clientID, Start, Start); !errors.Is(err, tc.want) {
				t.Errorf("RotateClientID(%s, %s) = %v, want %v", tc.id, tc.clientID, err, tc.want)
			}
		}
	},
	"a list shows the organization's websites, page by page": func(t *testing.T, f *Fixture) {
		s, o, foreign := f.Store(), f.Organization(), f.Organization()
		for _, w := range []struct{ id, organizationID string }{{"web_1", o.ID}, {"web_3", o.ID}, {"web_2", o.ID}, {"web_0", foreign.ID}} {
			if err := s.CreateWebsite(t.Context(), &website.Website{
				ID: w.id, OrganizationID: w.organizationID, ClientID: w.id, Name: "n", Domain: "localhost", CreatedAt: Start, UpdatedAt: Start,
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			filter website.Filter
			want   []string
		}{
			{website.Filter{OrganizationID: o.ID}, []string{"web_1", "web_2", "web_3"}},
			{website.Filter{OrganizationID: o.ID, Limit: 2}, []string{"web_1", "web_2"}},
			{website.Filter{OrganizationID: o.ID, Limit: 2, After: "web_2"}, []string{"web_3"}},
			{website.Filter{OrganizationID: o.ID, ID: "web_2"}, []string{"web_2"}},
			{website.Filter{OrganizationID: o.ID, ID: "web_0"}, nil},
			{website.Filter{}, nil},
		} {
			var got []string
			all, err := s.ListWebsites(t.Context(), tc.filter)
			for _, w := range all {
				got = append(got, w.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("ListWebsites(%+v): %v (-want +got):\n%s", tc.filter, err, diff)
			}
		}
	},
}
