package flag

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// Refs is what others may ask a flag for, and what it asks of others.
type Refs struct {
	Variants      []string                `json:"variants"`
	Prerequisites []flageval.Prerequisite `json:"prerequisites,omitempty"`
	Segments      map[string]string       `json:"segments,omitempty"` // key, and where it stands first
}

// Refs returns the flag's.
func (f *Flag) Refs() Refs {
	r := Refs{Prerequisites: f.Definition.Prerequisites, Segments: f.Definition.SegmentsAsked()}
	for _, v := range f.Definition.Variants {
		r.Variants = append(r.Variants, v.Key)
	}
	return r
}

// Outline is a flag, or a segment, as others see it that refer to it.
type Outline struct {
	ID        string
	WebsiteID string // empty: of all websites
	Key       string
	Refs      Refs // of a flag
}

// Outlines are the flags of an organization that are not archived, and its segments, but
// for those of deleted websites. They do not change.
type Outlines struct{ Flags, Segments []Outline }

// Fits says whether a change may be made next to all else that the organization has: nil,
// or a Validation or Conflict error. The store asks it in the transaction that makes the
// change, after which no other change of the organization's flags is made until it ends.
type Fits func(all *Outlines) error

func (f *Flag) outline() *Outline {
	return &Outline{ID: f.ID, WebsiteID: f.WebsiteID, Key: f.Key(), Refs: f.Refs()}
}

// scoped is a name in a website, or in all of them.
type scoped struct{ website, key string }

// names finds outlines by their names.
type names map[scoped]*Outline

func byName(all []Outline) names {
	n := make(names, len(all))
	for i := range all {
		n[scoped{all[i].WebsiteID, all[i].Key}] = &all[i]
	}
	return n
}

// find returns what a website's flag means by a key: its website's own first.
func (n names) find(website, key string) *Outline {
	if found := n[scoped{website, key}]; found != nil || website == "" {
		return found
	}
	return n[scoped{"", key}]
}

// change is a flag that becomes another, among all others.
type change struct {
	was, is       *Outline // nil for one that is not live
	before, after names
	segments      names
}

// fitting returns what the flag was and becomes as a question to all others; was is nil for a
// new one.
func fitting(was, is *Flag) Fits {
	return func(all *Outlines) error {
		c := &change{before: byName(all.Flags), segments: byName(all.Segments)}
		c.after = maps.Clone(c.before)
		if was != nil && was.Live() {
			c.was = was.outline()
			delete(c.after, scoped{was.WebsiteID, was.Key()})
		}
		if is.Live() {
			c.is = is.outline()
			c.after[scoped{is.WebsiteID, is.Key()}] = c.is
		}
		return c.judge()
	}
}

func (c *change) judge() error {
	for _, check := range []func() error{c.missing, c.needed, c.circle, c.depth} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// missing says which of the flag's own references leads nowhere.
func (c *change) missing() error {
	if c.is == nil {
		return nil
	}
	var bad apierr.Rejection
	for i, p := range c.is.Refs.Prerequisites {
		at := indexed("prerequisites", i)
		other := c.after.find(c.is.WebsiteID, p.FlagKey)
		if other == nil {
			bad.Add(at+".flagKey", "unknown_flag", "%s.flagKey must be the key of a flag; %s does not exist or "+
				"is archived", at, p.FlagKey)
			continue
		}
		for j, v := range p.Variants {
			if path := indexed(at+".variants", j); !slices.Contains(other.Refs.Variants, v) {
				bad.Add(path, "unknown_variant", "%s must be a variant of flag %s; %s does not exist", path, p.FlagKey, v)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.is.Refs.Segments)) {
		if path := c.is.Refs.Segments[key]; c.segments.find(c.is.WebsiteID, key) == nil {
			bad.Add(path, "unknown_segment", "%s must be the key of a segment; %s does not exist", path, key)
		}
	}
	return bad.Err()
}

// needed says which other flags ask this one, or the one that it hides, for what they do
// not get any more.
func (c *change) needed() error {
	var gone, lacking []string
	for _, o := range c.after {
		for _, p := range o.Refs.Prerequisites {
			was, is := c.before.find(o.WebsiteID, p.FlagKey), c.after.find(o.WebsiteID, p.FlagKey)
			switch {
			case o == c.is || was == nil || was == is:
			case c.is == nil && c.was != nil && was.ID == c.was.ID:
				gone = append(gone, o.Key)
			case slices.ContainsFunc(p.Variants, func(v string) bool {
				return slices.Contains(was.Refs.Variants, v) && !slices.Contains(is.Refs.Variants, v)
			}):
				lacking = append(lacking, o.Key)
			}
		}
	}
	switch {
	case len(gone) > 0:
		return conflict(ErrInUse, "Flag %s is a prerequisite of %s", c.was.Key, listed(gone))
	case len(lacking) > 0:
		return conflict(ErrInUse, "The change removes a variant of flag %s that is a "+
			"prerequisite of %s", c.is.Key, listed(lacking))
	}
	return nil
}

// circle says which flags would need each other. One that a change makes leads through the
// flag that it changes.
func (c *change) circle() error {
	if c.is == nil {
		return nil
	}
	seen := make(map[*Outline]bool)
	var walk func(o *Outline, path []string) []string
	walk = func(o *Outline, path []string) []string {
		for _, p := range o.Refs.Prerequisites {
			switch next := c.after.find(o.WebsiteID, p.FlagKey); {
			case next == c.is:
				return append(path, o.Key, c.is.Key)
			case next != nil && !seen[next]:
				seen[next] = true
				if found := walk(next, append(path, o.Key)); found != nil {
					return found
				}
			}
		}
		return nil
	}
	if path := walk(c.is, nil); path != nil {
		return conflict(ErrCycle, "The prerequisites form a cycle: %s", strings.Join(path, " → "))
	}
	return nil
}

// depth says that too many flags would need each other in a row.
func (c *change) depth() error {
	if n := c.after.deepest(); n > MaxDepth && n > c.before.deepest() {
		return apierr.Invalid("prerequisites", "too_deep",
			fmt.Sprintf("prerequisites form a chain of %d flags; at most %d are allowed", n, MaxDepth))
	}
	return nil
}

// deepest is how many prerequisites need each other in a row at most. There are no circles.
func (n names) deepest() (most int) {
	known := make(map[*Outline]int, len(n))
	var below func(o *Outline) int
	below = func(o *Outline) int {
		if d, ok := known[o]; ok {
			return d
		}
		known[o] = 0
		deep := 0
		for _, p := range o.Refs.Prerequisites {
			if next := n.find(o.WebsiteID, p.FlagKey); next != nil {
				deep = max(deep, below(next)+1)
			}
		}
		known[o] = deep
		return deep
	}
	for _, o := range n {
		most = max(most, below(o))
	}
	return most
}

// unasked says which flags ask for a segment that is to be deleted.
func unasked(s *Segment) Fits {
	return func(all *Outlines) error {
		segments := byName(all.Segments)
		var by []string
		for i := range all.Flags {
			o := &all.Flags[i]
			if _, asks := o.Refs.Segments[s.Key()]; !asks {
				continue
			}
			if found := segments.find(o.WebsiteID, s.Key()); found != nil && found.ID == s.ID {
				by = append(by, o.Key)
			}
		}
		if len(by) > 0 {
			return conflict(ErrInUse, "Segment %s is used by %s", s.Key(), listed(by))
		}
		return nil
	}
}

// anyway is for changes that no other flag or segment has to do with.
func anyway(*Outlines) error { return nil }

// listed names the first few of several flags.
func listed(keys []string) string {
	const most = 5
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if n := len(keys); n > most {
		return fmt.Sprintf("flags %s and %d more", strings.Join(keys[:most], ", "), n-most)
	} else if n > 1 {
		return "flags " + strings.Join(keys, ", ")
	}
	return "flag " + keys[0]
}

// conflict returns a Conflict error about a cause.
func conflict(cause error, message string, args ...any) error {
	return &apierr.Error{Code: apierr.Conflict, Message: fmt.Sprintf(message, args...), Err: cause}
}
