package analytics

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A day that is asked for whole is one row of the rollups, whatever the time zone.
func TestDaysAndQuartersOfARange(t *testing.T) {
	t.Parallel()
	const top, series = "link_top_cities", "link_clicks_by_day"
	for _, tc := range []struct {
		about, parameter, zone, start, end, more string
		dirty                                    int // days before 2026-03-30 of one that is; 0 for none
		tables                                   string
		cut, base                                string
	}{
		{about: "whole UTC days", parameter: top, start: "2026-03-20", end: "2026-03-29", tables: "clicks_1d"},
		{about: "days of another zone", parameter: top, zone: "Europe/Berlin", start: "2026-03-20", end: "2026-03-29", tables: "clicks_1d clicks_15m", cut: "2026-03-19 2026-03-29"},
		{about: "of half an hour", parameter: top, zone: "Asia/Kolkata", start: "2026-03-20", end: "2026-03-29", tables: "clicks_1d clicks_15m", cut: "2026-03-19 2026-03-29"},
		{about: "one day of another zone", parameter: top, zone: "Europe/Berlin", start: "2026-03-20", end: "2026-03-20", tables: "clicks_15m"},
		{about: "a dirty end", parameter: top, zone: "Europe/Berlin", start: "2026-03-20", end: "2026-03-29", dirty: 1, tables: "clicks_1d clicks_15m clicks", cut: "2026-03-19", base: "2026-03-29"},
		{about: "a dirty day", parameter: top, zone: "Europe/Berlin", start: "2026-03-20", end: "2026-03-29", dirty: 2, tables: "clicks_1d clicks_15m clicks", cut: "2026-03-19 2026-03-29", base: "2026-03-28"},
		{about: "until within a quarter", parameter: top, start: "2026-03-20", end: "2026-03-29T11:12:13Z", tables: "clicks_1d clicks", base: "2026-03-29"},
		{
			about: "from a quarter until within one", parameter: top, start: "2026-03-20T10:15:00Z", end: "2026-03-29T11:12:13Z",
			tables: "clicks_1d clicks_15m clicks", cut: "2026-03-20", base: "2026-03-29",
		},
		{about: "within a day", parameter: top, start: "2026-03-20T10:15:00Z", end: "2026-03-20T11:12:13Z", tables: "clicks"},
		{about: "a series of UTC days", parameter: series, start: "2026-03-20", end: "2026-03-29", tables: "clicks_1d"},
		{about: "a series of other days", parameter: series, zone: "Europe/Berlin", start: "2026-03-20", end: "2026-03-29", tables: "clicks_15m"},
		{about: "a series of weeks", parameter: series, zone: "Europe/Berlin", start: "2026-03-20", end: "2026-03-29", more: "week", tables: "clicks_1d clicks_15m", cut: "2026-03-19 2026-03-21 2026-03-28 2026-03-29"},
		{about: "a series of hours", parameter: series, start: "2026-03-28", end: "2026-03-29", more: "hour", tables: "clicks_15m"},
		{about: "a series of minutes", parameter: series, start: "2026-03-29", end: "2026-03-29", more: "minute", tables: "clicks"},
		{about: "a series until within a quarter", parameter: series, start: "2026-03-20", end: "2026-03-29T11:12:13Z", tables: "clicks_1d clicks", base: "2026-03-29"},
	} {
		env := linkEnv()
		env.Rollups, env.TimeZone = true, tc.zone
		if tc.dirty > 0 {
			env.Dirty = []time.Time{testNow.Truncate(day).AddDate(0, 0, -tc.dirty)}
		}
		body := `{"parameters":["` + tc.parameter + `"],"startDate":"` + tc.start + `","endDate":"` + tc.end + `"`
		if tc.more != "" {
			body += `,"granularity":"` + tc.more + `"`
		}
		s := mustStatement(t, body+"}", env)
		if got := strings.Join(s.Tables, " "); got != tc.tables {
			t.Errorf("%s: read are %s, want %s", tc.about, got, tc.tables)
		}
		for name, want := range map[string]string{"cut_days": tc.cut, "base_days": tc.base} {
			if got := daysParam(&s, name); got != want {
				t.Errorf("%s: %s are %q, want %q", tc.about, name, got, want)
			}
		}
	}
}

// daysParam is what a parameter of days holds, separated by spaces; empty without it.
func daysParam(s *Statement, name string) string {
	i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	return strings.NewReplacer("[", "", "]", "", "'", "", ",", " ").Replace(s.Params[i].Text)
}
