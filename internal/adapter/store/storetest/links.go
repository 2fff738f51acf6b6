package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

// plain hashes nothing: what is tested here is not how.
type plain struct{}

// HashText implements link.Hasher.
func (plain) HashText(_ context.Context, _ fair.Owner, text string) (string, error) {
	return "hash of " + text, nil
}

// links returns the rules over the fixture's store.
func (f *Fixture) links(most int) *link.Service {
	f.tb.Helper()
	s := f.Store()
	return link.NewService(link.Rules{Schemes: []string{"https"}, MaxLinks: most},
		link.Deps{Store: s, Folders: s, Domains: s, Passwords: plain{}, Now: f.Clock.Now})
}

// Link makes a link by the rules.
func (f *Fixture) link(s *link.Service, organizationID string, fields link.Fields) *link.Link {
	f.tb.Helper()
	defer nextMillisecond()
	if fields.URL == nil {
		fields.URL = new("https://example.com")
	}
	l, err := s.Create(f.tb.Context(), somebody, organizationID, fields)
	if err != nil {
		f.tb.Fatal(err)
	}
	return l
}

func toLink(l *link.Link) managed.Target {
	return managed.Target{OrganizationID: l.OrganizationID, Ref: l.ID}
}

// slugs lists the slugs of a list, in its order.
func (f *Fixture) slugs(s *link.Service, filter link.Filter) (slugs []string) {
	f.tb.Helper()
	found, err := s.List(f.tb.Context(), filter)
	if err != nil {
		f.tb.Fatal(err)
	}
	for _, l := range found {
		slugs = append(slugs, l.Slug)
	}
	return slugs
}

var linkTests = map[string]func(*testing.T, *Fixture){
	"a link is read back by each of its names": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(10)
		folder, err := s.CreateFolder(t.Context(), somebody, o.ID, awkward)
		if err != nil {
			t.Fatal(err)
		}
		full := f.link(s, o.ID, link.Fields{
			URL: new("https://example.com/?a=b"), Slug: new("Sale-26"), Name: new(awkward), FolderID: &folder.ID,
			Tags:       &[]string{"b", `ü '"%_\`},
			ExternalID: new("order 7"), Enabled: new(false), StartsAt: new(Start), ExpiresAt: new(Start.Add(time.Hour)),
			ExpiredURL: new("https://example.com/gone"), MaxClicks: new(int64(7)), Password: new("secret"),
			RedirectStatus: new(308),
			ForwardQuery:   new(false), UTM: &link.UTM{Source: "s", Medium: "m", Campaign: "c", Term: "t", Content: awkward},
			Rules: &[]link.Rule{{ID: "r", URL: "https://example.com/r", Conditions: []link.Condition{
				{Field: link.City, Op: link.NotIn, Values: []string{awkward, "b"}},
				{Field: link.Query, Op: link.In, Name: "src", Values: []string{""}},
				{Field: link.Time, Op: link.After, At: Start},
			}}},
			Variants: &[]link.Variant{
				{ID: "a", URL: "https://example.com/a", Weight: 1}, {URL: "https://example.com/b", Weight: 9999},
			},
			Preview: &link.Preview{Title: awkward, Description: "d", ImageURL: "https://example.com/i.png"},
		})
		if full.PasswordHash != "hash of secret" {
			t.Errorf("password hash %q", full.PasswordHash)
		}
		bare := f.link(s, o.ID, link.Fields{})
		for _, l := range []*link.Link{full, bare} {
			refs := []link.Ref{{OrganizationID: o.ID, ID: l.ID}, {OrganizationID: o.ID, Slug: l.Slug}}
			if l == full {
				refs = append(refs, link.Ref{OrganizationID: o.ID, Slug: "SALE-26"},
					link.Ref{OrganizationID: o.ID, ExternalID: "order 7"})
			}
			for _, ref := range refs {
				got, err := s.Get(t.Context(), ref)
				if diff := cmp.Diff(l, got); diff != "" || err != nil {
					t.Errorf("%+v: %v, (-want +got):\n%s", ref, err, diff)
				}
			}
		}
		other := f.Organization()
		for _, ref := range []link.Ref{
			{OrganizationID: other.ID, ID: full.ID},
			{OrganizationID: other.ID, Slug: full.Slug},
			{OrganizationID: other.ID, ExternalID: "order 7"},
			{OrganizationID: o.ID, ID: "lnk_none"},
		} {
			if got, err := s.Get(t.Context(), ref); !errors.Is(err, link.ErrNotFound) {
				t.Errorf("%+v: %v, %v, want %v", ref, got, err, link.ErrNotFound)
			}
		}
	},
	"a slug is one link's, whatever its case, and one organization's for good": func(t *testing.T, f *Fixture) {
		own, other, s := f.Organization(), f.Organization(), f.links(10)
		first := f.link(s, own.ID, link.Fields{Slug: new("Sale")})
		taken := func(when, organizationID, slug string, want error) {
			t.Helper()
			if err := s.SlugFree(t.Context(), organizationID, "", slug); !errors.Is(err, want) {
				t.Errorf("%s: SlugFree() = %v, want %v", when, err, want)
			}
			l, err := s.Create(t.Context(), somebody, organizationID, link.Fields{URL: new("https://example.com"), Slug: &slug})
			if !errors.Is(err, want) {
				t.Errorf("%s: Create() = %v, want %v", when, err, want)
			}
			if err == nil {
				_, err = s.Delete(t.Context(), somebody, toLink(l))
			}
			if err != nil && !errors.Is(err, want) {
				t.Error(err)
			}
		}
		taken("while there is one", own.ID, "sALE", link.ErrSlugTaken)
		taken("of another organization", other.ID, "sale", link.ErrSlugTaken)
		if _, err := s.Update(t.Context(), somebody, toLink(first), link.Fields{Slug: new("summer")}); err != nil {
			t.Fatal(err)
		}
		taken("once it is given up, of another organization", other.ID, "sale", link.ErrSlugTaken)
		taken("once it is given up", own.ID, "sale", nil)
		taken("while its link can be restored", own.ID, "sale", link.ErrSlugTaken)
		second := f.link(s, own.ID, link.Fields{Slug: new("winter")})
		if _, err := s.Update(t.Context(), somebody, toLink(second),
			link.Fields{Slug: new("SUMMER")}); !errors.Is(err, link.ErrSlugTaken) {
			t.Errorf("renaming to one that is taken = %v, want %v", err, link.ErrSlugTaken)
		}
		if l, err := s.Update(t.Context(), somebody, toLink(second),
			link.Fields{Slug: new("Winter")}); err != nil || l.Slug != "Winter" {
			t.Errorf("renaming in another case = %v, %v", l, err)
		}
	},
	"of two links made at once with one slug one is": func(t *testing.T, f *Fixture) {
		own, other, s := f.Organization(), f.Organization(), f.links(100)
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				o := []*org.Organization{own, other}[i%2]
				_, errs[i] = s.Create(t.Context(), somebody, o.ID, link.Fields{URL: new("https://example.com"), Slug: new("same")})
			})
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			switch {
			case err == nil:
				made++
			case !errors.Is(err, link.ErrSlugTaken):
				t.Error(err)
			}
		}
		if made != 1 {
			t.Errorf("%d links of one slug", made)
		}
	},
	"an external id is one link's, and is free when it is deleted": func(t *testing.T, f *Fixture) {
		o, other, s := f.Organization(), f.Organization(), f.links(10)
		first := f.link(s, o.ID, link.Fields{ExternalID: new("x")})
		f.link(s, other.ID, link.Fields{ExternalID: new("x")})
		if _, err := s.Create(t.Context(), somebody, o.ID,
			link.Fields{URL: new("https://example.com"), ExternalID: new("x")}); !errors.Is(err, link.ErrExternalIDTaken) {
			t.Errorf("a second one = %v, want %v", err, link.ErrExternalIDTaken)
		}
		if _, err := s.Delete(t.Context(), somebody, toLink(first)); err != nil {
			t.Fatal(err)
		}
		f.link(s, o.ID, link.Fields{ExternalID: new("x")})
		if _, err := s.Restore(t.Context(), somebody, toLink(first)); !errors.Is(err, link.ErrExternalIDTaken) {
			t.Errorf("restoring the first = %v, want %v", err, link.ErrExternalIDTaken)
		}
	},
	"an upsert makes a link once and changes it from then on": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(10)
		upsert := func(url string) (*link.Link, bool) {
			t.Helper()
			l, made, err := s.Upsert(t.Context(), somebody, o.ID, link.Fields{URL: &url, ExternalID: new("x")})
			if err != nil {
				t.Fatal(err)
			}
			return l, made
		}
		first, made := upsert("https://example.com/1")
		second, again := upsert("https://example.com/2")
		if !made || again || second.ID != first.ID || second.URL != "https://example.com/2" || second.Version != 2 {
			t.Errorf("made %v and %v: %+v", made, again, second)
		}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				_, _, err := s.Upsert(t.Context(), somebody, o.ID,
					link.Fields{URL: new(fmt.Sprint("https://example.com/", i)), ExternalID: new("y")})
				if err != nil && !errors.Is(err, managed.ErrChanged) && !errors.Is(err, link.ErrExternalIDTaken) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if found, err := s.List(t.Context(), link.Filter{OrganizationID: o.ID}); err != nil || len(found) != 2 {
			t.Errorf("%d links, %v", len(found), err)
		}
	},
}
