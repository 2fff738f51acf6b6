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
	const (
		top, series = "link_top_cities", "link_clicks_by_day"
		values      = "link_referrers_by_day"
		berlin      = "Europe/Berlin"
		both, all   = "clicks_1d clicks_15m", "clicks_1d clicks_15m clicks"
	)
	for _, tc := range []struct {
		about, parameter, zone, start, end, cutInto string
		dirty                                       string // a day that is; empty for none
		tables, cut, base                           string
	}{
		{"whole UTC days", top, "", "03-20", "03-29", "", "", "clicks_1d", "", ""},
		{"days of another zone", top, berlin, "03-20", "03-29", "", "", both, "03-19 03-29", ""},
		{"days that begin at half past", top, "Asia/Kolkata", "03-20", "03-29", "", "", both, "03-19 03-29", ""},
		{"one day of another zone", top, berlin, "03-20", "03-20", "", "", "clicks_15m", "", ""},
		{"a dirty end", top, berlin, "03-20", "03-29", "", "03-29", all, "03-19", "03-29"},
		{"a dirty day", top, berlin, "03-20", "03-29", "", "03-28", all, "03-19 03-29", "03-28"},
		{"until within a quarter", top, "", "03-20", "03-29T11:12:13Z", "", "", "clicks_1d clicks", "", "03-29"},
		{"from a quarter", top, "", "03-20T10:15:00Z", "03-29T11:12:13Z", "", "", all, "03-20", "03-29"},
		{"within a day", top, "", "03-20T10:15:00Z", "03-20T11:12:13Z", "", "", "clicks", "", ""},
		{"UTC days", series, "", "03-20", "03-29", "", "", "clicks_1d", "", ""},
		{"other days", series, berlin, "03-20", "03-29", "", "", "clicks_15m", "", ""},
		{"a day alone in its week", series, berlin, "03-20", "03-29", "week", "", both, "03-19 03-21 03-28 03-29", ""},
		{"hours", series, "", "03-28", "03-29", "hour", "", "clicks_15m", "", ""},
		{"minutes", series, "", "03-29", "03-29", "minute", "", "clicks", "", ""},
		{"values of other days", values, berlin, "03-20", "03-29", "", "", both, "03-19 03-29", ""},
		{"values of two other days", values, berlin, "03-28", "03-29", "", "", both, "03-27 03-29", ""},
		{"values of one other day", values, berlin, "03-29", "03-29", "", "", "clicks_15m", "", ""},
		{"values of hours", values, "", "03-28", "03-29", "hour", "", "clicks_15m", "", ""},
		{"values of days of UTC", values, "", "03-28", "03-29", "", "", "clicks_1d", "", ""},
		{"days until within a quarter", series, "", "03-20", "03-29T11:12:13Z", "", "", "clicks_1d clicks", "", "03-29"},
	} {
		env := linkEnv()
		env.Rollups, env.TimeZone = true, tc.zone
		if tc.dirty != "" {
			env.Dirty = []time.Time{dayOf2026(t, tc.dirty)}
		}
		body := `{"parameters":["` + tc.parameter + `"],"startDate":"2026-` + tc.start + `","endDate":"2026-` + tc.end + `"`
		if tc.cutInto != "" {
			body += `,"granularity":"` + tc.cutInto + `"`
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

// daysParam is what a parameter holds, days of 2026 separated by spaces; empty without it.
func daysParam(s *Statement, name string) string {
	i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	return strings.NewReplacer("[", "", "]", "", "'", "", "2026-", "", ",", " ").Replace(s.Params[i].Text)
}

func dayOf2026(t *testing.T, monthAndDay string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, "2026-"+monthAndDay)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
