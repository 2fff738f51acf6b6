package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
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
	"each change of what is served is told, by every name": func(t *testing.T, f *Fixture) {
		o, s, store := f.Organization(), f.links(10), f.Store()
		var l *link.Link
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		own := func(slug string, version int64) link.Change {
			return link.Change{OrganizationID: o.ID, LinkID: l.ID, SlugKey: slug, Version: version}
		}
		of := func(version int64) link.Change { return link.Change{OrganizationID: o.ID, Version: version} }
		for _, step := range []struct {
			name string
			do   func() error
			want func() []link.Change
		}{
			{
				"made", func() error { l = f.link(s, o.ID, link.Fields{Slug: new("Sale")}); return nil },
				func() []link.Change { return []link.Change{own("sale", 1)} },
			},
			{"renamed", func() error {
				_, err := s.Update(t.Context(), somebody, toLink(l), link.Fields{Slug: new("Winter")})
				return err
			}, func() []link.Change { return []link.Change{own("winter", 2), own("sale", 2)} }},
			{
				"deleted", func() error { _, err := s.Delete(t.Context(), somebody, toLink(l)); return err },
				func() []link.Change { return []link.Change{own("winter", 3)} },
			},
			{
				"restored", func() error { _, err := s.Restore(t.Context(), somebody, toLink(l)); return err },
				func() []link.Change { return []link.Change{own("winter", 4)} },
			},
			{
				"with its organization", func() error { f.delete(o.ID, Start); return nil },
				func() []link.Change { return []link.Change{of(2)} },
			},
			{"its organization restored", func() error {
				_, err := store.RestoreOrganization(t.Context(), somebody, o.ID, "", Start)
				return err
			}, func() []link.Change { return []link.Change{of(3)} }},
			{
				"its organization removed", func() error { return store.PurgeOrganization(t.Context(), somebody, o.ID, Start) },
				func() []link.Change { return []link.Change{of(4)} },
			},
			{"removed", func() error {
				_, err := store.PurgeLinks(t.Context(), audit.BySystem(), []string{l.ID}, Start, Start)
				return err
			}, func() []link.Change { return []link.Change{{LinkID: l.ID, SlugKey: "winter", Version: 5}} }},
			{"nothing", func() error { return nil }, func() []link.Change { return []link.Change{} }},
		} {
			from := f.cursor()
			must(step.do())
			if diff := gocmp.Diff(step.want(), f.since(from)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.name, diff)
			}
		}
		var heard []control.Change
		pending, err := store.Pending(t.Context(), 100)
		must(err)
		for i := range pending {
			if c := pending[i].Change; c.Kind == control.Link {
				heard = append(heard, control.Change{
					Kind: c.Kind, ID: c.ID, OrganizationID: c.OrganizationID, Version: c.Version, Refs: c.Refs, Gone: c.Gone,
				})
			}
		}
		announced := func(version int64, gone bool, refs ...string) control.Change {
			return control.Change{Kind: control.Link, ID: l.ID, OrganizationID: o.ID, Version: version, Refs: refs, Gone: gone}
		}
		want := []control.Change{
			announced(1, false, "sale"), announced(2, false, "sale", "winter"), announced(3, true, "winter"),
			announced(4, false, "winter"), announced(5, true, "winter"),
		}
		want[4].OrganizationID = ""
		if diff := gocmp.Diff(want, heard); diff != "" {
			t.Errorf("change events (-want +got):\n%s", diff)
		}
	},
	"changes come in pages, and none is told of what was not committed": func(t *testing.T, f *Fixture) {
		o, s, db := f.Organization(), f.links(10), f.Store()
		from := f.cursor()
		err := db.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
			if err := tx.PurgeOrganization(ctx, somebody, o.ID, Start); err != nil {
				return err
			}
			if got := f.since(from); len(got) != 0 {
				t.Errorf("before the commit: %v", got)
			}
			return errStop
		})
		if !errors.Is(err, errStop) || len(f.since(from)) != 0 {
			t.Errorf("InTx() = %v; %v", err, f.since(from))
		}
		want := []string{"link-a", "link-b", "link-c", "link-d", "link-e"}
		for _, slug := range want {
			f.link(s, o.ID, link.Fields{Slug: &slug})
		}
		var got []string
		for _, n := range []int{2, 2, 1, 0} {
			changes, upTo, err := db.LinkChanges(t.Context(), from, 2)
			if err != nil || len(changes) != n {
				t.Fatalf("%d changes, %v, want %d", len(changes), err, n)
			}
			for _, c := range changes {
				got = append(got, c.SlugKey)
			}
			from = upTo
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	},
	"who follows the changes of many writers misses none": func(t *testing.T, f *Fixture) {
		const writers, each = 4, 10
		f.Store()
		from := f.cursor()
		var wg sync.WaitGroup
		for w := range writers {
			o, other := f.Organization(), f.Open() // as another process would
			s := link.NewService(link.Rules{Schemes: []string{"https"}, MaxLinks: 100},
				link.Deps{Store: other, Folders: other, Domains: other, Passwords: plain{}, Now: f.Clock.Now})
			wg.Go(func() {
				for i := range each {
					if _, err := s.Create(t.Context(), somebody, o.ID,
						link.Fields{URL: new("https://example.com"), Slug: new(fmt.Sprintf("of-%d-%d", w, i))}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen, db := map[string]bool{}, f.Open()
		for len(seen) < writers*each && !t.Failed() {
			changes, upTo, err := db.LinkChanges(t.Context(), from, 3)
			if err != nil {
				t.Error(err)
				break
			}
			for _, c := range changes {
				if seen[c.SlugKey] {
					t.Errorf("%s came twice", c.SlugKey)
				}
				seen[c.SlugKey] = true
			}
			from = upTo
		}
		wg.Wait()
	},
	"what is not known of changes any more is told": func(t *testing.T, f *Fixture) {
		o, s, db := f.Organization(), f.links(3000), f.Store()
		l := f.link(s, o.ID, link.Fields{Slug: new("sale")})
		from := f.cursor()
		change := func(times int) {
			t.Helper()
			err := db.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
				s := link.NewService(link.Rules{Schemes: []string{"https"}, MaxLinks: 10},
					link.Deps{Store: tx, Folders: tx, Domains: tx, Passwords: plain{}, Now: f.Clock.Now})
				for i := range times {
					if _, err := s.Update(ctx, somebody, toLink(l), link.Fields{Name: new(fmt.Sprint(f.Clock.Now(), i))}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		lost := func(when string, after link.Cursor, want error) {
			t.Helper()
			if _, upTo, err := db.LinkChanges(t.Context(), after, 10); !errors.Is(err, want) || err != nil && upTo != after {
				t.Errorf("%s: %v, %v, want %v", when, upTo, err, want)
			}
		}
		change(1100)
		f.Clock.Set(Start.Add(24 * time.Hour))
		change(110)
		lost("a day old", from, nil)
		f.Clock.Set(Start.Add(24*time.Hour + 2*time.Millisecond))
		at := f.cursor()
		change(110)
		lost("more than a day old", from, link.ErrChangesLost)
		lost("a moment old", at, nil)
		if n := f.count("link_changes"); n < 1000 || n > 1322 {
			t.Errorf("%d changes are kept", n)
		}
		lost("of the future", link.Cursor{Seq: at.Seq + 1000, Mark: 1}, link.ErrChangesLost)
		lost("of another life", link.Cursor{Seq: at.Seq, Mark: at.Mark + 1}, link.ErrChangesLost)
	},
	"the clicks that a link has are used up exactly": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(10)
		l, other := f.link(s, o.ID, link.Fields{MaxClicks: new(int64(100))}), f.link(s, o.ID, link.Fields{})
		stores := []*store.Store{f.Store(), f.Open(), f.Open()} // as several processes would
		var wg sync.WaitGroup
		var given atomic.Int64
		for i := range 1000 {
			wg.Go(func() {
				ok, err := stores[i%len(stores)].UseLink(t.Context(), l.ID, l.MaxClicks)
				if err != nil {
					t.Error(err)
				}
				if ok {
					given.Add(1)
				}
			})
		}
		wg.Wait()
		if n := given.Load(); n != 100 {
			t.Errorf("%d of 100 clicks were given", n)
		}
		if got, err := s.Get(t.Context(), link.Ref{OrganizationID: o.ID, ID: l.ID}); err != nil ||
			got.Uses != 100 || got.Version != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		for _, tc := range []struct {
			id   string
			most int64
			want bool
			err  error
		}{
			{l.ID, 101, true, nil},
			{l.ID, 101, false, nil},
			{other.ID, 0, false, nil},
			{other.ID, 1, true, nil},
			{"lnk_none", 1, false, link.ErrNotFound},
		} {
			if ok, err := f.Store().UseLink(t.Context(), tc.id, tc.most); ok != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("UseLink(%s, %d) = %t, %v, want %t, %v", tc.id, tc.most, ok, err, tc.want, tc.err)
			}
		}
	},
}
