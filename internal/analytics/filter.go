package analytics

import "slices"

// Limits of a request's filters. Lengths are counted in Unicode code points.
const (
	MaxFilters        = 50   // comparisons, wherever they stand
	MaxFilterDepth    = 8    // levels, that of the list included
	MaxFilterValues   = 1000 // of one comparison
	MaxFilterValueLen = 2048 // of one value; no stored field that is compared is longer
	MaxFilterKeyLen   = 256  // of the key of a property or a trait
)

// Filter says which events count: a comparison, or others combined. Exactly one
// of And, Or, Not and Field is set. A comparison is true or false and nothing
// else, so Not keeps precisely the events that the filter inside it drops.
type Filter struct {
	And, Or []Filter
	Not     *Filter

	// Field is the name of one of Fields, with its key where it has one, or a
	// measure of the type that is asked.
	Field string
	Op    string
	// Values has one value, those of an array, or none, as the operator asks.
	Values []Scalar
	// list tells that the caller wrote an array.
	list bool
}

// Scalar is a value to compare with.
type Scalar struct {
	Kind ScalarKind
	// Text is the string, or what the caller wrote for a number or a boolean.
	Text string
}

// ScalarKind is what a value was in JSON.
type ScalarKind uint8

// The kinds of values.
const (
	ScalarText ScalarKind = iota
	ScalarNumber
	ScalarBoolean
)

// group returns what a filter combines, and the key under which it stands; "" and
// nil for a comparison.
func (f *Filter) group() (key string, items []Filter) {
	switch {
	case f.And != nil:
		return "and", f.And
	case f.Or != nil:
		return "or", f.Or
	case f.Not != nil:
		return "not", []Filter{*f.Not}
	}
	return "", nil
}

// countFilters counts comparisons.
func countFilters(filters []Filter) int {
	n := 0
	for i := range filters {
		if key, items := filters[i].group(); key != "" {
			n += countFilters(items)
		} else {
			n++
		}
	}
	return n
}

// personal returns the first personal field that a request groups or filters by; empty for none.
func (r *Request) personal() string {
	if i := slices.IndexFunc(r.GroupBy, isPersonal); i >= 0 {
		return r.GroupBy[i]
	}
	return personalIn(r.Filters)
}

func isPersonal(name string) bool {
	f := findField(name)
	return f != nil && f.Personal
}

func personalIn(filters []Filter) string {
	for i := range filters {
		if isPersonal(filters[i].Field) {
			return filters[i].Field
		}
		_, items := filters[i].group()
		if name := personalIn(items); name != "" {
			return name
		}
	}
	return ""
}

// namesField reports whether a comparison is by a field, wherever it stands.
func namesField(filters []Filter, field string) bool {
	return slices.ContainsFunc(filters, func(f Filter) bool {
		_, items := f.group()
		return f.Field == field || namesField(items, field)
	})
}

// pins reports whether every event that the filters keep has a field equal to a
// value, or to one of several, that they name.
func pins(filters []Filter, field string) bool {
	for i := range filters {
		f := &filters[i]
		if known := findField(f.Field); known != nil && known.Name == field && (f.Op == "eq" || f.Op == "in") ||
			pins(f.And, field) {
			return true
		}
	}
	return false
}
