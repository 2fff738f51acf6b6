package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// follower holds the sets of organizations and reads them again next to what it holds, as a
// process does that follows changes.
type follower struct {
	*Fixture

	held map[string]*flagset.Set // by organization; nil of one that is gone
}

// following holds the sets of organizations as they are now.
func (f *Fixture) following(organizations ...*org.Organization) *follower {
	f.tb.Helper()
	w := &follower{f, map[string]*flagset.Set{}}
	for _, o := range organizations {
		w.follow("at first", o.ID)
	}
	return w
}

// follow reads a set again, and expects what one who holds nothing reads, with the very records
// that were held in the same version. It returns what was read, and not taken over: "kind key".
func (w *follower) follow(when, id string) (sent []string) {
	w.tb.Helper()
	was, is, anew := w.held[id], w.livingSet(id, w.held[id]), w.livingSet(id, nil)
	w.held[id] = is
	if (is == nil) != (anew == nil) {
		w.tb.Fatalf("%s: the set is there: %t, read anew: %t", when, is != nil, anew != nil)
	}
	if diff := cmp.Diff(outcomeOf(anew), outcomeOf(is)); diff != "" {
		w.tb.Fatalf("%s (-read anew +followed):\n%s", when, diff)
	}
	sent, again := sentOf(was, is)
	if len(again) > 0 {
		w.tb.Fatalf("%s: %v are held in the same version and were read again", when, again)
	}
	return sent
}

// expectSent is follow of a change after which so much is read, and nothing else.
func (w *follower) expectSent(when, id string, want ...string) {
	w.tb.Helper()
	if diff := cmp.Diff(want, w.follow(when, id)); diff != "" {
		w.tb.Errorf("%s, what is read (-want +got):\n%s", when, diff)
	}
}

// livingSet is an organization's set, read next to one that is held; nil where the organization is gone.
func (f *Fixture) livingSet(id string, held *flagset.Set) *flagset.Set {
	f.tb.Helper()
	c, err := f.Store().FlagSet(f.tb.Context(), id, held)
	if errors.Is(err, flagset.ErrGone) {
		return nil
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	s, err := flagset.Renew(held, id, c.Mark, c.Flags, c.Segments)
	if err != nil {
		f.tb.Fatal(err)
	}
	return s
}

// sentOf are the flags and segments of a set that are not those of an earlier one, and of them
// those that are the same in the same version.
func sentOf(was, is *flagset.Set) (sent, again []string) {
	known := map[any]string{}
	versions := map[string]bool{}
	note := func(pointer any, kind, key string, r *managed.Record, into bool) {
		version := fmt.Sprint(r.ID, " ", r.Version, " ", r.UpdatedAt)
		switch {
		case into:
			known[pointer], versions[version] = key, true
		case known[pointer] == "":
			sent = append(sent, kind+" "+key)
			if versions[version] && was.Mark.Epoch == is.Mark.Epoch {
				again = append(again, kind+" "+key)
			}
		}
	}
	for _, s := range []*flagset.Set{was, is} {
		for f := range s.Flags() {
			note(f, "flag", f.Key(), &f.Record, s == was)
		}
		if s == nil {
			continue
		}
		for _, g := range s.Segments {
			note(g, "segment", g.Key(), &g.Record, s == was)
		}
	}
	slices.Sort(sent)
	return sent, again
}

// outcome is what there is to say of a set: what it has, and what it serves.
type outcome struct {
	Mark     flagset.Mark
	Flags    []*flag.Flag
	Segments []*flag.Segment
	Served   map[string]served // by website, key and user
}

type served struct {
	Result flageval.Result
	Err    error
}

func outcomeOf(s *flagset.Set) (t outcome) {
	if s == nil {
		return t
	}
	t = outcome{Mark: s.Mark, Flags: slices.Collect(s.Flags()), Segments: s.Segments, Served: map[string]served{}}
	slices.SortFunc(t.Flags, func(a, b *flag.Flag) int { return strings.Compare(a.ID, b.ID) })
	websites := map[string]bool{"": true}
	for _, f := range t.Flags {
		websites[f.WebsiteID] = true
	}
	for _, user := range []string{"", "u", "ann"} {
		var e flageval.Evaluator
		e.Reset(s.Compiled, &flageval.Context{UserID: user}, "", Start)
		for w := range websites {
			for f := range s.All(w) {
				r, err := e.Evaluate(f.Flag)
				t.Served[w+"/"+f.Key()+"/"+user] = served{r, err}
			}
		}
	}
	return t
}

// move gives a website to another organization.
func (f *Fixture) move(w *website.Website, from, to string) {
	f.tb.Helper()
	t := managed.Target{OrganizationID: from, Ref: w.ID}
	if _, err := f.sites().Move(f.tb.Context(), somebody, t, to, nil); err != nil {
		f.tb.Fatal(err)
	}
}
