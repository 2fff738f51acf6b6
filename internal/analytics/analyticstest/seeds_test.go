package analyticstest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
	"github.com/millrace/millrace/internal/testkit"
)

var seedsOf = flag.Int("seeds", 0,
	"about how many random sets of events every type is asked a question; 0 means 4, and 25 where bounds are strict")

// seeds is how many they are.
func seeds() int {
	switch {
	case *seedsOf > 0:
		return *seedsOf
	case testkit.Strict():
		return 25
	}
	return 4
}

// ofSeed gives the events of a random set to websites and an organization of their own.
func ofSeed(seed int) (set []analyticstest.Event, r *rand.Rand) {
	r = rand.New(rand.NewPCG(uint64(seed), 26))
	set = visitSet(r, 500)
	if seed%2 == 1 { // no day is dirty
		set = slices.DeleteFunc(set, func(e analyticstest.Event) bool { return e.AnonymousID == "again" })
	}
	for i := range set {
		e := &set[i]
		e.Organization += " " + strconv.Itoa(seed)
		if e.Website != "" {
			e.Website += " " + strconv.Itoa(seed)
		}
	}
	return set, r
}

func TestEveryTypeAgreesWithTheOracleOnRandomSets(t *testing.T) {
	t.Parallel()
	sets, random := make([][]analyticstest.Event, seeds()), make([]*rand.Rand, seeds())
	for i := range sets {
		sets[i], random[i] = ofSeed(i)
	}
	s := newServer(t, slices.Concat(sets...))
	for i, set := range sets {
		t.Run("seed "+strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			of := server{events: set, dirty: twice(set), engine: s.engine}
			conditions := analyticstest.NewConditions(set)
			for j := range eventTypes {
				of.random(t, random[i], &eventTypes[j], conditions, " "+strconv.Itoa(i))
			}
		})
	}
}

// random asks a type one random question of the subjects whose ids have a suffix.
func (s *server) random(
	t *testing.T, r *rand.Rand, typ *analytics.Type, conditions *analyticstest.Conditions, suffix string,
) {
	t.Helper()
	env, q := subject(r.IntN(4) == 0 && typ.Subjects&analytics.Organization != 0)
	env.Subject.ID += suffix
	if q.Type = typ.Name; q.Website != "" {
		q.Website += suffix
	} else {
		q.Organization += suffix
	}
	env.TimeZone, env.Now = zones[r.IntN(len(zones))], nows[r.IntN(len(nows))]
	fields := []string{randomRange(r, typ, &env, &q)}
	fields = append(fields, fmt.Sprintf(`"parameters":[{"name":%q%s}]`,
		typ.Name, randomOptions(r, typ, conditions, s.events, &q)))
	var filters []string
	keep := func(c analyticstest.Condition) {
		filters, q.Keep = append(filters, c.JSON), append(q.Keep, c.Keep)
	}
	filterable := typ.Filters
	for _, name := range typ.Requires {
		if len(typ.Means) > 0 { // it means a person
			id := []string{"a1", "a2", "a3", "a4", "p1", "p2", "p3", "nobody"}[r.IntN(8)]
			keep(analyticstest.Condition{
				JSON: fmt.Sprintf(`{"field":%q,"op":"eq","value":%q}`, name, id), Keep: conditions.Whose(id),
			})
			filterable = slices.DeleteFunc(slices.Clone(filterable), func(f string) bool { return f == name })
			continue
		}
		keep(conditions.One(r, name))
	}
	for range r.IntN(3) {
		if len(filterable) > 0 {
			keep(conditions.Random(r, filterable, 3))
		}
	}
	fields = append(fields, `"filters":[`+strings.Join(filters, ",")+`]`)
	switch group := r.IntN(4) == 0 && len(typ.Groups) > 0; {
	case group:
		fields = append(fields, randomGroups(r, typ, &q), `"limit":10000`)
	case !typ.SingleRow():
		fields = append(fields, randomPage(r, typ, &q)...)
	}
	s.check(t, "{"+strings.Join(fields, ",")+"}", env, q)
}

// randomRange is a preset, or the same days by their names.
func randomRange(r *rand.Rand, typ *analytics.Type, env *analytics.Environment, q *analyticstest.Question) string {
	names := analytics.PresetNames()
	name := names[r.IntN(len(names))]
	preset(q, name, env.Now, env.TimeZone)
	text := fmt.Sprintf(`"preset":%q`, name)
	if r.IntN(3) == 0 {
		last := q.End.Add(-time.Second).In(q.Zone).Format(time.DateOnly)
		text = fmt.Sprintf(`"startDate":%q,"endDate":%q`, q.Start.Format(time.DateOnly), last)
	}
	switch {
	case typ.Today:
		preset(q, "today", env.Now, env.TimeZone)
	case typ.Recent > 0:
		q.Start, q.End = env.Now.Add(-typ.Recent), env.Now.Add(time.Millisecond)
	case typ.Series && r.IntN(3) > 0:
		q.Granularity = granularities(q)[r.IntN(len(granularities(q)))]
		text += fmt.Sprintf(`,"granularity":%q`, q.Granularity)
	}
	return text
}

func randomGroups(r *rand.Rand, typ *analytics.Type, q *analyticstest.Question) string {
	q.GroupBy = []string{typ.Groups[r.IntN(len(typ.Groups))]}
	if other := typ.Groups[r.IntN(len(typ.Groups))]; other != q.GroupBy[0] && r.IntN(2) == 0 {
		q.GroupBy = append(q.GroupBy, other)
	}
	return `"groupBy":` + string(quoted(q.GroupBy))
}

func randomPage(r *rand.Rand, typ *analytics.Type, q *analyticstest.Question) (fields []string) {
	if r.IntN(3) == 0 && len(typ.Sorts) > 0 {
		q.SortBy, q.Ascending = typ.Sorts[r.IntN(len(typ.Sorts))], r.IntN(2) == 0
		order := map[bool]string{true: "asc", false: "desc"}[q.Ascending]
		fields = append(fields, fmt.Sprintf(`"sortBy":%q,"sortOrder":%q`, q.SortBy, order))
	}
	if r.IntN(3) == 0 {
		q.Limit, q.Page = 1+r.IntN(5), 1+r.IntN(3)
		fields = append(fields, fmt.Sprintf(`"limit":%d,"page":%d`, q.Limit, q.Page))
	}
	return fields
}

// randomOptions are the options of a type that has some, as members of its parameter.
func randomOptions(
	r *rand.Rand, typ *analytics.Type, conditions *analyticstest.Conditions,
	events []analyticstest.Event, q *analyticstest.Question,
) string {
	some := func() *analyticstest.Event { return &events[r.IntN(len(events))] }
	members, o := map[string]any{}, &q.Options
	maybe := func(name string, set func() any) {
		if r.IntN(3) > 0 {
			members[name] = set()
		}
	}
	text := func(to *string, value string) func() any {
		return func() any {
			*to = value
			return value
		}
	}
	switch typ.Name {
	case "paths":
		maybe("of", text(&o.Of, []string{"pages", "events", "both"}[r.IntN(3)]))
		maybe("start", text(&o.Start, []string{some().Path, some().Name}[r.IntN(2)]))
		maybe("depth", func() any { o.Depth = 1 + r.IntN(20); return o.Depth })
	case "retention":
		maybe("activation_event", text(&o.Activation, some().Name))
		maybe("return_event", text(&o.Return, some().Name))
		maybe("period", text(&o.Period, []string{"day", "week", "month"}[r.IntN(3)]))
	case "identified_profile_retention":
		members["activation_event"], members["return_event"] = text(&o.Activation, some().Name)(),
			text(&o.Return, some().Name)()
		o.HorizonDays = []int{7, 30}[r.IntN(2)]
		members["horizon_days"] = o.HorizonDays
		maybe("observation_end", func() any {
			last := q.End.AddDate(0, 0, r.IntN(40)-10).In(q.Zone)
			o.ObservationEnd = time.Date(last.Year(), last.Month(), last.Day()+1, 0, 0, 0, 0, q.Zone)
			return last.Format(time.DateOnly)
		})
	case "percentiles":
		members["property"] = text(&o.Property, []string{"price", "n", "time_on_page", "plan", "a.b", "none"}[r.IntN(6)])()
		maybe("percentiles", func() any {
			for range 1 + r.IntN(5) {
				o.Percentiles = append(o.Percentiles, []float64{0, 12.5, 50, 99.9, 100, float64(r.IntN(101))}[r.IntN(6)])
			}
			return o.Percentiles
		})
	case "funnel":
		members["steps"] = randomSteps(r, typ, conditions, some, q)
		maybe("window", func() any {
			seconds := []int{1, 3600, 86400, 20 * 86400, 90 * 86400}[r.IntN(5)]
			o.Window = time.Duration(seconds) * time.Second
			return seconds
		})
		maybe("per", func() any {
			o.PerSession = r.IntN(2) == 0
			return map[bool]string{true: "session", false: "visitor"}[o.PerSession]
		})
	}
	list := strings.TrimSuffix(strings.TrimPrefix(string(quoted(members)), "{"), "}")
	if list == "" {
		return ""
	}
	return "," + list
}

// randomSteps are those of a funnel: events, pages, filters and what holds of two of
// them at once.
func randomSteps(
	r *rand.Rand, typ *analytics.Type, conditions *analyticstest.Conditions,
	some func() *analyticstest.Event, q *analyticstest.Question,
) []any {
	var steps []any
	for i := range 2 + r.IntN(4) {
		step, label := map[string]any{}, ""
		var keeps []func(*analyticstest.Event) bool
		if kind := r.IntN(4); kind < 2 || some().Path == "" {
			name := some().Name
			step["event"], label = name, name
			keeps = append(keeps, func(e *analyticstest.Event) bool { return e.Name == name })
		} else if path := some().Path; path != "" && kind == 2 {
			step["path"], label = path, path
			keeps = append(keeps, func(e *analyticstest.Event) bool { return e.Path == path })
		}
		if len(step) == 0 || r.IntN(4) == 0 {
			c := conditions.Random(r, typ.Filters, 1)
			step["filters"] = []any{json.RawMessage(c.JSON)}
			keeps = append(keeps, c.Keep)
		}
		if label == "" {
			label = fmt.Sprint("Step ", i+1)
		}
		if r.IntN(3) == 0 {
			label = "called " + strconv.Itoa(i)
			step["name"] = label
		}
		steps = append(steps, step)
		q.Options.Steps = append(q.Options.Steps, analyticstest.Step{Label: label, Keep: func(e *analyticstest.Event) bool {
			return !slices.ContainsFunc(keeps, func(keep func(*analyticstest.Event) bool) bool { return !keep(e) })
		}})
	}
	return steps
}
