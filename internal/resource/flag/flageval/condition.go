package flageval

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// conditions are Conditions ready to be asked.
type conditions struct {
	list []condition
	any  bool // one of them is enough
}

// met reports whether a context meets the conditions; none at all, everybody does.
func (c *conditions) met(e *Evaluator) bool {
	if c == nil || len(c.list) == 0 {
		return true
	}
	for i := range c.list {
		if c.list[i].met(e) == c.any {
			return c.any
		}
	}
	return !c.any
}

// condition is a Condition ready to be asked.
type condition struct {
	within *conditions // instead of all else
	op     *operator
	attr   string
	slot   int // of the attribute in Set.slots
	negate bool
	fold   bool

	operands int // of all kinds
	values   []Value
	folded   [][]byte // with fold: the texts among values without case; nil for others
	patterns []*pattern
	networks []netip.Prefix
	versions []version
	dates    []moment
	segments []*segment
	lacks    bool // there is none of one of the segments
}

// moment is a time, or how far it is from now.
type moment struct {
	millis   int64
	relative bool
}

func (m moment) at(now int64) int64 {
	if m.relative {
		return now + m.millis
	}
	return m.millis
}

func (c *condition) met(e *Evaluator) bool {
	switch {
	case c.within != nil:
		return c.within.met(e)
	case c.op.operand == segments:
		return e.spend(1) && c.metBySegments(e)
	case c.attr == attrIP && c.op.operand == networks:
		return e.spend(c.operands) && e.ctx.IP.IsValid() && c.covers(e.ctx.IP) != c.negate
	}
	v := e.attribute(c)
	if c.op.operand == nothing {
		e.spend(1)
		exists := v.kind != noValue || c.attr == attrIP && e.ctx.IP.IsValid()
		return exists != c.negate
	}
	if v.kind == listValue {
		return c.metByAny(e, v.list)
	}
	if !e.spend(c.cost(v)) {
		return false
	}
	met, typed := c.op.sees(c, e, v)
	return typed && met != c.negate
}

// cost is the cost to ask about a value, without what an operator adds.
func (c *condition) cost(v *Value) int { return 1 + c.operands + len(v.text)/parsedBytes }

// metByAny asks the elements of a list: one that meets the condition is enough, and a
// negated one is met by those that have elements of its type and none that meets it.
func (c *condition) metByAny(e *Evaluator, list []Value) bool {
	ofType := false
	for i := range list {
		if !e.spend(c.cost(&list[i])) {
			return false
		}
		met, typed := c.op.sees(c, e, &list[i])
		if typed && met {
			return !c.negate
		}
		ofType = ofType || typed
	}
	return ofType && c.negate
}

// metBySegments asks the segments. Nobody can be said not to be in one that is not there: it is
// never met, not even negated.
func (c *condition) metBySegments(e *Evaluator) bool {
	if c.negate {
		return !c.lacks && !c.inSegment(e)
	}
	return c.inSegment(e)
}

func (c *condition) inSegment(e *Evaluator) bool {
	for _, s := range c.segments {
		if s.has(e) {
			return true
		}
	}
	return false
}

// isEqual is typed where one of the values is of the attribute's type.
func (c *condition) isEqual(e *Evaluator, v *Value) (met, typed bool) {
	if c.fold && v.kind == textValue {
		return c.isEqualFolded(e.fold(v.text))
	}
	for i := range c.values {
		w := &c.values[i]
		typed = typed || w.kind == v.kind
		if v.equal(w) {
			return true, true
		}
	}
	return false, typed
}

func (c *condition) isEqualFolded(text []byte) (met, typed bool) {
	for _, w := range c.folded {
		typed = typed || w != nil
		if w != nil && bytes.Equal(text, w) {
			return true, true
		}
	}
	return false, typed
}

func (c *condition) contains(e *Evaluator, v *Value) (met, typed bool) {
	if !e.spend(c.operands * (len(v.text) / searchedBytes)) {
		return false, false
	}
	return c.someText(e, v, strings.Contains, bytes.Contains)
}

func (c *condition) startsWith(e *Evaluator, v *Value) (met, typed bool) {
	return c.someText(e, v, strings.HasPrefix, bytes.HasPrefix)
}

func (c *condition) endsWith(e *Evaluator, v *Value) (met, typed bool) {
	return c.someText(e, v, strings.HasSuffix, bytes.HasSuffix)
}

func (c *condition) someText(
	e *Evaluator, v *Value, plain func(s, part string) bool, folded func(s, part []byte) bool,
) (met, typed bool) {
	if v.kind != textValue {
		return false, false
	}
	if c.fold {
		text := e.fold(v.text)
		return slices.ContainsFunc(c.folded, func(part []byte) bool { return folded(text, part) }), true
	}
	for i := range c.values {
		if plain(v.text, c.values[i].text) {
			return true, true
		}
	}
	return false, true
}

func (c *condition) matches(e *Evaluator, v *Value) (met, typed bool) {
	if v.kind != textValue {
		return false, false
	}
	for _, p := range c.patterns {
		if e.matched(p, v.text) {
			return true, true
		}
	}
	return false, true
}

func (c *condition) inNetwork(_ *Evaluator, v *Value) (met, typed bool) {
	if v.kind != textValue {
		return false, false
	}
	addr, err := netip.ParseAddr(v.text)
	if err != nil {
		return false, false
	}
	return c.covers(addr), true
}

func (c *condition) covers(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, n := range c.networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

func number(holds func(a, b float64) bool) func(*condition, *Evaluator, *Value) (met, typed bool) {
	return func(c *condition, _ *Evaluator, v *Value) (met, typed bool) {
		return v.kind == numberValue && holds(v.number, c.values[0].number), v.kind == numberValue
	}
}

func semver(holds func(int) bool) func(*condition, *Evaluator, *Value) (met, typed bool) {
	return func(c *condition, _ *Evaluator, v *Value) (met, typed bool) {
		if v.kind != textValue {
			return false, false
		}
		is, ok := parseVersion(v.text)
		return ok && holds(is.compare(&c.versions[0])), ok
	}
}

func date(holds func(a, b int64) bool) func(*condition, *Evaluator, *Value) (met, typed bool) {
	return func(c *condition, e *Evaluator, v *Value) (met, typed bool) {
		is, ok := millisOf(v)
		return ok && holds(is, c.dates[0].at(e.now)), ok
	}
}

// millisOf reads a time: an RFC 3339 text, a date, which is midnight in UTC, or Unix
// milliseconds.
func millisOf(v *Value) (millis int64, ok bool) {
	if v.kind == numberValue {
		const far = 1 << 53 // beyond it numbers are not exact
		return int64(v.number), v.number > -far && v.number < far
	}
	if v.kind != textValue {
		return 0, false
	}
	return parseTime(v.text)
}

func parseTime(text string) (millis int64, ok bool) {
	layout := time.RFC3339
	if len(text) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	t, err := time.Parse(layout, text)
	return t.UnixMilli(), err == nil
}
