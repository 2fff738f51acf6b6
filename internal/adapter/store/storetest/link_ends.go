package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// linkEndTests are those of deleted links, of lists and of changes.
var linkEndTests = map[string]func(*testing.T, *Fixture){
	"a deleted link is in no list and comes back within its time": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(10)
		l := f.link(s, o.ID, link.Fields{Slug: new("sale"), Tags: &[]string{"a"}})
		if _, err := s.Restore(t.Context(), somebody, toLink(l)); !errors.Is(err, link.ErrNotDeleted) {
			t.Errorf("restoring one that there is = %v, want %v", err, link.ErrNotDeleted)
		}
		if _, err := s.Delete(t.Context(), somebody, toLink(l)); err != nil {
			t.Fatal(err)
		}
		if got := f.slugs(s, link.Filter{OrganizationID: o.ID}); got != nil {
			t.Errorf("listed: %q", got)
		}
		if got := f.slugs(s, link.Filter{OrganizationID: o.ID, Status: link.Deleted}); len(got) != 1 {
			t.Errorf("listed as deleted: %q", got)
		}
		if tags, err := s.Tags(t.Context(), o.ID, "", 0); len(tags) != 0 || err != nil {
			t.Errorf("tags %v, %v", tags, err)
		}
		f.Clock.Set(Start.Add(link.RestoreFor - time.Second))
		back, err := s.Restore(t.Context(), somebody, toLink(l))
		if err != nil || back.Slug != "sale" || back.Deleted() {
			t.Fatalf("Restore() = %+v, %v", back, err)
		}
		if tags, err := s.Tags(t.Context(), o.ID, "", 0); len(tags) != 1 ||
			tags[0] != (link.TagCount{Tag: "a", Links: 1}) || err != nil {
			t.Errorf("tags %v, %v", tags, err)
		}
		if _, err := s.Delete(t.Context(), somebody, toLink(l)); err != nil {
			t.Fatal(err)
		}
		f.Clock.Set(f.Clock.Now().Add(link.RestoreFor))
		if _, err := s.Restore(t.Context(), somebody, toLink(l)); !errors.Is(err, link.ErrNotFound) {
			t.Errorf("restoring too late = %v, want %v", err, link.ErrNotFound)
		}
		if got := f.slugs(s, link.Filter{OrganizationID: o.ID, Status: link.Deleted}); got != nil {
			t.Errorf("listed as deleted for too long: %q", got)
		}
	},
	"a link is removed 30 days after its deletion, and its slug stays": func(t *testing.T, f *Fixture) {
		o, other, s, store := f.Organization(), f.Organization(), f.links(10), f.Store()
		gone := f.link(s, o.ID, link.Fields{Slug: new("gone"), Tags: &[]string{"a"}})
		back := f.link(s, o.ID, link.Fields{Slug: new("back")})
		there := f.link(s, o.ID, link.Fields{Slug: new("there")})
		orphan := f.link(s, other.ID, link.Fields{Slug: new("orphan")})
		for _, l := range []*link.Link{gone, back} {
			if _, err := s.Delete(t.Context(), somebody, toLink(l)); err != nil {
				t.Fatal(err)
			}
		}
		due := func(when time.Time, want ...string) []string {
			t.Helper()
			ids, err := store.PurgeableLinks(t.Context(), when, 10)
			slices.Sort(ids)
			slices.Sort(want)
			if !slices.Equal(ids, want) || err != nil {
				t.Errorf("PurgeableLinks(%s) = %q, %v, want %q", when, ids, err, want)
			}
			return ids
		}
		due(kept(Start).Add(-time.Millisecond))
		if err := store.PurgeOrganization(t.Context(), somebody, other.ID, Start); err != nil {
			t.Fatal(err)
		}
		due(kept(Start).Add(-time.Millisecond), orphan.ID)
		ids := due(kept(Start), gone.ID, back.ID, orphan.ID)
		if some, err := store.PurgeableLinks(t.Context(), kept(Start), 1); len(some) != 1 || err != nil {
			t.Errorf("PurgeableLinks() of one = %q, %v", some, err)
		}
		// One is restored between the two.
		if _, err := s.Restore(t.Context(), somebody, toLink(back)); err != nil {
			t.Fatal(err)
		}
		if n, err := store.PurgeLinks(t.Context(), audit.BySystem(), append(ids, there.ID),
			kept(Start), Start); n != 2 || err != nil {
			t.Errorf("PurgeLinks() = %d, %v, want 2", n, err)
		}
		for l, want := range map[*link.Link]error{gone: link.ErrNotFound, orphan: link.ErrNotFound, back: nil, there: nil} {
			if _, err := store.LinkByID(t.Context(), l.ID); !errors.Is(err, want) {
				t.Errorf("LinkByID(%s) = %v, want %v", l.Slug, err, want)
			}
		}
		if n := f.count("link_tags"); n != 0 {
			t.Errorf("%d tags are left", n)
		}
		entries, err := store.AuditEntries(t.Context(), audit.Filter{OrganizationID: o.ID, Action: "link.purged"})
		if err != nil || len(entries) != 1 || entries[0].ResourceID != gone.ID {
			t.Errorf("audit entries %+v, %v", entries, err)
		}
		third := f.Organization()
		for slug, organizationID := range map[string]string{"gone": third.ID, "orphan": third.ID} {
			if err := s.SlugFree(t.Context(), organizationID, "", slug); !errors.Is(err, link.ErrSlugTaken) {
				t.Errorf("SlugFree(%s) by another organization = %v, want %v", slug, err, link.ErrSlugTaken)
			}
		}
		if err := s.SlugFree(t.Context(), o.ID, "", "gone"); err != nil {
			t.Errorf("SlugFree() by its own = %v", err)
		}
	},
	"a list of links is what the filter selects": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(100)
		ids := map[string]string{} // by slug
		for _, fields := range []link.Fields{
			{Slug: new("active"), Name: new("Äpfel 100%"), Tags: &[]string{"x", "y"}},
			{Slug: new("disabled"), Enabled: new(false), ExpiresAt: new(Start.Add(-1 * time.Hour)), Tags: &[]string{"y"}},
			{Slug: new("scheduled"), StartsAt: new(Start.Add(time.Hour)), MaxClicks: new(int64(1))},
			{Slug: new("expired"), ExpiresAt: new(Start), URL: new("https://example.com/a_b"), ExternalID: new("Order 7")},
		} {
			ids[*fields.Slug] = f.link(s, o.ID, fields).ID
		}
		// The ids of one millisecond are in no order.
		byID := func(a, b string) int { return strings.Compare(ids[a], ids[b]) }
		oldest := slices.SortedFunc(maps.Keys(ids), byID)
		latest := slices.Clone(oldest)
		slices.Reverse(latest)
		for name, tc := range map[string]struct {
			filter link.Filter
			want   []string
		}{
			"all":                      {link.Filter{}, oldest},
			"latest first":             {link.Filter{Newest: true, Limit: 2}, latest[:2]},
			"active":                   {link.Filter{Status: link.Active}, []string{"active"}},
			"disabled":                 {link.Filter{Status: link.Disabled}, []string{"disabled"}},
			"scheduled":                {link.Filter{Status: link.Scheduled}, []string{"scheduled"}},
			"expired":                  {link.Filter{Status: link.Expired}, []string{"expired"}},
			"exhausted":                {link.Filter{Status: link.Exhausted}, nil},
			"by tag":                   {link.Filter{Tag: "y"}, []string{"active", "disabled"}},
			"by a part of the name":    {link.Filter{Search: "äPF"}, []string{"active"}},
			"by a percent sign":        {link.Filter{Search: "0%"}, []string{"active"}},
			"by a part of the address": {link.Filter{Search: "A_B"}, []string{"expired"}},
			"by the external id":       {link.Filter{Search: "order"}, []string{"expired"}},
			"by nothing there is":      {link.Filter{Search: "axb"}, nil},
		} {
			tc.filter.OrganizationID = o.ID
			if !tc.filter.Newest {
				slices.SortFunc(tc.want, byID)
			}
			if diff := cmp.Diff(tc.want, f.slugs(s, tc.filter)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		tags, err := s.Tags(t.Context(), o.ID, "", 0)
		if diff := cmp.Diff([]link.TagCount{{Tag: "x", Links: 1}, {Tag: "y", Links: 2}}, tags); diff != "" || err != nil {
			t.Errorf("tags: %v, (-want +got):\n%s", err, diff)
		}
		if tags, err := s.Tags(t.Context(), o.ID, "x", 1); len(tags) != 1 || tags[0].Tag != "y" || err != nil {
			t.Errorf("tags after x: %v, %v", tags, err)
		}
	},
	"a change of a link is audited without its password": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(10)
		l := f.link(s, o.ID, link.Fields{Slug: new("sale")})
		if _, err := s.Update(t.Context(), somebody, toLink(l),
			link.Fields{Password: new("secret"), MaxClicks: new(int64(7))}); err != nil {
			t.Fatal(err)
		}
		entries, err := f.Store().AuditEntries(t.Context(), audit.Filter{OrganizationID: o.ID, Action: "link.updated"})
		want := map[string]audit.Change{"password": {To: audit.Masked}, "maxClicks": {To: 7.0}}
		if err != nil || len(entries) != 1 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		if diff := cmp.Diff(want, entries[0].Changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	},
	"of two changes of one version of a link one is made": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(10)
		l := f.link(s, o.ID, link.Fields{})
		errs := make([]error, 2)
		for i := range errs {
			is := *l
			is.Step(Start)
			is.URL = fmt.Sprint("https://example.com/", i)
			errs[i] = f.Store().SaveLink(t.Context(), somebody, managed.Updated, l, &is, link.Caps{Links: 10, Tags: 10})
		}
		if errs[0] != nil || !errors.Is(errs[1], managed.ErrChanged) {
			t.Errorf("%v", errs)
		}
	},
}
