package flageval

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
	segments map[name]*segment
	slots    map[string]int // of the attributes that conditions ask about
}

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
	users, emails map[string]bool
	conditions    *conditions
}

// has reports whether a context is in the segment.
func (s *segment) has(e *Evaluator) bool {
	return s.users[e.ctx.UserID] || s.emails[string(e.email)] || s.conditions != nil && s.conditions.met(e)
}

// Compile makes a set. A flag or segment finds what it names in its own scope first, then
// in the one of all. It returns an error that names the flag or segment of which something
// is not as Check wants it.
func Compile(flags []Member[Definition], segments []Member[Segment]) (*Set, error) {
	s := &Set{flags: make(map[name]*Flag, len(flags)), segments: make(map[name]*segment, len(segments)), slots: make(map[string]int)}
	for _, m := range segments {
		c := compiler{set: s, scope: m.Scope}
		made, err := c.segment(m.Is)
		if err != nil {
			return nil, fmt.Errorf("segment %s: %w", m.Is.Key, err)
		}
		s.segments[name{m.Scope, m.Is.Key}] = made
	}
	for i, m := range flags {
		f := &Flag{Definition: m.Is, index: i}
		s.flags[name{m.Scope, m.Is.Key}] = f
		s.ordered = append(s.ordered, f)
	}
	for i, m := range flags {
		c := compiler{set: s, scope: m.Scope, definition: m.Is}
		if err := c.flag(s.ordered[i]); err != nil {
			return nil, fmt.Errorf("flag %s: %w", m.Is.Key, err)
		}
	}
	return s, nil
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

func (f *Flag) plan(environment string) *plan {
	if p := f.environments[environment]; p != nil {
		return p
	}
	return f.base
}

// compiler makes one flag or segment.
type compiler struct {
	set        *Set
	scope      string
	definition *Definition
	segmented  bool
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

func (c *compiler) flag(f *Flag) (err error) {
	d := c.definition
	if f.base, err = c.plan(d); err != nil {
		return err
	}
	f.environments = make(map[string]*plan, len(d.Environments))
	for environment, o := range d.Environments {
		if f.environments[environment], err = c.plan(d.in(&o)); err != nil {
			return fmt.Errorf("environment %s: %w", environment, err)
		}
	}
	for _, p := range d.Prerequisites {
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
	return nil
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
	return 0, fmt.Errorf("there is no variant %q", key)
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
	made.rollout = ramp{from: inBuckets(r.Percentage), to: inBuckets(r.Percentage), starts: math.MaxInt64}
	if p != nil {
		made.rollout = ramp{from: inBuckets(p.From), to: inBuckets(p.To), starts: p.StartsAt.UnixMilli(), ends: p.EndsAt.UnixMilli()}
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
	starts, ends = math.MinInt64, math.MaxInt64
	if !s.StartsAt.IsZero() {
		starts = s.StartsAt.UnixMilli()
	}
	if !s.EndsAt.IsZero() {
		ends = s.EndsAt.UnixMilli()
	}
	return starts, ends
}

func (c *compiler) conditions(is *Conditions) (*conditions, error) {
	made := &conditions{any: len(is.All) == 0}
	list := is.All
	if made.any {
		list = is.Any
	}
	for i := range list {
		one, err := c.condition(&list[i])
		if err != nil {
			return nil, fmt.Errorf("conditions[%d]: %w", i, err)
		}
		made.list = append(made.list, one)
	}
	return made, nil
}

func (c *compiler) condition(is *Condition) (made condition, err error) {
	if is.nested() {
		made.within, err = c.conditions(&is.Conditions)
		return made, err
	}
	made = condition{op: operatorOf(is.Op), attr: is.Attribute, negate: is.Negate, fold: is.CaseInsensitive}
	if made.op == nil {
		return made, fmt.Errorf("there is no operator %q", is.Op)
	}
	if made.attr == "" {
		made.attr = made.op.attr
	}
	made.slot = c.set.slot(made.attr)
	for _, v := range is.Values {
		if err := c.operand(&made, ValueOf(v)); err != nil {
			return made, err
		}
	}
	if made.op.operand != nothing && len(is.Values) == 0 || made.op.most > 0 && len(is.Values) > made.op.most {
		return made, fmt.Errorf("%s does not take %d values", is.Op, len(is.Values))
	}
	return made, nil
}

// operand adds one value to a condition.
func (c *compiler) operand(made *condition, v Value) (err error) {
	if want := kindsOf[made.op.operand]; want != noValue && v.kind != want || v.kind == noValue || v.kind == listValue {
		return fmt.Errorf("a value of %s is of another type", made.op.name)
	}
	switch made.op.operand {
	case patterns:
		err = made.addPattern(v.text)
	case networks:
		err = made.addNetwork(v.text)
	case versions:
		is, ok := parseVersion(v.text)
		if !ok {
			return fmt.Errorf("%q is no version", v.text)
		}
		made.versions = append(made.versions, is)
	case dates:
		err = made.addDate(v.text)
	case segments:
		c.segmented = true
		if found := c.set.segment(c.scope, v.text); found != nil {
			made.segments = append(made.segments, found)
		}
	default:
		made.values = append(made.values, v)
	}
	return err
}

// kindsOf is what the values of an operand are; none stands for all of them.
var kindsOf = map[operand]valueKind{
	texts: textValue, patterns: textValue, numbers: numberValue, dates: textValue, versions: textValue, networks: textValue, segments: textValue,
}

func (c *condition) addPattern(text string) error {
	if c.fold {
		text = "(?i)" + text
	}
	p, err := regexp.Compile(text)
	if err != nil {
		return fmt.Errorf("%q is no RE2 expression: %w", text, err)
	}
	c.patterns = append(c.patterns, p)
	return nil
}

func (c *condition) addNetwork(text string) error {
	if n, err := netip.ParsePrefix(text); err == nil {
		c.networks = append(c.networks, n.Masked())
		return nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return fmt.Errorf("%q is no address and no network", text)
	}
	addr = addr.Unmap()
	c.networks = append(c.networks, netip.PrefixFrom(addr, addr.BitLen()))
	return nil
}

// units are those of times that are counted from now.
var units = map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

func (c *condition) addDate(text string) error {
	if millis, ok := parseTime(text); ok {
		c.dates = append(c.dates, moment{millis: millis})
		return nil
	}
	if len(text) > 2 && text[0] == '-' {
		n, err := strconv.ParseUint(text[1:len(text)-1], 10, 16)
		if unit := units[text[len(text)-1]]; err == nil && unit > 0 {
			c.dates = append(c.dates, moment{millis: -int64(n) * unit.Milliseconds(), relative: true})
			return nil
		}
	}
	return fmt.Errorf("%q is no time, date or time before now such as -7d", text)
}
