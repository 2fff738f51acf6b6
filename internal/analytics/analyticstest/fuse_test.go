package analyticstest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/analytics"
)

// What is computed together is what would be computed alone.
func TestParametersThatShareAScanSayWhatTheySayAlone(t *testing.T) {
	t.Parallel()
	s := newServer(t, visitSet(rand.New(rand.NewPCG(3, 26)), 500)) // so many that one order is not another
	var names []string
	for i := range analytics.Catalog {
		typ := &analytics.Catalog[i]
		if typ.Subjects&analytics.Website != 0 && len(typ.Requires) == 0 && typ.Recent == 0 &&
			!slices.ContainsFunc(typ.Options, func(o analytics.Option) bool { return o.Required }) {
			names = append(names, typ.Name)
		}
	}
	for _, env := range []analytics.Environment{
		{TimeZone: "Europe/Berlin"}, {TimeZone: "Europe/Berlin", Rollups: true}, {Rollups: true},
	} {
		env.Subject, env.Now = analytics.Subject{Kind: analytics.Website, ID: "web_1"}, at("03-30 20:00:00")
		t.Run(fmt.Sprint(env.TimeZone, env.Rollups), func(t *testing.T) {
			t.Parallel()
			expectSharing(t, s, env, names)
			expectBuckets(t, s, env)
		})
	}
}

// expectBuckets asks for series that have as many buckets, and not the same: a week and two
// days as weeks and as months, and an hour as an hour and as a day.
func expectBuckets(t *testing.T, s *server, env analytics.Environment) {
	t.Helper()
	var all []string
	for _, part := range []string{
		`"start_date":"2026-03-25","end_date":"2026-04-02"`, `"start_date":"2026-03-29T10:00","end_date":"2026-03-29T11:00"`,
	} {
		for _, granularity := range []string{"week", "month", "hour", "day"} {
			all = append(all, `{"name":"events_by_date","granularity":"`+granularity+`",`+part+`}`)
		}
	}
	body := func(parameters ...string) string {
		return `{"parameters":[` + strings.Join(parameters, ",") + `],"filters":[{"field":"path","op":"ne","value":"/docs"}]}`
	}
	for i, rows := range s.ask(t, body(all...), env) {
		if diff := diffOf(s.ask(t, body(all[i]), env)[0], rows); diff != "" {
			t.Errorf("%s beside others (-alone +together):\n%s", all[i], diff)
		}
	}
}

// expectSharing asks for several parameters together, and for each alone.
func expectSharing(t *testing.T, s *server, env analytics.Environment, names []string) {
	t.Helper()
	for _, more := range []string{
		``, `,"limit":2,"page":2`, `,"limit":3,"sortBy":"pageviews","sortOrder":"asc"`,
		`,"filters":[{"field":"path","op":"ne","value":"/docs"}]`,
	} {
		statements, asked := 0, names
		switch {
		case strings.Contains(more, "filters"):
			asked = slices.DeleteFunc(slices.Clone(names),
				func(n string) bool { return !slices.Contains(analytics.Lookup(n).Filters, "path") })
		case strings.Contains(more, "sortBy"):
			asked = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
				return !slices.Contains(analytics.Lookup(n).Sorts, "pageviews")
			})
		}
		for part := range slices.Chunk(asked, analytics.MaxParameters) {
			body := func(names ...string) string {
				return `{"parameters":["` + strings.Join(names, `","`) + `"],"preset":"last_7d"` + more + `}`
			}
			requests, batch, err := analytics.Decode([]byte(body(part...)))
			if err != nil {
				t.Fatal(err)
			}
			plans, err := analytics.Compile(requests, batch, env)
			if err != nil {
				t.Fatal(err)
			}
			statements += len(plans[0].Statements)
			together := s.ask(t, body(part...), env)
			for i, n := range part {
				if diff := diffOf(s.ask(t, body(n), env)[0], together[i]); diff != "" {
					t.Errorf("%s beside others (-alone +together):\n%s", n, diff)
				}
			}
		}
		if statements >= len(asked) {
			t.Errorf("%d statements for %d parameters: nothing is shared", statements, len(asked))
		}
	}
}
