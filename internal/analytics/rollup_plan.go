package analytics

import (
	"slices"
	"time"
)

// plan is what the planner chose for a question.
type plan struct {
	// rollup tells that tables that count ahead are read.
	rollup bool
	// days tells that there are UTC days that are asked for whole, which twins answer
	// for; quarters that there are others, whose quarters of an hour are added up.
	days, quarters bool
	// cut are the others where there are both.
	cut []time.Time
	// whole is the time at which the rows of a day stand that a step cuts in two, where
	// the shorter part alone is added up of quarters of an hour: see query.parted. Empty
	// where each part is.
	whole string
	// base are the UTC days that are counted from the events.
	base []time.Time
	// timed tells that buckets may begin within those, so that their quarters of an hour
	// are told apart.
	timed bool
}

// sourceName is how a response says where its numbers come from: by one plan, or by
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

// choose plans a question: a UTC day that is asked for whole is a day of the rollups, one
// that is cut is made of their quarters of an hour, and one that they cannot answer for
// is counted from the events.
func (q *query) choose(env *Environment) plan {
	if q.typ.Rollup == nil || !env.Rollups || len(q.request.Filters) > 0 || len(q.typ.groups) > 0 {
		return plan{}
	}
	cut, ragged := q.cutDays()
	slotted := q.typ.Rollup.slotted()
	if q.typ.Series && (q.stepsWithin() || !slotted && len(cut)+len(ragged) > 0) {
		return plan{} // no row of theirs is of one bucket
	}
	p := plan{rollup: true, base: daysOf(q.dirty(env), ragged), timed: q.typ.Series && len(cut)+len(ragged) > 0}
	if !slotted {
		p.base, cut = daysOf(p.base, cut), nil
	}
	cut = slices.DeleteFunc(cut, func(d time.Time) bool { return slices.ContainsFunc(p.base, d.Equal) })
	all := int((q.rng.End.Sub(q.rng.Start.UTC().Truncate(day)) + day - 1) / day)
	if len(p.base) >= all {
		return plan{}
	}
	if q.typ.Series && q.typ.Rollup.subtracts {
		if p.whole = q.cutOnce(); p.whole != "" {
			cut = slices.DeleteFunc(cut, func(d time.Time) bool { return !q.ends(d) })
		}
	}
	p.days, p.quarters = len(p.base)+len(cut) < all, len(cut) > 0
	if !p.days {
		p.whole = ""
	}
	if p.days && p.quarters && q.typ.Rollup.twinned() {
		p.cut = cut
	}
	return p
}

// cutDays are the UTC days that are not asked for whole: those that the range or its
// buckets cut between quarters of an hour, and those that they cut within one.
func (q *query) cutDays() (between, within []time.Time) {
	at := []time.Time{q.rng.Start, q.rng.End}
	for _, b := range q.buckets {
		at = append(at, b.Start)
	}
	for _, t := range at {
		switch {
		case startsWith(t, day):
		case startsWith(t, quarter):
			between = append(between, t)
		default:
			within = append(within, t)
		}
	}
	return daysOf(between), daysOf(within)
}

// The times of a day that no step cuts off from its start, or from its end.
const (
	firstOfDay = "toDateTime(e.event_date, 'UTC')"
	lastOfDay  = "toDateTime(e.event_date, 'UTC') + 85500" // the last quarter of an hour
)

// cutOnce is the time of the longer part of the days that steps cut in two, as most of
// them are; empty where there are none, or a day is cut more often.
func (q *query) cutOnce() string {
	var last time.Time
	longer := 0
	for _, b := range q.buckets[1:] {
		d := b.Start.UTC().Truncate(day)
		switch at := b.Start.Sub(d); {
		case at == 0 || q.ends(d):
			continue
		case d.Equal(last):
			return ""
		case at < day/2:
			longer--
		default:
			longer++
		}
		last = d
	}
	switch {
	case last.IsZero():
		return ""
	case longer < 0:
		return lastOfDay
	}
	return firstOfDay
}

// ends reports whether the range begins or ends within a UTC day.
func (q *query) ends(d time.Time) bool {
	within := func(t time.Time) bool { return t.After(d) && t.Before(d.Add(day)) }
	return within(q.rng.Start) || within(q.rng.End)
}

// stepsWithin reports whether a bucket but the first begins within a quarter of an hour.
func (q *query) stepsWithin() bool {
	return slices.ContainsFunc(q.buckets[1:], func(b Bucket) bool { return !startsWith(b.Start, quarter) })
}

// startsWith reports whether a time is the start of a UTC day, or of a quarter of an hour.
func startsWith(t time.Time, unit time.Duration) bool { return t.UnixMilli()%unit.Milliseconds() == 0 }

// daysOf are the UTC days of times, each once and in their order.
func daysOf(times ...[]time.Time) []time.Time {
	days := slices.Concat(times...)
	for i, t := range days {
		days[i] = t.UTC().Truncate(day)
	}
	slices.SortFunc(days, time.Time.Compare)
	return slices.CompactFunc(days, time.Time.Equal)
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

func (r *Rollup) twinned() bool {
	return slices.ContainsFunc(r.Shapes, func(s *shape) bool { return s.twin != nil })
}

// tables are those of a shape that are read: that of days, that of quarters of an hour,
// or both.
func (p *plan) tables(s *shape) []*shape {
	switch {
	case s.twin == nil || !p.days:
		return []*shape{s}
	case p.quarters:
		return []*shape{s.twin, s}
	}
	return []*shape{s.twin}
}

// slotOfEvent is the start of an event's time in the rows of a shape.
func (p *plan) slotOfEvent(s *shape) string {
	if s.slot && p.timed {
		return slotOf
	}
	return firstOfDay
}
