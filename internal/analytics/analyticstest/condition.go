package analyticstest

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Condition is a filter twice: as the JSON that a request has, and as a function
// that says which events it keeps.
type Condition struct {
	JSON string
	// Fields are those it compares, as types name them.
	Fields []string
	Keep   func(*Event) bool
}

// All keeps what every condition keeps.
func All(conditions ...Condition) Condition {
	return combined("and", conditions, func(e *Event) bool {
		return !slices.ContainsFunc(conditions, func(c Condition) bool { return !c.Keep(e) })
	})
}

// Any keeps what one of the conditions keeps.
func Any(conditions ...Condition) Condition {
	return combined("or", conditions, func(e *Event) bool {
		return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Keep(e) })
	})
}

// Not keeps what a condition drops.
func Not(c Condition) Condition {
	return Condition{JSON: `{"not":` + c.JSON + `}`, Fields: c.Fields, Keep: func(e *Event) bool { return !c.Keep(e) }}
}

func combined(key string, conditions []Condition, keep func(*Event) bool) Condition {
	var texts, fields []string
	for _, c := range conditions {
		texts, fields = append(texts, c.JSON), append(fields, c.Fields...)
	}
	return Condition{JSON: `{"` + key + `":[` + strings.Join(texts, ",") + `]}`, Fields: fields, Keep: keep}
}

// Conditions makes comparisons of the events of a set, of which those of the kind
// "identity" tell of users.
type Conditions struct {
	events []Event
	users  users
}

// NewConditions returns the conditions of a set.
func NewConditions(events []Event) *Conditions {
	return &Conditions{events: events, users: usersOf(events)}
}

// Compare is one comparison. Values are strings, numbers (float64, or json.Number)
// and booleans: one, or those of a list, or none, as the operator asks.
func (c *Conditions) Compare(field, op string, values ...any) Condition {
	text := map[string]any{"field": field, "op": op, "value": values}
	positive, negative := op, false
	if of, ok := opposite[op]; ok {
		positive, negative = of, true
	}
	switch positive {
	case "in":
	case "is_set":
		delete(text, "value")
	default:
		text["value"] = values[0]
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in a test
	}
	get := c.getter(field)
	return Condition{JSON: string(encoded), Fields: []string{fieldName(field)}, Keep: func(e *Event) bool {
		return holds(get(e), positive, values) != negative
	}}
}

// fieldName is a field as types name it.
func fieldName(field string) string {
	if kind, _, ok := strings.Cut(field, ":"); ok {
		return kind + ":<key>"
	}
	return field
}

var opposite = map[string]string{"ne": "eq", "not_contains": "contains", "not_in": "in", "not_set": "is_set"}

// holds says whether a value is as an operator asks.
func holds(v value, op string, with []any) bool {
	switch {
	case op == "is_set":
		return v.set()
	case v.kind == traitValue && !v.there: // nothing is known to compare
		return false
	}
	switch op {
	case "in":
		return slices.ContainsFunc(with, func(w any) bool { return holds(v, "eq", []any{w}) })
	case "gt", "gte", "lt", "lte":
		n, _ := numberOf(textOf(with[0]))
		is := cmp.Compare(v.as(v.number), v.as(n))
		return v.numeric && map[string]bool{"gt": is > 0, "gte": is >= 0, "lt": is < 0, "lte": is <= 0}[op]
	case "eq":
		return v.equals(with[0])
	}
	text := textOf(with[0])
	switch op {
	case "contains":
		return strings.Contains(v.text, text)
	case "starts_with":
		return strings.HasPrefix(v.text, text)
	case "ends_with":
		return strings.HasSuffix(v.text, text)
	case "regex":
		return regexp.MustCompile("(?s)" + text).MatchString(v.text)
	}
	panic(op) //nolint:forbidigo // a mistake in a test
}

func (v value) set() bool {
	switch v.kind {
	case textValue:
		return v.text != ""
	case numberValue:
		return v.numeric
	default:
		return v.there
	}
}

func (v value) equals(w any) bool {
	n, isNumber := numberOf(textOf(w))
	_, text := w.(string)
	_, boolean := w.(bool)
	switch {
	case v.kind == keysValue:
		return slices.Contains(v.keys, textOf(w))
	case v.kind == numberValue || v.kind >= anyValue && !text && !boolean && isNumber:
		return v.numeric && v.as(v.number) == v.as(n)
	}
	return v.text == textOf(w)
}
