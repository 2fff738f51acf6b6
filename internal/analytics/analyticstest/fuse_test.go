package analyticstest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/analytics"
)

// What is computed together is what would be computed alone.
func TestParametersThatShareAScanSayWhatTheySayAlone(t *testing.T) {
	t.Parallel()
	s := newServer(t, smallSet())
	var names []string
	for i := range analytics.Catalog {
		typ := &analytics.Catalog[i]
		if len(typ.Requires) == 0 && typ.Recent == 0 && !slices.ContainsFunc(typ.Options, func(o analytics.Option) bool { return o.Required }) {
			names = append(names, typ.Name)
		}
	}
	for _, env := range []analytics.Environment{{TimeZone: "Europe/Berlin"}, {TimeZone: "Europe/Berlin", Rollups: true}, {Rollups: true}} {
		env.Subject, env.Now = analytics.Subject{Kind: analytics.Website, ID: "web_1"}, at("03-30 20:00:00")
		t.Run(fmt.Sprint(env.TimeZone, env.Rollups), func(t *testing.T) {
			t.Parallel()
			expectSharing(t, s, env, names)
		})
	}
}

// expectSharing asks for several parameters together, and for each alone.
func expectSharing(t *testing.T, s *server, env analytics.Environment, names []string) {
	t.Helper()
	for _, more := range []string{``, `,"limit":2,"page":2`, `,"limit":3,"sortBy":"pageviews","sortOrder":"asc"`, `,"filters":[{"field":"path","op":"ne","value":"/docs"}]`} {
		statements, asked := 0, names
		switch {
		case strings.Contains(more, "filters"):
			asked = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(analytics.Lookup(n).Filters, "path") })
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
