package analytics

import (
	"slices"
	"strings"
)

// each and by are what rows of a source are cut by.
func (q *query) each() string {
	var b strings.Builder
	for _, c := range q.cuts() {
		b.WriteString(c.Expr + " AS " + c.Name + ",\n")
	}
	return b.String()
}

func (q *query) by() string {
	var b strings.Builder
	for _, c := range q.cuts() {
		b.WriteString(c.Name + ", ")
	}
	return b.String()
}

func (q *query) cuts() []Column {
	cuts := slices.Clone(q.typ.groups)
	if q.typ.Series {
		cuts = append([]Column{{Name: bucket, Expr: bucketOf}}, cuts...)
	}
	return cuts
}

// source is what the type's expressions are evaluated over, with FROM.
func (q *query) source() string {
	if q.typ.From == nil {
		return markEvents
	}
	sql := "FROM " + q.typ.From.text(q)
	if !q.typ.From.Paged && !strings.Contains(sql, markEvents) && len(q.kept.where) > 0 {
		sql += "\nWHERE " + strings.Join(q.kept.where, "\n  AND ")
	}
	return sql
}

// limited reports whether the rows are those of the page already.
func (q *query) limited() bool {
	if q.whole {
		return false
	}
	if from := q.typ.From; from != nil && from.Paged {
		return true
	}
	return q.plan.rollup && q.typ.Rollup.Limited != nil && q.typ.Rollup.Limited(q)
}

// rows is the response of a type that is no series, without its order.
func (q *query) rows() string {
	t := q.typ
	if q.plan.rollup {
		return t.Rollup.SQL(q)
	}
	by := joined(joined(q.groupNames()...), t.GroupBy)
	sql := selectSQL(append(q.cutColumns(t.groups), t.Columns[len(t.groups):]...)) + "\n" + q.source()
	if by != "" {
		sql += "\nGROUP BY " + by
	}
	if keep := append(parts(t.Keep), q.kept.having...); len(keep) > 0 {
		sql += "\nQUALIFY " + strings.Join(keep, "\n  AND ")
	}
	return sql
}

// groupNames are the columns of groupBy.
func (q *query) groupNames() []string {
	names := make([]string, len(q.typ.groups))
	for i, g := range q.typ.groups {
		names[i] = g.Name
	}
	return names
}

// cutColumns are what rows are cut by as columns: a source has made them already.
func (q *query) cutColumns(cuts []Column) []Column {
	all := slices.Clone(cuts)
	if q.typ.From != nil {
		for i := range all {
			all[i].Expr = all[i].Name
		}
	}
	return all
}

// order is the order the request asks for, or the type's own. A series is
// ordered by time where its label is asked for: labels repeat when clocks go
// back.
func (q *query) order() string {
	t := q.typ
	by, desc := ordered(t, q.request)
	if c := t.column(by); c != nil && c.Order != "" {
		by = c.Order
	}
	if t.Series && by == t.Columns[0].Name {
		by = bucket
	}
	if desc {
		by += " DESC"
	}
	next := ""
	if t.Series && !strings.HasPrefix(by, bucket) {
		next = bucket
	}
	return "ORDER BY " + joined(by, next, joined(q.ties()...))
}

// ordered is the column that a response is ordered by, and in which direction.
func ordered(t *Type, r *Request) (by string, desc bool) {
	by, desc = t.OrderBy, t.Desc
	if r.SortBy != "" && slices.Contains(t.Sorts, r.SortBy) {
		by, desc = r.SortBy, !t.Series || r.SortBy != t.Columns[0].Name // the largest first, but time forward
	}
	switch r.SortOrder {
	case "asc":
		desc = false
	case "desc":
		desc = true
	}
	return by, desc
}

// selectSQL lists columns, one a line.
func selectSQL(columns []Column) string {
	lines := make([]string, len(columns))
	for i, c := range columns {
		lines[i] = c.Expr + " AS " + c.Name
		if c.Expr == c.Name {
			lines[i] = c.Name
		}
	}
	return "SELECT\n    " + strings.Join(lines, ",\n    ")
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
