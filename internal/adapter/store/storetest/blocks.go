package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
)

var operator = audit.ByOperator("ann")

// blocks returns an operator's word over the fixture's store.
func (f *Fixture) blocks() *link.Blocks {
	return link.NewBlocks("https://go.example", f.Store(), f.Clock.Now)
}

// execute runs statements past the store. Their values are ours, and have no quotes.
func (f *Fixture) execute(statements ...string) {
	f.tb.Helper()
	db := f.database()
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(f.tb.Context(), s); err != nil {
			f.tb.Fatal(err)
		}
	}
}

// domainRow adds a domain of an organization past the store.
func (f *Fixture) domainRow(organizationID, id, hostname, status string, caseSensitive bool) {
	f.tb.Helper()
	f.execute(fmt.Sprintf("INSERT INTO link_domains (id, organization_id, version, hostname, status, token, root_url, "+
		"not_found_url, expired_url, "+
		"case_sensitive, problem, points_here, bad_days, created_at, updated_at, created_by) VALUES "+
		"('%s', '%s', 1, '%s', '%s', 't', '', '', '', %t, '', TRUE, 0, 0, 0, '')", id, organizationID, hostname,
		status, caseSensitive))
}

// status is what a link is now, as the store has it.
func (f *Fixture) status(s *link.Service, l *link.Link) link.Status {
	f.tb.Helper()
	got, err := s.Get(f.tb.Context(), link.Ref{OrganizationID: l.OrganizationID, ID: l.ID})
	if err != nil {
		f.tb.Fatal(err)
	}
	return got.Status(s.Now())
}

var blockTests = map[string]func(*testing.T, *Fixture){
	"a short link is blocked by its address until it is not": func(t *testing.T, f *Fixture) {
		o, s, b := f.Organization(), f.links(10), f.blocks()
		l := f.link(s, o.ID, link.Fields{Slug: new("Sale"), Name: new("Summer")})
		other := f.link(s, o.ID, link.Fields{Slug: new("other")})
		if _, err := b.Block(t.Context(), operator, "https://go.example/none", ""); !errors.Is(err, link.ErrNotFound) {
			t.Errorf("blocking one that there is not = %v, want %v", err, link.ErrNotFound)
		}
		from := f.cursor()
		got, err := b.Block(t.Context(), operator, "https://GO.example/SALE?qr=1", "phishing")
		block := link.Block{Kind: link.BlockLink, Name: "sale", Reason: "phishing", CreatedAt: kept(Start), CreatedBy: "ann"}
		if diff := cmp.Diff(&link.Blocking{Block: block, Changed: true, Links: 1}, got); diff != "" || err != nil {
			t.Fatalf("Block(): %v, (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff([]link.Change{{}}, f.since(from)); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		if got := [2]link.Status{f.status(s, l), f.status(s, other)}; got != [2]link.Status{link.Blocked, link.Active} {
			t.Errorf("statuses %v", got)
		}
		f.Clock.Set(Start.Add(time.Hour))
		got, err = b.Block(t.Context(), audit.ByOperator("bob"), "go.example/sale", "spam")
		if diff := cmp.Diff(&link.Blocking{Block: block, Links: 1}, got); diff != "" || err != nil {
			t.Errorf("blocking it again: %v, (-want +got):\n%s", err, diff)
		}
		from = f.cursor()
		for _, changed := range []bool{true, false} {
			if got, err := b.Unblock(t.Context(), operator, "go.example/sale"); err != nil || got.Changed != changed {
				t.Errorf("Unblock() = %+v, %v, want changed: %t", got, err, changed)
			}
		}
		if got := f.since(from); len(got) != 1 || f.status(s, l) != link.Active {
			t.Errorf("unblocked: %v, %s", got, f.status(s, l))
		}
		f.audits(o.ID, l.ID, "link.unblocked", nil)
		f.audits(o.ID, l.ID, "link.blocked", map[string]audit.Change{"reason": {To: "phishing"}})
	},
	"a blocked short link stays blocked under another slug": func(t *testing.T, f *Fixture) {
		o, s, b := f.Organization(), f.links(10), f.blocks()
		l := f.link(s, o.ID, link.Fields{Slug: new("sale")})
		if _, err := b.Block(t.Context(), operator, "go.example/sale", "phishing"); err != nil {
			t.Fatal(err)
		}
		from := f.cursor()
		renamed, err := s.Update(t.Context(), somebody, toLink(l), link.Fields{Slug: new("Welcome")})
		if err != nil || !renamed.Blocked || f.status(s, l) != link.Blocked {
			t.Errorf("renamed: %+v, %v, %s", renamed, err, f.status(s, l))
		}
		if got := f.since(from); !slices.Contains(got, link.Change{}) {
			t.Errorf("changes %v, want one of the directory", got)
		}
		blocks, err := f.Store().ListBlocks(t.Context())
		if err != nil || len(blocks) != 2 || blocks[1].Name != "welcome" || blocks[1].Reason != "phishing" {
			t.Errorf("blocks %+v, %v", blocks, err)
		}
		if _, err := b.Unblock(t.Context(), operator, "go.example/welcome"); err != nil || f.status(s, l) != link.Active {
			t.Errorf("unblocked: %v, %s", err, f.status(s, l))
		}
	},
	"a host is blocked with all below it, wherever a link leads": func(t *testing.T, f *Fixture) {
		o, s, b := f.Organization(), f.links(20), f.blocks()
		to := func(url string) *[]link.Variant {
			return &[]link.Variant{{URL: url, Weight: 1}, {URL: "https://b.example", Weight: 1}}
		}
		rule := func(url string) *[]link.Rule {
			return &[]link.Rule{{URL: url, Conditions: []link.Condition{{Field: link.OS, Op: link.In, Values: []string{"iOS"}}}}}
		}
		for slug, fields := range map[string]link.Fields{
			"itself":    {URL: new("https://Evil.example./x")},
			"below":     {URL: new("https://a.b.evil.example:8443")},
			"expired":   {ExpiredURL: new("https://evil.example")},
			"rule":      {Rules: rule("https://x.evil.example")},
			"variant":   {Variants: to("https://evil.example")},
			"preview":   {Preview: &link.Preview{ImageURL: "https://evil.example/i.png"}},
			"like-it":   {URL: new("https://notevil.example")},
			"above-it":  {URL: new("https://example")},
			"mentioned": {URL: new("https://good.example/?to=https://evil.example")},
		} {
			fields.Slug = &slug
			f.link(s, o.ID, fields)
		}
		got, err := b.Block(t.Context(), operator, "EVIL.example.", "")
		if err != nil || !got.Changed || got.Links != 5 || got.Kind != link.BlockHost || got.Name != "evil.example" {
			t.Fatalf("Block() = %+v, %v", got, err)
		}
		listed := func(status link.Status) []string {
			slugs := f.slugs(s, link.Filter{OrganizationID: o.ID, Status: status})
			slices.Sort(slugs)
			return slugs
		}
		if diff := cmp.Diff([]string{"below", "expired", "itself", "rule", "variant"}, listed(link.Blocked)); diff != "" {
			t.Errorf("blocked (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"above-it", "like-it", "mentioned", "preview"}, listed(link.Active)); diff != "" {
			t.Errorf("active (-want +got):\n%s", diff)
		}
		f.audits("", "evil.example", "linkHost.blocked", map[string]audit.Change{})
		if got, err := b.Unblock(t.Context(), operator, "https://evil.example"); err != nil || got.Links != 5 ||
			listed(link.Blocked) != nil {
			t.Errorf("Unblock() = %+v, %v; blocked %v", got, err, listed(link.Blocked))
		}
	},
	"a link is blocked no more once it leads elsewhere": func(t *testing.T, f *Fixture) {
		o, s, b := f.Organization(), f.links(10), f.blocks()
		l := f.link(s, o.ID, link.Fields{URL: new("https://evil.example/x")})
		if _, err := b.Block(t.Context(), operator, "evil.example", ""); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			fields link.Fields
			want   link.Status
		}{
			{link.Fields{Name: new("another name"), Enabled: new(false)}, link.Blocked},
			{link.Fields{URL: new("https://good.example")}, link.Disabled},
		} {
			got, err := s.Update(t.Context(), somebody, toLink(l), step.fields)
			if err != nil || got.Status(s.Now()) != step.want || f.status(s, l) != step.want {
				t.Errorf("%+v, %v; %s, want %s", got, err, f.status(s, l), step.want)
			}
		}
	},
	"no destination is on a host that is blocked": func(t *testing.T, f *Fixture) {
		o, s, b := f.Organization(), f.links(10), f.blocks()
		l := f.link(s, o.ID, link.Fields{})
		if _, err := b.Block(t.Context(), operator, "evil.example", ""); err != nil {
			t.Fatal(err)
		}
		for url, rule := range map[string]string{
			"https://evil.example": "blocked_host", "https://WWW.evil.example.:8443/x": "blocked_host",
			"https://ｅvil.example":    "blocked_host",
			"https://notevil.example": "", "https://example": "",
		} {
			_, err := s.Update(t.Context(), somebody, toLink(l), link.Fields{ExpiredURL: &url})
			if f, _ := errors.AsType[*apierr.Error](err); rule == "" && err != nil ||
				rule != "" && (f == nil || f.Details[0].Rule != rule || f.Details[0].Field != "expiredUrl") {
				t.Errorf("%s: %v, want %q", url, err, rule)
			}
		}
	},
	"a link of an own domain is blocked by its case": func(t *testing.T, f *Fixture) {
		o, s, b := f.Organization(), f.links(10), f.blocks()
		f.domainRow(o.ID, "dom_1", "links.acme.example", "verified", true)
		f.domainRow(o.ID, "dom_2", "old.acme.example", "pending", false)
		l := f.link(s, o.ID, link.Fields{Slug: new("sale")})
		f.execute("UPDATE links SET domain_id = 'dom_1', slug = 'Sale', slug_key = 'dom_1/Sale' WHERE id = '" + l.ID + "'")
		for target, want := range map[string]error{
			"links.acme.example/sale": link.ErrNotFound, "go.example/sale": link.ErrNotFound, "dom_1/sale": link.ErrNotFound,
			"links.acme.example/Sale": nil,
		} {
			if _, err := b.Block(t.Context(), operator, target, ""); !errors.Is(err, want) {
				t.Errorf("Block(%s) = %v, want %v", target, err, want)
			}
		}
		all, err := b.List(t.Context())
		if len(all) != 1 || err != nil || b.Address(&all[0]) != "https://links.acme.example/Sale" ||
			f.status(s, l) != link.Blocked {
			t.Fatalf("List() = %+v, %v; %s", all, err, f.status(s, l))
		}
		f.execute("DELETE FROM link_domains WHERE id = 'dom_1'", "DELETE FROM links WHERE id = '"+l.ID+"'")
		all, err = b.List(t.Context())
		if len(all) != 1 || err != nil || b.Address(&all[0]) != "dom_1/Sale" {
			t.Fatalf("of one that is gone: List() = %+v, %v", all, err)
		}
		if got, err := b.Unblock(t.Context(), operator, b.Address(&all[0])); err != nil || !got.Changed || got.Links != 0 {
			t.Errorf("of one that is gone: Unblock() = %+v, %v", got, err)
		}
		if _, err := b.Block(t.Context(), operator, "old.acme.example/x", ""); !apierr.Is(err, apierr.Validation) {
			t.Errorf("on a domain that does not serve: %v", err)
		}
	},
	"blocks are listed, and told of on control.v1": func(t *testing.T, f *Fixture) {
		o, s, b := f.Organization(), f.links(10), f.blocks()
		f.link(s, o.ID, link.Fields{Slug: new("sale")})
		var want []string
		for _, target := range []string{
			"https://go.example/sale", "evil.example", "198.51.100.7", "[2001:db8::1]", "a.example",
		} {
			f.Clock.Set(f.Clock.Now().Add(time.Second))
			if _, err := b.Block(t.Context(), operator, target, ""); err != nil {
				t.Fatal(err)
			}
			want = append(want, strings.Trim(target, "[]"))
		}
		all, err := b.List(t.Context())
		var got []string
		for i := range all {
			got = append(got, b.Address(&all[i]))
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("List(): %v, (-want +got):\n%s", err, diff)
		}
		pending, err := f.Store().Pending(t.Context(), 100)
		announced := 0
		for i := range pending {
			if c := pending[i].Change; c.Kind == control.Link && c.ID == "" && c.OrganizationID == "" && len(c.Refs) == 0 {
				announced++
			}
		}
		if announced != len(want) || err != nil {
			t.Errorf("%d change events, %v, want %d", announced, err, len(want))
		}
	},
}

// audits wants one entry of a record and an action, and no more.
func (f *Fixture) audits(organizationID, id, action string, changes map[string]audit.Change) {
	f.tb.Helper()
	entries, err := f.Store().AuditEntries(f.tb.Context(),
		audit.Filter{OrganizationID: organizationID, ResourceID: id, Action: action})
	if err != nil || len(entries) != 1 {
		f.tb.Fatalf("%s: %d entries, %v", action, len(entries), err)
	}
	if e := entries[0]; e.By.Actor != operator.Actor || len(changes) > 0 && !cmp.Equal(changes, e.Changes) {
		f.tb.Errorf("%s: %+v", action, e)
	}
}
