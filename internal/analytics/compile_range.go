package analytics

import (
	"fmt"
	"time"
)

// rangeOf resolves the range of one parameter, and its buckets when the type is
// a series. ok is false when a problem was found.
func (c *compiler) rangeOf(i int, t *Type) (Range, []Bucket, bool) {
	before := len(c.problems)
	own := t != nil && t.ownRange()
	rng, ok := c.named(i, own)
	if !ok {
		return rng, nil, false
	}
	g := c.granularity(&c.request.Parameters[i], fmt.Sprintf("parameters[%d]", i), t)
	if own {
		rng = t.rangeAt(c.env.Now, c.zone)
		return rng, rng.Buckets(Minutely), len(c.problems) == before
	}
	if t == nil || !t.Series || len(c.problems) > before {
		return rng, nil, len(c.problems) == before
	}
	buckets, ok := rng.cut(g)
	if !ok {
		c.once("granularity", "range_too_long", tooLong(g), "Use a shorter range")
	}
	return rng, buckets, ok
}

// named is the range that a request names for one parameter. It has to name one, unless it
// is optional: then an end that it leaves open is zero. ok is false when a problem was
// found.
func (c *compiler) named(i int, optional bool) (rng Range, ok bool) {
	before := len(c.problems)
	r := c.request
	p, at := &r.Parameters[i], fmt.Sprintf("parameters[%d]", i)
	rng = Range{Zone: c.zone}
	preset, known := c.preset()
	if !known {
		return rng, false
	}
	rng.Start = c.bound(&bound{
		ownField: at + ".start_date", own: p.StartDate, preset: preset.Start,
		field: "startDate", given: r.StartDate, optional: optional, parse: parseStart,
	})
	rng.End = c.bound(&bound{
		ownField: at + ".end_date", own: p.EndDate, preset: preset.End,
		field: "endDate", given: r.EndDate, optional: optional, parse: parseEnd,
	})
	if len(c.problems) > before || rng.Start.IsZero() || rng.End.IsZero() {
		return rng, optional && len(c.problems) == before
	}
	if !rng.Start.Before(rng.End) {
		c.once("endDate", "empty_range", "endDate must not be before startDate", "")
		return rng, false
	}
	return rng, true
}

// preset is the range of the request's preset, whose ends are zero without one; ok is
// false where there is no such preset.
func (c *compiler) preset() (rng Range, ok bool) {
	name := c.request.Preset
	if name == "" {
		return rng, true
	}
	if rng, ok = PresetRange(name, c.env.Now, c.zone); !ok {
		c.once("preset", "unknown_preset", "Invalid date preset: "+echo(name), presetSuggestion())
	}
	return rng, ok
}

// bound is one end of a range: the parameter's own, else the preset's, else the request's.
type bound struct {
	ownField, own string
	preset        time.Time // zero without one
	field, given  string
	optional      bool
	parse         func(string, *time.Location) (time.Time, bool)
}

// bound reads one; it is zero where a problem was found, or nothing names it.
func (c *compiler) bound(b *bound) time.Time {
	field, given := b.field, b.given
	switch {
	case b.own != "":
		field, given = b.ownField, b.own
	case !b.preset.IsZero():
		return b.preset
	case given == "":
		if !b.optional {
			c.once(field, "required", "Either "+field+" or preset is required", "")
		}
		return time.Time{}
	}
	t, ok := b.parse(given, c.zone)
	if !ok {
		c.once(field, "invalid_date", "Invalid date: "+echo(given)+". Could not parse as a valid date", "")
		return time.Time{}
	}
	return t
}

func (c *compiler) granularity(p *Parameter, at string, t *Type) Granularity {
	field, name := "granularity", c.request.Granularity
	if p.Granularity != "" {
		field, name = at+".granularity", p.Granularity
	}
	if name == "" {
		return Daily
	}
	g, ok := parseGranularity(name)
	if !ok {
		c.once(field, "unknown_granularity", "Invalid granularity: "+echo(name), granularitySuggestion())
		return Daily
	}
	if p.Granularity != "" && t != nil && len(t.Granularities()) == 0 {
		c.once(field, "unsupported_granularity", "Granularity is not supported by "+t.Name, "")
	}
	return g
}
