package analytics

import (
	"strings"
	"testing"
	"time"
)

// since is a parameter about the days from one to 2026-03-29.
func since(name, first string) string {
	return `{"name":"` + name + `","start_date":"` + first + `","end_date":"2026-03-29"}`
}

// What can be computed together is one statement, and what cannot is not.
func TestParametersOfARequestShareStatements(t *testing.T) {
	t.Parallel()
	const dashboard = `"summary_metrics","events_by_date","top_pages","top_referrers","traffic_sources","utm_campaigns",` +
		`"browser_name","os_name","device_types","country","city","outbound_links"`
	for _, tc := range []struct {
		about, parameters, more string
		dirty                   []time.Time
		want                    int
	}{
		{about: "a dashboard", parameters: dashboard, want: 5},
		{
			about:      "a dashboard with a day that the rollups cannot answer for",
			parameters: dashboard,
			dirty:      []time.Time{testNow.Truncate(day).AddDate(0, 0, -3)},
			want:       11,
		},
		{
			about:      "breakdowns in another order than that of views",
			parameters: `"top_pages","city"`,
			more:       `,"sortBy":"visitors"`,
			want:       2,
		},
		{
			about: "breakdowns of more rows than an answer has", parameters: `"top_pages","city"`, more: `,"limit":5001`,
			want: 2,
		},
		{
			about:      "breakdowns of two ranges",
			parameters: `"top_pages","city",{"name":"country","start_date":"2026-03-01","end_date":"2026-03-02"}`,
			want:       2,
		},
		{about: "totals alone", parameters: `"summary_metrics","session_metrics"`, want: 2},
		{
			about:      "a series that is turned around",
			parameters: `"summary_metrics","events_by_date"`,
			more:       `,"sortOrder":"desc"`,
			want:       2,
		},
		{about: "a page of a series", parameters: `"summary_metrics","events_by_date"`, more: `,"limit":3`, want: 2},
		{
			about:      "series by day and by hour",
			parameters: `"summary_metrics","events_by_date",{"name":"events_by_date","id":"hours","granularity":"hourly"}`,
			want:       2,
		},
		{
			about:      "breakdowns of which one is in another order",
			parameters: `"browser_versions","page_performance","screen_resolutions"`,
			want:       2,
		},
		{
			about: "series of as many weeks as months", more: `,"filters":[{"field":"path","op":"is_set"}]`, want: 2,
			parameters: `{"name":"events_by_date","start_date":"2026-03-25","end_date":"2026-04-02","granularity":"week"},` +
				`{"name":"events_by_date","start_date":"2026-03-25","end_date":"2026-04-02","granularity":"month"}`,
		},
		{
			about: "series of one hour and one day of the same time", more: `,"filters":[{"field":"path","op":"is_set"}]`,
			want: 2,
			parameters: `{"name":"events_by_date","start_date":"2026-03-25T10:00","end_date":"2026-03-25T11:00","granularity":"hour"},` +
				`{"name":"events_by_date","start_date":"2026-03-25T10:00","end_date":"2026-03-25T11:00"}`,
		},
		{
			about:      "a series of all the rows that an answer may have, which leaves none to the total",
			parameters: since("summary_metrics", "1998-11-12") + "," + since("events_by_date", "1998-11-12"),
			want:       2,
		},
		{
			about:      "a series of one row less",
			parameters: since("summary_metrics", "1998-11-13") + "," + since("events_by_date", "1998-11-13"),
			want:       1,
		},
		{
			about:      "compared ones",
			parameters: `"summary_metrics","events_by_date","top_pages","city"`,
			more:       `,"compare":"previous_period"`,
			want:       4,
		},
	} {
		env := websiteEnv()
		env.Rollups, env.Dirty = true, tc.dirty
		plans, err := compileBody(t, `{"parameters":[`+tc.parameters+`],"preset":"last_30d"`+tc.more+`}`, env)
		if err != nil {
			t.Errorf("%s: %v", tc.about, err)
			continue
		}
		if got := len(plans[0].Statements); got != tc.want {
			var of []string
			for _, s := range plans[0].Statements {
				of = append(of, s.Type.Name)
			}
			t.Errorf("%s: %d statements (%s), want %d", tc.about, got, strings.Join(of, ", "), tc.want)
		}
	}
}
