package analytics

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// ownerPredicates restrict the events to a subject. A website is the head of the
// tables' sort keys; an organization's events are those of its owners, which are
// known from what was counted for its quota.
var ownerPredicates = map[SubjectKind]string{
	Website:      "e.owner_id = {owner:String}",
	Organization: "e.owner_id IN (" + countedOwners + ")",
	Link:         "e.owner_id = {owner:String}",
}

// inTime are the conditions of the range: the days prune parts and granules, the
// times make it exact.
const inTime = "e.event_date BETWEEN {from:Date} AND {to:Date}\n" +
	"  AND e.event_time >= {start:" + typeInstant + "}\n" +
	"  AND e.event_time < {end:" + typeInstant + "}"

// bucketOf is the start of the bucket of an event, as seconds. The buckets are
// made by package time, so ClickHouse needs to know nothing about zones.
const bucketOf = "roundDown(toUnixTimestamp(e.event_time), {buckets:" + typeSeconds + "})"

// bucket is the name of that column.
const bucket = "bucket"

// Statement is SQL for a Runner. It answers one parameter of a request, or several
// that are computed together.
type Statement struct {
	// Type is that of the first parameter, for metrics and logs.
	Type   *Type
	SQL    string
	Params []Param
	// Columns are those of its result.
	Columns []Column
	Subject Subject
	Range   Range
	// Tables are those whose rows decide about the result.
	Tables []string
	// Empty results have no rows, whatever the data is: there is no need to run the SQL.
	Empty bool
	// Volatile results change with the time of the question.
	Volatile bool
	// Source says where the numbers come from: "events", "rollup", or "rollup and
	// events" where some days are counted anew.
	Source string
}

// query is one parameter of a request on its way to a statement.
type query struct {
	typ     *Type
	request *Request
	subject Subject
	rng     Range
	buckets []Bucket
	params  []Param
	kept    conditions // what the filters ask for
	options options
	// earlier is the same question about the range that this one is compared with;
	// stepped has the buckets of a series numbered, by which the two are matched.
	earlier *query
	stepped bool
	// whole tells that every row is wanted, in no order: what is shown is found among
	// them.
	whole bool
	plan  plan
}

// newQuery prepares the conditions of a question.
func newQuery(t *Type, r *Request, o options, subject Subject, rng Range, buckets []Bucket) *query {
	q := &query{typ: t, request: r, subject: subject, rng: rng, buckets: buckets, options: o}
	q.params = append(
		q.params, stringParam("owner", subject.ID),
		dateParam("from", rng.Start), dateParam("to", rng.End.Add(-time.Millisecond)),
		instantParam("start", rng.Start), instantParam("end", rng.End),
	)
	q.kept = compileFilters("filter", r.Filters, t, subject.Kind)
	q.params = append(append(q.params, q.kept.params...), o.params...)
	return q
}

// statement writes the SQL of a question. The text depends on the type, the kinds
// of filters and the order; every value is a parameter.
func (q *query) statement() Statement {
	t := q.typ
	s := Statement{
		Type: t, Columns: t.Columns, Subject: q.subject, Range: q.rng, Tables: q.tablesRead(),
		Volatile: t.Recent > 0 || t.Today,
		Source:   sourceName(q.plan),
		Empty:    q.beyond(),
	}
	s.SQL = q.body()
	switch {
	case !t.SingleRow():
		s.SQL += "\n" + q.order() + "\nLIMIT {limit:UInt64}"
		if !q.limited() {
			s.SQL += " OFFSET {offset:UInt64}"
		}
		q.params = append(q.params, uintParam("limit", q.limit()), uintParam("offset", q.offset()))
	case s.Empty:
		s.SQL += "\nLIMIT 0"
	}
	s.SQL, s.Range = q.marked(s.SQL), q.rng
	if q.earlier != nil {
		s.SQL = q.compared(s.SQL)
		s.Columns = slices.Concat(t.Columns, compareColumns)
		s.Range, s.Source = q.rng.and(q.earlier.rng), sourceName(q.plan, q.earlier.plan)
		s.Tables = distinct(slices.Concat(s.Tables, q.earlier.tablesRead()))
	}
	s.Params = q.params
	return s
}

// limit is how many rows the response has at most.
func (q *query) limit() int { return cmp.Or(q.request.Limit, q.typ.DefaultLimit) }

// offset is how many rows are left out before.
func (q *query) offset() int {
	return cmp.Or(q.request.Offset, (max(q.request.Page, 1)-1)*q.limit())
}

// beyond reports whether a response of one row is asked for what comes after it.
func (q *query) beyond() bool { return q.typ.SingleRow() && q.offset() > 0 }

// body is the response without its order.
func (q *query) body() string {
	if len(q.plan.base) > 0 {
		q.params = append(q.params, datesParam("base_days", q.plan.base))
	}
	if len(q.plan.cut) > 0 {
		q.params = append(q.params, datesParam("cut_days", q.plan.cut))
	}
	if !q.typ.Series {
		return q.rows()
	}
	labels := make([]string, len(q.buckets))
	for i, b := range q.buckets {
		labels[i] = b.Label
	}
	q.params = append(q.params, secondsParam("buckets", q.buckets), stringsParam("labels", labels))
	return q.series()
}

// readUntil moves the end of what is read.
func (q *query) readUntil(end time.Time) {
	q.rng.End = end
	for i, p := range q.params {
		switch p.Name {
		case "to":
			q.params[i] = dateParam("to", end.Add(-time.Millisecond))
		case "end":
			q.params[i] = instantParam("end", end)
		}
	}
}

// inRange are the conditions of the subject and the range.
func (q *query) inRange() string {
	return q.owned() + "\n  AND " + inTime
}

// owned is the condition of the subject.
func (q *query) owned() string { return ownerPredicates[q.subject.Kind] }

// events are the rows of the type's table that a question is about.
func (q *query) events() string {
	conditions := []string{q.inRange()}
	if q.typ.Where != "" {
		conditions = append(conditions, q.typ.Where)
	}
	return "FROM " + q.typ.tables()[0] + " AS e FINAL\nWHERE " +
		strings.Join(append(conditions, q.kept.where...), "\n  AND ")
}

func (q *query) allEvents() string { return "FROM events AS e FINAL\nWHERE " + q.inRange() }

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

// steps are the conditions of each step of a funnel, one a line.
func (q *query) steps() string {
	lines := make([]string, len(q.options.steps))
	for i, s := range q.options.steps {
		lines[i] = strings.Join(s.where, " AND ")
	}
	return strings.Join(lines, ",\n")
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

// series joins what each bucket holds to the list of all buckets, so that empty
// ones have a row of zeros. Cut by groups too, it has the rows that there are.
func (q *query) series() string {
	t := q.typ
	names := make([]string, 0, len(t.Columns)+1)
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	if q.stepped {
		names = append(names, "indexOf({buckets:"+typeSeconds+"}, bucket) AS "+stepColumn)
	}
	if names[0] != "date" {
		names[0] = "date AS " + names[0]
	}
	join := "LEFT JOIN"
	if len(t.groups) > 0 {
		join = "INNER JOIN"
	}
	sql := "SELECT " + strings.Join(names, ", ") + "\nFROM (\n" +
		"    SELECT pair.1 AS bucket, pair.2 AS date\n" +
		"    FROM (SELECT arrayJoin(arrayZip({buckets:" + typeSeconds + "}, {labels:" + typeStrings + "})) AS pair)\n" +
		") AS axis\n" + join + " (\n" +
		indent(q.ofBuckets()) +
		"\n) AS measured USING (bucket)"
	if len(q.kept.having) > 0 {
		sql += "\nWHERE " + strings.Join(q.kept.having, " AND ")
	}
	return sql
}

// ofBuckets is what each bucket holds.
func (q *query) ofBuckets() string {
	if q.plan.rollup {
		return q.typ.Rollup.SQL(q)
	}
	measures := slices.Concat(q.cutColumns(q.cuts()), q.typ.Columns[1+len(q.typ.groups):])
	return selectSQL(measures) + "\n" + q.source() + "\nGROUP BY " + strings.TrimSuffix(q.by(), ", ")
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
