package analytics

import (
	"slices"
	"strings"
)

// paged is a source that reads what is wide, or large, only of the page that is asked
// for. It finds the keys of the page's rows by a few narrow columns, and then the
// events of these alone. Its filters choose keys, such as sessions, by any of their
// events; what is told of a key is told of all its events in the range.
type paged struct {
	// key is what a row is about, over rows called e; its empty value is nothing.
	key string
	// rows are the events with the key, from FROM to the end of WHERE; {more} stands
	// where conditions on events belong.
	rows string
	// found is where filters look for keys, as rows; empty for the same.
	found string
	// order holds the SQL of columns that a response may be sorted by, where that of the
	// type is not over events.
	order map[string]string
}

// page names the scalar (keys, first day, last day, numbers) of the page. Numbers count
// the keys by their first event.
func (p *paged) page(q *query) string {
	t := q.typ
	by, _ := ordered(t, q.request)
	names := []string{by}
	if len(q.kept.having) > 0 {
		names = append(names, t.Measures...)
	}
	slices.Sort(names)
	columns := []Column{
		{Name: "id", Expr: p.key},
		{Name: "first_day", Expr: "toDate(min(e.event_time))"},
		{Name: "last_day", Expr: "toDate(max(e.event_time))"},
		{Name: "number", Expr: "row_number() OVER (ORDER BY min(e.event_time), " + p.key + ")"},
	}
	for _, name := range slices.Compact(names) {
		expr, given := p.order[name]
		if !given {
			expr = t.column(name).Expr
		}
		columns = append(columns, Column{Name: name, Expr: expr})
	}
	sql := selectSQL(columns) + "\n" + p.with(p.keyed()+p.filtered(q)) + "\nGROUP BY " + p.key
	if len(q.kept.having) > 0 {
		sql += "\nHAVING " + strings.Join(q.kept.having, "\n  AND ")
	}
	sql += "\n" + q.order() + "\nLIMIT {limit:UInt64} OFFSET {offset:UInt64}"
	return "(\n    SELECT (groupArray(id), min(first_day), max(last_day), groupArray(number))\n    FROM (\n" +
		indent(indent(sql)) + "\n    )\n) AS page"
}

func (p *paged) keyed() string { return "\n  AND " + p.key + " != ''" }

// with are the rows that pass further conditions.
func (p *paged) with(conditions string) string { return replaceMark(p.rows, "{more}", conditions) }

// filtered is the condition of the keys that have an event which passes the filters.
func (p *paged) filtered(q *query) string {
	if len(q.kept.where) == 0 {
		return ""
	}
	found := p.rows
	if p.found != "" {
		found = p.found
	}
	sql := "SELECT " + p.key + "\n" +
		replaceMark(found, "{more}", p.keyed()+"\n  AND "+strings.Join(q.kept.where, "\n  AND "))
	return "\n  AND " + p.key + " IN (\n" + indent(indent(sql)) + "\n  )"
}

// The conditions of what belongs to the page.
const (
	onPageDays  = "\n  AND e.event_date BETWEEN page.2 AND page.3"
	onPage      = "\n  AND e.session_id IN (SELECT arrayJoin(page.1))"
	numberOnOne = "page.4[indexOf(page.1, e.session_id)]"
)

// ofSessions is the page of a response about sessions.
var ofSessions = paged{key: "e.session_id", rows: "{all events}{more}"}

// wideRows are a table's rows of the sessions of the page, of some days. Their keys are
// found first: they lead to the few places of the table at which they stand, and nothing
// else is read of its wide columns.
func wideRows(table, days string) string {
	conditions := days + onPage
	return "FROM " + table + " AS e FINAL\nWHERE {range}" + conditions + `
  AND (e.event_date, e.name, e.event_key) IN (
    SELECT e.event_date, e.name, e.event_key
    FROM ` + table + " AS e\n    WHERE {range}" + strings.ReplaceAll(conditions, "\n", "\n    ") + "\n  )"
}

// eachEventOfPage makes a row of each event of the page's sessions.
var eachEventOfPage = &Source{Paged: true, Build: func(q *query) string {
	return "(\n    WITH " + strings.TrimLeft(indent(ofSessions.page(q)), " ") + "\n    SELECT e.*\n" +
		indent(wideRows("events", onPageDays)) + "\n) AS e"
}}

// MaxSessionEvents is how many events of a session a response lists, the first of them.
const MaxSessionEvents = "500"

// jsonTime is an instant as responses have it.
func jsonTime(expr string) string {
	return "concat('\"', replaceOne(toString(" + expr + "), ' ', 'T'), 'Z\"')"
}

// jsonLines collects what happened: of each thing when it was, and its JSON array.
func jsonLines(values ...string) string {
	return "groupArraySorted(" + MaxSessionEvents + ")((e.event_time, e.event_key, concat('[', " +
		strings.Join(values, ", ',', ") + ", ']')))"
}

// jsonArray is the array of collected lines.
func jsonArray(lines string) string {
	return "concat('[', arrayStringConcat(arrayMap(line -> line.3, " + lines + "), ','), ']')"
}

// What lines tell of events.
var eventLine = []string{
	"toJSONString(e.event_id)", jsonTime("e.event_time"), "toJSONString(CAST(e.name, 'String'))", "toJSONString(e.path)",
	"if(e.properties = '', '{}', e.properties)",
}
