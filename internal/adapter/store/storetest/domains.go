package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

// says is DNS of which every domain is told the same.
type says struct{ problem string }

// CheckDomain implements link.DomainChecker.
func (s says) CheckDomain(context.Context, *link.Domain) link.Proof {
	return link.Proof{Problem: s.problem, PointsHere: s.problem == "", Reached: true}
}

// proving returns the rules over a store, where DNS proves every domain.
func (f *Fixture) proving(s *store.Store) *link.Service {
	return link.NewService(link.Rules{Schemes: []string{"https"}, PublicURL: "https://links.example", MaxLinks: 100},
		link.Deps{Store: s, Folders: s, Domains: s, DNS: says{}, Attempts: s, Passwords: plain{}, Now: f.Clock.Now})
}

func toDomain(d *link.Domain) managed.Target {
	return managed.Target{OrganizationID: d.OrganizationID, Ref: d.ID}
}

// claimDomain makes a domain, and has it be verified where it should be.
func (f *Fixture) claimDomain(organizationID, hostname string, caseSensitive, verified bool) *link.Domain {
	f.tb.Helper()
	defer nextMillisecond()
	s := f.proving(f.Store())
	d, err := s.CreateDomain(f.tb.Context(), somebody, organizationID, hostname, caseSensitive, link.DomainFields{})
	if err == nil && verified {
		d, err = s.VerifyDomain(f.tb.Context(), somebody, toDomain(d))
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return d
}

// fails has a domain fail.
func (f *Fixture) fails(d *link.Domain) *link.Domain {
	f.tb.Helper()
	is := *d
	is.Step(f.Clock.Now())
	is.Status, is.BadDays, is.Problem = link.DomainFailing, 3, "gone"
	if err := f.Store().SaveDomain(f.tb.Context(), audit.BySystem(), link.Checked, d, &is); err != nil {
		f.tb.Fatal(err)
	}
	return f.domainNow(d)
}

func (f *Fixture) domainNow(d *link.Domain) *link.Domain {
	f.tb.Helper()
	is, err := f.Store().DomainByID(f.tb.Context(), d.ID)
	if err != nil {
		f.tb.Fatal(err)
	}
	return is
}

var domainTests = map[string]func(*testing.T, *Fixture){
	"a domain is read back as it was kept": func(t *testing.T, f *Fixture) {
		o, other := f.Organization(), f.Organization()
		s := f.proving(f.Store())
		made, err := s.CreateDomain(t.Context(), somebody, o.ID, "Go.Example.com", true, link.DomainFields{
			RootURL: new("https://example.com/"), NotFoundURL: new("https://example.com/404"),
			ExpiredURL: new("https://example.com/410"),
		})
		if err != nil {
			t.Fatal(err)
		}
		verified, err := s.VerifyDomain(t.Context(), somebody, toDomain(made))
		if err != nil || verified.Status != link.DomainVerified || verified.Version != 2 || !verified.PointsHere {
			t.Errorf("VerifyDomain() = %+v, %v", verified, err)
		}
		bare := f.claimDomain(o.ID, "bare.example.com", false, false)
		f.claimDomain(other.ID, "go.example.com", false, false)
		for _, d := range []*link.Domain{verified, bare} {
			byID, errID := s.Domain(t.Context(), toDomain(d))
			byName, errName := f.Store().DomainByHostname(t.Context(), o.ID, d.Name)
			if diff := cmp.Diff([]*link.Domain{d, d}, []*link.Domain{byID, byName}); diff != "" ||
				errors.Join(errID, errName) != nil {
				t.Errorf("%s: %v, (-want +got):\n%s", d.Name, errors.Join(errID, errName), diff)
			}
		}
		all, err := s.ListDomains(t.Context(), o.ID, "", 0)
		if diff := cmp.Diff([]*link.Domain{verified, bare}, all); diff != "" || err != nil {
			t.Errorf("ListDomains() = %v, (-want +got):\n%s", err, diff)
		}
		if rest, err := s.ListDomains(t.Context(), o.ID, verified.ID, 1); len(rest) != 1 ||
			rest[0].ID != bare.ID || err != nil {
			t.Errorf("the second page is %v, %v", rest, err)
		}
		for _, target := range []managed.Target{
			{OrganizationID: other.ID, Ref: made.ID}, {OrganizationID: o.ID, Ref: "dom_none"},
		} {
			if _, err := s.Domain(t.Context(), target); !errors.Is(err, link.ErrDomainNotFound) {
				t.Errorf("%+v: %v", target, err)
			}
		}
		if serving, err := f.Store().ServingHosts(t.Context(), []string{
			"go.example.com", "bare.example.com", "x.example",
		}); !slices.Equal(serving, []string{"go.example.com"}) || err != nil {
			t.Errorf("ServingHosts() = %v, %v", serving, err)
		}
	},
	"an organization has a hostname once, and as many domains as it may": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.proving(f.Store())
		f.claimDomain(o.ID, "go.example.com", false, false)
		if _, err := s.CreateDomain(t.Context(), somebody, o.ID, "GO.example.com.", false,
			link.DomainFields{}); !errors.Is(err, link.ErrHostnameClaimed) {
			t.Errorf("the same hostname again: %v", err)
		}
		if _, err := s.CreateDomain(t.Context(), somebody, "org_none", "x.example", false,
			link.DomainFields{}); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("of no organization: %v", err)
		}
		for i := range link.MaxDomains - 1 {
			f.claimDomain(o.ID, fmt.Sprintf("go%d.example.com", i), false, false)
		}
		_, err := s.CreateDomain(t.Context(), somebody, o.ID, "more.example.com", false, link.DomainFields{})
		if !errors.Is(err, link.ErrTooMany) ||
			apierr.Of(err).Message != "The organization has reached its limit of 100 domains" {
			t.Errorf("one more: %v", err)
		}
		if _, err := s.CreateDomain(t.Context(), somebody, o.ID, "go.example.com", false,
			link.DomainFields{}); !errors.Is(err, link.ErrHostnameClaimed) {
			t.Errorf("the same hostname when there are enough: %v", err)
		}
	},
	"a hostname is one organization's at a time": func(t *testing.T, f *Fixture) {
		o, other, third := f.Organization(), f.Organization(), f.Organization()
		s := f.proving(f.Store())
		own := f.claimDomain(o.ID, "go.example.com", false, true)
		claim, late := f.claimDomain(other.ID, "go.example.com", false, false), f.claimDomain(third.ID,
			"go.example.com", false, false)
		if _, err := s.VerifyDomain(t.Context(), somebody, toDomain(claim)); !errors.Is(err, link.ErrHostnameVerified) {
			t.Errorf("one that is verified elsewhere: %v", err)
		}
		if got := f.domainNow(claim); got.Status != link.DomainPending || got.Version != 1 {
			t.Errorf("it is %+v after that", got)
		}
		f.fails(own)
		taken, err := s.VerifyDomain(t.Context(), somebody, toDomain(claim))
		if err != nil || taken.Status != link.DomainVerified {
			t.Errorf("one that fails elsewhere: %+v, %v", taken, err)
		}
		if got := f.domainNow(own); got.Status != link.DomainPending || got.Version != 4 ||
			got.Problem == "" || got.BadDays != 0 {
			t.Errorf("the other one is %+v", got)
		}
		entry := f.entryOf(o.ID, "linkDomain.lost")
		if entry.By.Actor.Type != audit.System {
			t.Errorf("it was taken by %+v, who is for nobody else to know", entry.By.Actor)
		}
		f.delete(other.ID, Start)
		if won, err := s.VerifyDomain(t.Context(), somebody, toDomain(late)); err != nil ||
			won.Status != link.DomainVerified {
			t.Errorf("one of a deleted organization: %+v, %v", won, err)
		}
	},
	"of many who prove a hostname at once one gets it": func(t *testing.T, f *Fixture) {
		const n = 6
		failing := f.fails(f.claimDomain(f.Organization().ID, "go.example.com", false, true))
		claims := make([]*link.Domain, n)
		for i := range claims {
			claims[i] = f.claimDomain(f.Organization().ID, "go.example.com", false, false)
		}
		got := f.race(n, func(i int, s *store.Store) error {
			_, err := f.proving(s).VerifyDomain(t.Context(), somebody, toDomain(claims[i]))
			return err
		}, link.ErrHostnameVerified, managed.ErrChanged)
		if got[nil] != 1 {
			t.Errorf("%v", got)
		}
		if is := f.domainNow(failing); is.Serves() {
			t.Errorf("the one that failed is %s", is.Status)
		}
	},
	"a change of a domain is audited and has hosts read the directory anew": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.proving(f.Store())
		var d *link.Domain
		for _, step := range []struct {
			action string
			do     func() error
		}{
			{"linkDomain.created", func() (err error) {
				d, err = s.CreateDomain(t.Context(), somebody, o.ID, "go.example.com", false, link.DomainFields{})
				return err
			}},
			{"linkDomain.checked", func() error { _, err := s.VerifyDomain(t.Context(), somebody, toDomain(d)); return err }},
			{"", func() error { _, err := s.VerifyDomain(t.Context(), somebody, toDomain(d)); return err }},
			{"linkDomain.updated", func() error {
				_, err := s.UpdateDomain(t.Context(), somebody, toDomain(d), link.DomainFields{RootURL: new("https://example.com")})
				return err
			}},
			{"", func() error {
				_, err := s.UpdateDomain(t.Context(), somebody, toDomain(d), link.DomainFields{RootURL: new("https://example.com")})
				return err
			}},
			{"linkDomain.deleted", func() error { _, err := s.DeleteDomain(t.Context(), somebody, toDomain(d)); return err }},
		} {
			f.Clock.Set(f.Clock.Now().Add(time.Second))
			after, told := f.cursor(), len(f.announced())
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.action, err)
			}
			changes, announced := f.since(after), f.announced()[told:]
			if step.action == "" {
				if len(changes)+len(announced) != 0 {
					t.Errorf("what changes nothing: %+v, %+v", changes, announced)
				}
				continue
			}
			if diff := cmp.Diff([]link.Change{{}}, changes); diff != "" {
				t.Errorf("%s: changes (-want +got):\n%s", step.action, diff)
			}
			if len(announced) != 1 || announced[0].Kind != control.Link || announced[0].ID != d.ID ||
				len(announced[0].Refs) != 0 {
				t.Errorf("%s: change events %+v", step.action, announced)
			}
			f.entryOf(o.ID, step.action)
		}
		if _, err := s.Domain(t.Context(), toDomain(d)); !errors.Is(err, link.ErrDomainNotFound) {
			t.Errorf("it is there: %v", err)
		}
	},
	"of two changes of one version of a domain one is made": func(t *testing.T, f *Fixture) {
		d := f.claimDomain(f.Organization().ID, "go.example.com", false, true)
		is, looked := *d, *d
		is.Step(Start)
		is.RootURL, looked.CheckedAt = "https://example.com", Start.Add(time.Hour)
		if err := f.Store().SaveDomain(t.Context(), somebody, managed.Updated, d, &is); err != nil {
			t.Fatal(err)
		}
		for _, next := range []*link.Domain{&is, &looked} {
			if err := f.Store().SaveDomain(t.Context(), somebody,
				managed.Updated, d, next); !errors.Is(err, managed.ErrChanged) {
				t.Errorf("the second one: %v", err)
			}
		}
	},
	"domains that serve are due in their order": func(t *testing.T, f *Fixture) {
		o, gone, store := f.Organization(), f.Organization(), f.Store()
		first := f.claimDomain(o.ID, "a.example.com", false, true)
		f.claimDomain(o.ID, "pending.example.com", false, false)
		f.claimDomain(gone.ID, "b.example.com", false, true)
		f.Clock.Set(f.Clock.Now().Add(time.Minute))
		second := f.fails(f.claimDomain(o.ID, "c.example.com", false, true))
		f.delete(gone.ID, Start)
		day := first.DueAt
		for at, want := range map[time.Time][]string{
			day.Add(-time.Millisecond): nil, day: {first.ID}, day.Add(time.Minute): {first.ID, second.ID},
		} {
			due, err := store.DueDomains(t.Context(), at, 10)
			if ids := domainIDs(due); !slices.Equal(ids, want) || err != nil {
				t.Errorf("due at %s: %v, want %v, %v", at, ids, want, err)
			}
		}
		if due, err := store.DueDomains(t.Context(), day.Add(time.Hour), 1); len(due) != 1 ||
			due[0].ID != first.ID || err != nil {
			t.Errorf("one of them: %v, %v", due, err)
		}
		if n, err := store.CountDomains(t.Context(), link.DomainFailing); n != 1 || err != nil {
			t.Errorf("%d failing, %v", n, err)
		}
	},
	"an organization has DNS be asked ten times a minute": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.proving(f.Store())
		d := f.claimDomain(o.ID, "go.example.com", false, false)
		for i := range 10 {
			if _, err := s.VerifyDomain(t.Context(), somebody, toDomain(d)); err != nil {
				t.Fatal(i, err)
			}
		}
		if _, err := s.VerifyDomain(t.Context(), somebody, toDomain(d)); !apierr.Is(err, apierr.RateLimited) {
			t.Errorf("once more: %v", err)
		}
		f.Clock.Set(f.Clock.Now().Add(6 * time.Second))
		if _, err := s.VerifyDomain(t.Context(), somebody, toDomain(d)); err != nil {
			t.Errorf("a moment later: %v", err)
		}
	},
	"the domains of an organization go with it": func(t *testing.T, f *Fixture) {
		o, other := f.Organization(), f.Organization()
		d, kept := f.claimDomain(o.ID, "go.example.com", false, true), f.claimDomain(other.ID, "x.example.com", false, true)
		f.delete(o.ID, Start)
		if err := f.Store().PurgeOrganization(t.Context(), somebody, o.ID, Start); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Store().DomainByID(t.Context(), d.ID); !errors.Is(err, link.ErrDomainNotFound) {
			t.Errorf("its domain is there: %v", err)
		}
		f.domainNow(kept)
	},
}

func domainIDs(domains []*link.Domain) (ids []string) {
	for _, d := range domains {
		ids = append(ids, d.ID)
	}
	return ids
}
