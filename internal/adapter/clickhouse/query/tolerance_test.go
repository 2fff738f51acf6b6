package query

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/platform/config"
)

// many stores sessions of a visitor each for a website, on 31 March: 40,000 on the page /a
// and all others on /b, seven of ten of them with a custom event later; and an error of each.
func many(t *testing.T, cfg config.ClickHouse, website string, sessions int) {
	t.Helper()
	const row = `INSERT INTO %s (owner_id, website_id, organization_id, event_date, event_time, received_at, received_at_inv, name, path, event_key, event_id, anonymous_id, session_id)
SELECT '%s' AS o, o, 'org_1', toDate('2026-03-31') AS d, toDateTime64(d, 3, 'UTC') + number %% 80000 + %s AS at, at, number, '%s', if(number < 40000, '/a', '/b'),
    cityHash64('%[4]s', number) AS k, toString(k), 'a' || toString(number), 's' || toString(number)
FROM numbers(%d)
WHERE %s`
	for _, of := range []struct{ table, later, name, where string }{
		{"events", "0", "screen_view", "1"},
		{"events", "20 + number % 3000", "signup", "number % 10 < 7"},
		{"errors", "0", "TypeError", "1"},
	} {
		clickhousetest.Run(t, cfg, fmt.Sprintf(row, of.table, website, of.later, of.name, sessions, of.where))
	}
}

// tolerated is how far a column of a type may be off, as a share of what it is.
type tolerated struct {
	website, typ, column string
	tolerance            float64
}

// Distinct counts and what is told of a sample of sessions are as far off as the guide
// says (docs/guides/querying.md), and exact up to the sizes that it says.
func TestWhatRollupsCountIsWithinItsTolerance(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	r := NewRunner(cfg, RunnerConfig{Connections: 1})
	defer r.Close()
	many(t, cfg, "web_many", 200_000)
	many(t, cfg, "web_4095", 4095)
	many(t, cfg, "web_511", 511)
	both := counts{r, map[string][]map[string]any{}}
	const (
		exact, share = 0, 0.01 // of the number
		// Three of ten sessions bounce; of the others as many take each number of seconds
		// from 20 to 3019.
		points  = 0.8 / 30                    // of the bounce rate
		middle  = 0.008 / 0.7 * 3000 / 877    // of the median
		average = 0.015 * 1005 / (0.7 * 1520) // by their standard deviation
	)
	for _, tc := range []tolerated{
		{"web_4095", "summary_metrics", "unique_visitors", exact},
		{"web_4095", "summary_metrics", "sessions", exact},
		{"web_4095", "summary_metrics", "bounce_rate", exact},
		{"web_4095", "summary_metrics", "median_session_duration", exact},
		{"web_511", "top_pages", "visitors", exact},
		{"web_511", "custom_events", "unique_users", exact},
		{"web_511", "custom_events", "unique_sessions", exact},

		{"web_many", "summary_metrics", "pageviews", exact},
		{"web_many", "summary_metrics", "total_events", exact},
		{"web_many", "top_pages", "pageviews", exact},
		{"web_many", "custom_events", "total_events", exact},
		{"web_many", "summary_metrics", "unique_visitors", share},
		{"web_many", "summary_metrics", "sessions", share},
		{"web_many", "session_metrics", "total_sessions", share},
		{"web_many", "error_summary", "affectedUsers", share},
		{"web_many", "error_summary", "affectedSessions", share},
		{"web_many", "summary_metrics", "bounce_rate", points},
		{"web_many", "session_metrics", "bounce_rate", points},
		{"web_many", "summary_metrics", "median_session_duration", middle},
		{"web_many", "session_metrics", "avg_session_duration", average},
		{"web_many", "custom_events", "unique_users", 0.025},
		{"web_many", "top_pages", "visitors", 0.04},
	} {
		want, got := both.numbers(t, &tc, false), both.numbers(t, &tc, true)
		if len(want) == 0 || len(want) != len(got) {
			t.Errorf("%s of %s: %d rows, and %d from rollups", tc.typ, tc.website, len(want), len(got))
			continue
		}
		for i := range want {
			off := math.Abs(got[i]-want[i]) / want[i]
			if !(off <= tc.tolerance) {
				t.Errorf("%s.%s of %s, row %d: %v, and %v from rollups, %.2f %% off", tc.typ, tc.column, tc.website, i, want[i],
					got[i], 100*off)
			}
		}
	}
}

// counts are responses about websites, each asked for once.
type counts struct {
	runner *Runner
	known  map[string][]map[string]any
}

// numbers are those of a column, from the events or from rollups.
func (c *counts) numbers(t *testing.T, of *tolerated, rollups bool) (all []float64) {
	t.Helper()
	key := fmt.Sprint(of.website, of.typ, rollups)
	if c.known[key] == nil {
		text, source := asked(t, c.runner, analytics.Subject{Kind: analytics.Website, ID: of.website}, fmt.Sprintf(
			`{"parameters":[%q],"startDate":"2026-03-31","endDate":"2026-03-31"}`, of.typ), rollups)
		if rollups != (source == "rollup") {
			t.Fatalf("%s is answered from %s", of.typ, source)
		}
		var rows []map[string]any
		if err := json.Unmarshal([]byte(text), &rows); err != nil {
			t.Fatal(err)
		}
		c.known[key] = rows
	}
	for _, row := range c.known[key] {
		n, _ := row[of.column].(float64)
		all = append(all, n)
	}
	return all
}
