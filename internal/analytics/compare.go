package analytics

import (
	"slices"
	"strings"
	"time"
)

// PreviousPeriod is how a request asks to be compared with the time right before.
const PreviousPeriod = "previous_period"

// Compare asks for what each row was in another range: in the period before, where
// it names none.
type Compare struct{ StartDate, EndDate string }

// previous returns the period right before a range. Of a range of whole days it is
// as many whole days, however long they are: today is compared with all of
// yesterday, and a month of 31 days with the 31 days before it. Any other range is
// compared with one of the same length.
func (r Range) previous() Range {
	before := Range{End: r.Start, Zone: r.Zone}
	from, to := r.Start.In(r.Zone), r.End.In(r.Zone)
	if !from.Equal(firstOf(from)) || !to.Equal(firstOf(to)) {
		before.Start = notBefore1970(from.Add(-to.Sub(from)))
		return before
	}
	days := calendarDays(from, to)
	y, m, d := from.Date()
	before.Start = notBefore1970(startOfDay(y, m, d-days, r.Zone))
	return before
}

// firstOf is the first instant of the day of a time.
func firstOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return startOfDay(y, m, d, t.Location())
}

// calendarDays is how many dates lie between two times.
func calendarDays(from, to time.Time) int {
	date := func(t time.Time) time.Time {
		y, m, d := t.Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return int(date(to).Sub(date(from)) / (24 * time.Hour))
}

// compareColumns follow those of a type where its rows are compared.
var compareColumns = []Column{
	{
		Name:        "previous",
		Type:        JSON,
		Label:       "Before",
		Description: "Values of the row in the compared range.",
		Example:     `{"pageviews":400}`,
		Expr:        "previous",
	},
	{
		Name: "change", Type: JSON, Label: "Change", Unit: percent,
		Description: "Relative change of each value; null if the earlier value is 0 or too small to divide by.",
		Example:     `{"pageviews":0.5}`,
		Expr:        "change",
	},
}

// step is the column that numbers the buckets of a series which is compared.
const stepColumn = "step"

// Comparable reports whether the rows of a type are the same things in another
// range: its one row, the buckets of a series, or what rows are grouped by.
func (t *Type) Comparable() bool {
	if t.Lists || t.Recent > 0 {
		return false
	}
	_, ok := t.keys()
	return ok
}

// keys are the columns by which rows are told apart; ok is false where columns do
// not tell.
func (t *Type) keys() (keys []string, ok bool) {
	if t.Series {
		keys = append(keys, stepColumn)
	}
	for _, g := range t.groups {
		keys = append(keys, g.Name)
	}
	if t.Series || t.GroupBy == "" {
		return keys, t.Series || len(keys) > 0 || t.SingleRow()
	}
	for _, expr := range t.groupedBy() {
		if slices.ContainsFunc(t.groups, func(g Column) bool { return g.Expr == asGroup(expr) }) {
			continue // the group has taken the place of the type's own column
		}
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Expr == expr || c.Name == expr })
		if i < 0 {
			return nil, false
		}
		keys = append(keys, t.Columns[i].Name)
	}
	return keys, true
}

// checkCompare rejects what cannot be compared.
func (c *compiler) checkCompare(types []*Type) {
	if c.request.Compare == nil {
		return
	}
	for _, t := range distinctTypes(types) {
		if !t.Comparable() {
			c.once("compare", "unsupported_compare", "Comparing is not supported by "+t.Name, "")
		}
	}
}

// compareRange is the range that a parameter's is compared with, and its buckets
// when the type is a series.
func (c *compiler) compareRange(rng Range, t *Type, g Granularity) (Range, []Bucket, bool) {
	before, asked := rng.previous(), c.request.Compare
	if asked.StartDate != "" || asked.EndDate != "" {
		problems := len(c.problems)
		before.Start = c.bound(&bound{field: "compare.startDate", given: asked.StartDate, parse: parseStart})
		before.End = c.bound(&bound{field: "compare.endDate", given: asked.EndDate, parse: parseEnd})
		if len(c.problems) > problems {
			return before, nil, false
		}
	}
	if !before.Start.Before(before.End) {
		c.once("compare", "empty_range", "The range to compare with has no length", "")
		return before, nil, false
	}
	if !t.Series {
		return before, nil, true
	}
	buckets, ok := before.cut(g)
	if !ok {
		c.once("compare", "range_too_long", tooLong(g), "Compare with a shorter range")
	}
	return before, buckets, ok
}

// earlier is the question that a parameter's is compared with; nil when a problem
// was found.
func (c *compiler) earlier(i int, t *Type, given options, rng Range) *query {
	g := GranularityUnset
	if t.Series {
		g = c.granularity(&c.request.Parameters[i], "", t)
	}
	before, buckets, ok := c.compareRange(rng, t, g)
	if !ok {
		return nil
	}
	q := newQuery(t, c.request, given, c.env.Subject, before, buckets)
	q.stepped, q.whole, q.plan = true, true, q.choose(&c.env)
	return q
}

// shared reports whether a parameter is the same in both ranges of a comparison.
func shared(name string) bool {
	return name == "owner" || strings.HasPrefix(name, "filter") || strings.HasPrefix(name, "option_")
}

// compared joins to each row of a response what it was in the other range. Rows
// that were not there have zeros.
func (q *query) compared(shown string) string {
	earlier := q.earlier.marked(q.earlier.body())
	for _, p := range q.earlier.params {
		if !shared(p.Name) {
			earlier = strings.ReplaceAll(earlier, "{"+p.Name+":", "{previous_"+p.Name+":")
			p.Name = "previous_" + p.Name
			q.params = append(q.params, p)
		}
	}
	keys, _ := q.typ.keys()
	join := "CROSS JOIN"
	on := make([]string, len(keys))
	for i, k := range keys {
		join, on[i] = "LEFT JOIN", "shown."+k+" = earlier."+k
	}
	columns := make([]Column, 0, len(q.typ.Columns)+len(compareColumns))
	for _, c := range q.typ.Columns {
		columns = append(columns, Column{Name: c.Name, Expr: "shown." + c.Name})
	}
	columns = append(columns, Column{Name: "previous", Expr: q.object(wasThen)},
		Column{Name: "change", Expr: q.object(changed)})
	sql := selectSQL(columns) + "\nFROM (\n    SELECT *, rowNumberInAllBlocks() AS row\n    FROM (\n" +
		indent(indent(shown)) + "\n    )\n) AS shown\n" +
		join + " (\n" + indent(earlier) + "\n) AS earlier"
	if len(on) > 0 {
		sql += " ON " + strings.Join(on, " AND ")
	}
	return sql + "\nORDER BY shown.row"
}

// object is a JSON object of the type's numbers, each made of what it is now and of
// what it was then.
func (q *query) object(value string) string {
	var names, now, then []string
	for _, c := range q.typ.Columns {
		if c.Type == Number {
			names = append(names, "'"+c.Name+"'")
			now, then = append(now, finite("shown."+c.Name)), append(then, finite("earlier."+c.Name))
		}
	}
	if names == nil {
		return "'{}'"
	}
	return "concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('\"', name, '\":', " + value + "), [" +
		strings.Join(names, ", ") + "], [" + strings.Join(now, ", ") + "], [" + strings.Join(then, ", ") + "]), ','), '}')"
}

func finite(column string) string { return "ifNotFinite(toFloat64(ifNull(" + column + ", 0)), 0)" }

// What stands in the objects.
const (
	wasThen = "toString(then)"
	changed = "if(isFinite(" + ratio + "), toString(" + ratio + "), 'null')"
	ratio   = "(round(100 * (now - then) / abs(then), 2) + 0)" // which is no 0 below 0
)
