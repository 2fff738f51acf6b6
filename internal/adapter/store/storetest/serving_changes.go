package storetest

import (
	"context"
	"errors"
	"fmt"
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

// servingChangeTests are those of following what is served.
var servingChangeTests = map[string]func(*testing.T, *Fixture){
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
