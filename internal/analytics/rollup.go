package analytics

import (
	"slices"
	"strings"
	"time"
)

// Rollup says how a type is answered from tables that count ahead, where nothing
// asks for what they do not know: filters and groups read the events.
type Rollup struct {
	// SQL makes the answer's columns, one row for each of its rows, with marks as a
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

// plan is what the planner chose for a question.
type plan struct {
	// rollup tells that tables that count ahead are read.
	rollup bool
	// days tells that only whole UTC days of them are, from the twins where there
	// are any.
	days bool
	// base are the UTC days that are counted from the events.
	base []time.Time
}

// sourceName is how an answer says where its numbers come from: by one plan, or by
// those of both ranges of a comparison.
func sourceName(plans ...plan) string {
	rollup, events := false, false
	for _, p := range plans {
		rollup, events = rollup || p.rollup, events || !p.rollup || len(p.base) > 0
	}
	switch {
	case !rollup:
		return "events"
	case events:
		return "rollup and events"
	}
	return "rollup"
}

// choose plans a question. dirty are the UTC days that the rollups cannot answer
// for, known tells that they are known.
func (q *query) choose(env *Environment) plan {
	if q.typ.Rollup == nil || !env.Rollups || len(q.request.Filters) > 0 || len(q.typ.groups) > 0 {
		return plan{}
	}
	whole := func(unit time.Duration) bool {
		starts := func(t time.Time) bool { return t.UnixMilli()%unit.Milliseconds() == 0 }
		return starts(q.rng.Start) && starts(q.rng.End) && !slices.ContainsFunc(q.buckets, func(b Bucket) bool { return !starts(b.Start) })
	}
	p := plan{rollup: true, days: true, base: q.dirty(env)}
	switch {
	case whole(day):
	case whole(quarter) && q.typ.Rollup.slotted():
		p.days = false
	case q.typ.Series:
		return plan{}
	default: // the ragged days at the ends
		first, last := q.rng.Start.UTC().Truncate(day), q.rng.End.Add(-time.Millisecond).UTC().Truncate(day)
		if !first.Equal(q.rng.Start) {
			p.base = append(p.base, first)
		}
		if !last.Add(day).Equal(q.rng.End) {
			p.base = append(p.base, last)
		}
		slices.SortFunc(p.base, time.Time.Compare)
		p.base = slices.CompactFunc(p.base, time.Time.Equal)
	}
	if first := q.rng.Start.UTC().Truncate(day); len(p.base) >= int((q.rng.End.Sub(first)+day-1)/day) {
		return plan{} // every day of it
	}
	return p
}

// dirty are the dirty days of the range.
func (q *query) dirty(env *Environment) []time.Time {
	var days []time.Time
	for _, d := range env.Dirty {
		if d.Before(q.rng.End) && d.Add(day).After(q.rng.Start) {
			days = append(days, d)
		}
	}
	return days
}

func (r *Rollup) slotted() bool {
	return !slices.ContainsFunc(r.Shapes, func(s *shape) bool { return !s.slot })
}

// shaped is what a shape's mark stands for: its rows of the days that it answers
// for, and events counted alike of the others.
func (q *query) shaped(s *shape) string {
	if q.plan.days && s.twin != nil {
		s = s.twin
	}
	when := []string{ownerPredicates[q.subject.Kind], "e.event_date BETWEEN {from:Date} AND {to:Date}"}
	if s.slot && !q.plan.days {
		when = append(when, "e.slot >= {start:"+typeInstant+"}", "e.slot < {end:"+typeInstant+"}")
	}
	if len(q.plan.base) > 0 {
		when = append(when, "e.event_date NOT IN {base_days:"+typeDates+"}")
	}
	sql := selectSQL(s.columns(s.slotColumn(), false)) + "\nFROM " + s.table + " AS e\nWHERE " + strings.Join(append(when, parts(s.where)...), "\n  AND ")
	if len(q.plan.base) > 0 {
		from := s.of
		if from == "" {
			from = tableEvents
		}
		conditions := append([]string{q.inRange(), "e.event_date IN {base_days:" + typeDates + "}"}, parts(s.events)...)
		by := []string{"slot"}
		for _, k := range s.keys {
			by = append(by, k.name)
		}
		sql += "\nUNION ALL\n" + selectSQL(s.columns(s.slotOfEvent(), true)) + "\nFROM " + from + " AS e FINAL\nWHERE " +
			strings.Join(conditions, "\n  AND ") + "\nGROUP BY " + strings.Join(by, ", ")
	}
	return "(\n" + indent(sql) + "\n) AS e"
}

// slotColumn is the start of a row's time.
func (s *shape) slotColumn() string {
	if s.slot {
		return "e.slot"
	}
	return "toDateTime(e.event_date, 'UTC')"
}

// slotOfEvent is that of an event.
func (s *shape) slotOfEvent() string {
	if s.slot {
		return slotOf
	}
	return "toDateTime(e.event_date, 'UTC')"
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

// tablesRead are those that a question's answer is made of.
func (q *query) tablesRead() []string {
	if !q.plan.rollup {
		return append(q.typ.tables(), q.kept.tables...)
	}
	var all []string
	for _, s := range q.typ.Rollup.Shapes {
		if q.plan.days && s.twin != nil {
			s = s.twin
		}
		if !slices.Contains(all, s.table) {
			all = append(all, s.table)
		}
	}
	if len(q.plan.base) > 0 {
		all = append(all, q.typ.tables()[0])
	}
	return all
}
