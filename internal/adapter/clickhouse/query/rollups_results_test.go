package query

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/analytics"
)

// asked answers a body, all of it from the events or with the days from the events
// that are dirty.
func asked(
	t *testing.T, r *Runner, subject analytics.Subject, body string, rollups bool, dirty ...time.Time,
) (response, source string) {
	t.Helper()
	requests, batch, err := analytics.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	plans, err := analytics.Compile(requests, batch, analytics.Environment{
		Subject: subject, Now: time.UnixMilli(clickhousetest.Noon), Rollups: rollups, Dirty: dirty,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &plans[0].Statements[0]
	table, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatalf("%s: %v\n%s", body, err, s.SQL)
	}
	text, next := table.AppendRows(nil, s.Columns, 0)
	for next < table.Rows {
		text, next = table.AppendRows(text, s.Columns, next)
	}
	return string(text), s.Source
}

// What a view stores of a day and what the planner counts of its events instead are
// the same, or a response would depend on which days are dirty: for every type, by the
// tables of days and of quarters of an hour.
func TestResponsesDoNotDependOnWhichDaysAreReadFromRollups(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.Browsed(t, cfg, 3)
	stagetest.Failing(t, cfg, 3)
	stagetest.Clicking(t, cfg, 3)
	r := NewRunner(cfg, RunnerConfig{Connections: 1})
	defer r.Close()
	midnight := time.UnixMilli(clickhousetest.Noon).UTC().Truncate(24 * time.Hour)
	first, second := midnight.AddDate(0, 0, -2), midnight.AddDate(0, 0, -1)
	for i := range analytics.Catalog {
		typ := &analytics.Catalog[i]
		if typ.Rollup == nil || typ.Today {
			continue
		}
		subject := subjectOf(typ, "web_1") // which is the link's id too
		for name, ends := range map[string][2]time.Time{
			"days":     {first, midnight.AddDate(0, 0, 1)},
			"quarters": {first.Add(7*time.Hour + 45*time.Minute), midnight.Add(15 * time.Hour)},
		} {
			body := fmt.Sprintf(`{"parameters":[%q],"startDate":%q,"endDate":%q}`,
				typ.Name, ends[0].Format(time.RFC3339), ends[1].Format(time.RFC3339))
			want, _ := asked(t, r, subject, body, false)
			if len(want) < len(`[{"total":99}]`) {
				t.Errorf("%s has nothing to say: %s", typ.Name, want)
			}
			read := map[string]bool{}
			for _, dirty := range [][]time.Time{nil, {first}, {second}, {first, second}} {
				got, source := asked(t, r, subject, body, true, dirty...)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s of %s with %v dirty, from %s (-events +rollups):\n%s", typ.Name, name, dirty, source, diff)
				}
				read[source] = true
			}
			if name == "days" && (!read["rollup"] || !read["rollup and events"]) {
				t.Errorf("%s of %s was read from %v alone", typ.Name, name, read)
			}
		}
	}
}
