package analytics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/platform/timezone"
)

// Whatever a zone does to its clocks, the buckets of a range follow each other from
// its start, none is empty, and each is as long as its label says.
func TestBucketsOfEveryZoneCoverTheRange(t *testing.T) {
	t.Parallel()
	names := slices.Collect(timezone.Names())
	if len(names) < 590 {
		t.Fatalf("%d zones", len(names))
	}
	seen := map[string]bool{} // many names are others of one zone
	for _, name := range names {
		z := zone(t, name)
		clocks := clocksOf(z)
		if seen[clocks] {
			continue
		}
		seen[clocks] = true
		whole := Range{Start: startOfDay(1971, 1, 1, z), End: startOfDay(1998, 1, 1, z), Zone: z}
		late := Range{Start: startOfDay(2005, 2, 11, z), End: startOfDay(2031, 5, 7, z), Zone: z}
		for _, r := range []Range{whole, late} {
			for _, g := range []Granularity{Weekly, Monthly} {
				checkBuckets(t, r, g)
			}
		}
		for at := whole.Start; ; { // the days around each change of the clocks
			_, change := at.ZoneBounds()
			if change.IsZero() || change.Year() > 2013 {
				break
			}
			if at = change.In(z); at.Year() < 1971 {
				continue
			}
			y, m, d := at.Date()
			checkBuckets(t, Range{Start: startOfDay(y, m, d-3, z), End: startOfDay(y, m, d+4, z), Zone: z}, Daily)
			checkBuckets(t, Range{Start: at.Add(-5 * time.Hour), End: startOfDay(y, m, d+1, z).Add(time.Hour), Zone: z}, Hourly)
			checkBuckets(t, Range{Start: at.Add(-150 * time.Second), End: at.Add(5 * time.Minute), Zone: z}, Minutely)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d zones of %d names", len(seen), len(names))
	if len(seen) < 200 { // 308 of the data of 2025
		t.Errorf("%d zones of %d names were looked at", len(seen), len(names))
	}
}

// clocksOf tells when the clocks of a zone were changed, to what, in all the years that
// are looked at.
func clocksOf(z *time.Location) string {
	var b strings.Builder
	for at := time.Date(1970, 1, 1, 0, 0, 0, 0, z); at.Year() < 2033; {
		_, offset := at.Zone()
		fmt.Fprintln(&b, at.Unix(), offset)
		_, change := at.ZoneBounds()
		if change.IsZero() {
			break
		}
		at = change.In(z)
	}
	return b.String()
}

// checkBuckets looks at every bucket of a range.
func checkBuckets(t *testing.T, r Range, g Granularity) {
	t.Helper()
	buckets := r.Buckets(g)
	if len(buckets) == 0 || !buckets[0].Start.Equal(r.Start) {
		t.Errorf("%v: the buckets of %v to %v do not begin with it", g, r.Start, r.End)
		return
	}
	// Clocks went back by seven hours once, in Vostok.
	longest := map[Granularity]time.Duration{
		Minutely: time.Minute, Hourly: time.Hour, Daily: 31 * time.Hour, Weekly: 7*24*time.Hour + 7*time.Hour,
		Monthly: 31*24*time.Hour + 7*time.Hour,
	}[g]
	for i, b := range buckets {
		end := r.End
		if i+1 < len(buckets) {
			end = buckets[i+1].Start
		}
		length := end.Sub(b.Start)
		switch last := end.Add(-time.Nanosecond).In(r.Zone); {
		case length <= 0 || length > longest:
			t.Errorf("%v in %v: bucket %s is %v long", g, r.Zone, b.Label, length)
		case labelOf(g, b.Start) != b.Label:
			t.Errorf("%v in %v: the bucket at %v is called %s", g, r.Zone, b.Start, b.Label)
		case g < Daily && labelOf(g, last) != b.Label:
			t.Errorf("%v in %v: bucket %s ends at %v", g, r.Zone, b.Label, last)
		case g == Weekly && i > 0 && b.Start.Weekday() != time.Sunday && !skipped(b.Start):
			t.Errorf("weeks in %v: one starts at %v", r.Zone, b.Start)
		case g == Monthly && i > 0 && b.Start.Day() != 1 && !skipped(b.Start):
			t.Errorf("months in %v: one starts at %v", r.Zone, b.Start)
		}
	}
}

// labelOf is the text of a bucket that starts at a time, written another way.
func labelOf(g Granularity, t time.Time) string {
	text := t.Format(time.DateTime)
	switch g {
	case Minutely:
		return text[:len("2006-01-02 15:04")] + ":00"
	case Hourly:
		return text[:len("2006-01-02 15")] + ":00:00"
	default:
		return text[:len("2006-01-02")]
	}
}

// skipped reports whether the day before was none in its zone.
func skipped(t time.Time) bool {
	return t.Add(-time.Second).Day() != t.AddDate(0, 0, -1).Day()
}

func TestDaysAreAsLongAsTheirClocksSay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		zone, day string
		hours     float64
	}{
		{"Europe/Berlin", "2026-03-29", 23},
		{"Europe/Berlin", "2026-10-25", 25},
		{"Australia/Lord_Howe", "2026-10-04", 23.5},
		{"Australia/Lord_Howe", "2026-04-05", 24.5},
		{"Antarctica/Troll", "2026-03-29", 22},
		{"Asia/Kathmandu", "1986-01-01", 23.75},
		{"Pacific/Apia", "2011-12-29", 24},
		{"Africa/Monrovia", "1972-01-07", 24 - 44.5/60},
	} {
		z := zone(t, tc.zone)
		start, ok := parseStart(tc.day, z)
		end, _ := parseEnd(tc.day, z)
		r := Range{Start: start, End: end, Zone: z}
		if got := end.Sub(start).Hours(); !ok || got != tc.hours {
			t.Errorf("%s in %s has %v hours, want %v", tc.day, tc.zone, got, tc.hours)
		}
		if n := len(r.Buckets(Minutely)); float64(n) < tc.hours*60 || float64(n) > tc.hours*60+1 {
			t.Errorf("%s in %s has %d minutes, want those of %v hours", tc.day, tc.zone, n, tc.hours)
		}
		if days := r.Buckets(Daily); len(days) != 1 || days[0].Label != tc.day {
			t.Errorf("%s in %s is %v", tc.day, tc.zone, days)
		}
	}
}

// The seconds of a bucket are written as 32 bits without a sign: a range that
// begins with the first day we know does in every zone.
func TestTheFirstAndTheLastDayFitTheirColumns(t *testing.T) {
	t.Parallel()
	for name := range timezone.Names() {
		z := zone(t, name)
		start, ok1 := parseStart("1970-01-01", z)
		end, ok2 := parseEnd("2105-12-31", z)
		if !ok1 || !ok2 || start.Unix() < 0 || end.Unix() > 1<<32-1 || start.Format(time.DateOnly) < "1969-12-31" {
			t.Errorf("%s: %v to %v", name, start, end)
		}
	}
}
