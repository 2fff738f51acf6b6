package analytics

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Rollup says how a type is answered from tables that count ahead, where nothing
// asks for what they do not know: filters and groups read the events.
type Rollup struct {
	// SQL makes the response's columns, one row for each of its rows, with marks as a
	// Source has and {name} for each of Shapes. What a series makes has a column
	// called bucket.
	SQL func(q *query) string
	// Shapes are the tables it reads.
	Shapes []*shape
	// Limited tells that SQL applies the order and the page itself, where a page is
	// asked for: see query.limited.
	Limited func(q *query) bool
	// Tie is the type's Tie over what SQL reads.
	Tie string
	// subtracts tells that SQL adds up the clicks of each value of a series, so that a
	// part of a day may be all of it less the other one: see query.parted.
	subtracts bool

	// What several questions of a request can be computed together by; nil for others.
	breakdown *breakdownOf
	visits    *visitsOf
}

// shape is a table that counts ahead, and how events are counted in its shape: the
// days that it cannot answer for are counted from the events, and both are merged.
type shape struct {
	name  string // of its mark
	table string
	// of names the table that is counted; empty for events.
	of string
	// where restricts the rows of the table, events those that are counted.
	where, events string
	// slot tells that rows are of quarters of an hour, not of UTC days.
	slot bool
	// twin is the same by UTC day, for ranges that are made of them; nil for none.
	twin *shape
	// keys are what rows are counted by besides owner and time, measures what is
	// counted: the column of the table, and of events its expression.
	keys, measures []counted
}

// counted is a column of a shape, and what it is of events. The table's own is cast
// where its type is one that only tables have; empty for no cast.
type counted struct{ name, expr, cast string }

// slotOf is the quarter of an hour of an event.
const slotOf = "toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC'))"

const (
	quarter = 15 * time.Minute
	day     = 24 * time.Hour
)

// shaped is what a shape's mark stands for: its rows of the days that it answers
// for, and events counted alike of the others.
func (q *query) shaped(s *shape) string {
	var selects []string
	for _, of := range q.plan.tables(s) {
		selects = append(selects, q.ahead(of, s))
	}
	if q.plan.whole != "" {
		selects = append(selects, q.parted(s))
	}
	if len(q.plan.base) > 0 {
		selects = append(selects, q.anew(s))
	}
	return "(\n" + indent(strings.Join(selects, "\nUNION ALL\n")) + "\n) AS e"
}

// ahead are the rows of a table that counts ahead, which is a shape's own or its twin's.
func (q *query) ahead(of, s *shape) string {
	when := q.countedDays()
	if of.slot && q.plan.quarters {
		when = append(when, "e.slot >= {start:"+typeInstant+"}", "e.slot < {end:"+typeInstant+"}")
	}
	switch {
	case len(q.plan.cut) == 0 || s.twin == nil:
	case of == s:
		when = append(when, "e.event_date IN {cut_days:"+typeDates+"}")
	default:
		when = append(when, "e.event_date NOT IN {cut_days:"+typeDates+"}")
	}
	slot := of.slotColumn()
	if of != s {
		slot = cmp.Or(q.plan.whole, slot)
	}
	return selectSQL(of.columns(slot, false)) + "\nFROM " + of.table + " AS e\nWHERE " +
		strings.Join(append(when, parts(of.where)...), "\n  AND ")
}

// countedDays are the conditions of the days that were counted ahead.
func (q *query) countedDays() []string {
	when := []string{ownerPredicates[q.subject.Kind], "e.event_date BETWEEN {from:Date} AND {to:Date}"}
	if len(q.plan.base) > 0 {
		when = append(when, "e.event_date NOT IN {base_days:"+typeDates+"}")
	}
	return when
}

// parted are the quarters of an hour that a step cuts off from its day, whose rows of the
// twin all stand on the other side of the cut: on their own side they are added, on the
// other one taken off. A sum of 64 bits needs no sign for that.
func (q *query) parted(s *shape) string {
	columns := s.columns(
		"(arrayJoin([(e.slot, toUInt64(e.clicks)), ("+q.plan.whole+", toUInt64(-e.clicks))]) AS part).1", false)
	for i := range columns {
		if columns[i].Name == "clicks" {
			columns[i].Expr = "part.2"
		}
	}
	when := q.countedDays()
	if len(q.plan.cut) > 0 {
		when = append(when, "e.event_date NOT IN {cut_days:"+typeDates+"}")
	}
	when = append(when, slotBucket+" != "+strings.ReplaceAll(slotBucket, "e.slot", q.plan.whole))
	return selectSQL(columns) + "\nFROM " + s.table + " AS e\nWHERE " +
		strings.Join(append(when, parts(s.where)...), "\n  AND ")
}

// anew are rows as a shape has them, counted from the events.
func (q *query) anew(s *shape) string {
	conditions := append([]string{q.inRange(), "e.event_date IN {base_days:" + typeDates + "}"}, parts(s.events)...)
	by := []string{"slot"}
	for _, k := range s.keys {
		by = append(by, k.name)
	}
	return selectSQL(s.columns(q.plan.slotOfEvent(s), true)) + "\nFROM " + s.counts() +
		" AS e FINAL\nWHERE " + strings.Join(conditions, "\n  AND ") + "\nGROUP BY " + strings.Join(by, ", ")
}

// slotColumn is the start of a row's time.
func (s *shape) slotColumn() string {
	if s.slot {
		return "e.slot"
	}
	return firstOfDay
}

// columns are those of a shape's rows, or of events counted alike.
func (s *shape) columns(slot string, ofEvents bool) []Column {
	all := []Column{{Name: "slot", Expr: slot}}
	for _, c := range slices.Concat(s.keys, s.measures) {
		expr := "e." + c.name
		switch {
		case ofEvents:
			expr = c.expr
		case c.cast != "":
			expr = "CAST(" + expr + ", " + c.cast + ")"
		}
		all = append(all, Column{Name: c.name, Expr: expr})
	}
	return all
}

// slotBucket is the start of the bucket of a shape's row.
const slotBucket = "roundDown(toUnixTimestamp(e.slot), {buckets:" + typeSeconds + "})"

// tablesRead are those that a question's response is made of, each once.
func (q *query) tablesRead() []string {
	all := q.typ.tables()
	if q.plan.rollup {
		all = q.tablesCounted()
	}
	all = append(all, q.kept.tables...)
	for _, s := range q.options.steps {
		all = append(all, s.tables...)
	}
	return distinct(all)
}

// tablesCounted are those of the rollup's shapes, and what the days are counted from that
// they cannot answer for.
func (q *query) tablesCounted() []string {
	var ahead, anew []string
	for _, s := range q.typ.Rollup.Shapes {
		read := q.plan.tables(s)
		if q.plan.whole != "" {
			read = append(read, s)
		}
		for _, of := range read {
			ahead = append(ahead, of.table)
		}
		if len(q.plan.base) > 0 {
			anew = append(anew, s.counts())
		}
	}
	return append(ahead, anew...)
}

// counts is the table whose rows a shape counts.
func (s *shape) counts() string { return cmp.Or(s.of, tableEvents) }
