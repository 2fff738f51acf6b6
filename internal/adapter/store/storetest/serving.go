package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/link"
)

// serving lists the slugs of the links that are served, the newest first, page by page.
func (f *Fixture) serving(limit int) (slugs []string) {
	f.tb.Helper()
	before := ""
	for {
		page, err := f.Store().ServingLinks(f.tb.Context(), before, limit)
		if err != nil {
			f.tb.Fatal(err)
		}
		for i := range page {
			slugs, before = append(slugs, page[i].SlugKey), page[i].ID
		}
		if len(page) < limit {
			return slugs
		}
	}
}

// cursor is where the changes of links have come to.
func (f *Fixture) cursor() link.Cursor {
	f.tb.Helper()
	c, err := f.Store().LinkCursor(f.tb.Context())
	if err != nil {
		f.tb.Fatal(err)
	}
	return c
}

// since lists the changes after a cursor, which must lead to where they have come to.
func (f *Fixture) since(after link.Cursor) []link.Change {
	f.tb.Helper()
	changes, upTo, err := f.Store().LinkChanges(f.tb.Context(), after, 1000)
	if err != nil || upTo != f.cursor() {
		f.tb.Errorf("LinkChanges(%v) lead to %v, %v, want %v", after, upTo, err, f.cursor())
	}
	return changes
}

// alike compares what is served, but for what a link's targets hold.
var alike = gocmp.Comparer(func(a, b *link.Targets) bool {
	return (a == nil) == (b == nil) &&
		(a == nil || a.Ruled() == b.Ruled() && a.Choose(&link.Facts{}) == b.Choose(&link.Facts{}))
})

var servingTests = map[string]func(*testing.T, *Fixture){
	"what a host has to know of a link is read as it was kept": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(10)
		full := f.link(s, o.ID, link.Fields{
			Slug: new("Sale-26"), Enabled: new(false), StartsAt: new(Start), ExpiresAt: new(Start.Add(time.Hour)),
			ExpiredURL: new("https://example.com/gone"),
			MaxClicks:  new(int64(7)), Password: new("secret"), RedirectStatus: new(308), ForwardQuery: new(false),
			UTM: &link.UTM{Source: "s", Medium: "m", Campaign: "c", Term: "t", Content: awkward},
			Rules: &[]link.Rule{{ID: "r", URL: "https://example.com/r", Conditions: []link.Condition{
				{Field: link.City, Op: link.NotIn, Values: []string{awkward, "b"}},
			}}},
			Variants: &[]link.Variant{
				{ID: "a", URL: "https://example.com/a", Weight: 1}, {URL: "https://example.com/b", Weight: 9999},
			},
			Preview: &link.Preview{Title: awkward, Description: "d", ImageURL: "https://example.com/i.png"},
		})
		bare := f.link(s, o.ID, link.Fields{})
		want := map[string]*link.Served{full.ID: full.Served(), bare.ID: bare.Served()}
		page, err := f.Store().ServingLinks(t.Context(), "", 10)
		if err != nil || len(page) != 2 {
			t.Fatalf("%d links, %v", len(page), err)
		}
		for i := range page {
			if diff := gocmp.Diff(want[page[i].ID], &page[i], alike); diff != "" {
				t.Errorf("in a page (-want +got):\n%s", diff)
			}
		}
		for _, key := range []string{"sale-26", bare.Slug} {
			got, err := f.Store().ServingLink(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want[got.ID], got, alike); diff != "" {
				t.Errorf("by %s (-want +got):\n%s", key, diff)
			}
		}
		for _, key := range []string{"none", "SALE-26"} {
			if _, err := f.Store().ServingLink(t.Context(), key); !errors.Is(err, link.ErrNotFound) {
				t.Errorf("of key %s, which no link has: %v", key, err)
			}
		}
	},
	"a link of a domain is found by its key there, in its case": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(10)
		l := f.link(s, o.ID, link.Fields{Slug: new("Sale")})
		f.domain("dom_a", o.ID, "go.acme.example", "verified")
		MoveLink(t, f.URL, l.ID, "dom_a", "dom_a/Sale")
		want := l.Served()
		want.DomainID, want.SlugKey = "dom_a", link.KeyOn("dom_a", true, "Sale")
		got, err := f.Store().ServingLink(t.Context(), want.SlugKey)
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ServingLink() = %v (-want +got):\n%s", err, diff)
		}
		page, err := f.Store().ServingLinks(t.Context(), "", 10)
		if diff := gocmp.Diff([]link.Served{*want}, page); diff != "" || err != nil {
			t.Errorf("ServingLinks() = %v (-want +got):\n%s", err, diff)
		}
		for _, key := range []string{"Sale", "sale", "dom_a/sale", "dom_b/Sale"} {
			if _, err := f.Store().ServingLink(t.Context(), key); !errors.Is(err, link.ErrNotFound) {
				t.Errorf("of key %s: %v", key, err)
			}
		}
	},
	"links are served from the newest on, unless they or their organization are deleted": func(t *testing.T, f *Fixture) {
		o, other, gone, s := f.Organization(), f.Organization(), f.Organization(), f.links(10)
		var made []*link.Link
		for i := range 5 {
			made = append(made, f.link(s, o.ID, link.Fields{Slug: new(fmt.Sprint("own-", i)), Enabled: new(i%2 == 0)}))
		}
		theirs := f.link(s, other.ID, link.Fields{Slug: new("theirs")})
		f.link(s, gone.ID, link.Fields{Slug: new("orphan")})
		want := func(when string, links ...*link.Link) {
			t.Helper()
			slices.SortFunc(links, func(a, b *link.Link) int { return cmp.Compare(b.ID, a.ID) })
			var slugs []string
			for _, l := range links {
				slugs = append(slugs, l.Slug)
			}
			for _, limit := range []int{2, 3, 100} {
				if diff := gocmp.Diff(slugs, f.serving(limit)); diff != "" {
					t.Errorf("%s, by pages of %d (-want +got):\n%s", when, limit, diff)
				}
			}
			for _, l := range append(slices.Clone(made), theirs) {
				_, err := f.Store().ServingLink(t.Context(), l.Slug)
				if served := slices.Contains(slugs, l.Slug); served != (err == nil) ||
					err != nil && !errors.Is(err, link.ErrNotFound) {
					t.Errorf("%s: ServingLink(%s) = %v", when, l.Slug, err)
				}
			}
		}
		if err := f.Store().PurgeOrganization(t.Context(), somebody, gone.ID, Start); err != nil {
			t.Fatal(err)
		}
		want("all", append(slices.Clone(made), theirs)...)
		if _, err := s.Delete(t.Context(), somebody, toLink(made[2])); err != nil {
			t.Fatal(err)
		}
		f.delete(other.ID, Start)
		want("some are deleted", made[0], made[1], made[3], made[4])
		if _, err := f.Store().RestoreOrganization(t.Context(), somebody, other.ID, "", Start); err != nil {
			t.Fatal(err)
		}
		want("an organization is back", made[0], made[1], made[3], made[4], theirs)
	},
}
