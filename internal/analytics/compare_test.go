package analytics

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestThePreviousPeriodIsAsLongInDaysOrInTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ zone, start, end, want string }{
		{"UTC", "2026-03-30", "2026-03-30", "2026-03-29 00:00:00 +0000"},
		// A day of 23 hours is compared with the whole day before it, and so is the next.
		{"Europe/Berlin", "2026-03-29", "2026-03-29", "2026-03-28 00:00:00 +0100"},
		{"Europe/Berlin", "2026-03-30", "2026-03-30", "2026-03-29 00:00:00 +0100"},
		// A month with as many days before it.
		{"Europe/Berlin", "2026-03-01", "2026-03-31", "2026-01-29 00:00:00 +0100"},
		{"America/Havana", "2026-03-08", "2026-03-09", "2026-03-06 00:00:00 -0500"},
		{"Pacific/Apia", "2011-12-31", "2011-12-31", "2011-12-31 00:00:00 +1400"},
		// Parts of days with as much time.
		{"Europe/Berlin", "2026-03-29T00:00", "2026-03-29T12:00", "2026-03-28 13:00:00 +0100"},
		{"UTC", "2026-03-29T10:00:00.5Z", "2026-03-29T10:00:01Z", "2026-03-29 10:00:00 +0000"},
		{"Pacific/Auckland", "1970-01-01", "1970-01-02", "1970-01-01 12:00:00 +1200"},
	} {
		z := zone(t, tc.zone)
		start, _ := parseStart(tc.start, z)
		end, _ := parseEnd(tc.end, z)
		before := Range{Start: start, End: end, Zone: z}.previous()
		if tc.zone == "Pacific/Apia" || tc.zone == "Pacific/Auckland" { // no day, and no time, before it
			if before.Start.After(before.End) {
				t.Errorf("%s to %s in %s: %v to %v", tc.start, tc.end, tc.zone, before.Start, before.End)
			}
			continue
		}
		if got := before.Start.Format(instantLayout); got != tc.want || !before.End.Equal(start) {
			t.Errorf("%s to %s in %s is compared with %s to %v, want %s", tc.start, tc.end, tc.zone, got, before.End, tc.want)
		}
	}
}

// Every type says by which columns its rows are told apart, or cannot be compared.
func TestTypesThatCannotBeComparedAreLists(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		typ := &Catalog[i]
		if keys, ok := typ.keys(); ok {
			for _, k := range keys {
				if k != stepColumn && typ.column(k) == nil {
					t.Errorf("%s: key %s is no column", typ.Name, k)
				}
			}
		}
		body := `{"parameters":["` + typ.Name + `"],"preset":"today","compare":"previous_period"}`
		_, err := compileBody(t, body, envOf(typ))
		if rejected := err != nil &&
			strings.Contains(err.Error(), "Comparing is not supported"); rejected == typ.Comparable() && len(typ.Requires) == 0 {
			t.Errorf("%s is comparable: %v; error %v", typ.Name, typ.Comparable(), err)
		}
	}
}

// A group that is a column of the type already, such as the browser of browser_versions, tells
// the rows apart as well as that.
func TestWhatCanBeComparedCanBeWithEveryGroup(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		typ := &Catalog[i]
		for _, name := range typ.Groups {
			if typ.Comparable() && !typ.grouped([]string{name}).Comparable() {
				t.Errorf("%s is not comparable by %s", typ.Name, name)
			}
		}
	}
}

func TestAComparisonCoversBothRanges(t *testing.T) {
	t.Parallel()
	plans, err := compileBody(t, `{"parameters":["summary",{"name":"top_pages","start_date":"2026-03-01","end_date":"2026-03-02"}],"preset":"today","compare":"previous_period"}`, websiteEnv())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"2026-03-29 2026-03-31", "2026-02-27 2026-03-03"} {
		o := plans[0].Outputs[i]
		s := plans[0].Statements[o.Statement]
		if got := s.Range.Start.Format(time.DateOnly) + " " + s.Range.End.Format(time.DateOnly); got != want {
			t.Errorf("statement %d is about %s, want %s", i, got, want)
		}
		if n := len(s.Columns); n != len(o.Columns) || s.Columns[n-1].Name != "change" || o.Previous == nil {
			t.Errorf("output %d: %d columns, of the statement %d; previous %v", i, len(o.Columns), n, o.Previous)
		}
	}
}

// Each of both ranges is read from where it can be: the response says so, and its
// version is that of all tables that it was made of.
func TestAComparisonPlansBothRanges(t *testing.T) {
	t.Parallel()
	env := websiteEnv()
	env.Rollups = true
	yesterday, before := testNow.Truncate(day).AddDate(0, 0, -1), testNow.Truncate(day).AddDate(0, 0, -2)
	for _, tc := range []struct {
		dirty  []time.Time
		source string
		events bool
	}{
		{nil, "rollup", false},
		{[]time.Time{yesterday}, "rollup and events", true},
		{[]time.Time{before}, "rollup and events", true},
		{[]time.Time{before, yesterday}, "events", true},
	} {
		env.Dirty = tc.dirty
		s := mustStatement(t, `{"parameters":["top_pages"],"preset":"yesterday","compare":"previous_period"}`, env)
		if s.Source != tc.source || slices.Contains(s.Tables, "events") != tc.events ||
			slices.Contains(s.Tables, "views_1d") == (tc.source == "events") {
			t.Errorf("with %v dirty: from %s, of %v; want %s", tc.dirty, s.Source, s.Tables, tc.source)
		}
		if strings.Contains(s.SQL, "{limit:UInt64} OFFSET {previous") ||
			strings.Count(s.SQL, "LIMIT") != 1 && tc.source == "events" {
			t.Errorf("with %v dirty a part of what is compared with is left out:\n%s", tc.dirty, s.SQL)
		}
	}
}

// What is read of the range before may reach farther than what it is compared with.
func TestTheRangeBeforeIsToldAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	plans, err := compileBody(t, `{"parameters":[{"name":"identified_profile_retention","activation_event":"a",
		"return_event":"b","horizon_days":7,"observation_end":"2026-03-30"}],"startDate":"2026-03-02","endDate":"2026-03-03",
		"compare":"previous_period"}`, websiteEnv())
	if err != nil {
		t.Fatal(err)
	}
	o, s := plans[0].Outputs[0], plans[0].Statements[0]
	if got := o.Previous.End.Format(time.DateOnly); got != "2026-03-02" {
		t.Errorf("it ends %s, want 2026-03-02", got)
	}
	if got := s.Range.End.Format(time.DateOnly); got != "2026-03-31" {
		t.Errorf("what is read ends %s, want 2026-03-31", got)
	}
}
