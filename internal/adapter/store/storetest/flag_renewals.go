package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
)

var flagRenewalTests = map[string]func(*testing.T, *Fixture){
	"a set is followed while a website moves away and back": func(t *testing.T, f *Fixture) {
		s, from, to := f.flags(), f.Organization(), f.Organization()
		w := f.Website(from.ID)
		f.flag(s, from.ID, "", "base")
		nav := f.flag(s, from.ID, w.ID, "nav")
		f.segment(s, from.ID, w.ID, "staff")
		each, late := f.following(from, to), f.following(from, to)
		f.move(w, from.ID, to.ID)
		each.expectSent("where it was", from.ID)
		each.expectSent("where it is", to.ID, "flag nav", "segment staff")
		nav.OrganizationID = to.ID
		f.switched(s, nav, flag.Enabled)
		each.expectSent("changed there", to.ID, "flag nav")
		f.move(w, to.ID, from.ID)
		each.expectSent("moved on", to.ID)
		each.expectSent("back", from.ID, "flag nav", "segment staff")
		late.expectSent("back, which was all that was heard of", from.ID, "flag nav")
		late.expectSent("moved on, which was all that was heard of", to.ID)
	},
	"a set is followed while a website is deleted and restored": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		w := f.Website(o.ID)
		f.flag(s, o.ID, "", "base")
		f.flag(s, o.ID, w.ID, "nav", "base")
		f.segment(s, o.ID, w.ID, "staff")
		each, late := f.following(o), f.following(o)
		if _, err := f.sites().Delete(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		each.expectSent("deleted", o.ID)
		if _, err := f.sites().Restore(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		each.expectSent("restored", o.ID, "flag nav", "segment staff")
		late.expectSent("restored, which was all that was heard of", o.ID)
	},
	"a set is followed while an organization is deleted and restored": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		f.flag(s, o.ID, "", "nav")
		each, late := f.following(o), f.following(o)
		f.delete(o.ID, Start)
		each.expectSent("deleted", o.ID)
		if _, err := f.Store().RestoreOrganization(t.Context(), somebody, o.ID, "", Start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		each.expectSent("restored", o.ID, "flag nav")
		late.expectSent("restored, which was all that was heard of", o.ID)
	},
	"a flag is followed out of its set and back, and as its key becomes another's": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		f.flag(s, o.ID, "", "base")
		nav := f.flag(s, o.ID, "", "nav")
		each, late := f.following(o), f.following(o)
		f.switched(s, nav, flag.Archiving)
		each.expectSent("archived", o.ID)
		f.switched(s, nav, flag.Unarchived)
		each.expectSent("brought back", o.ID, "flag nav")
		f.switched(s, nav, flag.Archiving)
		if _, err := s.Delete(t.Context(), somebody, toFlag(nav)); err != nil {
			t.Fatal(err)
		}
		again := f.flag(s, o.ID, "", "nav") // in the same version, at the same time
		each.expectSent("another", o.ID, "flag nav")
		late.expectSent("another, which was all that was heard of", o.ID, "flag nav")
		if got := each.held[o.ID].Find("", "nav").ID; got == nav.ID || got != again.ID {
			t.Errorf("the flag is %s, want %s, which was %s", got, again.ID, nav.ID)
		}
	},
	"a set is followed while a flag and a segment are changed, and one is rolled back": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		g := f.segment(s, o.ID, "", "staff")
		nav := f.flag(s, o.ID, "", "nav")
		each, late := f.following(o), f.following(o)
		if _, err := s.Update(t.Context(), somebody, toFlag(nav), flag.Fields{DefaultVariant: new("off")}); err != nil {
			t.Fatal(err)
		}
		each.expectSent("changed", o.ID, "flag nav")
		if _, err := s.UpdateSegment(t.Context(), somebody, toSegment(g),
			flag.SegmentFields{UserIDs: &[]string{"v"}}); err != nil {
			t.Fatal(err)
		}
		each.expectSent("the segment", o.ID, "segment staff")
		if _, err := s.Rollback(t.Context(), somebody, toFlag(nav), 1); err != nil {
			t.Fatal(err)
		}
		each.expectSent("rolled back", o.ID, "flag nav")
		late.expectSent("rolled back, which was all that was heard of", o.ID, "flag nav", "segment staff")
	},
	"whatever the clocks of those who change flags say, only what they change is read": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		a, b := f.flag(s, o.ID, "", "a"), f.flag(s, o.ID, "", "b")
		f.segment(s, o.ID, "", "staff")
		each := f.following(o)
		f.Clock.Set(Start.Add(365 * 24 * time.Hour))
		f.switched(s, b, flag.Enabled)
		each.expectSent("in a year", o.ID, "flag b")
		for _, at := range []time.Time{Start, Start.Add(-time.Hour)} {
			f.Clock.Set(at)
			for _, action := range []managed.Action{flag.Enabled, flag.Disabled} {
				f.switched(s, a, action)
				each.expectSent(fmt.Sprint(action, " at ", at), o.ID, "flag a")
			}
		}
	},
	"of a store that is behind what is held, only what it has otherwise is read": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		f.flag(s, o.ID, "", "a")
		f.flag(s, o.ID, "", "b")
		f.segment(s, o.ID, "", "staff")
		each := f.following(o)
		was := each.held[o.ID]
		newer := *was.Find("", "b").Record
		newer.Step(Start.Add(time.Minute))
		ahead := &flagset.Set{Mark: flagset.Mark{Epoch: was.Mark.Epoch, Version: was.Mark.Version + 1}}
		each.held[o.ID] = f.made(o.ID, ahead, []*flag.Flag{was.Find("", "a").Record, &newer}, was.Segments)
		each.expectSent("behind", o.ID, "flag b")
	},
	"what is held of a version with another time or id is not the same": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		f.flag(s, o.ID, "", "a")
		f.segment(s, o.ID, "", "staff")
		each := f.following(o)
		was := each.held[o.ID]
		for what, change := range map[string]func(*managed.Record){
			"time": func(r *managed.Record) { r.UpdatedAt = r.UpdatedAt.Add(time.Millisecond) },
			"id":   func(r *managed.Record) { r.ID += "x" },
		} {
			other, also := *was.Find("", "a").Record, *was.Segments[0]
			change(&other.Record)
			change(&also.Record)
			each.held[o.ID] = f.made(o.ID, was, []*flag.Flag{&other}, []*flag.Segment{&also})
			each.expectSent("of another "+what, o.ID, "flag a", "segment staff")
		}
	},
}
