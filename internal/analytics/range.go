package analytics

import (
	"strings"
	"time"
)

// Range is a half-open interval of time, seen in a zone.
type Range struct {
	Start, End time.Time
	Zone       *time.Location
}

// The years a date may have. Events are never older than 2000; the upper bound
// keeps a bucket's start within ClickHouse's 32-bit seconds.
const (
	minYear = 1970
	maxYear = 2105
)

// dayLayout is a calendar day; a range that ends with one includes it.
const dayLayout = time.DateOnly

// zonedLayouts name an instant by themselves, localLayouts one of the range's
// zone. Fractions of a second are accepted by each.
var (
	zonedLayouts = []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00"}
	localLayouts = []string{"2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04"}
)

// parseStart reads the beginning of a range: the first instant of a day, or an
// instant.
func parseStart(s string, zone *time.Location) (time.Time, bool) {
	return parseBound(s, zone, 0)
}

// parseEnd reads the end of a range: the first instant after a day, or an instant
// that is no longer part of the range.
func parseEnd(s string, zone *time.Location) (time.Time, bool) {
	return parseBound(s, zone, 1)
}

func parseBound(s string, zone *time.Location, addDays int) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if t, err := time.Parse(dayLayout, s); err == nil {
		y, m, d := t.Date()
		return notBefore1970(startOfDay(y, m, d+addDays, zone)), validYear(t)
	}
	for _, layout := range zonedLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return notBefore1970(atMilli(t).In(zone)), validYear(t)
		}
	}
	for _, layout := range localLayouts {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return notBefore1970(atMilli(t)), validYear(t)
		}
	}
	return time.Time{}, false
}

// atMilli is the first whole millisecond that is not before a time. Events have whole ones,
// so a range has the same events with it: what begins later begins with the next, and what
// ends with the last microsecond of a day has all of the day.
func atMilli(t time.Time) time.Time {
	if whole := t.Truncate(time.Millisecond); whole.Before(t) {
		return whole.Add(time.Millisecond)
	}
	return t
}

// notBefore1970 returns the time from which seconds are counted for one before it,
// which is where the first of January begins in zones ahead of UTC.
func notBefore1970(t time.Time) time.Time {
	if epoch := time.Unix(0, 0); t.Before(epoch) {
		return epoch.In(t.Location())
	}
	return t
}

func validYear(t time.Time) bool { return minYear <= t.Year() && t.Year() <= maxYear }

// and is the shortest range that both are part of.
func (r Range) and(other Range) Range {
	if other.Start.Before(r.Start) {
		r.Start = other.Start
	}
	if other.End.After(r.End) {
		r.End = other.End
	}
	return r
}

// atMost reports whether the range is no longer than that many days of its zone: whole
// ones from the start of a day, which is not always midnight, else to the same time of day.
func (r Range) atMost(days int) bool {
	start := r.Start.In(r.Zone)
	end := start.AddDate(0, 0, days)
	if start.Equal(firstOf(start)) {
		y, m, d := start.Date()
		end = startOfDay(y, m, d+days, r.Zone)
	}
	return !r.End.After(end)
}
