package analytics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// filterCheck collects what is wrong with filters, for the types that are asked
// with them.
type filterCheck struct {
	types    []*Type
	problems []apierr.Detail
}

// checkFilters reports what is wrong with a list of filters at a place of the
// body. More than MaxFilters are one problem.
func checkFilters(at string, filters []Filter, types []*Type) []apierr.Detail {
	if n := countFilters(filters); n > MaxFilters {
		return []apierr.Detail{tooMany(at, "filters", n, MaxFilters)}
	}
	c := filterCheck{types: distinctTypes(types)}
	for i := range filters {
		place := fmt.Sprintf("%s[%d]", at, i)
		if givesOption(&filters[i]) {
			c.option(place, &filters[i])
			continue
		}
		c.filter(place, &filters[i])
	}
	return c.problems
}

func (c *filterCheck) add(field, rule, message, suggestion string) {
	c.problems = append(c.problems, problem(field, rule, message, suggestion))
}

func (c *filterCheck) filter(at string, f *Filter) {
	key, items := f.group()
	switch {
	case key == "":
		c.comparison(at, f)
		return
	case len(items) == 0:
		c.add(at+"."+key, "too_few", "At least one filter is required", "")
	}
	for i := range items {
		place := at + "." + key
		if key != "not" {
			place = fmt.Sprintf("%s[%d]", place, i)
		}
		c.filter(place, &items[i])
	}
	c.oneSide(at, f)
}

// oneSide refuses to combine what is asked of events with what is asked of rows of
// the response, but by keeping both.
func (c *filterCheck) oneSide(at string, f *Filter) {
	for _, t := range c.types {
		if measures, fields := sides(t, f); measures && fields {
			c.add(at, "mixed_filters", "A filter of "+t.Name+" combines columns of the result with fields of events",
				"Use separate filters instead; all of them must match")
			return
		}
	}
}

// sides tells whether comparisons of a filter are about measures, and whether some
// are about fields.
func sides(t *Type, f *Filter) (measures, fields bool) {
	key, items := f.group()
	if key == "" {
		m := t.measure(f.Field) != nil
		return m, !m
	}
	for i := range items {
		m, other := sides(t, &items[i])
		measures, fields = measures || m, fields || other
	}
	return measures, fields
}

// comparison checks one comparison: its field, its operator, its values, and
// whether the types know it.
func (c *filterCheck) comparison(at string, f *Filter) {
	op := findOperator(f.Op)
	kind, known := c.field(at+".field", f)
	switch {
	case op == nil:
		names := OperatorsOf(ValueField)
		if known {
			names = OperatorsOf(kind)
		}
		c.add(at+".op", "unknown_operator", "Unknown filter operator: "+echo(f.Op),
			"Supported operators: "+strings.Join(names, ", "))
		return
	case known && !op.Supports(kind):
		c.add(at+".op", "unsupported_operator", fmt.Sprintf("Operator %s is not supported by %s", f.Op, echo(f.Field)),
			"Supported operators: "+strings.Join(OperatorsOf(kind), ", "))
		return
	}
	c.values(at+".value", f, op, kind)
}

// field checks that there is such a field, and that every type has it. The kind is
// that of the field, or of the measure that some type has by that name.
func (c *filterCheck) field(at string, f *Filter) (kind FieldKind, known bool) {
	field := findField(f.Field)
	measured := anyMeasure(f.Field)
	if givesOption(f) {
		c.add(at, "unsupported_filter", f.Field+" must not be nested in another filter", "")
		return 0, false
	}
	if field == nil && measured == nil {
		c.add(at, "unknown_filter", "Unknown filter field: "+echo(f.Field), suggestField(f.Field))
		return 0, false
	}
	if field != nil {
		c.key(at, field, f.Field)
		kind = field.Kind
	} else {
		kind = kindOf(measured)
	}
	for _, t := range c.types {
		if t.measure(f.Field) == nil && (field == nil || !slices.Contains(t.Filters, field.Name)) {
			c.add(at, "unsupported_filter",
				fmt.Sprintf("Filter %s is not supported by %s", echo(f.Field), t.Name), supportedFilters(t))
		}
	}
	return kind, true
}

func (c *filterCheck) key(at string, field *Field, name string) {
	if !strings.HasSuffix(field.Name, keyMark) {
		return
	}
	switch key, _ := field.key(name); {
	case key == "":
		c.add(at, "required", echo(name)+" must name a key", "Write "+field.Name)
	case utf8.RuneCountInString(key) > MaxFilterKeyLen:
		c.add(at, "too_long", fmt.Sprintf("The key of %s must have at most %d characters", field.Name, MaxFilterKeyLen), "")
	}
}

func (c *filterCheck) values(at string, f *Filter, op *Operator, kind FieldKind) {
	switch {
	case op.Takes == NoValue && (f.list || len(f.Values) > 0):
		c.add(at, "unsupported_value", fmt.Sprintf("Operator %s must have no value", f.Op), "")
		return
	case op.Takes == NoValue:
		return
	case op.Takes == ListOfValues && !f.list && len(f.Values) > 0:
		c.add(at, "wrong_type", fmt.Sprintf("Operator %s requires an array", f.Op), "")
		return
	case op.Takes == OneValue && f.list:
		c.add(at, "wrong_type", fmt.Sprintf("Operator %s requires a single "+
			"value", f.Op), "Use in or not_in for several values")
		return
	case !f.list && len(f.Values) == 0:
		c.add(at, "required", at+" is required", "")
		return
	case len(f.Values) == 0:
		c.add(at, "too_few", "At least one value is required", "")
	case len(f.Values) > MaxFilterValues:
		c.add(at, "too_many", fmt.Sprintf("%d values; at most %d are allowed", len(f.Values), MaxFilterValues), "")
	}
	for i := range f.Values {
		if !c.value(at, f, &f.Values[i], op, kind) {
			return
		}
	}
}

// value checks one value, and reports whether it is good.
func (c *filterCheck) value(at string, f *Filter, v *Scalar, op *Operator, kind FieldKind) bool {
	_, isNumber := v.number()
	switch {
	case utf8.RuneCountInString(v.Text) > MaxFilterValueLen:
		c.add(at, "too_long", fmt.Sprintf("A filter value must have at most %d characters", MaxFilterValueLen), "")
	case !isNumber && (v.Kind == ScalarNumber || op.wantsNumber(kind)):
		c.add(at, "wrong_type", fmt.Sprintf("%s %s requires a number in the range of a 64-bit "+
			"float", echo(f.Field), f.Op), "")
	case kind == FlagField && v.Text != "true" && v.Text != "false":
		c.add(at, "wrong_type", echo(f.Field)+" must be true or false", "")
	case op.regex:
		if err := checkRegex(v.Text); err != nil {
			c.add(at, "invalid_regex", fmt.Sprintf("The regular expression of %s is invalid: %v", echo(f.Field), err),
				"RE2 syntax is supported")
			return false
		}
		return true
	default:
		return true
	}
	return false
}

// wantsNumber reports whether an operator compares a kind of field as a number,
// whatever the value is in JSON.
func (o *Operator) wantsNumber(k FieldKind) bool {
	p, _ := o.positive()
	return k == NumberField || k == ValueField && p.text == ""
}

// number returns the value as a finite number, which a text may be too.
func (v *Scalar) number() (float64, bool) {
	if v.Kind == ScalarBoolean || strings.ContainsAny(v.Text, "xX_pPiInN") { // spellings that are Go's alone
		return 0, false
	}
	n, err := strconv.ParseFloat(v.Text, 64)
	return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
}

func supportedFilters(t *Type) string {
	names := slices.Concat(t.Filters, t.Measures, t.FilterOptions())
	if len(names) == 0 {
		return t.Name + " supports no filters"
	}
	return "Supported filters: " + strings.Join(names, ", ")
}
