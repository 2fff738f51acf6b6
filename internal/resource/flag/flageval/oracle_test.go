package flageval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// plainly says what a flag serves as the rules are told, without any care for cost. It
// reads definitions, and shares nothing with the evaluator but the hash.
type plainly struct {
	flags    map[string]*Definition
	segments map[string]*Segment
	ctx      *Context
	env      string
	at       time.Time
}

func (p *plainly) of(key string) (variant, reason string) {
	d := *p.flags[key]
	if o, ok := d.Environments[p.env]; ok {
		if o.Active != nil {
			d.Active = *o.Active
		}
		if o.Rules != nil {
			d.Rules = *o.Rules
		}
		if o.DefaultVariant != nil {
			d.DefaultVariant = *o.DefaultVariant
		}
	}
	if !d.Active || !p.during(d.Schedule) {
		return d.OffVariant, "off"
	}
	for _, need := range d.Prerequisites {
		if served, why := p.of(need.FlagKey); why == "off" || !slices.Contains(need.Variants, served) {
			return d.OffVariant, "prerequisite_failed"
		}
	}
	for _, t := range d.Targets {
		if slices.Contains(t.UserIDs, p.ctx.UserID) ||
			slices.ContainsFunc(t.Emails, func(e string) bool { return strings.EqualFold(e, p.ctx.Email) }) {
			return t.Variant, "target"
		}
	}
	for _, r := range d.Rules {
		if (r.Enabled != nil && !*r.Enabled) || !p.during(r.Schedule) || !p.group(r.Conditions) {
			continue
		}
		if variant, reason = p.serve(&d, &r); reason != "" {
			return variant, reason
		}
	}
	return d.DefaultVariant, "default"
}

func (p *plainly) during(s Schedule) bool {
	return !p.at.Before(s.StartsAt) && (s.EndsAt.IsZero() || p.at.Before(s.EndsAt))
}

func (p *plainly) serve(d *Definition, r *Rule) (variant, reason string) {
	id := p.ctx.UserID
	if id == "" {
		id = p.ctx.Email
	}
	draw := func(seed, within string) int { return int(murmur3([]byte(seed+":"+within+id)) % 100_000) }
	switch s := r.Serve; {
	case s.Variant != "":
		return s.Variant, "rule"
	case s.Split != nil:
		if id == "" {
			return "", ""
		}
		left := draw(d.Key, "variant:")
		for _, part := range *s.Split {
			if left -= int(part.Weight*1000 + 0.5); left < 0 {
				return part.Variant, "split"
			}
		}
		return "", "the weights fall short"
	}
	percent := r.Serve.Rollout.Percentage
	if pr := r.Progressive; pr != nil {
		share := float64(p.at.Sub(pr.StartsAt)) / float64(pr.EndsAt.Sub(pr.StartsAt))
		percent = pr.From + (pr.To-pr.From)*min(max(share, 0), 1)
	}
	if percent == 100 || percent > 0 && id != "" && float64(draw(d.Key, "")) < percent*1000 {
		return r.Serve.Rollout.Variant, "rollout"
	}
	if r.Serve.Rollout.OnMiss == MissStop {
		return d.DefaultVariant, "rollout_miss"
	}
	return "", ""
}

func (p *plainly) group(g *Conditions) bool {
	if g == nil || len(g.All)+len(g.Any) == 0 {
		return true
	}
	if len(g.All) > 0 {
		return !slices.ContainsFunc(g.All, func(c Condition) bool { return !p.holds(c) })
	}
	return slices.ContainsFunc(g.Any, p.holds)
}

func (p *plainly) holds(c Condition) bool {
	if c.nested() {
		return p.group(&c.Conditions)
	}
	if c.Op == OpInSegment {
		gone := slices.ContainsFunc(c.Values, func(v any) bool { return p.segments[v.(string)] == nil })
		in := slices.ContainsFunc(c.Values, func(v any) bool {
			s := p.segments[v.(string)]
			return s != nil && (slices.Contains(s.UserIDs, p.ctx.UserID) || s.Conditions != nil && p.group(s.Conditions))
		})
		return in != c.Negate && (!c.Negate || !gone)
	}
	is, there := p.ctx.Attributes[c.Attribute]
	if c.Op == OpExists {
		return there != c.Negate
	}
	elements := []Value{is}
	if is.kind == listValue {
		elements = is.list
	}
	typed, met := false, false
	for _, e := range elements {
		for _, v := range c.Values {
			switch v := v.(type) {
			case string:
				typed = typed || e.kind == textValue
				met = met ||
					e.kind == textValue && (c.Op == OpContains && strings.Contains(e.text, v) || c.Op != OpContains && e.text == v)
			case float64:
				typed = typed || e.kind == numberValue
				met = met || e.kind == numberValue && (c.Op == OpNumGt && e.number > v || c.Op == OpIn && e.number == v)
			}
		}
	}
	return typed && met != c.Negate
}

// madeUp makes flags and contexts of few words, so that they often fit each other.
type madeUp struct{ *rand.Rand }

func (m madeUp) of(words ...string) string { return words[m.IntN(len(words))] }
func (m madeUp) some(n int) bool           { return m.IntN(n) == 0 }
func (m madeUp) near() time.Time           { return now.Add(time.Duration(m.IntN(5)-2) * time.Minute) }

func (m madeUp) schedule() (s Schedule) {
	if m.some(4) {
		s.StartsAt = m.near()
	}
	if m.some(4) {
		s.EndsAt = m.near().Add(5 * time.Minute)
	}
	return s
}

func (m madeUp) condition(depth int) Condition {
	if depth > 0 && m.some(3) {
		within := *m.group(depth - 1)
		if within.count() > 0 {
			return Condition{Conditions: within}
		}
	}
	c := Condition{Attribute: m.of("plan", "age", "roles", "none"), Negate: m.some(3)}
	switch m.IntN(5) {
	case 0:
		c.Op, c.Values = OpContains, []any{m.of("a", "b")}
	case 1:
		c.Op, c.Values = OpNumGt, []any{float64(m.IntN(4))}
	case 2:
		c.Op = OpExists
	case 3:
		c.Op, c.Values, c.Attribute = OpInSegment, []any{m.of("s0", "s1", "gone"), m.of("s0", "s1")}, ""
	default:
		c.Op, c.Values = OpIn, []any{m.of("a", "ab", "b"), float64(m.IntN(4))}
	}
	return c
}

func (m madeUp) group(depth int) *Conditions {
	var list []Condition
	for range m.IntN(4) {
		list = append(list, m.condition(depth))
	}
	if m.some(2) {
		return &Conditions{All: list}
	}
	return &Conditions{Any: list}
}

var variants = []string{"a", "b", "c"}

func (m madeUp) rule() (r Rule) {
	r.Schedule, r.Conditions = m.schedule(), m.group(2)
	if m.some(8) {
		r.Enabled = new(false)
	}
	switch m.IntN(3) {
	case 0:
		r.Serve.Variant = m.of(variants...)
	case 1:
		x := float64(m.IntN(100_001)) / 1000
		r.Serve.Split = &[]Share{{m.of(variants...), x}, {m.of(variants...), 100 - x}}
	default:
		r.Serve.Rollout = &Rollout{
			Variant: m.of(variants...), Percentage: float64(m.IntN(11)) * 10, OnMiss: m.of("", MissContinue, MissStop),
		}
		if m.some(3) {
			r.Progressive = &Progressive{
				From:     float64(m.IntN(101)),
				To:       float64(m.IntN(101)),
				StartsAt: now.Add(-3 * time.Minute),
				EndsAt:   m.near().Add(time.Minute),
			}
		}
	}
	return r
}

func (m madeUp) definition(key string, others []string) *Definition {
	d := &Definition{
		Key: key, Active: !m.some(6), Schedule: m.schedule(), DefaultVariant: m.of(variants...),
		OffVariant: m.of(variants...),
	}
	for _, v := range variants {
		d.Variants = append(d.Variants, Variant{Key: v})
	}
	for _, other := range others {
		if m.some(4) {
			d.Prerequisites = append(d.Prerequisites, Prerequisite{other, []string{m.of(variants...), m.of(variants...)}})
		}
	}
	for range m.IntN(3) {
		d.Targets = append(d.Targets,
			Target{Variant: m.of(variants...), UserIDs: []string{m.of("u0", "u1")}, Emails: []string{m.of("E0@x", "e1@X")}})
	}
	for range m.IntN(4) {
		d.Rules = append(d.Rules, m.rule())
	}
	if m.some(2) {
		d.Environments = map[string]Override{
			"stage": {Active: new(m.some(2)), Rules: &[]Rule{m.rule()}, DefaultVariant: new(m.of(variants...))},
		}
	}
	return d
}

func (m madeUp) context() *Context {
	ctx := &Context{Attributes: map[string]Value{}}
	if !m.some(3) {
		ctx.UserID = fmt.Sprint("u", m.IntN(50))
	}
	if m.some(2) {
		ctx.Email = m.of("e0@x", "e1@x", "E2@X")
	}
	for name, v := range map[string]Value{
		"plan": Text(m.of("a", "ab", "b")), "age": Number(float64(m.IntN(4))),
		"roles": List(Text(m.of("a", "b")), Number(float64(m.IntN(4)))),
	} {
		if m.some(2) {
			ctx.Attributes[name] = v
		}
	}
	return ctx
}

func TestFlagsServeWhatTheRulesSay(t *testing.T) {
	t.Parallel()
	m := madeUp{rand.New(rand.NewPCG(1, 2))}
	reasons := map[string]int{}
	for range 3000 {
		p := plainly{flags: map[string]*Definition{}, segments: map[string]*Segment{}}
		var flags []Member[Definition]
		var segments []Member[Segment]
		for i := range 2 {
			s := &Segment{Key: fmt.Sprint("s", i), UserIDs: []string{fmt.Sprint("u", m.IntN(50))}}
			if c := m.group(1); c.count() > 0 && !c.asks(operandOfSegments) {
				s.Conditions = c
			}
			segments, p.segments[s.Key] = append(segments, Member[Segment]{Is: s}), s
		}
		var keys []string
		for i := range 4 {
			d := m.definition(fmt.Sprint("f", i), keys)
			if problems := d.Check(); len(problems) > 0 {
				t.Fatalf("%+v: %+v", d, problems)
			}
			flags, p.flags[d.Key], keys = append(flags, Member[Definition]{Is: d}), d, append(keys, d.Key)
		}
		set, err := Compile(flags, segments)
		if err != nil {
			t.Fatal(err)
		}
		var e Evaluator
		for range 10 {
			p.ctx, p.env, p.at = m.context(), m.of("", "stage"), m.near()
			e.Reset(set, p.ctx, p.env, p.at)
			for _, key := range keys {
				f := set.Flag("", key)
				r := served(&e, f)
				variant, reason := p.of(key)
				if f.Variant(r.Variant).Key != variant || r.Reason.String() != reason {
					t.Fatalf("flag %+v\ncontext %+v in %q at %v\nserves %s (%s), want %s (%s)",
						p.flags[key], p.ctx, p.env, p.at, f.Variant(r.Variant).Key, r.Reason, variant, reason)
				}
				reasons[reason]++
			}
		}
	}
	for r := range ByDefault + 1 {
		if reasons[r.String()] < 500 {
			t.Errorf("only %d for reason %s", reasons[r.String()], r)
		}
	}
}

const operandOfSegments = segments
