package analytics

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Granularity is the length of the buckets of a time series.
type Granularity uint8

// The granularities. The zero value leaves the choice to the default, Daily.
const (
	GranularityUnset Granularity = iota
	Minutely
	Hourly
	Daily
	Weekly
	Monthly
)

// The longest ranges, in days of the request's time zone, that may be cut into
// minutes, into hours, and into anything longer.
const (
	MaxMinutelyDays = 1
	MaxHourlyDays   = 30
	MaxDailyDays    = MaxLimit
)

// granularity says how a range is cut.
type granularity struct {
	title   string
	names   []string // the accepted spellings
	maxDays int
	// label is the layout of a bucket's name, which is made of the time at which it
	// starts; the parts below its length are zeros.
	label string
	// next returns where the bucket ends that t stands in.
	next func(t time.Time, zone *time.Location) time.Time
}

var cuts = map[Granularity]granularity{
	Minutely: {"Minutely", []string{"minute", "minutely"}, MaxMinutelyDays, "2006-01-02 15:04:00", clock(time.Minute)},
	Hourly:   {"Hourly", []string{"hour", "hourly"}, MaxHourlyDays, "2006-01-02 15:00:00", clock(time.Hour)},
	Daily:    {"Daily", []string{"day", "daily"}, MaxDailyDays, time.DateOnly, calendar(nextDay)},
	Weekly:   {"Weekly", []string{"week", "weekly"}, MaxDailyDays, time.DateOnly, calendar(nextSunday)},
	Monthly:  {"Monthly", []string{"month", "monthly"}, MaxDailyDays, time.DateOnly, calendar(nextMonth)},
}

// Granularities lists those that a series can be cut into, the shortest first.
var Granularities = []Granularity{Minutely, Hourly, Daily, Weekly, Monthly}

// String is the name by which the granularity is listed.
func (g Granularity) String() string {
	if c, ok := cuts[g]; ok {
		return c.names[0]
	}
	return ""
}

// Names are the accepted spellings; String is the first.
func (g Granularity) Names() []string { return cuts[g].names }

// MaxDays is the longest range that may be cut so, in days of its zone.
func (g Granularity) MaxDays() int { return cuts[g].maxDays }

func parseGranularity(s string) (Granularity, bool) {
	for g, c := range cuts {
		if slices.Contains(c.names, s) {
			return g, true
		}
	}
	return GranularityUnset, false
}

// GranularityNames lists every granularity's name.
func GranularityNames() []string {
	names := make([]string, len(Granularities))
	for i, g := range Granularities {
		names[i] = g.String()
	}
	return names
}

func tooLong(g Granularity) string {
	days := "days"
	if g.MaxDays() == 1 {
		days = "day"
	}
	return fmt.Sprintf("%s granularity is limited to %d %s", cuts[g].title, g.MaxDays(), days)
}

func granularitySuggestion() string {
	return "Supported granularities: " + strings.Join(GranularityNames(), ", ")
}

// Bucket is one step of a time series. It ends where the next one starts.
type Bucket struct {
	Start time.Time
	// Label is YYYY-MM-DD, of a week and a month that of the day on which the bucket
	// starts, or YYYY-MM-DD HH:MM:00, in the range's zone. What is repeated when
	// clocks go back has buckets of the same label.
	Label string
}

// Buckets cuts a range into the minutes, hours, days, weeks or months of its zone,
// in order. Weeks begin on Sunday, as the presets' do. The first bucket starts with
// the range, even in the middle of what is cut.
func (r Range) Buckets(g Granularity) []Bucket {
	c, ok := cuts[g]
	if !ok {
		c = cuts[Daily]
	}
	var all []Bucket
	for t := r.Start.In(r.Zone); t.Before(r.End); t = c.next(t, r.Zone) {
		all = append(all, Bucket{Start: t, Label: t.Format(c.label)})
	}
	return all
}

// cut is the range's buckets; ok is false where it is longer than it may be, or has more of
// them than a response has rows: one that begins within a day ends within another.
func (r Range) cut(g Granularity) (buckets []Bucket, ok bool) {
	if !r.atMost(g.MaxDays()) {
		return nil, false
	}
	buckets = r.Buckets(g)
	return buckets, len(buckets) <= MaxLimit
}

// clock cuts at the full minutes or hours of the clock, and wherever it is changed,
// so that no bucket has two labels.
func clock(length time.Duration) func(time.Time, *time.Location) time.Time {
	return func(t time.Time, zone *time.Location) time.Time {
		hour, minute, second := t.Clock()
		of := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second +
			time.Duration(t.Nanosecond())
		next, offset := t.Add(length-of%length), offsetOf(t)
		for at := t; ; {
			_, change := at.ZoneBounds()
			switch {
			case change.IsZero() || !change.Before(next):
				return next
			case offsetOf(change.In(zone)) != offset:
				return change.In(zone)
			}
			at = change.In(zone) // a zone's name may change and its clocks not
		}
	}
}

func offsetOf(t time.Time) int {
	_, offset := t.Zone()
	return offset
}

// calendar cuts at the beginning of days.
func calendar(next func(time.Time) (y int, m time.Month, d int)) func(time.Time, *time.Location) time.Time {
	return func(t time.Time, zone *time.Location) time.Time {
		y, m, d := next(t)
		end := startOfDay(y, m, d, zone)
		for i := 1; !end.After(t); i++ { // a zone may skip a day
			end = startOfDay(y, m, d+i, zone)
		}
		return end
	}
}

func nextDay(t time.Time) (y int, m time.Month, d int) {
	y, m, d = t.Date()
	return y, m, d + 1
}

func nextSunday(t time.Time) (y int, m time.Month, d int) {
	y, m, d = t.Date()
	return y, m, d + 7 - int(t.Weekday())
}

func nextMonth(t time.Time) (y int, m time.Month, d int) {
	y, m, _ = t.Date()
	return y, m + 1, 1
}

// labelsOf are the buckets' labels in their order.
func labelsOf(buckets []Bucket) []string {
	labels := make([]string, len(buckets))
	for i, b := range buckets {
		labels[i] = b.Label
	}
	return labels
}
