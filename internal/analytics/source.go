package analytics

import "strings"

// Source makes the rows that a type's expressions are evaluated over: SQL of ours
// around the events that a question is about.
type Source struct {
	// SQL is what stands after FROM. It may hold these marks, each for SQL that
	// depends on the question:
	//
	//	{events}      the type's table and all conditions, from its FROM to the end of its WHERE
	//	{each}        in the list of a SELECT: what rows are cut by, which is the start of the
	//	              bucket of a series and the fields of groupBy, each with a comma behind it
	//	{by}          the same in a GROUP BY
	//	{all events}  FROM events and WHERE with the subject and the range alone
	//	{range}       the conditions of the subject and the range on a table called e
	//	{owned}       the condition of the subject alone
	//	{steps}       the conditions of the option steps, separated by commas
	//	{counted}     the condition of the clicks that count; it may stand in expressions too
	//
	// Without {events}, filters restrict the rows of the source, which is called e.
	SQL string
	// Build makes SQL of the question where marks are not enough; nil uses SQL.
	Build func(q *query) string
	// Paged sources apply the filters, and have the rows of the page that is asked for
	// alone: see paged.
	Paged bool
	// Tables are those it reads besides the type's own.
	Tables []string
}

// The marks of a Source.
const (
	markEvents    = "{events}"
	markEach      = "{each}"
	markBy        = "{by}"
	markAllEvents = "{all events}"
	markRange     = "{range}"
	markOwned     = "{owned}"
	markSteps     = "{steps}"
	markCounted   = "{counted}"
)

// text returns the source's SQL for a question, marks included.
func (s *Source) text(q *query) string {
	if s.Build != nil {
		return s.Build(q)
	}
	return s.SQL
}

// marked replaces the marks of a statement.
func (q *query) marked(sql string) string {
	if q.plan.rollup {
		for _, s := range q.typ.Rollup.Shapes {
			sql = replaceMark(sql, "{"+s.name+"}", q.shaped(s))
		}
	}
	for _, m := range []struct {
		mark string
		sql  func() string
	}{
		{markEvents, q.events},
		{markAllEvents, q.allEvents},
		{markEach, q.each},
		{markBy, q.by},
		{markRange, q.inRange},
		{markOwned, q.owned},
		{markSteps, q.steps},
		{markCounted, q.counted},
	} {
		if strings.Contains(sql, m.mark) {
			sql = replaceMark(sql, m.mark, m.sql())
		}
	}
	return sql
}

// replaceMark replaces a mark. The lines of what takes its place are indented as the line
// of the mark is.
func replaceMark(sql, mark, with string) string {
	var b strings.Builder
	for {
		at := strings.Index(sql, mark)
		if at < 0 {
			b.WriteString(sql)
			return b.String()
		}
		line := sql[strings.LastIndexByte(sql[:at], '\n')+1 : at]
		b.WriteString(sql[:at])
		b.WriteString(strings.ReplaceAll(with, "\n", "\n"+line[:len(line)-len(strings.TrimLeft(line, " "))]))
		sql = sql[at+len(mark):]
	}
}
