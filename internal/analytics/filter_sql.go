package analytics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// conditions are filters as SQL: predicates on events, and on rows of the response by
// the names of its columns. Tables are read besides the type's own.
type conditions struct {
	where, having []string
	params        []Param
	tables        []string
}

// compileFilters writes checked filters for a type. Parameters are named after the
// places of their comparisons: prefix, and the number of each.
func compileFilters(prefix string, filters []Filter, t *Type, subject SubjectKind) conditions {
	w := filterWriter{prefix: prefix, typ: t, subject: subject}
	var c conditions
	for i := range filters {
		measures, _ := sides(t, &filters[i])
		sql := w.filter(&filters[i], false)
		if measures {
			c.having = append(c.having, sql)
		} else {
			c.where = append(c.where, sql)
		}
	}
	c.params, c.tables = w.params, w.tables
	return c
}

type filterWriter struct {
	prefix  string
	typ     *Type
	subject SubjectKind
	params  []Param
	tables  []string
	n       int // comparisons written
}

// filter writes one; inside tells that something is around it.
func (w *filterWriter) filter(f *Filter, inside bool) string {
	key, items := f.group()
	if key == "" {
		return w.comparison(f)
	}
	parts := make([]string, len(items))
	for i := range items {
		parts[i] = w.filter(&items[i], true)
	}
	if key == "not" {
		return "NOT (" + parts[0] + ")"
	}
	sql := strings.Join(parts, " "+strings.ToUpper(key)+" ")
	if len(parts) > 1 && (inside || key == "or") {
		return "(" + sql + ")"
	}
	return sql
}

func (w *filterWriter) comparison(f *Filter) string {
	name := w.prefix + strconv.Itoa(w.n)
	w.n++
	op, negative := findOperator(f.Op).positive()
	sql := w.positive(name, f, op)
	if negative {
		return "NOT (" + sql + ")"
	}
	return sql
}

func (w *filterWriter) positive(name string, f *Filter, op *Operator) string {
	if c := w.typ.measure(f.Field); c != nil {
		return w.compare(name, f, op, kindOf(c), c.Name, c.Name)
	}
	field := w.typ.field(f.Field)
	expr, set := field.expr, field.set
	if key, _ := field.key(f.Field); key != "" {
		mark := w.add(stringParam(name+"_key", key))
		expr, set = strings.ReplaceAll(expr, "{key}", mark), strings.ReplaceAll(set, "{key}", mark)
	}
	if field.single {
		f = &Filter{Values: singles(f.Values)}
	}
	sql := w.compare(name, f, op, field.Kind, expr, set)
	if field.within == nil {
		return sql
	}
	w.read(field.reads...)
	if w.subject == Organization {
		w.read("usage_1d")
	}
	return strings.NewReplacer("{match}", sql, "{key}", "{"+name+"_key:"+typeString+"}").Replace(field.within(w.subject))
}

// compare writes the predicate of one operator without its negation.
func (w *filterWriter) compare(name string, f *Filter, op *Operator, kind FieldKind, expr, set string) string {
	switch kind {
	case TextField:
		return predicate(op.text, expr, w.texts(name, op, f.Values))
	case NumberField:
		return predicate(op.number, expr, w.numbers(name, op, f.Values))
	case KeysField:
		value := w.texts(name, op, f.Values)
		one := value
		if op.Takes == ListOfValues {
			one = "v"
		}
		return predicate(op.keys, strings.ReplaceAll(expr, "{value}", one), value)
	case FlagField:
		return predicate(op.flag, expr, w.texts(name, op, f.Values))
	case ValueField:
	}
	return w.compareValue(name, f, op, expr, set)
}

// compareValue compares with texts as a text, and with numbers as a number; a list
// may have both.
func (w *filterWriter) compareValue(name string, f *Filter, op *Operator, text, set string) string {
	if op.Takes == NoValue {
		return predicate(op.value, set, "")
	}
	var texts, numbers []Scalar
	for _, v := range f.Values {
		if op.number != "" && (op.text == "" || v.Kind == ScalarNumber) {
			numbers = append(numbers, v)
		} else {
			texts = append(texts, v)
		}
	}
	var parts []string
	if len(texts) > 0 {
		parts = append(parts, predicate(op.text, text, w.texts(name, op, texts)))
	}
	if len(numbers) > 0 {
		parts = append(parts, predicate(op.number, numberOf(text), w.numbers(name+"_number", op, numbers)))
	}
	if len(parts) > 1 {
		return "(" + strings.Join(parts, " OR ") + ")"
	}
	return parts[0]
}

func predicate(template, field, value string) string {
	return strings.NewReplacer("{field}", field, "{value}", value).Replace(template)
}

func (w *filterWriter) texts(name string, op *Operator, values []Scalar) string {
	all := make([]string, len(values))
	for i := range values {
		all[i] = values[i].Text
	}
	switch op.Takes {
	case NoValue:
		return ""
	case ListOfValues:
		return w.add(stringsParam(name, all))
	case OneValue:
	}
	return w.add(stringParam(name, all[0]))
}

func (w *filterWriter) numbers(name string, op *Operator, values []Scalar) string {
	all := make([]float64, len(values))
	for i := range values {
		all[i], _ = values[i].number()
	}
	switch op.Takes {
	case NoValue:
		return ""
	case ListOfValues:
		return w.add(numbersParam(name, all))
	case OneValue:
	}
	return w.add(numberParam(name, all[0]))
}

// singles are numbers as Float32 columns hold them; those that are too large for these
// remain what they are.
func singles(values []Scalar) []Scalar {
	rounded := make([]Scalar, len(values))
	for i := range values {
		n, _ := values[i].number()
		if f := float64(float32(n)); !math.IsInf(f, 0) {
			n = f
		}
		rounded[i] = Scalar{Kind: ScalarNumber, Text: strconv.FormatFloat(n, 'g', -1, 64)}
	}
	return rounded
}

// add remembers a parameter and returns how a statement names it.
func (w *filterWriter) add(p Param) string {
	w.params = append(w.params, p)
	return fmt.Sprintf("{%s:%s}", p.Name, p.Type)
}

func (w *filterWriter) read(tables ...string) {
	for _, t := range tables {
		if !slices.Contains(w.tables, t) {
			w.tables = append(w.tables, t)
		}
	}
}
