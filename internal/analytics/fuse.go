package analytics

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Parameters of one request that read the same events are computed in one scan of
// them: breakdowns of page views by grouping sets, and measures of one row, or of
// the same buckets, side by side.

// asked is a question and the output that it answers.
type asked struct {
	q      *query
	output int // its place in the plan's Outputs
}

// fuse adds the statements of a plan's questions, as few as can be.
func (p *Plan) fuse(questions []asked) {
	questions = p.addEmpty(questions)
	var views []asked
	for _, a := range questions {
		if a.q.fusable() && a.q.isBreakdown() {
			views = append(views, a)
		}
	}
	if len(views) < 2 || len(views)*views[0].q.limit() > MaxLimit {
		views = nil
	}
	counted, visited := dimensional(questions), ofVisits(questions)
	alike := map[string][]asked{} // by what they read
	var order []string
	for _, a := range questions {
		key, named := "", false // named tells that columns are told apart by their names
		switch {
		case slices.Contains(views, a):
			key = "views " + a.q.rangeKey() + " " + appliedTo(a.q.typ, a.q.request).Sort
		case slices.Contains(counted, a):
			key = "counted " + a.q.rangeKey()
		case slices.Contains(visited, a):
			key, named = "visits "+a.q.visitsKey(), true
		case a.q.fusable() && a.q.hasMeasures():
			key, named = a.q.measuresKey(), true
		}
		if key == "" || named && !mergeable(alike[key], a) {
			key = "alone " + strconv.Itoa(a.output)
		}
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], a)
	}
	for _, key := range order {
		group := alike[key]
		switch {
		case len(group) == 1:
			p.add(group[0].q.statement(), group[0].output)
		case strings.HasPrefix(key, "views "):
			p.addViews(group)
		case strings.HasPrefix(key, "counted "):
			p.addCounted(group)
		case strings.HasPrefix(key, "visits "):
			p.addVisits(group)
		default:
			p.addMeasures(group)
		}
	}
}

// addEmpty adds the statements that have no rows, each for itself, and returns the other
// questions.
func (p *Plan) addEmpty(questions []asked) []asked {
	var others []asked
	for _, a := range questions {
		if a.q.beyond() {
			p.add(a.q.statement(), a.output)
		} else {
			others = append(others, a)
		}
	}
	return others
}

func (p *Plan) add(s Statement, outputs ...int) {
	for _, i := range outputs {
		p.Outputs[i].Statement = len(p.Statements)
	}
	p.Statements = append(p.Statements, s)
}

// fusable reports whether nothing about a question is its own but what it measures.
func (q *query) fusable() bool {
	return !q.plan.rollup && q.earlier == nil && len(q.options.params) == 0 && len(q.kept.having) == 0 &&
		len(q.typ.groups) == 0 && len(q.typ.Measures) == 0
}

func (q *query) rangeKey() string {
	return strconv.FormatInt(q.rng.Start.UnixMilli(), 10) + " " + strconv.FormatInt(q.rng.End.UnixMilli(), 10) + " " +
		strconv.Itoa(len(q.buckets))
}

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
