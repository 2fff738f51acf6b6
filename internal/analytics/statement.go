package analytics

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ownerPredicates restrict the events to a subject. A website is the head of the
// table's sort key; an organization's events are those of all of its owners.
var ownerPredicates = map[SubjectKind]string{
	Website:      "e.owner_id = {owner:String}",
	Organization: "e.organization_id = {owner:String}",
}

// bucketOf is the start of the bucket of an event, as seconds. The buckets are
// made by package time, so ClickHouse needs to know nothing about zones.
const bucketOf = "roundDown(toUnixTimestamp(e.event_time), {buckets:" + typeSeconds + "})"

// compileStatement writes the SQL of one parameter. The text depends on the
// type, the kinds of filters and the order; every value is a parameter.
func compileStatement(label string, t *Type, r *Request, subject Subject, rng Range, buckets []Bucket) Statement {
	s := Statement{Label: label, Type: t}
	s.Params = append(s.Params,
		stringParam("owner", subject.ID),
		dateParam("from", rng.Start), dateParam("to", rng.End.Add(-time.Millisecond)),
		instantParam("start", rng.Start), instantParam("end", rng.End),
	)
	where := []string{
		ownerPredicates[subject.Kind],
		"e.event_date BETWEEN {from:Date} AND {to:Date}",
		"e.event_time >= {start:" + typeInstant + "}",
		"e.event_time < {end:" + typeInstant + "}",
	}
	if t.Where != "" {
		where = append(where, t.Where)
	}
	for i := range r.Filters {
		sql, p := r.Filters[i].predicate(i)
		where = append(where, sql)
		s.Params = append(s.Params, p)
	}
	source := "FROM events AS e FINAL\nWHERE " + strings.Join(where, "\n  AND ")
	if t.Series {
		labels := make([]string, len(buckets))
		for i, b := range buckets {
			labels[i] = b.Label
		}
		s.Params = append(s.Params, secondsParam("buckets", buckets), stringsParam("labels", labels))
		s.SQL = seriesSQL(t, source)
	} else {
		s.SQL = rowsSQL(t, source)
	}
	if !t.SingleRow() {
		s.SQL += "\n" + orderSQL(t, r) + "\nLIMIT {limit:UInt64} OFFSET {offset:UInt64}"
		limit := r.Limit
		if limit == 0 {
			limit = t.DefaultLimit
		}
		s.Params = append(s.Params, uintParam("limit", limit), uintParam("offset", (max(r.Page, 1)-1)*limit))
	}
	return s
}

// rowsSQL is a type's answer without its order.
func rowsSQL(t *Type, source string) string {
	if t.From == FromSessions {
		source = "FROM (\n" + indent(selectSQL(sessionColumns, "")+"\n"+source+"\nGROUP BY e.session_id") + "\n)"
	}
	sql := selectSQL(t.Columns, "") + "\n" + source
	if t.GroupBy != "" {
		sql += "\nGROUP BY " + t.GroupBy
	}
	if t.Keep != "" {
		sql += "\nQUALIFY " + t.Keep
	}
	return sql
}

// seriesSQL joins what each bucket holds to the list of all buckets, so that
// empty ones have a row of zeros.
func seriesSQL(t *Type, source string) string {
	measures, group := t.Columns[1:], bucketOf
	if t.From == FromSessions {
		inner := selectSQL(sessionColumns, bucketOf+" AS bucket") + "\n" + source + "\nGROUP BY bucket, e.session_id"
		source, group = "FROM (\n"+indent(inner)+"\n)", "bucket"
	}
	first := group
	if group != "bucket" {
		first += " AS bucket"
	}
	names := make([]string, len(t.Columns))
	for i, col := range t.Columns {
		names[i] = col.Name
	}
	return "SELECT " + strings.Join(names, ", ") + "\nFROM (\n" +
		"    SELECT pair.1 AS bucket, pair.2 AS date\n" +
		"    FROM (SELECT arrayJoin(arrayZip({buckets:" + typeSeconds + "}, {labels:" + typeStrings + "})) AS pair)\n" +
		") AS axis\nLEFT JOIN (\n" +
		indent(selectSQL(measures, first)+"\n"+source+"\nGROUP BY bucket") +
		"\n) AS measured USING (bucket)"
}

// orderSQL is the order the request asks for, or the type's own. A series is
// ordered by time where its label is asked for: labels repeat when clocks go
// back.
func orderSQL(t *Type, r *Request) string {
	by, desc := t.OrderBy, t.Desc
	if r.SortBy != "" && slices.Contains(t.Sorts, r.SortBy) {
		by, desc = r.SortBy, r.SortBy != "date" // the largest first, but time forward
	}
	switch r.SortOrder {
	case "asc":
		desc = false
	case "desc":
		desc = true
	}
	direction := ""
	if desc {
		direction = " DESC"
	}
	switch {
	case t.Series && by == "date":
		return "ORDER BY bucket" + direction
	case t.Series:
		return "ORDER BY " + by + direction + ", bucket"
	}
	return "ORDER BY " + by + direction + ", " + t.Tie
}

// selectSQL lists columns, one a line, after an optional first one.
func selectSQL(columns []Column, first string) string {
	lines := make([]string, 0, 1+len(columns))
	if first != "" {
		lines = append(lines, first)
	}
	for _, c := range columns {
		lines = append(lines, fmt.Sprintf("%s AS %s", c.Expr, c.Name))
	}
	return "SELECT\n    " + strings.Join(lines, ",\n    ")
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
