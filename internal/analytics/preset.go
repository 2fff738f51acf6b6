package analytics

import (
	"strings"
	"time"
)

// Preset is a range that moves with the day on which it is asked for.
type Preset struct {
	Name string
	Doc  string
	// days returns the first day and the first day after, as calendar days;
	// today is the request's day in its zone, at midnight UTC.
	days func(today time.Time) (from, to time.Time)
}

// Presets lists every preset. Each includes whole days; those that reach today
// include all of it.
var Presets = []Preset{
	{"today", "The current day.", lastDays(1)},
	{
		"yesterday", "The day before the current one.",
		func(t time.Time) (time.Time, time.Time) { return t.AddDate(0, 0, -1), t },
	},
	{"last_7d", "The seven days up to today.", lastDays(7)},
	{"last_14d", "The fourteen days up to today.", lastDays(14)},
	{"last_30d", "The thirty days up to today.", lastDays(30)},
	{"last_90d", "The ninety days up to today.", lastDays(90)},
	{"this_week", "Sunday to Saturday of the current week.", weeks(0)},
	{"last_week", "Sunday to Saturday of the previous week.", weeks(-1)},
	{"this_month", "The current calendar month.", months(0)},
	{"last_month", "The previous calendar month.", months(-1)},
	{"this_year", "The current calendar year.", thisYear},
}

func lastDays(n int) func(time.Time) (time.Time, time.Time) {
	return func(today time.Time) (time.Time, time.Time) { return today.AddDate(0, 0, 1-n), today.AddDate(0, 0, 1) }
}

func weeks(shift int) func(time.Time) (time.Time, time.Time) {
	return func(today time.Time) (time.Time, time.Time) {
		sunday := today.AddDate(0, 0, 7*shift-int(today.Weekday()))
		return sunday, sunday.AddDate(0, 0, 7)
	}
}

func months(shift int) func(time.Time) (time.Time, time.Time) {
	return func(today time.Time) (time.Time, time.Time) {
		first := time.Date(today.Year(), today.Month()+time.Month(shift), 1, 0, 0, 0, 0, time.UTC)
		return first, first.AddDate(0, 1, 0)
	}
}

func thisYear(today time.Time) (from, to time.Time) {
	from = time.Date(today.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(1, 0, 0)
}

// PresetRange returns the range of a preset as it is at now in a zone, and
// whether there is such a preset.
func PresetRange(name string, now time.Time, zone *time.Location) (Range, bool) {
	for _, p := range Presets {
		if p.Name != name {
			continue
		}
		y, m, d := now.In(zone).Date()
		from, to := p.days(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
		return Range{
			Start: startOfDay(from.Year(), from.Month(), from.Day(), zone),
			End:   startOfDay(to.Year(), to.Month(), to.Day(), zone),
			Zone:  zone,
		}, true
	}
	return Range{}, false
}

// PresetNames returns the names in the table's order.
func PresetNames() []string {
	names := make([]string, len(Presets))
	for i, p := range Presets {
		names[i] = p.Name
	}
	return names
}

func presetSuggestion() string { return "Valid presets: " + strings.Join(PresetNames(), ", ") }
