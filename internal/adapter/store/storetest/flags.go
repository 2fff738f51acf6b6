package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// flags returns the rules over the fixture's store.
func (f *Fixture) flags() *flag.Service {
	f.tb.Helper()
	return f.flagsUpTo(flag.Limits())
}

func (f *Fixture) flagsUpTo(caps flag.Caps) *flag.Service {
	f.tb.Helper()
	return flag.NewService(caps, flag.Deps{Store: f.Store(), Versions: f.Store(), Segments: f.Store(), Now: f.Clock.Now})
}

// flag makes a boolean flag that needs others to be on.
func (f *Fixture) flag(s *flag.Service, organizationID, websiteID, key string, needs ...string) *flag.Flag {
	f.tb.Helper()
	defer nextMillisecond()
	made, err := s.Create(f.tb.Context(), somebody,
		flag.Spec{OrganizationID: organizationID, WebsiteID: websiteID, Key: key, Type: flag.Boolean},
		flag.Fields{Prerequisites: needed(needs...)})
	if err != nil {
		f.tb.Fatal(err)
	}
	return made
}

func needed(keys ...string) *[]flageval.Prerequisite {
	var all []flageval.Prerequisite
	for _, key := range keys {
		all = append(all, flageval.Prerequisite{FlagKey: key, Variants: []string{"on"}})
	}
	return &all
}

func toFlag(f *flag.Flag) flag.Target {
	return flag.Target{Target: managed.Target{OrganizationID: f.OrganizationID, Ref: f.ID}}
}

func toSegment(g *flag.Segment) flag.Target {
	return flag.Target{Target: managed.Target{OrganizationID: g.OrganizationID, Ref: g.ID}}
}

// switched brings a flag into another state.
func (f *Fixture) switched(s *flag.Service, of *flag.Flag, action managed.Action) *flag.Flag {
	f.tb.Helper()
	is, err := s.Switch(f.tb.Context(), somebody, toFlag(of), action)
	if err != nil {
		f.tb.Fatal(err)
	}
	return is
}

// fullRules are rules with all that there is.
func fullRules(t *testing.T) *[]flageval.Rule {
	t.Helper()
	var rules []flageval.Rule
	if err := json.Unmarshal(
		[]byte(`[{"id":"r1","name":"n","enabled":false,"schedule":{"startsAt":"2026-01-02T03:04:05.678Z"},
		"conditions":{"any":[{"all":[{"attribute":"plan","op":"in","values":["a",1.5,true],"negate":true}]},{"op":"inSegment","values":["staff"]}]},
		"serve":{"rollout":{"variant":"b","percentage":12.345,"bucketBy":"attr:x","seed":"s","onMiss":"stop"}},
		"progressive":{"from":1,"to":99.5,"startsAt":"2026-01-02T03:04:05Z","endsAt":"2026-02-02T03:04:05Z"}},
		{"id":"r2","serve":{"split":[{"variant":"a","weight":33.333},{"variant":"b","weight":66.667}],"bucketBy":"teamId"}}]`), &rules); err != nil {
		t.Fatal(err)
	}
	return &rules
}

var flagTests = map[string]func(*testing.T, *Fixture){
	"a flag is read back by its id and key, and so is each of its versions": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		w := f.Website(o.ID)
		segment, err := s.CreateSegment(t.Context(), somebody,
			flag.Spec{OrganizationID: o.ID, WebsiteID: w.ID, Key: "staff"}, flag.SegmentFields{
				Name: new("Staff"), Description: new(awkward), UserIDs: &[]string{awkward}, Emails: &[]string{"a@example.com"},
				Conditions: &flageval.Conditions{
					All: []flageval.Condition{{Attribute: "plan", Op: flageval.OpEq, Values: []any{awkward}}},
				},
			})
		if err != nil {
			t.Fatal(err)
		}
		f.flag(s, o.ID, "", "base")
		full, err := s.Create(t.Context(), somebody,
			flag.Spec{OrganizationID: o.ID, WebsiteID: w.ID, Key: "full.flag-1_x", Type: flag.JSON}, flag.Fields{
				Name: new("Full"), Description: new(awkward), Visibility: new(flag.Server), Tags: &[]string{"b", `ü '"%_\`},
				Owner:          new(awkward),
				StaleAfterDays: new(30), Exposures: &flag.Exposures{Mode: flag.ExposeAll, SamplePercent: 7},
				Variants: &[]flageval.Variant{
					{Key: "a", Value: json.RawMessage(`{"z":1,"a":[1,2.50,"x"]}`), Payload: json.RawMessage(`"p"`), Description: "d"},
					{Key: "b", Value: json.RawMessage(`null`)},
				},
				DefaultVariant: new("a"), OffVariant: new("b"),
				Schedule:      &flageval.Schedule{StartsAt: Start, EndsAt: Start.Add(time.Hour)},
				Prerequisites: needed("base"),
				Targets:       &[]flageval.Target{{Variant: "a", UserIDs: []string{awkward}, Emails: []string{"b@example.com"}}},
				Rules:         fullRules(t), Environments: &map[string]flageval.Override{
					"dev": {Active: new(true), Rules: &[]flageval.Rule{}, DefaultVariant: new("b")},
				},
			})
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []flag.Target{
			toFlag(full),
			{Target: managed.Target{OrganizationID: o.ID}, WebsiteID: w.ID, Key: full.Key()},
			{Target: managed.Target{OrganizationID: o.ID, Ref: full.ID}, Reach: w.ID},
		} {
			got, err := s.Get(t.Context(), target)
			if diff := cmp.Diff(full, got); diff != "" || err != nil {
				t.Errorf("%+v: %v (-want +got):\n%s", target, err, diff)
			}
		}
		if got, err := s.Segment(t.Context(), toSegment(segment)); err != nil || !cmp.Equal(segment, got) {
			t.Errorf("the segment: %v (-want +got):\n%s", err, cmp.Diff(segment, got))
		}
		changed, err := s.Update(t.Context(), somebody, toFlag(full),
			flag.Fields{Rules: &[]flageval.Rule{}, Description: new("")})
		if err != nil {
			t.Fatal(err)
		}
		if was, err := s.Was(t.Context(), toFlag(full), 1); err != nil || !cmp.Equal(full, was) {
			t.Errorf("version 1: %v (-want +got):\n%s", err, cmp.Diff(full, was))
		}
		if was, err := s.Was(t.Context(), toFlag(full), 2); err != nil || !cmp.Equal(changed, was) {
			t.Errorf("version 2: %v (-want +got):\n%s", err, cmp.Diff(changed, was))
		}
		for _, target := range []flag.Target{
			{Target: managed.Target{OrganizationID: f.Organization().ID, Ref: full.ID}},
			{Target: managed.Target{OrganizationID: o.ID}, Key: full.Key()},
			{Target: managed.Target{OrganizationID: o.ID, Ref: "flg_none"}},
		} {
			if _, err := s.Get(t.Context(), target); !errors.Is(err, flag.ErrNotFound) {
				t.Errorf("%+v: %v, want %v", target, err, flag.ErrNotFound)
			}
		}
		if _, err := s.Get(t.Context(), flag.Target{
			Target: managed.Target{OrganizationID: o.ID, Ref: full.ID}, Reach: "web_other",
		}); !errors.Is(err, flag.ErrNotCovered) {
			t.Errorf("by who reaches another website: %v", err)
		}
	},
	"a key is one flag's and one segment's of a website, and of all of them": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		first, second, foreign := f.Website(o.ID), f.Website(o.ID), f.Website(f.Organization().ID)
		for _, site := range []string{"", first.ID, second.ID} {
			spec := flag.Spec{OrganizationID: o.ID, WebsiteID: site, Key: "Nav", Type: flag.Boolean}
			for i, want := range []error{nil, flag.ErrKeyTaken} {
				if _, err := s.Create(t.Context(), somebody, spec, flag.Fields{}); !errors.Is(err, want) {
					t.Errorf("flag %d of %q: %v, want %v", i, site, err, want)
				}
			}
			for i, want := range []error{nil, flag.ErrSegmentKeyTaken} {
				if _, err := s.CreateSegment(t.Context(), somebody, spec,
					flag.SegmentFields{UserIDs: &[]string{"u"}}); !errors.Is(err, want) {
					t.Errorf("segment %d of %q: %v, want %v", i, site, err, want)
				}
			}
		}
		f.flag(s, o.ID, "", "nav") // another one
		for site, want := range map[string]error{foreign.ID: website.ErrNotFound, "web_none": website.ErrNotFound} {
			if _, err := s.Create(t.Context(), somebody,
				flag.Spec{OrganizationID: o.ID, WebsiteID: site, Key: "x", Type: flag.Boolean},
				flag.Fields{}); !errors.Is(err, want) {
				t.Errorf("of website %s: %v, want %v", site, err, want)
			}
		}
		if _, err := s.Create(t.Context(), somebody, flag.Spec{OrganizationID: "org_none", Key: "x", Type: flag.Boolean},
			flag.Fields{}); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("of no organization: %v", err)
		}
	},
	"an organization has as many flags and segments as it may": func(t *testing.T, f *Fixture) {
		s, o := f.flagsUpTo(flag.Caps{Flags: 2, Segments: 1}), f.Organization()
		first := f.flag(s, o.ID, "", "a")
		f.flag(s, o.ID, f.Website(o.ID).ID, "b")
		create := func() error {
			_, err := s.Create(t.Context(), somebody,
				flag.Spec{OrganizationID: o.ID, Key: "c", Type: flag.Boolean}, flag.Fields{})
			return err
		}
		f.switched(s, first, flag.Archiving)
		if err := create(); !errors.Is(err, managed.ErrTooMany) {
			t.Errorf("one more flag = %v, want %v", err, managed.ErrTooMany)
		}
		if _, err := s.Delete(t.Context(), somebody, toFlag(first)); err != nil {
			t.Fatal(err)
		}
		if err := create(); err != nil {
			t.Errorf("in the place of a deleted one: %v", err)
		}
		for i, want := range []error{nil, managed.ErrTooMany} {
			spec := flag.Spec{OrganizationID: o.ID, Key: fmt.Sprint("s", i)}
			if _, err := s.CreateSegment(t.Context(), somebody, spec,
				flag.SegmentFields{UserIDs: &[]string{"u"}}); !errors.Is(err, want) {
				t.Errorf("segment %d: %v, want %v", i, err, want)
			}
		}
	},
}
