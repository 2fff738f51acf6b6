package analytics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// MaxOptionTextLen bounds an option's text where the type says nothing, in code
// points.
const MaxOptionTextLen = 256

// rawOption is what a parameter object says beyond what every parameter may say.
// What it means, its type knows.
type rawOption struct {
	name  string
	value *fastjson.Value
}

// options are those of a question: parameters of its statement, and the steps as
// conditions.
type options struct {
	params []Param
	steps  []conditions
}

// parameterKeys are what every parameter object may say.
var parameterKeys = (&decoder{}).parameterFields(&Parameter{}).keys()

// checkOptions reads the options of one parameter by the table of its type, which
// is nil for a type that is unknown.
func (c *compiler) checkOptions(i int, t *Type) options {
	c.checkOptionNames(i, t)
	var all options
	if t == nil {
		return all
	}
	for _, o := range t.Options {
		given, at := c.given(i, &o)
		d := &decoder{}
		if given == nil && o.Required {
			d.add(at, "required", t.Name+" requires "+o.Name)
		}
		read := optionReaders[o.Kind](d, at, &o, given, t, c.env.Subject.Kind)
		all.params, all.steps = append(all.params, read.params...), append(all.steps, read.steps...)
		c.problems = append(c.problems, d.problems...)
	}
	return all
}

// optionReaders read the value of each kind of option; it is nil where the caller
// says nothing.
var optionReaders = map[OptionKind]func(
	d *decoder, at string, o *Option, v *fastjson.Value, t *Type, subject SubjectKind,
) options{
	OptionText: readText, OptionMoment: readMoment, OptionInteger: readInteger, OptionNumbers: readNumbers,
	OptionSteps: readSteps,
}

func readText(d *decoder, at string, o *Option, v *fastjson.Value, _ *Type, _ SubjectKind) options {
	text := o.Default
	if v != nil {
		d.text(&text)(at, v)
	}
	most := o.Max
	if most == 0 {
		most = MaxOptionTextLen
	}
	switch n := utf8.RuneCountInString(text); {
	case v != nil && n < o.Min:
		d.add(at, "too_short", fmt.Sprintf("%s must have at least %s", at, plural(o.Min, "characters")))
	case n > most:
		d.add(at, "too_long", fmt.Sprintf("%s must have at most %d characters", at, most))
	case v != nil:
		d.oneOf(at, o, text)
	}
	return options{params: []Param{stringParam(o.param(), text)}}
}

// readMoment reads an end of time, which is seen in the request's zone later.
func readMoment(d *decoder, at string, o *Option, v *fastjson.Value, t *Type, subject SubjectKind) options {
	before := len(d.problems)
	all := readText(d, at, o, v, t, subject)
	if _, ok := parseEnd(all.params[0].Text, time.UTC); !ok && v != nil && len(d.problems) == before {
		d.add(at, "invalid_date", "Invalid date: "+echo(all.params[0].Text)+". Could not parse as a valid date")
	}
	return all
}

func readInteger(d *decoder, at string, o *Option, v *fastjson.Value, _ *Type, _ SubjectKind) options {
	n, _ := strconv.Atoi(o.Default)
	if v != nil {
		d.integer(&n, o.Min, fmt.Sprintf("%s must be at least %d", o.Name, o.Min), o.Max,
			fmt.Sprintf("%s cannot exceed %d", o.Name, o.Max))(at, v)
		d.oneOf(at, o, strconv.Itoa(n))
	}
	return options{params: []Param{uintParam(o.param(), n)}}
}

func readNumbers(d *decoder, at string, o *Option, v *fastjson.Value, _ *Type, _ SubjectKind) options {
	var numbers []float64
	one := func(at string, v *fastjson.Value) {
		n, err := v.Float64()
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			d.add(at, "wrong_type", at+" must be a number")
		}
		if n < o.Least || o.Most > 0 && n > o.Most {
			d.add(at, "out_of_range", fmt.Sprintf("%s must be from %g to %g", at, o.Least, o.Most))
		}
		numbers = append(numbers, n)
	}
	switch {
	case v == nil:
		for text := range strings.FieldsSeq(strings.ReplaceAll(o.Default, ",", " ")) {
			n, _ := strconv.ParseFloat(text, 64)
			numbers = append(numbers, n)
		}
	case v.Type() == fastjson.TypeArray:
		d.array(one)(at, v)
		d.count(at, o, len(numbers), "numbers")
	default:
		one(at, v)
	}
	return options{params: []Param{numbersParam(o.param(), numbers)}}
}

// oneOf checks that a value is one of those that an option takes.
func (d *decoder) oneOf(at string, o *Option, value string) {
	if o.OneOf != nil && !slices.Contains(o.OneOf, value) {
		d.problems = append(d.problems,
			problem(at, "unknown_value", "Invalid "+o.Name+": "+echo(value), "Use one of "+strings.Join(o.OneOf, ", ")))
	}
}

// count checks how many values of an option there are.
func (d *decoder) count(at string, o *Option, n int, what string) {
	if n < o.Min {
		d.add(at, "too_few", fmt.Sprintf("%s must have at least %s", o.Name, plural(o.Min, what)))
	}
	if o.Max > 0 && n > o.Max {
		d.problems = append(d.problems, tooMany(at, what, n, o.Max))
	}
}

// plural says a number of things, whose name is a plural.
func plural(n int, what string) string {
	if n == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return strconv.Itoa(n) + " " + what
}

// param is the parameter of a statement that holds an option.
func (o *Option) param() string { return "option_" + o.Name }

// option is the text of an option that takes one of some texts, or a time.
func (q *query) option(name string) string {
	for _, p := range q.options.params {
		if p.Name == "option_"+name {
			return p.Text
		}
	}
	return ""
}
