package analyticstest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// What holds between answers, whatever is right: these tests know nothing of what the
// measures mean.

// rangeOf is a range of the sets' days as members of a body.
func rangeOf(from, to time.Time) string {
	return fmt.Sprintf(`"startDate":%q,"endDate":%q,"limit":10000`,
		from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
}

var (
	springStart, springEnd = at("03-26 00:00:00"), at("04-03 00:00:00")
	whole                  = rangeOf(springStart, springEnd)
	ofWebsite              = analytics.Environment{
		Subject: analytics.Subject{Kind: analytics.Website, ID: "web_1"}, Now: at("04-02 12:00:00"),
	}
)

// plain are types that mean something without options and filters, and the time of
// which is the request's.
var plain = slices.DeleteFunc(slices.Clone(eventTypes), func(t analytics.Type) bool {
	required := slices.ContainsFunc(t.Options, func(o analytics.Option) bool { return o.Required })
	return required || len(t.Requires) > 0 || t.Today || t.Recent > 0
})

// sums adds up a column of each row by what tells the rows apart.
func sums(results [][]analyticstest.Row, key, column string) map[any]float64 {
	all := map[any]float64{}
	for _, rows := range results {
		for _, r := range rows {
			if n, _ := r[column].(float64); n > 0 {
				all[r[key]] += n
			}
		}
	}
	return all
}

// counts are columns that count events, each of which is of one row alone.
var counts = []struct{ typ, key, column string }{
	{"summary_metrics", "", "pageviews"},
	{"summary_metrics", "", "total_events"},
	{"events_by_date", "date", "pageviews"},
	{"top_pages", "name", "pageviews"},
	{"country", "name", "pageviews"},
	{"top_referrers", "name", "pageviews"},
	{"browser_versions", "browser_version", "pageviews"},
	{"custom_events", "name", "total_events"},
	{"custom_events_by_path", "name", "total_events"},
	{"custom_events_trends", "date", "total_events"},
	{"errors_by_type", "name", "count"},
	{"error_types", "name", "count"},
	{"vitals_overview", "metric_name", "samples"},
	{"outbound_domains", "domain", "total_clicks"},
}

func TestPartsAddUpToTheWhole(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	s := newServer(t, visitSet(r, 1500))
	cut := springStart.Add(time.Duration(r.Int64N(int64(8 * 24 * time.Hour)))).Truncate(time.Millisecond)
	value := func(op string) string {
		return `,"filters":[{"field":"country","op":"` + op + `","value":"AT"}]`
	}
	for _, tc := range counts {
		body := func(members string) [][]analyticstest.Row {
			return s.ask(t, fmt.Sprintf(`{"parameters":[%q],%s}`, tc.typ, members), ofWebsite)
		}
		want := sums(body(whole), tc.key, tc.column)
		if len(want) == 0 {
			t.Errorf("%s has nothing to count", tc.typ)
		}
		for name, parts := range map[string][]string{
			"two ranges":               {rangeOf(springStart, cut), rangeOf(cut, springEnd)},
			"a filter and its inverse": {whole + value("eq"), whole + value("ne")},
		} {
			got := sums(append(body(parts[0]), body(parts[1])...), tc.key, tc.column)
			if diff := diffOf(want, got); diff != "" {
				t.Errorf("%s of %s: the whole is not its parts by %s (-whole +parts):\n%s", tc.column, tc.typ, name, diff)
			}
		}
	}
}

func TestPagesAreOneListCutUp(t *testing.T) {
	t.Parallel()
	s := newServer(t, visitSet(rand.New(rand.NewPCG(3, 4)), 1500))
	for i := range plain {
		typ := &plain[i]
		if typ.SingleRow() {
			continue
		}
		for _, group := range []string{"", `"groupBy":["country"],`} {
			if group != "" && !slices.Contains(typ.Groups, "country") {
				continue
			}
			page := func(limit, n int) []analyticstest.Row {
				return s.ask(t, fmt.Sprintf(`{"parameters":[%q],%s%s,"page":%d}`,
					typ.Name, group, strings.ReplaceAll(whole, "10000", strconv.Itoa(limit)), n), ofWebsite)[0]
			}
			if diff := diffOf(page(6, 1), append(page(3, 1), page(3, 2)...)); diff != "" {
				t.Errorf("%s %s: (-one page +two pages):\n%s", typ.Name, group, diff)
			}
		}
	}
}

// What is sent again, and in whatever order it comes, changes nothing.
func TestDuplicatesAndLateEventsChangeNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	set := visitSet(r, 600)
	again := slices.Clone(set)
	for i := range again {
		again[i].ReceivedAt = again[i].ReceivedAt.Add(48 * time.Hour)
		if again[i].Kind == "identity" { // a later one tells something new
			again[i].ReceivedAt = set[i].ReceivedAt
		}
	}
	once, twice := newServer(t, set), newServer(t, slices.Concat(set, again))
	late := slices.Clone(set)
	r.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
	shuffled := newServer(t, late)
	for chunk := range slices.Chunk(plain, analytics.MaxParameters) {
		names := make([]string, len(chunk))
		for i := range chunk {
			names[i] = chunk[i].Name
		}
		body := fmt.Sprintf(`{"parameters":%s,%s}`, quoted(names), whole)
		want := once.ask(t, body, ofWebsite)
		for name, other := range map[string]*server{"sent twice": twice, "in another order": shuffled} {
			for i, got := range other.ask(t, body, ofWebsite) {
				if diff := diffOf(want[i], got); diff != "" {
					t.Errorf("%s, %s (-before +after):\n%s", chunk[i].Name, name, diff)
				}
			}
		}
	}
}

// A group has the rows that a question about its value alone has, but for shares,
// which are of everything.
func TestAGroupIsAQuestionAboutItsValue(t *testing.T) {
	t.Parallel()
	s := newServer(t, visitSet(rand.New(rand.NewPCG(7, 8)), 1500))
	for i := range plain {
		typ := &plain[i]
		if !slices.Contains(typ.Groups, "device_type") || typ.Series {
			continue
		}
		own := slices.ContainsFunc(typ.Columns, func(c analytics.Column) bool { return c.Name == "device_type" })
		grouped := s.ask(t, fmt.Sprintf(`{"parameters":[%q],"groupBy":"device_type",%s}`, typ.Name, whole), ofWebsite)[0]
		alone := s.ask(t, fmt.Sprintf(`{"parameters":[%q],"filters":[{"field":"device_type","op":"eq","value":"mobile"}],%s}`,
			typ.Name, whole), ofWebsite)[0]
		var of []analyticstest.Row
		for _, row := range grouped {
			if row["device_type"] == "mobile" {
				if !own {
					delete(row, "device_type")
				}
				delete(row, "percentage")
				of = append(of, row)
			}
		}
		for _, row := range alone {
			delete(row, "percentage")
		}
		inAnyOrder(of)
		inAnyOrder(alone)
		if len(of) == 0 {
			t.Errorf("%s has no such group", typ.Name)
		}
		if diff := diffOf(alone, of); diff != "" {
			t.Errorf("%s (-question +group):\n%s", typ.Name, diff)
		}
	}
}
