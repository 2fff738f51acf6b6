package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// segment makes a segment of one person.
func (f *Fixture) segment(s *flag.Service, organizationID, websiteID, key string) *flag.Segment {
	f.tb.Helper()
	defer nextMillisecond()
	g, err := s.CreateSegment(f.tb.Context(), somebody,
		flag.Spec{OrganizationID: organizationID, WebsiteID: websiteID, Key: key},
		flag.SegmentFields{UserIDs: &[]string{"u"}})
	if err != nil {
		f.tb.Fatal(err)
	}
	return g
}

// setOf is the version of an organization's set.
func (f *Fixture) setOf(id string) int64 {
	f.tb.Helper()
	marks, err := f.Store().FlagSetMarks(f.tb.Context(), []string{id})
	if err != nil {
		f.tb.Fatal(err)
	}
	return marks[id].Version
}

// has reports whether a flag and a segment are found.
func (f *Fixture) has(s *flag.Service, of *flag.Flag, g *flag.Segment) bool {
	f.tb.Helper()
	_, errFlag := s.Get(f.tb.Context(), toFlag(of))
	_, errSegment := s.Segment(f.tb.Context(), toSegment(g))
	listed, errList := s.List(f.tb.Context(), flag.Filter{OrganizationID: of.OrganizationID, WebsiteID: of.WebsiteID})
	if gone := errors.Is(errFlag,
		flag.ErrNotFound); gone != errors.Is(errSegment, flag.ErrSegmentNotFound) || errList != nil {
		f.tb.Errorf("the flag: %v, the segment: %v, the list: %v", errFlag, errSegment, errList)
	} else if of.WebsiteID != "" && gone != (len(listed) == 0) {
		f.tb.Errorf("gone: %t, listed: %d", gone, len(listed))
	}
	return errFlag == nil
}

var flagOwnerTests = map[string]func(*testing.T, *Fixture){
	"flags of a deleted website are not found until it is restored, and go with it for good": func(
		t *testing.T, f *Fixture,
	) {
		s, o, sites := f.flags(), f.Organization(), f.sites()
		w := f.Website(o.ID)
		base := f.flag(s, o.ID, "", "base")
		of, g := f.flag(s, o.ID, w.ID, "nav", "base"), f.segment(s, o.ID, w.ID, "staff")
		before := f.setOf(o.ID)
		if _, err := sites.Delete(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		if f.has(s, of, g) || f.setOf(o.ID) != before+1 {
			t.Errorf("after the website was deleted: set %d, before %d", f.setOf(o.ID), before)
		}
		f.switched(s, base, flag.Archiving) // nobody is found who needs it
		f.switched(s, base, flag.Unarchived)
		if _, err := sites.Restore(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		if !f.has(s, of, g) || f.setOf(o.ID) != before+4 {
			t.Errorf("after the website was restored: set %d, before %d", f.setOf(o.ID), before)
		}
		if _, err := sites.Delete(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		e := &erasure.Erasure{
			ID: "ers_1", OrganizationID: o.ID, OwnerID: w.ID, Kind: tombstone.Website, Before: Start, State: erasure.Requested,
			RequestedAt: Start,
		}
		if err := f.Store().CreateErasure(t.Context(), somebody, e); err != nil {
			t.Fatal(err)
		}
		e.State = erasure.Done
		if err := f.Store().SaveErasure(t.Context(), e, Start); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Was(t.Context(), toFlag(of), 1); !errors.Is(err, flag.ErrNotFound) {
			t.Errorf("after the website was purged: %v", err)
		}
		if rows, err := f.Store().FlagVersions(t.Context(), of.ID, 0, 10); len(rows) != 0 || err != nil {
			t.Errorf("versions that are left: %v, %v", rows, err)
		}
	},
	"flags go with a website that is moved, and need nothing of where they were": func(t *testing.T, f *Fixture) {
		s, from, to := f.flags(), f.Organization(), f.Organization()
		w := f.Website(from.ID)
		base := f.flag(s, from.ID, "", "base")
		of, g := f.flag(s, from.ID, w.ID, "nav", "base"), f.segment(s, from.ID, w.ID, "staff")
		before := f.setOf(from.ID)
		if _, err := f.sites().Move(t.Context(), somebody, site(w), to.ID, nil); err != nil {
			t.Fatal(err)
		}
		if f.has(s, of, g) || f.setOf(from.ID) != before+1 {
			t.Errorf("where they were: set %d, before %d", f.setOf(from.ID), before)
		}
		f.switched(s, base, flag.Archiving)
		moved, there := *of, *g
		moved.OrganizationID, there.OrganizationID = to.ID, to.ID
		if !f.has(s, &moved, &there) || f.setOf(to.ID) != 1 {
			t.Errorf("where they are: set %d", f.setOf(to.ID))
		}
		if _, err := s.Update(t.Context(), somebody, toFlag(&moved), flag.Fields{Prerequisites: needed()}); err != nil {
			t.Errorf("changing it there: %v", err)
		}
	},
	"an organization gets no website with more flags than it may have": func(t *testing.T, f *Fixture) {
		s, from, to := f.flags(), f.Organization(), f.Organization()
		w := f.Website(from.ID)
		g := f.segment(s, from.ID, w.ID, "one")
		for i := range flag.MaxSegments {
			f.segment(s, to.ID, "", "s"+string(rune('A'+i%26))+string(rune('A'+i/26)))
		}
		if _, err := f.sites().Move(t.Context(), somebody, site(w), to.ID, nil); !errors.Is(err, managed.ErrTooMany) {
			t.Errorf("Move() = %v, want %v", err, managed.ErrTooMany)
		}
		if _, err := f.Store().WebsiteByID(t.Context(), w.ID); err != nil || f.setOf(to.ID) != flag.MaxSegments {
			t.Errorf("after a move that was rejected: %v", err)
		}
		if _, err := s.Segment(t.Context(), toSegment(g)); err != nil {
			t.Errorf("its segment: %v", err)
		}
	},
	"flags of a deleted organization are not found until it is restored, and go with it for good": func(
		t *testing.T, f *Fixture,
	) {
		s, o := f.flags(), f.Organization()
		of, g := f.flag(s, o.ID, "", "nav"), f.segment(s, o.ID, "", "staff")
		f.delete(o.ID, Start)
		if f.has(s, of, g) {
			t.Error("flags of a deleted organization are found")
		}
		if _, err := s.Switch(t.Context(), somebody, toFlag(of), flag.Enabled); !errors.Is(err, flag.ErrNotFound) {
			t.Errorf("switching one: %v", err)
		}
		if _, err := f.Store().RestoreOrganization(t.Context(), somebody, o.ID, "", Start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if !f.has(s, of, g) {
			t.Error("flags of a restored organization are not found")
		}
		if err := f.Store().PurgeOrganization(t.Context(), somebody, o.ID, Start); err != nil {
			t.Fatal(err)
		}
		if f.has(s, of, g) || f.setOf(o.ID) != 0 {
			t.Error("flags of a purged organization are found")
		}
	},
	"a segment that flags ask for is not deleted, and a website's own is asked for first": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		w := f.Website(o.ID)
		shared := f.segment(s, o.ID, "", "staff")
		rules := &[]flageval.Rule{{
			Conditions: &flageval.Conditions{All: []flageval.Condition{{Op: flageval.OpInSegment, Values: []any{"staff"}}}},
			Serve:      flageval.Serve{Variant: "on"},
		}}
		asks := f.flag(s, o.ID, w.ID, "nav")
		if _, err := s.Update(t.Context(), somebody, toFlag(asks), flag.Fields{Rules: rules}); err != nil {
			t.Fatal(err)
		}
		remove := func(g *flag.Segment, want error) {
			t.Helper()
			if _, err := s.DeleteSegment(t.Context(), somebody, toSegment(g)); !errors.Is(err, want) {
				t.Errorf("DeleteSegment(%s) = %v, want %v", g.WebsiteID, err, want)
			}
		}
		remove(shared, flag.ErrInUse)
		own := f.segment(s, o.ID, w.ID, "staff")
		remove(own, flag.ErrInUse)
		remove(shared, nil)
		f.switched(s, asks, flag.Archiving)
		remove(own, nil)
		if _, err := s.Switch(t.Context(), somebody, toFlag(asks), flag.Unarchived); err == nil {
			t.Error("a flag is brought back whose segment is gone")
		}
	},
}
