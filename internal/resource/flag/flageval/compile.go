package flageval

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
)

// Compile makes a set. A flag or segment finds what it names in its own scope first, then
// in the one of all. It returns an error that names the flag or segment of which something
// is not as Check wants it.
func Compile(flags []Member[Definition], segments []Member[Segment]) (*Set, error) {
	return Recompile(nil, flags, segments)
}

// maxSlots is how many attributes a set may ask about and still be taken over from: those that
// nobody asks about any more are forgotten with the next set beyond it.
const maxSlots = 4096

// Recompile is Compile, but takes over what an earlier set, which may be nil, made of the same
// definitions and segments: to change one flag of many costs little more than that flag. What is
// behind the pointers must not have changed.
func Recompile(was *Set, flags []Member[Definition], segments []Member[Segment]) (*Set, error) {
	s := &Set{flags: make(map[name]*Flag, len(flags)), ordered: make([]*Flag, len(flags)), asked: segments}
	if was == nil || len(was.slots) > maxSlots || !slices.Equal(was.asked, segments) {
		was = nil // what rules made of a segment is in their conditions
		if err := s.compileSegments(); err != nil {
			return nil, err
		}
	} else {
		s.segments, s.slots = was.segments, maps.Clone(was.slots)
	}
	all := make([]Flag, len(flags))
	for i, m := range flags {
		all[i] = Flag{Definition: m.Is, index: i}
		s.ordered[i] = &all[i]
		s.flags[name{m.Scope, m.Is.Key}] = &all[i]
	}
	for i, m := range flags {
		c := compiler{set: s, scope: m.Scope, definition: m.Is}
		if err := c.flag(was, s.ordered[i]); err != nil {
			return nil, fmt.Errorf("flag %s: %w", m.Is.Key, err)
		}
	}
	return s, nil
}

func (s *Set) compileSegments() error {
	s.segments, s.slots = make(map[name]*segment, len(s.asked)), make(map[string]int)
	for i, m := range s.asked {
		c := compiler{set: s, scope: m.Scope}
		made, err := c.segment(m.Is)
		if err != nil {
			return fmt.Errorf("segment %s: %w", m.Is.Key, err)
		}
		made.place = i
		s.segments[name{m.Scope, m.Is.Key}] = made
	}
	return nil
}

// compiler makes one flag or segment.
type compiler struct {
	set        *Set
	scope      string
	definition *Definition
	segmented  bool
	patterns   map[string]*pattern // compiled already, by their texts
}

func (c *compiler) segment(is *Segment) (*segment, error) {
	made := &segment{users: make(map[string]bool), emails: make(map[string]bool)}
	for _, id := range is.UserIDs {
		made.users[id] = true
	}
	for _, email := range is.Emails {
		made.emails[strings.ToLower(email)] = true
	}
	var err error
	if is.Conditions != nil {
		made.conditions, err = c.conditions(is.Conditions)
	}
	return made, err
}

// flag makes a flag, of which an earlier set may have made the plans.
func (c *compiler) flag(was *Set, f *Flag) error {
	c.needs(f)
	if same := was.same(name{c.scope, c.definition.Key}, c.definition); same != nil {
		f.base, f.environments = same.base, same.environments
		return nil
	}
	runtime.Gosched() // answers wait for the same processor, and there may be many flags
	return c.plans(f)
}

// same returns what a set made of a definition; nil for nothing.
func (s *Set) same(of name, is *Definition) *Flag {
	if s == nil {
		return nil
	}
	if f := s.flags[of]; f != nil && f.Definition == is {
		return f
	}
	return nil
}

func (c *compiler) plans(f *Flag) (err error) {
	d := c.definition
	if f.base, err = c.plan(d); err != nil {
		return err
	}
	if len(d.Environments) > 0 {
		f.environments = make(map[string]*plan, len(d.Environments))
	}
	for environment, o := range d.Environments {
		if f.environments[environment], err = c.plan(d.in(&o)); err != nil {
			return fmt.Errorf("environment %s: %w", environment, err)
		}
	}
	return nil
}

// needs notes what a flag needs: flags of this set, in the order of their variants here.
func (c *compiler) needs(f *Flag) {
	for _, p := range c.definition.Prerequisites {
		n := need{flag: c.set.Flag(c.scope, p.FlagKey)}
		for _, v := range p.Variants {
			if n.flag == nil {
				break
			}
			if place := n.flag.Definition.place(v); place >= 0 {
				n.variants = append(n.variants, place)
			}
		}
		f.needs = append(f.needs, n)
	}
}

// in returns the definition as it is in an environment.
func (d *Definition) in(o *Override) *Definition {
	is := *d
	replace(&is.Active, o.Active)
	replace(&is.Schedule, o.Schedule)
	replace(&is.DefaultVariant, o.DefaultVariant)
	replace(&is.OffVariant, o.OffVariant)
	replace(&is.Targets, o.Targets)
	replace(&is.Rules, o.Rules)
	return &is
}

func replace[T any](was, by *T) {
	if by != nil {
		*was = *by
	}
}

// place returns where a variant stands; -1 for none.
func (d *Definition) place(key string) int {
	for i := range d.Variants {
		if d.Variants[i].Key == key {
			return i
		}
	}
	return -1
}

// variant is place for one that has to be there.
func (c *compiler) variant(key string) (int, error) {
	if place := c.definition.place(key); place >= 0 {
		return place, nil
	}
	return 0, fmt.Errorf("unknown variant %q", key)
}

func (c *compiler) plan(d *Definition) (*plan, error) {
	p := &plan{active: d.Active, users: make(map[string]target), emails: make(map[string]target)}
	p.starts, p.ends = d.Schedule.millis()
	var err error
	if p.standard, err = c.variant(d.DefaultVariant); err != nil {
		return nil, err
	}
	if p.idle, err = c.variant(d.OffVariant); err != nil {
		return nil, err
	}
	if err := c.targets(p, d.Targets); err != nil {
		return nil, err
	}
	for i := range d.Rules {
		if on := d.Rules[i].Enabled; on != nil && !*on {
			continue
		}
		made, err := c.rule(&d.Rules[i])
		if err != nil {
			return nil, fmt.Errorf("rules[%d]: %w", i, err)
		}
		made.place = i
		p.rules = append(p.rules, made)
	}
	return p, nil
}

// targets notes who gets what; of several targets of one person the first counts.
func (c *compiler) targets(p *plan, all []Target) error {
	for i, t := range slices.Backward(all) {
		variant, err := c.variant(t.Variant)
		if err != nil {
			return fmt.Errorf("targets[%d]: %w", i, err)
		}
		for _, id := range t.UserIDs {
			p.users[id] = target{i, variant}
		}
		for _, email := range t.Emails {
			p.emails[strings.ToLower(email)] = target{i, variant}
		}
	}
	return nil
}

func (c *compiler) rule(r *Rule) (made rule, err error) {
	made.starts, made.ends = r.Schedule.millis()
	if r.Conditions != nil {
		c.segmented = false
		if made.conditions, err = c.conditions(r.Conditions); err != nil {
			return made, err
		}
		made.segmented = c.segmented
	}
	switch s := &r.Serve; {
	case s.Rollout != nil:
		err = c.rollout(&made, s.Rollout, r.Progressive)
	case s.Split != nil:
		err = c.split(&made, s)
	default:
		made.kind = ByRule
		made.variant, err = c.variant(s.Variant)
	}
	return made, err
}

func (c *compiler) rollout(made *rule, r *Rollout, p *Progressive) (err error) {
	made.kind, made.bucketBy, made.stop = ByRollout, r.BucketBy, r.OnMiss == MissStop
	made.seed = c.seed(r.Seed) + ":"
	made.rollout = ramp{from: inBuckets(r.Percentage), to: inBuckets(r.Percentage), starts: forever}
	if p != nil {
		made.rollout = ramp{
			from: inBuckets(p.From), to: inBuckets(p.To), starts: p.StartsAt.UnixMilli(), ends: p.EndsAt.UnixMilli(),
		}
	}
	made.variant, err = c.variant(r.Variant)
	return err
}

func (c *compiler) split(made *rule, s *Serve) error {
	made.kind, made.bucketBy = BySplit, s.BucketBy
	made.seed = c.seed(s.Seed) + ":variant:"
	upTo := 0.0
	for _, part := range *s.Split {
		variant, err := c.variant(part.Variant)
		if err != nil {
			return err
		}
		upTo += inBuckets(part.Weight)
		made.shares = append(made.shares, share{variant, upTo})
	}
	return nil
}

func (c *compiler) seed(set string) string {
	if set == "" {
		return c.definition.Key
	}
	return set
}

// inBuckets returns how many of the buckets a percentage is: 0.001 is one.
func inBuckets(percentage float64) float64 { return math.Round(percentage * buckets / 100) }

// millis returns the bounds of a schedule in Unix milliseconds.
func (s *Schedule) millis() (starts, ends int64) {
	starts, ends = always, forever
	if !s.StartsAt.IsZero() {
		starts = s.StartsAt.UnixMilli()
	}
	if !s.EndsAt.IsZero() {
		ends = s.EndsAt.UnixMilli()
	}
	return starts, ends
}
