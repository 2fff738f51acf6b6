package flagset

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// Mark says how new a set is. The life of the store comes first: versions come again in one
// that was put back to an earlier state.
type Mark struct{ Epoch, Version int64 }

// Before reports whether a set of the mark is older than one of the other.
func (m Mark) Before(other Mark) bool {
	if m.Epoch != other.Epoch {
		return m.Epoch < other.Epoch
	}
	return m.Version < other.Version
}

// Flag is a flag as it is served.
type Flag struct {
	*flageval.Flag

	ID        string
	WebsiteID string // empty: of all websites
	Version   int64
	About     *flag.About // shared; not to be changed
	Record    *flag.Flag  // as it is kept, with its name; shared; not to be changed

	bytes int64 // of memory, with all that is made of it
}

// Key is what the flag is asked for by.
func (f *Flag) Key() string { return f.Definition.Key }

// Set is all flags and segments of an organization that are not archived, as they were at one
// time. It does not change and is safe for concurrent use.
type Set struct {
	OrganizationID string
	Mark           Mark
	// Compiled is what evaluators are reset with.
	Compiled *flageval.Set
	// Segments are in the order of their websites and keys; they are not to be changed.
	Segments []*flag.Segment
	// Bytes is about what the set takes of memory.
	Bytes int64

	flags map[*flageval.Flag]*Flag
	own   map[string][]*Flag // by website, in the order of keys; those of all websites are under ""
	asked []*flag.Segment    // as Compiled has them, in the order of their ids
	views sync.Map           // viewer → *View

	segmentBytes int64 // of memory, with what is made of the segments
}

// New makes a set of flags, of which archived ones are left out, and segments.
func New(organizationID string, mark Mark, flags []*flag.Flag, segments []*flag.Segment) (*Set, error) {
	return Renew(nil, organizationID, mark, flags, segments)
}

// Renew is New, but takes over what an earlier set, which may be nil, has of the same flags and
// segments: the same pointers.
func Renew(was *Set, organizationID string, mark Mark, flags []*flag.Flag, segments []*flag.Segment) (*Set, error) {
	s := &Set{
		OrganizationID: organizationID, Mark: mark, Segments: slices.Clone(segments),
		flags: make(map[*flageval.Flag]*Flag, len(flags)),
		own:   make(map[string][]*Flag), asked: slices.Clone(segments),
	}
	slices.SortFunc(s.asked, func(a, b *flag.Segment) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Segments, func(a, b *flag.Segment) int {
		return strings.Compare(a.WebsiteID+"\x00"+a.Key(), b.WebsiteID+"\x00"+b.Key())
	})
	var err error
	if s.Compiled, err = flag.Recompile(was.compiled(), flags, s.asked); err != nil {
		return nil, fmt.Errorf("compiling the flags of organization %s: %w", organizationID, err)
	}
	for _, f := range flags {
		if f.Live() {
			s.add(was, f)
		}
	}
	for _, all := range s.own {
		slices.SortFunc(all, func(a, b *Flag) int { return strings.Compare(a.Key(), b.Key()) })
	}
	s.count(was)
	return s, nil
}

func (s *Set) compiled() *flageval.Set {
	if s == nil {
		return nil
	}
	return s.Compiled
}

func (s *Set) add(was *Set, f *flag.Flag) {
	is := &Flag{
		Flag: s.Compiled.Flag(f.WebsiteID, f.Key()), ID: f.ID, WebsiteID: f.WebsiteID, Version: f.Version,
		About: &f.About, Record: f,
	}
	if same := was.find(f.WebsiteID, f.Key()); same != nil && same.Record == f {
		is.bytes = same.bytes
	} else {
		is.bytes = flagBytes(is)
	}
	s.flags[is.Flag] = is
	s.own[f.WebsiteID] = append(s.own[f.WebsiteID], is)
}

// Same returns a flag that the set has, if it is the same in the same version, of the same time;
// nil for none, and of a nil set. Versions come again in a store that was put back to an earlier
// state: before that is known as another epoch, the time tells.
func (s *Set) Same(websiteID, key, id string, version int64, updatedAt time.Time) *flag.Flag {
	f := s.find(websiteID, key)
	if f == nil || f.ID != id || f.WebsiteID != websiteID || f.Version != version || !f.Record.UpdatedAt.Equal(updatedAt) {
		return nil
	}
	return f.Record
}

// SameSegment is Same of a segment.
func (s *Set) SameSegment(websiteID, id string, version int64, updatedAt time.Time) *flag.Segment {
	if s == nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(s.asked, id,
		func(g *flag.Segment, id string) int { return strings.Compare(g.ID, id) })
	if !found {
		return nil
	}
	if g := s.asked[i]; g.WebsiteID == websiteID && g.Version == version && g.UpdatedAt.Equal(updatedAt) {
		return g
	}
	return nil
}

// Flags goes through all flags of the set, in no order; none of a nil set.
func (s *Set) Flags() iter.Seq[*flag.Flag] {
	return func(yield func(*flag.Flag) bool) {
		if s == nil {
			return
		}
		for _, f := range s.flags {
			if !yield(f.Record) {
				return
			}
		}
	}
}

// find is Find, also of a nil set.
func (s *Set) find(websiteID, key string) *Flag {
	if s == nil {
		return nil
	}
	return s.Find(websiteID, key)
}

// Find returns what a key means in a website: its own flag, or that of all websites; nil for
// none.
func (s *Set) Find(websiteID, key string) *Flag {
	if f := s.Compiled.Flag(websiteID, key); f != nil {
		return s.flags[f]
	}
	return nil
}

// All returns the flags of a website, in the order of their keys: its own, and those of all
// websites that they do not hide.
func (s *Set) All(websiteID string) iter.Seq[*Flag] {
	own, shared := s.own[websiteID], s.own[""]
	if websiteID == "" {
		own = nil
	}
	return func(yield func(*Flag) bool) {
		own, shared := own, shared
		for len(own) > 0 || len(shared) > 0 {
			var next *Flag
			switch {
			case len(own) == 0:
				next, shared = shared[0], shared[1:]
			case len(shared) == 0 || own[0].Key() < shared[0].Key():
				next, own = own[0], own[1:]
			case own[0].Key() == shared[0].Key():
				next, own, shared = own[0], own[1:], shared[1:]
			default:
				next, shared = shared[0], shared[1:]
			}
			if !yield(next) {
				return
			}
		}
	}
}
