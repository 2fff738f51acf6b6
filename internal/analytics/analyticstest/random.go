package analyticstest

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
)

// operators are those of a kind of value.
var operators = map[valueKind][]string{
	textValue: {
		"eq", "ne", "contains", "not_contains", "starts_with", "ends_with", "regex", "in", "not_in", "is_set", "not_set",
	},
	numberValue: {"eq", "ne", "in", "not_in", "gt", "gte", "lt", "lte", "is_set", "not_set"},
	keysValue:   {"eq", "ne", "in", "not_in"},
	anyValue: {
		"eq", "ne", "contains", "not_contains", "starts_with", "ends_with", "regex", "in", "not_in",
		"gt", "gte", "lt", "lte", "is_set", "not_set",
	},
}

// Random makes a condition of fields that a type supports, by the names under
// which types list them. Its values are those of the events, and parts of them, so
// that conditions keep some events and drop others. depth bounds how deep it is.
func (c *Conditions) Random(r *rand.Rand, supported []string, depth int) Condition {
	if depth > 1 && r.IntN(3) == 0 {
		parts := make([]Condition, 1+r.IntN(3))
		for i := range parts {
			parts[i] = c.Random(r, supported, depth-1)
		}
		switch r.IntN(3) {
		case 0:
			return All(parts...)
		case 1:
			return Any(parts...)
		}
		return Not(parts[0])
	}
	return c.randomComparison(r, supported[r.IntN(len(supported))])
}

// One makes a condition that keeps the events that have the same as some event in a
// field.
func (c *Conditions) One(r *rand.Rand, field string) Condition {
	return c.Compare(field, "eq", c.randomValue(r, c.getter(field)))
}

func (c *Conditions) randomComparison(r *rand.Rand, name string) Condition {
	field := name
	switch name {
	case "property:<key>":
		field = "property:" +
			c.randomKey(r, func(e *Event) []string { return slices.Sorted(maps.Keys(members(e.Properties))) })
	case "trait:<key>":
		field = "trait:" + c.randomKey(r, func(e *Event) []string { return slices.Sorted(maps.Keys(c.users.traits(e))) })
	}
	get := c.getter(field)
	sample := func() any { return c.randomValue(r, get) }
	ops := operators[min(get(&c.events[0]).kind, anyValue)]
	op := ops[r.IntN(len(ops))]
	switch op {
	case "is_set", "not_set":
		return c.Compare(field, op)
	case "in", "not_in":
		values := make([]any, 1+r.IntN(3))
		for i := range values {
			values[i] = sample()
		}
		return c.Compare(field, op, values...)
	case "gt", "gte", "lt", "lte":
		return c.Compare(field, op, numeric(r, sample()))
	case "regex":
		return c.Compare(field, op, randomRegex(r, part(r, textOf(sample()))))
	case "contains", "not_contains", "starts_with", "ends_with":
		return c.Compare(field, op, part(r, textOf(sample())))
	}
	return c.Compare(field, op, sample())
}

// randomKey is a key of some event, or one that none has.
func (c *Conditions) randomKey(r *rand.Rand, keys func(*Event) []string) string {
	for range 20 {
		// no filter can name it
		k := slices.DeleteFunc(keys(&c.events[r.IntN(len(c.events))]), func(key string) bool { return key == "" })
		if len(k) > 0 {
			return k[r.IntN(len(k))]
		}
	}
	return "nothing has it"
}

// randomValue is what some event has in a field, as JSON may write it.
func (c *Conditions) randomValue(r *rand.Rand, get func(*Event) value) any {
	v := get(&c.events[r.IntN(len(c.events))])
	for range 5 {
		if v.set() {
			break
		}
		v = get(&c.events[r.IntN(len(c.events))])
	}
	switch {
	case v.kind == keysValue && len(v.keys) > 0:
		return v.keys[r.IntN(len(v.keys))]
	case v.kind == numberValue, v.numeric && r.IntN(2) == 0:
		if r.IntN(4) == 0 && v.kind == numberValue {
			return strconv.FormatFloat(v.number, 'g', -1, 64)
		}
		return v.number
	case v.kind >= anyValue && (v.text == "true" || v.text == "false") && r.IntN(2) == 0:
		return v.text == "true"
	}
	return v.text
}

// numeric is a value as a number near it.
func numeric(r *rand.Rand, v any) any {
	n, ok := numberOf(textOf(v))
	if !ok {
		n = float64(r.IntN(100))
	}
	if n += float64(r.IntN(3) - 1); r.IntN(2) == 0 {
		return n
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// part is some of a text.
func part(r *rand.Rand, text string) string {
	runes := []rune(text)
	from := r.IntN(len(runes) + 1)
	return string(runes[from : from+r.IntN(len(runes)-from+1)])
}

func randomRegex(r *rand.Rand, text string) string {
	quoted := regexp.QuoteMeta(text)
	return []string{
		quoted, "^" + quoted, quoted + "$", "(?i)" + quoted + ".?", "^.*(" + quoted + "|[0-9]{2,})",
		"[^" + `\w` + "]" + quoted, `\pL+` + quoted, ".", "^$",
	}[r.IntN(9)]
}
