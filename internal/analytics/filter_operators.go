package analytics

// Arity is how many values an operator takes.
type Arity uint8

// The arities.
const (
	OneValue Arity = iota
	ListOfValues
	NoValue
)

// Operator compares a field with a value, or with a list of values.
type Operator struct {
	Name  string
	Doc   string
	Takes Arity
	// Not names the operator of which this one is the opposite, for a field that was
	// never sent too; the templates are that one's.
	Not string
	// regex tells that the value is a regular expression.
	regex bool

	// The predicates on each kind of field, of ours; empty where the operator makes
	// no sense for it. {field} and {value} are replaced, the latter by a parameter.
	// Texts are compared exactly, case included. A predicate is never NULL.
	text, number, keys, value, flag string
}

// Operators lists every operator.
var Operators = []Operator{
	{
		Name: "eq", Doc: "Equal.",
		text: "{field} = {value}", number: "ifNull({field} = {value}, 0)", keys: "{field}",
		flag: "{field} = ({value} = 'true')",
	},
	{Name: "ne", Doc: "Does not equal the value.", Not: "eq"},
	{Name: "contains", Doc: "Contains the value.", text: "position({field}, {value}) > 0"},
	{Name: "not_contains", Doc: "Does not contain the value.", Not: "contains"},
	{Name: "starts_with", Doc: "Starts with the value.", text: "startsWith({field}, {value})"},
	{Name: "ends_with", Doc: "Ends with the value.", text: "endsWith({field}, {value})"},
	{
		Name:  "regex",
		Doc:   "Matches a regular expression (RE2), anywhere unless it contains ^ and $; a dot also matches a line break.",
		regex: true,
		text:  "match({field}, {value})",
	},
	{
		Name: "in", Doc: "Equals one of the values.", Takes: ListOfValues,
		text: "{field} IN {value}", number: "ifNull({field} IN {value}, 0)", keys: "arrayExists(v -> {field}, {value})",
	},
	{Name: "not_in", Doc: "Equals none of the values.", Takes: ListOfValues, Not: "in"},
	{Name: "gt", Doc: "Greater than the number.", number: "ifNull({field} > {value}, 0)"},
	{Name: "gte", Doc: "Greater than or equal to the number.", number: "ifNull({field} >= {value}, 0)"},
	{Name: "lt", Doc: "Less than the number.", number: "ifNull({field} < {value}, 0)"},
	{Name: "lte", Doc: "Less than or equal to the number.", number: "ifNull({field} <= {value}, 0)"},
	{
		Name: "is_set", Doc: "The field is present; " +
			"takes no value.", Takes: NoValue, text: "{field} != ''", number: "isNotNull({field})",
		value: "{field}",
	},
	{Name: "not_set", Doc: "The field is absent; takes no value.", Takes: NoValue, Not: "is_set"},
}

func findOperator(name string) *Operator {
	for i := range Operators {
		if Operators[i].Name == name {
			return &Operators[i]
		}
	}
	return nil
}

// positive returns the operator without its negation, and whether there is one.
func (o *Operator) positive() (*Operator, bool) {
	if o.Not == "" {
		return o, false
	}
	return findOperator(o.Not), true
}

// Supports reports whether the operator makes sense for a kind of field.
func (o *Operator) Supports(k FieldKind) bool {
	p, _ := o.positive()
	switch k {
	case TextField:
		return p.text != ""
	case NumberField:
		return p.number != ""
	case KeysField:
		return p.keys != ""
	case FlagField:
		return p.flag != ""
	default:
		return true
	}
}

// OperatorsOf names the operators of a kind of field.
func OperatorsOf(k FieldKind) []string {
	var names []string
	for i := range Operators {
		if Operators[i].Supports(k) {
			names = append(names, Operators[i].Name)
		}
	}
	return names
}
