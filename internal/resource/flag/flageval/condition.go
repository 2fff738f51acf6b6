package flageval

import (
	"net/netip"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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

	values   []Value
	patterns []*regexp.Regexp
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
		return c.metBySegments(e)
	case c.attr == attrIP && c.op.operand == networks:
		return e.ctx.IP.IsValid() && c.covers(e.ctx.IP) != c.negate
	}
	v := e.attribute(c)
	if c.op.operand == nothing {
		exists := v.kind != noValue || c.attr == attrIP && e.ctx.IP.IsValid()
		return exists != c.negate
	}
	if v.kind != listValue {
		met, typed := c.op.sees(c, e, v)
		return typed && met != c.negate
	}
	return c.metByAny(e, v.list)
}

// metByAny asks the elements of a list: one that meets the condition is enough, and a
// negated one is met by those that have elements of its type and none that meets it.
func (c *condition) metByAny(e *Evaluator, list []Value) bool {
	ofType := false
	for i := range list {
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
func (c *condition) isEqual(_ *Evaluator, v *Value) (met, typed bool) {
	for i := range c.values {
		w := &c.values[i]
		typed = typed || w.kind == v.kind
		if v.equal(w, c.fold) {
			return true, true
		}
	}
	return false, typed
}

func (c *condition) isCountry(_ *Evaluator, v *Value) (met, typed bool) {
	for i := range c.values {
		if v.equal(&c.values[i], true) {
			return true, true
		}
	}
	return false, v.kind == textValue
}

func (c *condition) contains(_ *Evaluator, v *Value) (met, typed bool) {
	return c.someText(v, strings.Contains, containsFold)
}

func (c *condition) startsWith(_ *Evaluator, v *Value) (met, typed bool) {
	return c.someText(v, strings.HasPrefix, hasPrefixFold)
}

func (c *condition) endsWith(_ *Evaluator, v *Value) (met, typed bool) {
	return c.someText(v, strings.HasSuffix, hasSuffixFold)
}

func (c *condition) someText(v *Value, plain, folded func(s, part string) bool) (met, typed bool) {
	if v.kind != textValue {
		return false, false
	}
	fits := plain
	if c.fold {
		fits = folded
	}
	for i := range c.values {
		if fits(v.text, c.values[i].text) {
			return true, true
		}
	}
	return false, true
}

func (c *condition) matches(_ *Evaluator, v *Value) (met, typed bool) {
	if v.kind != textValue {
		return false, false
	}
	for _, p := range c.patterns {
		if p.MatchString(v.text) {
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

func containsFold(s, part string) bool {
	for i := range s {
		if hasPrefixFold(s[i:], part) {
			return true
		}
	}
	return part == ""
}

// hasPrefixFold is strings.HasPrefix without case, as strings.EqualFold has it.
func hasPrefixFold(s, prefix string) bool {
	for _, want := range prefix {
		is, size := utf8.DecodeRuneInString(s)
		if size == 0 || folded(is) != folded(want) {
			return false
		}
		s = s[size:]
	}
	return true
}

func hasSuffixFold(s, suffix string) bool {
	for suffix != "" {
		want, n := utf8.DecodeLastRuneInString(suffix)
		is, size := utf8.DecodeLastRuneInString(s)
		if size == 0 || folded(is) != folded(want) {
			return false
		}
		s, suffix = s[:len(s)-size], suffix[:len(suffix)-n]
	}
	return true
}

// folded returns the smallest of the characters that differ in case only.
func folded(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' && r != 'k' && r != 's' {
			return r - 'a' + 'A'
		}
		if r != 'k' && r != 's' {
			return r
		}
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
