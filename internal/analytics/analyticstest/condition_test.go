package analyticstest_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
	"github.com/millrace/millrace/internal/testkit"
)

// richSet is a random set whose events have every field that can be filtered by,
// of users of whom something is known.
func richSet(r *rand.Rand, n int) []analyticstest.Event {
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	all := randomSet(r, n)
	for i := range all {
		e := &all[i]
		e.Path = pick(e.Path, "/s?q=a+b", "/s?q=é#top?x=1", "https://example.com/s?", "#?a=1")
		if e.Kind == "" {
			e.Properties = pick(e.Properties, e.Properties,
				`{"plan":"free","price":12.5,"n":3,"ok":true}`, `{"plan":"pro","price":"12.50","n":-4,"ok":false,"a.b":"x"}`,
				`{"plan":7,"n":"many","ok":"true","ü'\"":"q","":"e"}`, `{"price":1e21,"n":1.5e-7,"list":[1,"a"],"o":{"p":null}}`,
				`{"n":12345678901234567890123,"plan":"big","list":[-12345678901234567890123,1]}`,
				`{"list":[12345678901234567890123,22345678901234567890123,-9223372036854775809,18446744073709551616],"plan":"pro"}`,
				`{"n":1234567890123456789,"list":[-1234567890123456789,17999999999999999999,12345678901234567890123]}`,
				`{"n":18446744073709551615,"plan":""}`, `{"price":"inf","n":" 5","plan":"a\nb\\"}`)
		}
		if e.Web == nil {
			continue
		}
		for column, values := range map[string][]string{
			"host": {"", "example.com", "shop.example.com"}, "title": {"", "Über uns"},
			"browser_version": {"", "127.0", "128.0.1"}, "os_version": {"", "17.5"},
			"connection": {"", "4g"}, "language": {"", "de-AT", "en"}, "timezone": {"", "Europe/Vienna"},
			"screen": {"", "1920x1080", "390x844"}, "viewport": {"", "390x844", "1280x720"},
		} {
			e.Web[column] = pick(values...)
		}
		e.Numbers = map[string]float64{}
		for _, column := range []string{
			"scroll_depth", "interactions", "page_count", "load_time", "dom_ready", "dom_interactive", "ttfb", "render_time",
			"redirect_time", "lookup_time", "rtt", "downlink",
		} {
			if e.Kind == "" && r.IntN(2) == 0 {
				e.Numbers[column] = float64(r.IntN(80)) / 10
			}
			if n, there := e.Numbers[column]; there && (column == "interactions" || column == "page_count") {
				e.Numbers[column] = math.Floor(n)
			}
		}
		if e.Kind == "error" {
			e.Numbers["line"] = float64(r.IntN(3))
		}
	}
	return append(all, identities(r)...)
}

// identities tell of the users of randomSet, some things twice, and who visitors
// are.
func identities(r *rand.Rand) []analyticstest.Event {
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	var all []analyticstest.Event
	for i := range 40 {
		at := at("03-01 00:00:00").Add(time.Duration(i) * time.Hour)
		all = append(all, analyticstest.Event{
			Kind: "identity", Name: "identify", Organization: "org_1", Website: pick("web_1", "web_1", "web_2", ""),
			ID:   fmt.Sprint("identity ", i),
			Time: at, ReceivedAt: at, ProfileID: pick("p1", "p2", "p3"), AnonymousID: pick("", "a1", "a2", "a3"),
			Properties: pick(`{"plan":"pro"}`, `{"plan":"free","seats":5}`, `{"seats":12.5,"vip":true}`, `{"plan":null}`,
				`{"seats":"12","city'":"Graz"}`, `{"vip":false,"plan":"a\"b"}`),
		})
	}
	return all
}

// filteredTypes are asked with filters: together they read every table, by event
// and by session.
var filteredTypes = []string{"summary_metrics", "custom_events", "top_pages", "vitals_overview", "recent_errors"}

// withFilter asks a type with one filter and compares with the oracle.
func (s *server) withFilter(t *testing.T, typ string, organization bool, c analyticstest.Condition) {
	t.Helper()
	env, q := subject(organization)
	env.Now, q.Type, q.Limit = at("11-01 00:00:00"), typ, 5000
	preset(&q, "this_year", env.Now, "")
	q.Keep = []func(*analyticstest.Event) bool{c.Keep}
	s.check(t, fmt.Sprintf(`{"parameters":[%q],"preset":"this_year","limit":5000,"filters":[%s]}`, typ, c.JSON), env, q)
}

func TestEveryOperatorOfEveryFieldAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 11))
	s := newServer(t, richSet(r, 1500))
	conditions := analyticstest.NewConditions(s.events)
	questions := 1
	if testkit.Strict() {
		questions = 2
	}
	for _, name := range filteredTypes {
		typ := analytics.Lookup(name)
		for k, field := range typ.Filters {
			// One question has many comparisons of the field: what any of them, and what
			// none of the others keeps.
			for i := range questions {
				var some []analyticstest.Condition
				for range 3 {
					some = append(some, conditions.Random(r, []string{field}, 1))
				}
				s.withFilter(t, name, (i+k)%2 == 1,
					analyticstest.Any(some[0], analyticstest.All(some[1], analyticstest.Not(some[2]))))
				if t.Failed() {
					return
				}
			}
		}
	}
}

func TestNestedFiltersAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	questions := 60
	if testkit.Strict() {
		questions = 120
	}
	r := rand.New(rand.NewPCG(50, 8))
	s := newServer(t, richSet(r, 1500))
	conditions := analyticstest.NewConditions(s.events)
	for range questions {
		name := filteredTypes[r.IntN(len(filteredTypes))]
		s.withFilter(t, name, r.IntN(3) == 0, conditions.Random(r, analytics.Lookup(name).Filters, 4))
		if t.Failed() {
			return
		}
	}
}

// Numbers with a fraction are kept in 32 bits, in which 12.3 is a little more; counts are
// whole, and exact beyond what 32 bits of a fraction could tell apart.
func TestNumbersAreFilteredAsTheyWereSent(t *testing.T) {
	t.Parallel()
	sent := func(id string, e analyticstest.Event) analyticstest.Event {
		e.ID, e.Website, e.Organization = id, "web_1", "org_1"
		e.Time, e.ReceivedAt = at("03-29 10:00:00"), at("03-30 00:00:00")
		return e
	}
	s := newServer(t, []analyticstest.Event{
		sent("viewed", analyticstest.Event{
			Name: "screen_view", Web: map[string]string{}, Exit: -1,
			Numbers: map[string]float64{"ttfb": 12.3, "interactions": 16_777_217},
		}),
		sent("left", analyticstest.Event{Name: "page_exit", Properties: `{"time_on_page":12.3}`}),
		sent("told", analyticstest.Event{Name: "page_exit", Web: map[string]string{}, Exit: 12.3}),
	})
	env, _ := subject(false)
	env.Now = at("03-30 20:00:00")
	for _, tc := range []struct {
		field, op, value string
		want             float64
	}{
		{"ttfb", "eq", "12.3", 1},
		{"ttfb", "eq", `"12.3"`, 1},
		{"ttfb", "in", "[1.1,12.3]", 1},
		{"ttfb", "ne", "12.3", 2}, // the others have none
		{"ttfb", "lte", "12.3", 1},
		{"ttfb", "gte", "12.3", 1},
		{"ttfb", "gt", "12.3", 0},
		{"ttfb", "lt", "12.3", 0},
		{"ttfb", "eq", "12.30001", 0},
		{"ttfb", "lt", "1e300", 1},
		{"ttfb", "gt", "-1e300", 1},
		{"time_on_page", "eq", "12.3", 2},
		{"time_on_page", "lte", "12.3", 2},
		{"time_on_page", "gt", "12.3", 0},
		{"interactions", "eq", "16777217", 1},
		{"interactions", "eq", "16777216", 0},
	} {
		body := fmt.Sprintf(`{"parameters":["summary"],"preset":"last_7d","filters":[{"field":%q,"op":%q,"value":%s}]}`,
			tc.field, tc.op, tc.value)
		if got := s.ask(t, body, env)[0][0]["total_events"]; got != tc.want {
			t.Errorf("%s %s %s keeps %v events, want %v", tc.field, tc.op, tc.value, got, tc.want)
		}
	}
}

// What a filter keeps and what its opposite keeps are everything, once.
func TestFiltersPartitionTheEvents(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	s := newServer(t, richSet(r, 800))
	conditions := analyticstest.NewConditions(s.events)
	env, _ := subject(false)
	env.Now = at("11-01 00:00:00")
	count := func(filters string) float64 {
		body := `{"parameters":["summary"],"preset":"this_year","filters":[` + filters + `]}`
		return s.ask(t, body, env)[0][0]["total_events"].(float64)
	}
	all, some := count(""), 0
	for range 60 {
		c := conditions.Random(r, analytics.Lookup("summary").Filters, 2)
		kept, dropped := count(c.JSON), count(analyticstest.Not(c).JSON)
		if kept+dropped != all {
			t.Errorf("%s keeps %v and drops %v of %v", c.JSON, kept, dropped, all)
		}
		if kept > 0 && dropped > 0 {
			some++
		}
	}
	if some < 20 {
		t.Errorf("%d of 60 filters keep some events and drop others", some)
	}
}

// The largest expression that is accepted is one that the server runs.
func TestTheLargestExpressionsRun(t *testing.T) {
	t.Parallel()
	s := newServer(t, smallSet())
	env, _ := subject(false)
	env.Now = at("03-30 20:00:00")
	for _, pattern := range []string{
		strings.Repeat("[a-c]{833}", 3), strings.Repeat("x", analytics.MaxRegexLen), `\pL{3}`,
		"(" + strings.Repeat("a|", 200) + "b){3}", "(?i)" + strings.Repeat("k", 500),
	} {
		body := fmt.Sprintf(
			`{"parameters":["top_pages"],"preset":"last_7d","filters":[{"field":"path","op":"regex","value":%q}]}`, pattern)
		s.ask(t, body, env)
	}
}

// The longest text of a statement is that of a funnel that is compared, with as many
// comparisons of properties, each with numbers and texts, as there may be.
func TestTheLongestStatementsRun(t *testing.T) {
	t.Parallel()
	s := newServer(t, smallSet())
	env, _ := subject(true)
	env.Now = at("03-30 20:00:00")
	filters := make([]string, analytics.MaxFilters)
	for i := range filters {
		filters[i] = fmt.Sprintf(`{"field":"property:%d","op":"not_in","value":["a",%d]}`, i, i)
	}
	half := len(filters) / 2
	for _, body := range []string{
		`{"parameters":["summary","top_pages","session_list"],"preset":"last_7d","filters":[%[1]s,%[2]s]}`,
		`{"parameters":[{"name":"funnel","steps":[{"filters":[%[1]s]},{"filters":[%[2]s]}]}],"preset":"last_7d",` +
			`"compare":"previous_period","filters":[%[1]s,%[2]s]}`,
	} {
		s.ask(t, fmt.Sprintf(body, strings.Join(filters[:half], ","), strings.Join(filters[half:], ",")), env)
	}
}

// A class of characters that is accepted is one that the server has by this name.
func TestTheClassesThatAreAcceptedRun(t *testing.T) {
	t.Parallel()
	s := newServer(t, smallSet())
	env, _ := subject(false)
	env.Now = at("03-30 20:00:00")
	names := slices.Concat(slices.Sorted(maps.Keys(unicode.Scripts)), slices.Sorted(maps.Keys(unicode.Categories)),
		slices.Sorted(maps.Keys(unicode.CategoryAliases)), []string{"Any", "ASCII", "Assigned", "greek", "l"})
	body := func(filters ...string) string {
		return `{"parameters":["top_pages"],"preset":"last_7d","filters":[{"or":[` + strings.Join(filters, ",") + `]}]}`
	}
	var accepted []string
	for _, name := range names {
		filter := fmt.Sprintf(`{"field":"path","op":"regex","value":%q}`, `no\Q\p{x}\E\p{`+name+`}`)
		requests, batch, err := analytics.Decode([]byte(body(filter)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := analytics.Compile(requests, batch, env); err == nil {
			accepted = append(accepted, filter)
		}
	}
	if len(accepted) < len(names)/2 {
		t.Errorf("%d classes of %d names are accepted", len(accepted), len(names))
	}
	for some := range slices.Chunk(accepted, analytics.MaxFilters) {
		s.ask(t, body(some...), env)
	}
}

func TestEveryFieldIsAskedOfSomeType(t *testing.T) {
	t.Parallel()
	for i := range analytics.Fields {
		name := analytics.Fields[i].Name
		if tables := analytics.Fields[i].Tables; slices.Equal(tables, []string{"clicks"}) ||
			slices.Equal(tables, []string{"flag_exposures"}) {
			continue // TestClicksOfAHandMadeSet and TestExposuresOfAHandMadeSet do
		}
		if !slices.ContainsFunc(filteredTypes, func(typ string) bool {
			return slices.Contains(analytics.Lookup(typ).Filters,
				name)
		}) && name != "href" && name != "link_text" {
			t.Errorf("no test filters by %s", name)
		}
	}
}
