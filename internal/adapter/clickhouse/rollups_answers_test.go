package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

// failing inserts random errors of the owners of browsed, on the same days.
func failing(t *testing.T, cfg config.ClickHouse, days int) {
	t.Helper()
	i, r := newInserter(t, cfg, ""), rand.New(rand.NewPCG(9, 10))
	for n := range days {
		block := i.NewBlock(record.TopicErrors)
		for _, e := range someEvents(r, 60) {
			e.Name, e.TimeMillis = fmt.Append(nil, "Error", r.IntN(3)), (noon/record.MillisPerDay-int64(n))*record.MillisPerDay+r.Int64N(record.MillisPerDay)
			block.Append(&sink.Row{Event: e, Hash: record.HashOf(e.Owner, e.ID), Topic: []byte(record.TopicErrors)})
		}
		if err := i.Insert(t.Context(), block, fmt.Sprint("errors ", n)); err != nil {
			t.Fatal(err)
		}
	}
}

// asked answers a body, all of it from the events or with the days from the events
// that are dirty.
func asked(t *testing.T, r *Runner, subject analytics.Subject, body string, rollups bool, dirty ...time.Time) (response, source string) {
	t.Helper()
	requests, batch, err := analytics.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	plans, err := analytics.Compile(requests, batch, analytics.Environment{
		Subject: subject, Now: time.UnixMilli(noon), Rollups: rollups, Dirty: dirty,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &plans[0].Statements[0]
	table, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatalf("%s: %v\n%s", body, err, s.SQL)
	}
	return string(table.AppendRows(nil, s.Columns)), s.Source
}

// What a view stores of a day and what the planner counts of its events instead are
// the same, or a response would depend on which days are dirty: for every type, by the
// tables of days and of quarters of an hour.
func TestResponsesDoNotDependOnWhichDaysAreReadFromRollups(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	browsed(t, cfg, 3)
	failing(t, cfg, 3)
	clicking(t, cfg, 3)
	r := NewRunner(cfg, RunnerConfig{Connections: 1})
	defer r.Close()
	midnight := time.UnixMilli(noon).UTC().Truncate(24 * time.Hour)
	first, second := midnight.AddDate(0, 0, -2), midnight.AddDate(0, 0, -1)
	for i := range analytics.Catalog {
		typ := &analytics.Catalog[i]
		if typ.Rollup == nil || typ.Today {
			continue
		}
		subject := subjectOf(typ, "web_1") // which is the link's id too
		for name, ends := range map[string][2]time.Time{
			"days": {first, midnight.AddDate(0, 0, 1)}, "quarters": {first.Add(7*time.Hour + 45*time.Minute), midnight.Add(15 * time.Hour)},
		} {
			body := fmt.Sprintf(`{"parameters":[%q],"startDate":%q,"endDate":%q}`, typ.Name, ends[0].Format(time.RFC3339), ends[1].Format(time.RFC3339))
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
