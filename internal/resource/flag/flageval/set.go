package flageval

import "time"

// Member is a flag or a segment of a set, and whose it is.
type Member[T any] struct {
	// Scope is a website; empty for what belongs to all of them.
	Scope string
	Is    *T
}

// Set is flags and segments that refer to each other, ready to be evaluated. It does not
// change and is safe for concurrent use.
type Set struct {
	flags    map[name]*Flag
	ordered  []*Flag
	asked    []Member[Segment] // that the segments were made of
	segments map[name]*segment // shared with later sets of the same segments
	slots    map[string]int    // of the attributes that conditions ask about
}

// Segments is what was made of the segments, for those who count what it takes of memory: a map
// with pointers as values.
func (s *Set) Segments() any { return s.segments }

type name struct{ scope, key string }

// Flag is a flag of a set.
type Flag struct {
	Definition *Definition

	index        int // in the set
	base         *plan
	environments map[string]*plan
	needs        []need
}

// need is a prerequisite.
type need struct {
	flag     *Flag // nil for one that is not in the set: it is never met
	variants []int
}

// plan is what a flag does in one environment.
type plan struct {
	active         bool
	starts, ends   int64 // Unix milliseconds
	users, emails  map[string]target
	rules          []rule
	standard, idle int // variants: the default one, and the one while the flag is off
}

// target is a variant for one person, and which of the targets says so.
type target struct{ place, variant int }

// rule is a Rule ready to be asked.
type rule struct {
	place        int // among the definition's rules
	starts, ends int64
	conditions   *conditions
	segmented    bool // it asks for a segment

	kind     Reason // ByRule, ByRollout or BySplit
	variant  int
	shares   []share
	rollout  ramp
	bucketBy string
	seed     string // with the colon behind it
	stop     bool
}

// share is a variant of a split, and the first bucket beyond it.
type share struct {
	variant int
	upTo    float64
}

// ramp is a percentage as buckets, from one time to another.
type ramp struct {
	from, to     float64
	starts, ends int64
}

func (r *ramp) at(now int64) float64 {
	switch {
	case now < r.starts:
		return r.from
	case now >= r.ends:
		return r.to
	}
	return r.from + (r.to-r.from)*float64(now-r.starts)/float64(r.ends-r.starts)
}

// segment is a Segment ready to be asked.
type segment struct {
	place         int // among those that the set was compiled of
	users, emails map[string]bool
	conditions    *conditions
}

// has reports whether a context is in the segment.
func (s *segment) has(e *Evaluator) bool {
	if !e.spend(1 + (len(e.ctx.UserID)+len(e.email))/parsedBytes) {
		return false
	}
	return s.users[e.ctx.UserID] || s.emails[string(e.email)] || s.conditions != nil && s.conditions.met(e)
}

// Flag returns a website's flag of a key, or the one of all websites; nil for none.
func (s *Set) Flag(scope, key string) *Flag {
	if f := s.flags[name{scope, key}]; f != nil || scope == "" {
		return f
	}
	return s.flags[name{"", key}]
}

func (s *Set) segment(scope, key string) *segment {
	if found := s.segments[name{scope, key}]; found != nil {
		return found
	}
	return s.segments[name{"", key}]
}

// slot returns the place of an attribute among those that are asked about.
func (s *Set) slot(attribute string) int {
	place, known := s.slots[attribute]
	if !known {
		place = len(s.slots)
		s.slots[attribute] = place
	}
	return place
}

// Variant returns a variant of the flag by its place, as in Result.
func (f *Flag) Variant(place int) *Variant { return &f.Definition.Variants[place] }

// On reports whether the flag is active in an environment and within its schedule at a time.
func (f *Flag) On(environment string, at time.Time) bool {
	return f.plan(environment).on(at.UnixMilli())
}

func (p *plan) on(now int64) bool { return p.active && now >= p.starts && now < p.ends }

func (f *Flag) plan(environment string) *plan {
	if p := f.environments[environment]; p != nil {
		return p
	}
	return f.base
}
