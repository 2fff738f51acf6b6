package analytics

import (
	"slices"
	"strconv"
	"strings"
)

// Measures of one row, or of the same buckets, that are of the same rows of a table stand side
// by side in one statement.

// hasMeasures reports whether a question is answered by one row, or by one for each
// bucket in the order of time.
func (q *query) hasMeasures() bool {
	return q.typ.SingleRow() || q.typ.Series && q.request.SortBy == "" && q.typ.GroupBy == "" && q.typ.Keep == ""
}

// measuresKey tells the rows that a question reads.
func (q *query) measuresKey() string {
	source := ""
	if q.typ.From != nil {
		if q.typ.From.Build != nil {
			return ""
		}
		source = q.typ.From.SQL
	}
	return strings.Join([]string{
		"measures", q.typ.tables()[0], source, q.typ.Where, strconv.FormatBool(q.typ.Series),
		strconv.Itoa(q.typ.DefaultLimit), q.rangeKey(),
	}, "\x00")
}

// mergeable reports whether columns of one name mean the same in all of them, and series
// are cut alike: a week and a month may both be two buckets.
func mergeable(group []asked, a asked) bool {
	for _, other := range group {
		if other.q.typ.Series && a.q.typ.Series && !slices.Equal(other.q.buckets, a.q.buckets) {
			return false
		}
		for _, c := range a.q.typ.Columns {
			if same := other.q.typ.column(c.Name); same != nil && same.Expr != c.Expr {
				return false
			}
		}
	}
	return true
}

// addMeasures adds one statement with the columns of several types.
func (p *Plan) addMeasures(group []asked) {
	q := *group[0].q
	merged := *q.typ
	merged.Columns = slices.Clone(merged.Columns)
	var outputs []int
	for _, a := range group {
		for _, c := range a.q.typ.Columns {
			if merged.column(c.Name) == nil {
				merged.Columns = append(merged.Columns, c)
			}
		}
		outputs = append(outputs, a.output)
	}
	for _, a := range group {
		if len(a.q.typ.Columns) < len(merged.Columns) {
			p.Outputs[a.output].part = columnsOf(a.q.typ)
		}
	}
	q.typ = &merged
	s := q.statement()
	for _, a := range group {
		s.Tables = distinct(append(s.Tables, a.q.tablesRead()...))
	}
	p.add(s, outputs...)
}

// columnsOf picks the columns of a type out of a wider result, by their names.
func columnsOf(t *Type) func(*Table) *Table {
	return func(whole *Table) *Table {
		part := &Table{Rows: whole.Rows}
		for _, c := range t.Columns {
			i := slices.IndexFunc(whole.Columns, func(v Values) bool { return v.Name == c.Name })
			part.Columns = append(part.Columns, whole.Columns[i])
		}
		return part
	}
}
