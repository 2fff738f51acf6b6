package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

// rejectedBy returns the field and rule that a Validation error names first.
func rejectedBy(err error) string {
	f := apierr.Of(err)
	if f == nil || f.Code != apierr.Validation || len(f.Details) == 0 {
		return ""
	}
	return f.Details[0].Field + " " + f.Details[0].Rule
}

var domainLinkTests = map[string]func(*testing.T, *Fixture){
	"a slug is one link's on each host": func(t *testing.T, f *Fixture) {
		o, other, s := f.Organization(), f.Organization(), f.proving(f.Store())
		plain, strict := f.claimDomain(o.ID, "go.example.com", false, true), f.claimDomain(o.ID,
			"Go2.example.com", true, true)
		f.claimDomain(other.ID, "theirs.example.com", false, true)
		made := map[string]*link.Link{}
		for _, l := range []struct{ name, domain, slug string }{
			{"shared", "", "Sale"},
			{"plain", plain.Name, "Sale"},
			{"strict", strict.Name, "Sale"},
			{"strict in small", strict.Name, "sale"},
		} {
			made[l.name] = f.link(s, o.ID, link.Fields{Domain: &l.domain, Slug: &l.slug})
		}
		for _, l := range []struct{ domain, slug string }{{"", "SALE"}, {plain.Name, "SALE"}, {strict.Name, "Sale"}} {
			_, err := s.Create(t.Context(), somebody, o.ID,
				link.Fields{URL: new("https://example.com"), Domain: &l.domain, Slug: &l.slug})
			if free := s.SlugFree(t.Context(), o.ID, l.domain, l.slug); !errors.Is(err, link.ErrSlugTaken) ||
				!errors.Is(free, link.ErrSlugTaken) {
				t.Errorf("%+v again: %v, %v", l, err, free)
			}
		}
		if err := s.SlugFree(t.Context(), o.ID, strict.Name, "SALE"); err != nil {
			t.Errorf("another case: %v", err)
		}
		for _, q := range []struct{ domain, slug, want string }{
			{"", "sALE", "shared"},
			{plain.Name, "sALE", "plain"},
			{"GO.example.com", "sale", "plain"},
			{strict.Name, "Sale", "strict"},
			{strict.Name, "sale", "strict in small"},
		} {
			got, err := s.Get(t.Context(), link.Ref{OrganizationID: o.ID, Domain: q.domain, Slug: q.slug})
			if diff := cmp.Diff(made[q.want], got); diff != "" || err != nil {
				t.Errorf("%+v: %v (-want +got):\n%s", q, err, diff)
			}
		}
		if _, err := s.Get(t.Context(),
			link.Ref{OrganizationID: o.ID, Domain: strict.Name, Slug: "SALE"}); !errors.Is(err, link.ErrNotFound) {
			t.Errorf("in capitals where case counts: %v", err)
		}
		if err := f.count("link_slugs"); err != 1 {
			t.Errorf("%d slugs are kept for good, want that of the shared host", err)
		}
		lists := map[string][]string{
			plain.Name: {made["plain"].ID}, strict.Name: {made["strict"].ID, made["strict in small"].ID},
		}
		for domain, want := range lists {
			found, err := s.List(t.Context(), link.Filter{OrganizationID: o.ID, Domain: domain})
			var ids []string
			for _, l := range found {
				ids = append(ids, l.ID)
			}
			if !slices.Equal(ids, want) || err != nil {
				t.Errorf("links of %s: %v, want %v, %v", domain, ids, want, err)
			}
		}
		if found, err := s.List(t.Context(), link.Filter{OrganizationID: o.ID, Shared: true}); len(found) != 1 ||
			found[0].ID != made["shared"].ID || err != nil {
			t.Errorf("links of the shared host: %v, %v", found, err)
		}
		if all, err := s.List(t.Context(), link.Filter{OrganizationID: o.ID}); len(all) != 4 || err != nil {
			t.Errorf("%d links in all, %v", len(all), err)
		}
	},
	"a link is on a domain of its organization that serves": func(t *testing.T, f *Fixture) {
		o, other, s := f.Organization(), f.Organization(), f.proving(f.Store())
		f.claimDomain(o.ID, "pending.example.com", false, false)
		f.claimDomain(other.ID, "theirs.example.com", false, true)
		own := f.claimDomain(o.ID, "go.example.com", false, true)
		for domain, want := range map[string]string{
			"pending.example.com": "domain not_verified", "theirs.example.com": "domain unknown_domain",
			"none.example.com": "domain unknown_domain",
		} {
			_, err := s.Create(t.Context(), somebody, o.ID,
				link.Fields{URL: new("https://example.com"), Domain: &domain, Slug: new("a/b")})
			if got := rejectedBy(err); got != want {
				t.Errorf("%s: %v, want %s", domain, err, want)
			}
		}
		for _, err := range []error{
			second(s.Get(t.Context(), link.Ref{OrganizationID: o.ID, Domain: "theirs.example.com", Slug: "x"})),
			second(s.List(t.Context(), link.Filter{OrganizationID: o.ID, Domain: "theirs.example.com"})),
			s.SlugFree(t.Context(), o.ID, "theirs.example.com", "x"),
		} {
			if got := rejectedBy(err); got != "domain unknown_domain" {
				t.Errorf("another organization's: %v", err)
			}
		}
		_, err := s.Create(t.Context(), somebody, o.ID,
			link.Fields{URL: new("ftp://x"), Domain: new("none.example.com"), Slug: new("a b")})
		if f := apierr.Of(err); f == nil || len(f.Details) != 2 {
			t.Errorf("all that is wrong is told at once, but of the slug, which no host judges: %v", err)
		}
		f.fails(own)
		l := f.link(s, o.ID, link.Fields{Domain: &own.Name, Slug: new("a/b")})
		if l.Hostname != own.Name || l.Key() != own.ID+"/a/b" {
			t.Errorf("on a failing one: %+v", l)
		}
		if _, err := s.Update(t.Context(), somebody, toLink(l),
			link.Fields{Domain: &own.Name, Name: new("same")}); err != nil {
			t.Errorf("staying there: %v", err)
		}
	},
	"a link moves between hosts, by the rules of the one that it moves to": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.proving(f.Store())
		own := f.claimDomain(o.ID, "go.example.com", false, true)
		l := f.link(s, o.ID, link.Fields{Domain: &own.Name, Slug: new("gru\u0308n/a")})
		if l.Slug != "gr\u00fcn/a" {
			t.Errorf("the slug is kept as %q", l.Slug)
		}
		if _, err := s.Update(t.Context(), somebody, toLink(l),
			link.Fields{Domain: new("")}); rejectedBy(err) != "slug invalid_slug" {
			t.Errorf("with a slug that the shared host does not take: %v", err)
		}
		after := f.cursor()
		moved, err := s.Update(t.Context(), somebody, toLink(l), link.Fields{Domain: new(""), Slug: new("Green")})
		if err != nil || moved.DomainID != "" || moved.Hostname != "" || moved.Key() != "green" {
			t.Fatalf("moved: %+v, %v", moved, err)
		}
		want := []link.Change{
			{OrganizationID: o.ID, LinkID: l.ID, SlugKey: "green", Version: 2},
			{OrganizationID: o.ID, LinkID: l.ID, SlugKey: own.ID + "/gr\u00fcn/a", Version: 2},
		}
		if diff := cmp.Diff(want, f.since(after)); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		back, err := s.Update(t.Context(), somebody, toLink(l), link.Fields{Domain: &own.Name})
		if err != nil || back.Key() != own.ID+"/green" {
			t.Errorf("moved back: %+v, %v", back, err)
		}
		if _, err := s.Update(t.Context(), somebody, toLink(l),
			link.Fields{Slug: new("robots.txt")}); rejectedBy(err) != "slug reserved" {
			t.Errorf("a slug that is reserved: %v", err)
		}
	},
	"no address leads to a domain that serves, whoever's": func(t *testing.T, f *Fixture) {
		o, other, s := f.Organization(), f.Organization(), f.proving(f.Store())
		f.claimDomain(other.ID, "theirs.example.com", false, true)
		f.claimDomain(other.ID, "pending.example.com", false, false)
		own := f.claimDomain(o.ID, "go.example.com", false, false)
		const bad, fine = "https://THEIRS.example.com:8443/x", "https://sub.theirs.example.com/"
		for field, fields := range map[string]link.Fields{
			"url": {URL: new(bad)}, "expiredUrl": {ExpiredURL: new(bad)},
			"preview.imageUrl": {Preview: &link.Preview{ImageURL: bad}},
			"variants[1].url":  {Variants: &[]link.Variant{{URL: fine, Weight: 1}, {URL: bad, Weight: 1}}},
			"rules[0].url": {Rules: &[]link.Rule{
				{URL: bad, Conditions: []link.Condition{{Field: link.Country, Op: link.In, Values: []string{"DE"}}}},
			}},
		} {
			if fields.URL == nil {
				fields.URL = new(fine)
			}
			if _, err := s.Create(t.Context(), somebody, o.ID, fields); rejectedBy(err) != field+" own_host" {
				t.Errorf("%s: %v", field, err)
			}
		}
		f.link(s, o.ID, link.Fields{URL: new("https://pending.example.com/")})
		for field, fields := range map[string]link.DomainFields{
			"rootUrl": {RootURL: new(bad)}, "notFoundUrl": {NotFoundURL: new("https://go.example.com/404")},
			"expiredUrl": {ExpiredURL: new("https://links.example/x")},
		} {
			if _, err := s.UpdateDomain(t.Context(), somebody, toDomain(own), fields); rejectedBy(err) != field+" own_host" {
				t.Errorf("%s: %v", field, err)
			}
		}
	},
	"a domain with links stays, and deleted links of one that is gone do": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.proving(f.Store())
		d := f.claimDomain(o.ID, "go.example.com", false, true)
		l, other := f.link(s, o.ID, link.Fields{Domain: &d.Name, Slug: new("a")}), f.link(s, o.ID,
			link.Fields{Domain: &d.Name, Slug: new("b")})
		_, err := s.DeleteDomain(t.Context(), somebody, toDomain(d))
		if !errors.Is(err, link.ErrDomainInUse) ||
			apierr.Of(err).Message != "The domain has links (2); delete them or move them to another host" {
			t.Errorf("with links: %v", err)
		}
		for _, l := range []*link.Link{l, other} {
			if _, err := s.Delete(t.Context(), somebody, toLink(l)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.DeleteDomain(t.Context(), somebody, toDomain(d)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Restore(t.Context(), somebody, toLink(l)); !errors.Is(err, link.ErrDomainGone) {
			t.Errorf("restoring its link: %v", err)
		}
		deleted, err := s.List(t.Context(), link.Filter{OrganizationID: o.ID, Status: link.Deleted})
		if len(deleted) != 2 || err != nil || deleted[0].Hostname != "" || deleted[0].DomainID != d.ID {
			t.Errorf("deleted links: %+v, %v", deleted, err)
		}
		again := f.claimDomain(o.ID, "go.example.com", false, true)
		f.link(s, o.ID, link.Fields{Domain: &again.Name, Slug: new("a")})
		later := Start.Add(31 * 24 * time.Hour)
		ids, err := f.Store().PurgeableLinks(t.Context(), later, 10)
		if err != nil || len(ids) != 2 {
			t.Fatal(ids, err)
		}
		if n, err := f.Store().PurgeLinks(t.Context(), somebody, ids, later, later); n != 2 || err != nil {
			t.Errorf("purged %d, %v", n, err)
		}
	},
}

func second[T any](_ T, err error) error { return err }
