package analytics

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Breakdowns of page views by columns of events are counted by grouping sets in one statement:
// each of its rows is of a set.

var plainColumn = regexp.MustCompile(`^e\.[a-z_]+$`)

// plainKeys are the columns of events that a breakdown is by; nil where it is by more
// than columns.
func (t *Type) plainKeys() []string {
	keys := t.groupedBy()
	if slices.ContainsFunc(keys, func(k string) bool { return !plainColumn.MatchString(k) }) {
		return nil
	}
	return keys
}

// isBreakdown reports whether a question is about page views by one column or two.
func (q *query) isBreakdown() bool {
	t := q.typ
	keys := t.plainKeys()
	if t.From != nil || t.Series || t.Where != pageView || len(keys) == 0 || len(keys) > 2 ||
		t.Keep != keys[0]+" != ''" || t.Tie != t.GroupBy {
		return false
	}
	return !slices.ContainsFunc(t.Columns, func(c Column) bool {
		return !slices.Contains(keys, c.Expr) && c.Expr != viewCount.Expr && c.Expr != viewVisitors.Expr &&
			c.Expr != viewShare.Expr
	})
}

// addViews adds one statement that groups page views by each of several keys. Its
// first column says of which.
func (p *Plan) addViews(group []asked) {
	q := *group[0].q
	var columns, sets []string
	for _, a := range group {
		for _, k := range a.q.typ.plainKeys() {
			if !slices.Contains(columns, k) {
				columns = append(columns, k)
			}
		}
		if !slices.Contains(sets, a.q.typ.GroupBy) {
			sets = append(sets, a.q.typ.GroupBy)
		}
	}
	s := q.statement() // for all but the text and the columns
	s.SQL, s.Columns = q.marked(viewsSQL(&q, columns, sets)), []Column{{Name: setColumn, Type: Number}}
	for i := range columns {
		s.Columns = append(s.Columns, Column{Name: keyColumn(i), Type: String})
	}
	s.Columns = append(s.Columns, viewCount, viewVisitors, viewShare)
	var outputs []int
	for _, a := range group {
		outputs = append(outputs, a.output)
		p.Outputs[a.output].part = rowsOf(a.q.typ, slices.Index(sets, a.q.typ.GroupBy), func(c Column) int {
			switch c.Expr {
			case viewCount.Expr:
				return 1 + len(columns)
			case viewVisitors.Expr:
				return 2 + len(columns)
			case viewShare.Expr:
				return 3 + len(columns)
			}
			return 1 + slices.Index(columns, c.Expr)
		})
	}
	p.add(s, outputs...)
}

// setColumn says which of the sets a row is of.
const setColumn = "set"

func keyColumn(i int) string { return "key" + strconv.Itoa(i) }

// viewsSQL is the text of page views by several keys.
func viewsSQL(q *query, columns, sets []string) string {
	inner := []Column{{Name: setColumn, Expr: whichSet(sets)}}
	outer := []Column{{Name: setColumn, Expr: setColumn}}
	for i, c := range columns {
		inner = append(inner, Column{Name: keyColumn(i), Expr: c})
		outer = append(outer, Column{Name: keyColumn(i), Expr: keyColumn(i)})
	}
	inner = append(inner, viewCount, viewVisitors)
	outer = append(outer, Column{Name: "pageviews", Expr: "pageviews"}, Column{Name: "visitors", Expr: "visitors"},
		Column{Name: "percentage", Expr: "round(100 * pageviews / sum(pageviews) OVER (PARTITION BY " + setColumn + "), 2)"})
	var first, second []string
	for i, set := range sets {
		is := setColumn + " = " + strconv.Itoa(i) + ", "
		keys := strings.Split(set, ", ")
		first = append(first, is+keyColumn(slices.Index(columns, keys[0])))
		if len(keys) > 1 {
			second = append(second, is+keyColumn(slices.Index(columns, keys[1])))
		}
	}
	choose := func(of []string) string { return "multiIf(" + strings.Join(append(of, "''"), ", ") + ")" }
	by, desc := ordered(q.typ, q.request)
	if desc {
		by += " DESC"
	}
	order := joined(setColumn, by, choose(first))
	if len(second) > 0 {
		order = joined(order, choose(second))
	}
	return selectSQL(outer) + "\nFROM (\n" +
		indent(selectSQL(inner)+"\n"+markEvents+"\nGROUP BY GROUPING SETS (("+strings.Join(sets, "), (")+"))") +
		"\n)\nQUALIFY " + choose(first) + " != ''\nORDER BY " + order +
		"\nLIMIT {offset:UInt64}, {limit:UInt64} BY " + setColumn
}

// whichSet is the number of the set that a row was grouped by. A set of two keys has
// those of one that are in it too, so it is asked for first.
func whichSet(sets []string) string {
	var two, one []string
	for i, set := range sets {
		keys := strings.Split(set, ", ")
		is := "grouping(" + strings.Join(keys, ") = 0 AND grouping(") + ") = 0, " + strconv.Itoa(i)
		if len(keys) > 1 {
			two = append(two, is)
		} else {
			one = append(one, is)
		}
	}
	return "toUInt64(multiIf(" + strings.Join(append(append(two, one...), strconv.Itoa(len(sets))), ", ") + "))"
}

// rowsOf picks the rows of a set, and of them a type's columns, each of which is in a
// place of the whole.
func rowsOf(t *Type, set int, place func(Column) int) func(*Table) *Table {
	return func(whole *Table) *Table {
		if len(whole.Columns) == 0 {
			return whole
		}
		numbers := whole.Columns[0].Uints
		from, _ := slices.BinarySearch(numbers, uint64(set))
		to, _ := slices.BinarySearch(numbers, uint64(set)+1)
		part := &Table{Rows: to - from}
		for _, c := range t.Columns {
			v := whole.Columns[place(c)].rows(from, to)
			v.Name = c.Name
			part.Columns = append(part.Columns, v)
		}
		return part
	}
}

// rows are some of a column's values.
func (v *Values) rows(from, to int) Values {
	return Values{
		Name: v.Name, Strings: cut(v.Strings, from, to), Uints: cut(v.Uints, from, to), Ints: cut(v.Ints, from, to),
		Floats: cut(v.Floats, from, to), Millis: cut(v.Millis, from, to),
	}
}

func cut[T any](s []T, from, to int) []T {
	if s == nil {
		return nil
	}
	return s[from:to]
}
