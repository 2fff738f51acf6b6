package analytics

import (
	"slices"
	"strings"
)

// Breakdowns of page views that views_1d answers are of one table and one order, so
// that several of a request are one statement: each of its rows is of a dimension.

// breakdownOf is a rollup's dimension of views_1d.
type breakdownOf struct {
	dimension string
	// columns are those of a type by their names, over rows of views_1d; pageviews,
	// visitors and percentage are not among them.
	columns map[string]string
}

// dimensional are the questions that one statement answers: two at least, of whole
// days that the rollup can answer for, in the order of their page views.
func dimensional(questions []asked) []asked {
	var all []asked
	for _, a := range questions {
		q := a.q
		if q.plan.rollup && q.typ.Rollup.breakdown != nil && q.earlier == nil && len(q.plan.base) == 0 && q.limited() {
			all = append(all, a)
		}
	}
	if len(all) < 2 || len(all)*all[0].q.limit() > MaxLimit {
		return nil
	}
	return all
}

// The places of a statement's columns; see addCounted.
const (
	placeValue = 1 + iota
	placeDetail
	placeViews
	placeVisitors
	placeShare
)

// addCounted adds one statement that counts page views by each of several dimensions.
// Its first column says of which.
func (p *Plan) addCounted(group []asked) {
	q := *group[0].q
	var names []string
	for _, a := range group {
		if name := a.q.typ.Rollup.breakdown.dimension; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	merged := *q.typ
	merged.Rollup = &Rollup{
		Shapes: []*shape{dimensionsShape(names), traffic}, Limited: q.typ.Rollup.Limited, Tie: "e.value",
		SQL: func(*query) string { return "" }, // see below
	}
	q.typ = &merged
	s := q.statement() // for all but the text and the columns
	s.SQL = q.marked(countedSQL(&q, names))
	s.Columns = []Column{
		{Name: setColumn, Type: Number},
		{Name: "value", Type: String},
		{Name: "detail", Type: String},
		viewCount, viewVisitors, viewShare,
	}
	var outputs []int
	for _, a := range group {
		outputs = append(outputs, a.output)
		b := a.q.typ.Rollup.breakdown
		p.Outputs[a.output].part = rowsOf(a.q.typ, slices.Index(names, b.dimension), b.place)
	}
	p.add(s, outputs...)
}

// place is where the column of a type is among those of the statement.
func (b *breakdownOf) place(c Column) int {
	switch b.columns[c.Name] {
	case "e.value":
		return placeValue
	case "e.detail":
		return placeDetail
	}
	return placeViews + slices.Index([]string{viewCount.Name, viewVisitors.Name, viewShare.Name}, c.Name)
}

// onAllCores has the server read few rows with all of its cores, which it does from
// 163,840 rows or 240 MiB on by default: a row of a rollup is sketches to be merged. What
// counts several dimensions takes the longest of what a dashboard asks for.
const onAllCores = "\nSETTINGS merge_tree_min_rows_for_concurrent_read = 1024, " +
	"merge_tree_min_bytes_for_concurrent_read = 1"

// countedSQL is the text of page views by several dimensions. Visitors are merged of
// the rows that are shown alone.
func countedSQL(q *query, names []string) string {
	const key = "e.dimension, e.value, e.detail"
	direction := "DESC"
	if q.request.SortOrder == "asc" {
		direction = "ASC"
	}
	return "SELECT\n" + indent(strings.Join([]string{
		"toUInt64(indexOf(" + dimensionList("[", names, "]") + ", e.dimension) - 1) AS " + setColumn, "e.value AS value",
		"e.detail AS detail", "sum(e.views) AS pageviews", narrow + "(e.visitors) AS visitors",
		"round(100 * sum(e.views) / " + ofAllViews + ", 2) AS percentage",
	}, ",\n")) + "\nFROM {views}\nWHERE (" + key + ") IN (\n" +
		indent("SELECT "+key+"\nFROM {views}\nGROUP BY "+key+"\nORDER BY sum(e.views) "+direction+
			", e.value, e.detail\nLIMIT {offset:UInt64}, {limit:UInt64} BY e.dimension") +
		"\n)\nGROUP BY " + key + "\nORDER BY " + setColumn + ", pageviews " + direction + ", e.value, e.detail" + onAllCores
}

func dimensionList(open string, names []string, end string) string {
	return open + "'" + strings.Join(names, "', '") + "'" + end
}
