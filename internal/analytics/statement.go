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

// steps are the conditions of each step of a funnel, one a line.
func (q *query) steps() string {
	lines := make([]string, len(q.options.steps))
	for i, s := range q.options.steps {
		lines[i] = strings.Join(s.where, " AND ")
	}
	return strings.Join(lines, ",\n")
}
