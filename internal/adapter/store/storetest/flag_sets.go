package storetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/org"
)

// contents are what an organization's set holds: its mark, and the keys of flags and segments
// behind the websites that they are of.
func (f *Fixture) contents(id string) string {
	f.tb.Helper()
	c, err := f.Store().FlagSet(f.tb.Context(), id, nil)
	if errors.Is(err, flagset.ErrGone) {
		return "gone"
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	var names []string
	for _, one := range c.Flags {
		names = append(names, "flag "+one.WebsiteID+"/"+one.Key())
	}
	for _, one := range c.Segments {
		names = append(names, "segment "+one.WebsiteID+"/"+one.Key())
	}
	slices.Sort(names)
	return fmt.Sprintf("%d.%d: %s", c.Mark.Epoch, c.Mark.Version, strings.Join(names, ", "))
}

func (f *Fixture) expectContents(when, id, want string) {
	f.tb.Helper()
	if got := f.contents(id); got != want {
		f.tb.Errorf("%s: %s, want %s", when, got, want)
	}
}

var flagSetTests = map[string]func(*testing.T, *Fixture){
	"a set has flags and segments with all that is evaluated": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		w := f.Website(o.ID)
		g := f.segment(s, o.ID, w.ID, "staff")
		made := f.flag(s, o.ID, w.ID, "nav")
		of, err := s.Update(t.Context(), somebody, toFlag(made), flag.Fields{
			Owner: new(awkward), Visibility: new(flag.Server),
			Targets: &[]flageval.Target{{Variant: "on", UserIDs: []string{awkward}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Store().FlagSet(t.Context(), o.ID, nil)
		if err != nil || len(c.Flags) != 1 || len(c.Segments) != 1 {
			t.Fatalf("FlagSet() = %+v, %v", c, err)
		}
		flagIs, err := f.Store().FlagByID(t.Context(), of.ID)
		if diff := cmp.Diff(flagIs, c.Flags[0]); err != nil || diff != "" {
			t.Errorf("the flag, %v (-want +got):\n%s", err, diff)
		}
		segmentIs, err := f.Store().SegmentByID(t.Context(), g.ID)
		if diff := cmp.Diff(segmentIs, c.Segments[0]); err != nil || diff != "" {
			t.Errorf("the segment, %v (-want +got):\n%s", err, diff)
		}
		if _, err := flagset.New(o.ID, c.Mark, c.Flags, c.Segments); err != nil {
			t.Errorf("compiling them: %v", err)
		}
	},
	"a set has nothing that is archived, deleted, or another's": func(t *testing.T, f *Fixture) {
		s, o, other := f.flags(), f.Organization(), f.Organization()
		f.expectContents("at first", o.ID, "1.0: ")
		f.expectContents("of none", "org_none", "gone")
		w := f.Website(o.ID)
		base := f.flag(s, o.ID, "", "base")
		f.flag(s, o.ID, w.ID, "nav")
		f.segment(s, o.ID, "", "staff")
		f.flag(s, other.ID, "", "theirs")
		f.expectContents("made", o.ID, "1.3: flag /base, flag "+w.ID+"/nav, segment /staff")
		f.switched(s, base, flag.Archiving)
		f.expectContents("archived", o.ID, "1.4: flag "+w.ID+"/nav, segment /staff")
		if _, err := f.sites().Delete(t.Context(), somebody, site(w)); err != nil {
			t.Fatal(err)
		}
		f.expectContents("of a deleted website", o.ID, "1.5: segment /staff")
		f.expectContents("another's", other.ID, "1.1: flag /theirs")
		if err := f.Store().RaiseEpoch(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		f.expectContents("put back", other.ID, "2.1: flag /theirs")
	},
	"a deleted organization has no set, and its mark is none, until it is restored": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		f.flag(s, o.ID, "", "nav")
		marks := func(when string, want int64) {
			t.Helper()
			if got := f.setOf(o.ID); got != want {
				t.Errorf("%s: version %d, want %d", when, got, want)
			}
		}
		marks("made", 1)
		f.delete(o.ID, Start)
		f.expectContents("deleted", o.ID, "gone")
		marks("deleted", 0)
		soon := Start.Add(org.RestoreFor / 2)
		if _, err := f.Store().RestoreOrganization(t.Context(), somebody, o.ID, "", soon); err != nil {
			t.Fatal(err)
		}
		f.expectContents("restored", o.ID, "1.1: flag /nav")
		marks("restored", 1)
	},
	"what is held in the same version is taken from there": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		a, b := f.flag(s, o.ID, "", "a"), f.flag(s, o.ID, "", "b")
		g := f.segment(s, o.ID, "", "staff")
		first := f.setNextTo(o.ID, nil)
		f.Clock.Set(Start.Add(time.Minute)) // definitions from before are left out next to a later set
		f.switched(s, b, flag.Enabled)
		is := f.setNextTo(o.ID, first)
		if is.Find("", "a").Record != first.Find("", "a").Record || is.Segments[0] != first.Segments[0] {
			t.Error("what did not change is read again")
		}
		if now := is.Find("", "b").Record; !now.Definition.Active || now.Version != b.Version+1 ||
			len(now.Definition.Variants) == 0 {
			t.Errorf("what changed is %+v", now)
		}
		// Of a set that lacks some of them, all is read where their definitions were left out.
		for what, held := range map[string]*flagset.Set{
			"flags":    f.made(o.ID, is, nil, is.Segments),
			"segments": f.made(o.ID, is, []*flag.Flag{is.Find("", "b").Record}, nil),
		} {
			all := f.setNextTo(o.ID, held)
			if all.Find("", "a").ID != a.ID || len(all.Find("", "a").Definition.Variants) == 0 || len(all.Segments) != 1 ||
				all.Segments[0].ID != g.ID {
				t.Errorf("next to a set without its %s: %+v", what, all)
			}
		}
	},
	"of another epoch nothing that is held is taken": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		f.flag(s, o.ID, "", "a")
		f.segment(s, o.ID, "", "staff")
		first := f.setNextTo(o.ID, nil)
		if err := f.Store().RaiseEpoch(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		is := f.setNextTo(o.ID, first)
		if is.Find("", "a").Record == first.Find("", "a").Record || is.Segments[0] == first.Segments[0] {
			t.Error("what is held of another epoch is taken as the same")
		}
		if diff := cmp.Diff(first.Find("", "a").Record, is.Find("", "a").Record); diff != "" {
			t.Errorf("the flag (-first +then):\n%s", diff)
		}
	},
	"a set that is read while flags change is that of its version": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		a, b := f.flag(s, o.ID, "", "a"), f.flag(s, o.ID, "", "b")
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(done)
			for range 30 { // a is changed first, and b after it
				f.switched(s, a, flag.Enabled)
				f.switched(s, b, flag.Enabled)
				f.switched(s, a, flag.Disabled)
				f.switched(s, b, flag.Disabled)
			}
		})
		for reading := true; reading; {
			select {
			case <-done:
				reading = false
			default:
			}
			c, err := f.Store().FlagSet(t.Context(), o.ID, nil)
			if err != nil || len(c.Flags) != 2 {
				t.Errorf("FlagSet() = %+v, %v", c, err)
				break
			}
			on := map[string]bool{}
			for _, is := range c.Flags {
				on[is.Key()] = is.Definition.Active
			}
			turn := (c.Mark.Version - 2) % 4 // 2 is the version at which both are off
			if want := map[string]bool{"a": turn == 1 || turn == 2, "b": turn == 2 || turn == 3}; !cmp.Equal(on, want) {
				t.Errorf("version %d: %v, want %v", c.Mark.Version, on, want)
			}
		}
		wg.Wait()
	},
	"a memory has each change, told or looked for, and an organization's end": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		m := f.memory(t)
		f.expectServed(m, o.ID, "")
		a := f.flag(s, o.ID, "", "a")
		m.Apply(f.lastOfFlags(o.ID))
		f.expectServed(m, o.ID, "a off")
		f.switched(s, a, flag.Enabled)
		m.Forget()
		f.expectServed(m, o.ID, "a on")
		f.flag(s, o.ID, "", "b")
		set, err := m.AtLeast(t.Context(), o.ID, flagset.Mark{Epoch: 1, Version: 3})
		if err != nil || set.Find("", "b") == nil {
			t.Errorf("AtLeast() = %+v, %v", set, err)
		}
		f.delete(o.ID, Start)
		m.Apply(control.Change{Kind: control.Organization, ID: o.ID, Gone: true, Version: 2, Epoch: 1})
		f.expectServed(m, o.ID, "")
	},
}

// setNextTo is an organization's set, read next to one that is held.
func (f *Fixture) setNextTo(id string, held *flagset.Set) *flagset.Set {
	f.tb.Helper()
	s := f.livingSet(id, held)
	if s == nil {
		f.tb.Fatalf("organization %s has no set", id)
	}
	return s
}

// made is a set as new as another one, with some of what that has.
func (f *Fixture) made(id string, as *flagset.Set, flags []*flag.Flag, segments []*flag.Segment) *flagset.Set {
	f.tb.Helper()
	s, err := flagset.New(id, as.Mark, flags, segments)
	if err != nil {
		f.tb.Fatal(err)
	}
	return s
}

// memory holds sets of the fixture's store until the test ends.
func (f *Fixture) memory(t *testing.T) *flagset.Memory {
	t.Helper()
	m := flagset.NewMemory(flagset.Config{}, flagset.Deps{Store: f.Store(), Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return m
}

// expectServed waits until a memory has the flags, by their keys, each on or off.
func (f *Fixture) expectServed(m *flagset.Memory, id, want string) {
	f.tb.Helper()
	got := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); nextMillisecond() {
		set, err := m.Get(f.tb.Context(), id)
		if err != nil {
			f.tb.Fatal(err)
		}
		var all []string
		for is := range set.All("") {
			all = append(all, is.Key()+map[bool]string{true: " on", false: " off"}[is.Definition.Active])
		}
		if got = strings.Join(all, ", "); got == want {
			return
		}
	}
	f.tb.Fatalf("%s serves %q, want %q", id, got, want)
}

// lastOfFlags is the last that was announced of an organization's flags, as a relay publishes it.
func (f *Fixture) lastOfFlags(id string) control.Change {
	f.tb.Helper()
	announced := f.announced()
	last := announced[len(announced)-1]
	if last.Kind != control.Flags || last.ID != id {
		f.tb.Fatalf("the last change is %+v", last)
	}
	last.Epoch = 1
	return last
}
