package analytics

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/fault"
)

// Limits of a request's filters. Lengths are counted in Unicode code points.
const (
	MaxFilters        = 50
	MaxFilterValues   = 1000 // of one filter
	MaxFilterValueLen = 2048 // of one value; no stored field is longer
)

// Field is something events can be filtered by.
type Field struct {
	Name    string
	Aliases []string
	Doc     string
	// column is what text operators compare; empty for a field that is asked
	// with has.
	column string
	// has is the predicate of one value being there, for a field of many values
	// such as the keys of properties. {value} stands for the value.
	has string
}

// Fields lists every field. A type names those that it supports.
var Fields = []Field{
	{Name: "path", Doc: "Page path or URL as sent.", column: "e.path"},
	{Name: "event_name", Aliases: []string{"name"}, Doc: "Name of the event.", column: "e.name"},
	{Name: "namespace", Doc: "Grouping label.", column: "e.namespace"},
	{Name: "source", Doc: "Source label.", column: "e.source"},
	{Name: "profile_id", Doc: "The caller's own user id.", column: "e.profile_id"},
	{Name: "anonymous_id", Doc: "Visitor id as stored, which is hashed unless the website says otherwise.", column: "e.anonymous_id"},
	{Name: "session_id", Doc: "Session id.", column: "e.session_id"},
	{Name: "website_id", Doc: "Website id; for questions about an organization.", column: "e.website_id"},
	{Name: "property_key", Doc: "A key that properties has.", has: "JSONHas(e.properties, {value})"},
}

// Operator compares a field with a value, or with a list of values.
type Operator struct {
	Name string
	Doc  string
	List bool // takes an array
	// text is the predicate on a column; {column} and {value} are replaced by
	// text of ours, the latter by a parameter's name. Comparisons are exact, case
	// included.
	text string
	// has is the predicate on a field of many values; empty where the operator
	// makes no sense for one. {has} is replaced by the field's predicate.
	has string
}

// Operators lists every operator.
var Operators = []Operator{
	{Name: "eq", Doc: "Equal.", text: "{column} = {value}", has: "{has}"},
	{Name: "ne", Doc: "Not equal.", text: "{column} != {value}", has: "NOT {has}"},
	{Name: "contains", Doc: "Contains the value.", text: "position({column}, {value}) > 0"},
	{Name: "not_contains", Doc: "Does not contain the value.", text: "position({column}, {value}) = 0"},
	{Name: "starts_with", Doc: "Starts with the value.", text: "startsWith({column}, {value})"},
	{Name: "in", Doc: "Equal to one of the values.", List: true, text: "{column} IN {value}", has: "arrayExists(v -> {has}, {value})"},
	{Name: "not_in", Doc: "Equal to none of the values.", List: true, text: "{column} NOT IN {value}", has: "NOT arrayExists(v -> {has}, {value})"},
}

// Filter keeps the events for which a comparison holds; several filters must all
// hold. Value or Values is set, as the operator asks.
type Filter struct {
	Field  string
	Op     string
	Value  string
	Values []string
	// list tells that the caller wrote an array.
	list bool
}

func findField(name string) *Field {
	for i := range Fields {
		if f := &Fields[i]; f.Name == name || slices.Contains(f.Aliases, name) {
			return f
		}
	}
	return nil
}

func findOperator(name string) *Operator {
	for i := range Operators {
		if Operators[i].Name == name {
			return &Operators[i]
		}
	}
	return nil
}

func operatorNames(f *Field) []string {
	var names []string
	for _, o := range Operators {
		if f == nil || f.column != "" || o.has != "" {
			names = append(names, o.Name)
		}
	}
	return names
}

// supports reports whether the operator makes sense for the field.
func (o *Operator) supports(f *Field) bool { return f.column != "" || o.has != "" }

// check reports what is wrong with a filter, whatever the type; at is the
// filter's place in the body.
func (f *Filter) check(at string) []fault.Detail {
	field, op := findField(f.Field), findOperator(f.Op)
	var all []fault.Detail
	add := func(part, rule, message, suggestion string) {
		all = append(all, problem(at+part, rule, message, suggestion))
	}
	if field == nil {
		add(".field", "unknown_filter", "Unknown filter field: "+echo(f.Field), suggestField(f.Field))
	}
	switch {
	case op == nil:
		add(".op", "unknown_operator", "Unknown filter operator: "+echo(f.Op), "Supported operators: "+strings.Join(operatorNames(field), ", "))
		return all
	case field != nil && !op.supports(field):
		add(".op", "unsupported_operator", fmt.Sprintf("Operator %s is not supported by %s", f.Op, field.Name),
			"Supported operators: "+strings.Join(operatorNames(field), ", "))
	case op.List && !f.list:
		add(".value", "wrong_type", fmt.Sprintf("Operator %s takes an array of strings", f.Op), "")
	case !op.List && f.list:
		add(".value", "wrong_type", fmt.Sprintf("Operator %s takes one string", f.Op), "Use in or not_in for several values")
	case op.List && len(f.Values) == 0:
		add(".value", "too_few", "At least one value is required", "")
	case len(f.Values) > MaxFilterValues:
		add(".value", "too_many", fmt.Sprintf("%d values; at most %d are allowed", len(f.Values), MaxFilterValues), "")
	}
	for _, v := range append(slices.Clip(f.Values), f.Value) {
		if utf8.RuneCountInString(v) > MaxFilterValueLen {
			add(".value", "too_long", fmt.Sprintf("A filter value is longer than %d characters", MaxFilterValueLen), "")
			break
		}
	}
	return all
}

// suggestField returns the field that the caller may have meant, else all there
// are.
func suggestField(name string) string {
	var names, all []string
	for _, f := range Fields {
		names = append(names, f.Name)
		all = append(append(all, f.Name), f.Aliases...)
	}
	if s := didYouMean(name, all); s != "" {
		return s
	}
	return "Supported filter fields: " + strings.Join(names, ", ")
}

// predicate returns the SQL of a checked filter and its parameter, which is
// named after the filter's place.
func (f *Filter) predicate(i int) (string, Param) {
	field, op := findField(f.Field), findOperator(f.Op)
	name := fmt.Sprintf("filter%d", i)
	p := stringParam(name, f.Value)
	if op.List {
		p = stringsParam(name, f.Values)
	}
	value := "{" + p.Name + ":" + p.Type + "}"
	if field.column != "" {
		return strings.NewReplacer("{column}", field.column, "{value}", value).Replace(op.text), p
	}
	one := value
	if op.List {
		one = "v"
	}
	has := strings.ReplaceAll(field.has, "{value}", one)
	return strings.NewReplacer("{has}", has, "{value}", value).Replace(op.has), p
}
