package analytics

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/timezone"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := timezone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

const instantLayout = "2006-01-02 15:04:05 -0700"

func TestPresetsAreWholeDaysOfTheZone(t *testing.T) {
	t.Parallel()
	// Sunday, 1 March 2026, 00:30 in Berlin; still Saturday in UTC.
	now := time.Date(2026, 2, 28, 23, 30, 0, 0, time.UTC)
	for name, want := range map[string][2]string{
		"today":      {"2026-03-01", "2026-03-02"},
		"yesterday":  {"2026-02-28", "2026-03-01"},
		"last_7d":    {"2026-02-23", "2026-03-02"},
		"last_14d":   {"2026-02-16", "2026-03-02"},
		"last_30d":   {"2026-01-31", "2026-03-02"},
		"last_90d":   {"2025-12-02", "2026-03-02"},
		"this_week":  {"2026-03-01", "2026-03-08"},
		"last_week":  {"2026-02-22", "2026-03-01"},
		"this_month": {"2026-03-01", "2026-04-01"},
		"last_month": {"2026-02-01", "2026-03-01"},
		"this_year":  {"2026-01-01", "2027-01-01"},
	} {
		r, ok := PresetRange(name, now, zone(t, "Europe/Berlin"))
		got := [2]string{r.Start.Format("2006-01-02"), r.End.Format("2006-01-02")}
		if !ok || got != want || r.Start.Hour() != 0 || r.End.Hour() != 0 {
			t.Errorf("%s is %v to %v, want %v", name, r.Start, r.End, want)
		}
	}
	if r, _ := PresetRange("today", now, time.UTC); r.Start.Format("2006-01-02") != "2026-02-28" {
		t.Errorf("today in UTC starts %v", r.Start)
	}
	// The month before 31 March has no 31st.
	if r, _ := PresetRange("last_month",
		time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC), time.UTC); r.Start.Format("2006-01-02") != "2026-02-01" {
		t.Errorf("last_month on 31 March starts %v", r.Start)
	}
	if len(Presets) != 11 {
		t.Errorf("%d presets, 11 are tested", len(Presets))
	}
}

func TestStartOfDayIsTheFirstInstantOfADay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ zone, day, want string }{
		{"UTC", "2026-03-29", "2026-03-29 00:00:00 +0000"},
		{"Europe/Berlin", "2026-03-29", "2026-03-29 00:00:00 +0100"},       // forward at 2
		{"Europe/Berlin", "2026-10-25", "2026-10-25 00:00:00 +0200"},       // back at 3
		{"America/Havana", "2026-03-08", "2026-03-08 01:00:00 -0400"},      // forward at 0
		{"America/Havana", "2026-11-01", "2026-11-01 00:00:00 -0400"},      // back from 1 to 0: midnight comes twice
		{"Africa/Cairo", "2026-04-24", "2026-04-24 01:00:00 +0300"},        // forward at 0
		{"Africa/Cairo", "2026-10-30", "2026-10-30 00:00:00 +0200"},        // back from 24 to 23 the day before
		{"Asia/Kolkata", "2026-01-01", "2026-01-01 00:00:00 +0530"},        // half an hour
		{"Pacific/Apia", "2011-12-30", "2011-12-31 00:00:00 +1400"},        // no such day
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04 01:00:00 -0200"},   // forward at 0
		{"Antarctica/Troll", "2026-03-29", "2026-03-29 00:00:00 +0000"},    // two hours at once
		{"Pacific/Kiritimati", "2026-06-01", "2026-06-01 00:00:00 +1400"},  // the farthest ahead
		{"Australia/Lord_Howe", "2026-04-05", "2026-04-05 00:00:00 +1100"}, // half an hour back
		{"America/St_Johns", "2006-10-29", "2006-10-29 00:00:00 -0230"},    // back at 0:01 to 23:01
		{"Atlantic/Azores", "2026-10-25", "2026-10-25 00:00:00 +0000"},     // back at 1 to 0
	} {
		d, err := time.Parse(time.DateOnly, tc.day)
		if err != nil {
			t.Fatal(err)
		}
		y, m, day := d.Date()
		if got := startOfDay(y, m, day, zone(t, tc.zone)).Format(instantLayout); got != tc.want {
			t.Errorf("%s in %s starts %s, want %s", tc.day, tc.zone, got, tc.want)
		}
	}
}

func TestBoundsOfARange(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	for text, want := range map[string][2]string{ // as a start, and as an end
		"2026-03-29":                {"2026-03-29 00:00:00 +0100", "2026-03-30 00:00:00 +0200"},
		" 2026-03-29 ":              {"2026-03-29 00:00:00 +0100", "2026-03-30 00:00:00 +0200"},
		"2026-03-29T10:20:30":       {"2026-03-29 10:20:30 +0200", "2026-03-29 10:20:30 +0200"},
		"2026-03-29 10:20:30.5":     {"2026-03-29 10:20:30 +0200", "2026-03-29 10:20:30 +0200"},
		"2026-03-29T10:20":          {"2026-03-29 10:20:00 +0200", "2026-03-29 10:20:00 +0200"},
		"2026-03-29T10:20:30Z":      {"2026-03-29 12:20:30 +0200", "2026-03-29 12:20:30 +0200"},
		"2026-03-29T10:20:30-05:00": {"2026-03-29 17:20:30 +0200", "2026-03-29 17:20:30 +0200"},
		"2026-03-29 10:20:30+00:00": {"2026-03-29 12:20:30 +0200", "2026-03-29 12:20:30 +0200"},
	} {
		start, ok1 := parseStart(text, berlin)
		end, ok2 := parseEnd(text, berlin)
		if got := [2]string{start.Format(instantLayout), end.Format(instantLayout)}; !ok1 || !ok2 || got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{
		"", "today", "2026-3-1", "2026-13-01", "01.03.2026", "1969-12-31", "2106-01-01", "1767225600",
	} {
		if got, ok := parseStart(text, berlin); ok {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
}

// An event has whole milliseconds: one of the last of a day is before its last microsecond.
func TestInstantsAreTheFirstMillisecondThatIsNotBeforeThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-29T23:59:59.999999Z":      "2026-03-30T00:00:00Z",
		"2026-03-29T23:59:59.999Z":         "2026-03-29T23:59:59.999Z",
		"2026-03-29T23:59:59.998000001":    "2026-03-29T23:59:59.999Z",
		"2026-03-29 10:20:30.0001":         "2026-03-29T10:20:30.001Z",
		"2105-12-31T23:59:59.999999+00:00": "2106-01-01T00:00:00Z",
	} {
		for _, parse := range []func(string, *time.Location) (time.Time, bool){parseStart, parseEnd} {
			if got, ok := parse(text, time.UTC); !ok || got.Format(time.RFC3339Nano) != want {
				t.Errorf("%q is %v, want %s", text, got, want)
			}
		}
	}
}

func TestBucketsOfTheDaysOnWhichClocksChange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		zone, from, to string
		granularity    Granularity
		n              int
		at             int // the bucket to look at
		want           string
	}{
		{"Europe/Berlin", "2026-03-29", "2026-03-29", Hourly, 23, 2, "2026-03-29 03:00:00 2026-03-29 03:00:00 +0200"},
		{"Europe/Berlin", "2026-10-25", "2026-10-25", Hourly, 25, 3, "2026-10-25 02:00:00 2026-10-25 02:00:00 +0100"},
		{"Asia/Kolkata", "2026-10-25", "2026-10-25", Hourly, 24, 1, "2026-10-25 01:00:00 2026-10-25 01:00:00 +0530"},
		// Half an hour: the second 1 o'clock lasts from half past one to two.
		{"Australia/Lord_Howe", "2026-04-05", "2026-04-05", Hourly, 25, 2, "2026-04-05 01:00:00 2026-04-05 01:30:00 +1030"},
		// A minute past midnight the clocks went back to 23:01 of the day before.
		{"America/St_Johns", "2006-10-28", "2006-10-29", Hourly, 50, 25, "2006-10-28 23:00:00 2006-10-28 23:01:00 -0330"},
		{"Europe/Berlin", "2026-03-28", "2026-03-30", Daily, 3, 2, "2026-03-30 2026-03-30 00:00:00 +0200"},
		{"America/Havana", "2026-03-07", "2026-03-09", Daily, 3, 1, "2026-03-08 2026-03-08 01:00:00 -0400"},
		{"Europe/Berlin", "2026-10-25", "2026-10-25", Minutely, 1500, 180, "2026-10-25 02:00:00 2026-10-25 02:00:00 +0100"},
		{"Asia/Kathmandu", "2026-10-25", "2026-10-25", Minutely, 1440, 61, "2026-10-25 01:01:00 2026-10-25 01:01:00 +0545"},
		// Weeks begin on Sunday, but the first with the range; months on their first day.
		{"Europe/Berlin", "2026-03-25", "2026-04-07", Weekly, 3, 1, "2026-03-29 2026-03-29 00:00:00 +0100"},
		{"Europe/Berlin", "2026-03-25", "2026-04-07", Weekly, 3, 0, "2026-03-25 2026-03-25 00:00:00 +0100"},
		{"America/Havana", "2026-03-01", "2026-03-15", Weekly, 3, 1, "2026-03-08 2026-03-08 01:00:00 -0400"},
		{"Pacific/Apia", "2011-12-01", "2012-01-31", Monthly, 2, 1, "2012-01-01 2012-01-01 00:00:00 +1400"},
		{"UTC", "2024-01-31", "2024-03-01", Monthly, 3, 1, "2024-02-01 2024-02-01 00:00:00 +0000"},
		{"Pacific/Apia", "2011-12-28", "2012-01-01", Daily, 4, 2, "2011-12-31 2011-12-31 00:00:00 +1400"},
	} {
		z := zone(t, tc.zone)
		start, _ := parseStart(tc.from, z)
		end, _ := parseEnd(tc.to, z)
		buckets := Range{Start: start, End: end, Zone: z}.Buckets(tc.granularity)
		if len(buckets) != tc.n {
			t.Errorf("%s, %s to %s: %d buckets, want %d", tc.zone, tc.from, tc.to, len(buckets), tc.n)
			continue
		}
		b := buckets[tc.at]
		if got := fmt.Sprint(b.Label, " ", b.Start.Format(instantLayout)); got != tc.want {
			t.Errorf("%s, bucket %d: %s, want %s", tc.zone, tc.at, got, tc.want)
		}
		for i := 1; i < len(buckets); i++ {
			if !buckets[i].Start.After(buckets[i-1].Start) {
				t.Errorf("%s: bucket %d does not start after the one before", tc.zone, i)
			}
		}
	}
}

func TestTheFirstBucketStartsWithTheRange(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 10, 17, 30, 0, time.UTC)
	r := Range{Start: start, End: start.Add(2 * time.Hour), Zone: time.UTC}
	var got []string
	for _, b := range r.Buckets(Hourly) {
		got = append(got, b.Label+" "+b.Start.Format(time.TimeOnly))
	}
	want := []string{"2026-03-01 10:00:00 10:17:30", "2026-03-01 11:00:00 11:00:00", "2026-03-01 12:00:00 12:00:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

func TestAParametersOwnRangeWinsOverTheRequests(t *testing.T) {
	t.Parallel()
	plans, err := compileBody(t,
		`{"parameters":["summary",{"name":"summary","id":"before","start_date":"2026-02-01","end_date":"2026-02-02"},
		{"name":"summary","start_date":"2026-03-15"},{"name":"events_by_date","granularity":"hour"}],"preset":"last_month","startDate":"ignored"}`, Environment{
			Subject: Subject{Kind: Website, ID: "w"}, Now: time.Date(2026, 4, 10, 0, 0, 0, 0, time.UTC),
		})
	if err == nil {
		t.Fatalf("hours of March are accepted: %v", plans)
	}
	plans, err = compileBody(t,
		`{"parameters":["summary",{"name":"summary","id":"before","start_date":"2026-02-01","end_date":"2026-02-02"},
		{"name":"summary","start_date":"2026-03-15"}],"preset":"last_month","startDate":"ignored"}`, Environment{
			Subject: Subject{Kind: Website, ID: "w"}, Now: time.Date(2026, 4, 10, 0, 0, 0, 0, time.UTC),
		})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range plans[0].Outputs {
		got = append(got, o.Label+" "+o.Range.Start.Format(time.DateOnly)+" "+o.Range.End.Format(time.DateOnly))
	}
	want := []string{"summary 2026-03-01 2026-04-01", "before 2026-02-01 2026-02-03", "summary 2026-03-15 2026-04-01"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ranges (-want +got):\n%s", diff)
	}
}

// The days of a limit end where the day after them begins, which is not at midnight where
// clocks go forward then.
func TestALimitOfDaysEndsWhereTheNextDayBegins(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		zone, from, last, beyond string
		granularity              Granularity
	}{
		{"Atlantic/Azores", "2026-02-27", "2026-03-28", "2026-03-29", Hourly},
		{"Atlantic/Azores", "2026-03-28", "2026-03-28", "2026-03-29", Minutely},
		{"Atlantic/Azores", "2026-03-29", "2026-03-29", "2026-03-30T00:00:00.001", Minutely},
		{"America/Havana", "2026-02-06", "2026-03-07", "2026-03-08", Hourly},
		{"America/Havana", "2026-03-08", "2026-04-06", "2026-04-07T00:00:00.001", Hourly},
		{"Africa/Cairo", "2026-04-23", "2026-04-23", "2026-04-24T01:00:00.001", Minutely},
		{"Pacific/Apia", "2011-12-29", "2011-12-29", "2011-12-31", Minutely},
		{"Europe/Berlin", "2026-03-28T10:00", "2026-03-29T10:00", "2026-03-29T10:00:00.001", Minutely},
		{"UTC", "2026-03-01", "2026-03-30", "2026-03-31", Hourly},
	} {
		z := zone(t, tc.zone)
		start, _ := parseStart(tc.from, z)
		for _, end := range []string{tc.last, tc.beyond} {
			to, _ := parseEnd(end, z)
			if got := (Range{start, to, z}).atMost(tc.granularity.MaxDays()); got != (end == tc.last) {
				t.Errorf("%s, %s to %s by the %s: within the limit is %v", tc.zone, tc.from, end, tc.granularity, got)
			}
		}
	}
}
