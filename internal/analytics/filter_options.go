package analytics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fastjson"
)

// Some options may be given as filters too, as clients that we are compatible with do:
// {"field":"activation_event","op":"eq","value":"signup"} in the list of filters.

// filterOption is the option of a type that a filter gives; nil for none.
func (t *Type) filterOption(name string) *Option {
	for i := range t.Options {
		if o := &t.Options[i]; o.Filter && o.Name == name {
			return o
		}
	}
	return nil
}

// FilterOptions are the names of the options that filters may give.
func (t *Type) FilterOptions() []string {
	var names []string
	for i := range t.Options {
		if t.Options[i].Filter {
			names = append(names, t.Options[i].Name)
		}
	}
	return names
}

// givesOption reports whether a filter gives an option of some type.
func givesOption(f *Filter) bool {
	return f.Field != "" &&
		slices.ContainsFunc(Catalog, func(t Type) bool { return t.filterOption(f.Field) != nil })
}

// option checks a filter that gives an option. Its value is looked at where the option is.
func (c *filterCheck) option(at string, f *Filter) {
	for _, t := range c.types {
		if t.filterOption(f.Field) == nil {
			c.add(at+".field", "unsupported_filter",
				fmt.Sprintf("Filter %s is not supported by %s", echo(f.Field), t.Name), supportedFilters(t))
		}
	}
	switch {
	case f.Op != "eq":
		c.add(at+".op", "unsupported_operator", fmt.Sprintf("Operator %s is not supported by %s", echo(f.Op), echo(f.Field)),
			"Supported operators: eq")
	case f.list:
		c.add(at+".value", "wrong_type", "Operator eq requires a single value", "")
	case len(f.Values) == 0:
		c.add(at+".value", "required", at+".value is required", "")
	}
}

// given is what a caller says for an option, by the parameter object or by a filter, and
// where; nil for nothing.
func (c *compiler) given(i int, o *Option) (value *fastjson.Value, at string) {
	at = fmt.Sprintf("%sparameters[%d].%s", c.prefix, i, o.Name)
	for _, raw := range c.request.Parameters[i].options {
		if raw.name == o.Name {
			value = raw.value
		}
	}
	if !o.Filter {
		return value, at
	}
	for j := range c.request.Filters {
		f := &c.request.Filters[j]
		if f.Field != o.Name || len(f.Values) != 1 {
			continue
		}
		if value != nil {
			c.once(fmt.Sprintf("filters[%d].field", j), "duplicate", o.Name+" must be given only once", "")
			continue
		}
		value, at = f.Values[0].json(o.Kind), fmt.Sprintf("%sfilters[%d].value", c.prefix, j)
	}
	return value, at
}

// json is a value as JSON. A text stands for the number that an option takes, as it does
// where fields are compared.
func (v *Scalar) json(kind OptionKind) *fastjson.Value {
	var a fastjson.Arena
	_, isNumber := v.number()
	switch {
	case v.Kind == ScalarBoolean && v.Text == "true":
		return a.NewTrue()
	case v.Kind == ScalarBoolean:
		return a.NewFalse()
	case isNumber && (v.Kind == ScalarNumber || kind == OptionInteger):
		return a.NewNumberString(strings.Clone(v.Text))
	default:
		return a.NewString(v.Text)
	}
}

// ofEvents is the request without the filters that give options.
func (r *Request) ofEvents() *Request {
	if !slices.ContainsFunc(r.Filters, func(f Filter) bool { return givesOption(&f) }) {
		return r
	}
	without := *r
	without.Filters = slices.DeleteFunc(slices.Clone(r.Filters), func(f Filter) bool { return givesOption(&f) })
	return &without
}

// checkOptionNames rejects what a parameter object says and its type, nil for an unknown
// one, does not take.
func (c *compiler) checkOptionNames(i int, t *Type) {
	names := slices.Clone(parameterKeys)
	if t != nil {
		for _, o := range t.Options {
			names = append(names, o.Name)
		}
	}
	at := fmt.Sprintf("%sparameters[%d].", c.prefix, i)
	for _, raw := range c.request.Parameters[i].options {
		if len(c.problems) >= MaxProblems {
			return
		}
		if !slices.Contains(names, raw.name) {
			c.problems = append(c.problems, problem(at+echo(raw.name), "unknown_field", "Unknown field: "+echo(raw.name),
				didYouMean(raw.name, sorted(slices.Clone(names)), keySynonyms)))
		}
	}
}
