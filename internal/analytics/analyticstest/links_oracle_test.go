package analyticstest_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/analytics"
)

// linkQuestion is a question about a link, as plain Go answers it.
type linkQuestion struct {
	start, end time.Time
	zone       *time.Location
	layout     string // of the labels of buckets
	// keep is the filter; bots tells that it is by is_bot.
	keep func(*clicked) bool
	bots bool
}

func (c *clicked) time() time.Time { return at(c.at) }

// clicks are those of the range that the filter keeps; persons those that count.
func (q *linkQuestion) clicks(all []clicked) (clicks, persons []clicked) {
	for _, c := range all {
		if t := c.time(); !t.Before(q.start) && t.Before(q.end) && q.keep(&c) {
			clicks = append(clicks, c)
			if q.bots || !c.bot {
				persons = append(persons, c)
			}
		}
	}
	return clicks, persons
}

// unlike counts distinct texts, without the empty one.
func unlike(clicks []clicked, of func(*clicked) string) float64 {
	seen := map[string]bool{}
	for i := range clicks {
		if s := of(&clicks[i]); s != "" {
			seen[s] = true
		}
	}
	return float64(len(seen))
}

// byStep is a row for each bucket of the range, with what is counted in it.
func (q *linkQuestion) byStep(clicks []clicked, name string, count func([]clicked) float64) (rows []clickRow) {
	label := func(t time.Time) string { return t.In(q.zone).Format(q.layout) }
	in := map[string][]clicked{}
	for i := range clicks {
		l := label(clicks[i].time())
		in[l] = append(in[l], clicks[i])
	}
	var labels []string
	for t := q.start; t.Before(q.end); t = t.Add(time.Minute) {
		if l := label(t); !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	for _, l := range labels {
		rows = append(rows, clickRow{"date": l, name: count(in[l])})
	}
	return rows
}

// top is a row for each key, those with most clicks first and then in the order of keys; one
// that begins with nothing is left out unless empty is set.
func top(clicks []clicked, empty bool, key func(*clicked) [2]string, row func([]clicked) clickRow) (rows []clickRow) {
	of := map[[2]string][]clicked{}
	for i := range clicks {
		if k := key(&clicks[i]); empty || k[0] != "" {
			of[k] = append(of[k], clicks[i])
		}
	}
	keys := slices.SortedFunc(maps.Keys(of), func(a, b [2]string) int {
		return cmp.Or(len(of[b])-len(of[a]), strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	})
	for _, k := range keys {
		r := row(of[k])
		r["clicks"] = float64(len(of[k]))
		rows = append(rows, r)
	}
	return rows
}

func visitorOfClick(c *clicked) string { return c.visitor }

// hourOfClick tells visitors apart, and the UTC hours in which they clicked.
func hourOfClick(c *clicked) string {
	if c.visitor == "" {
		return ""
	}
	return c.visitor + c.time().Format(" 01-02 15")
}

func (q *linkQuestion) summary(clicks, persons []clicked) []clickRow {
	row := clickRow{
		"clicks": float64(len(persons)), "unique_clicks": unlike(persons, hourOfClick),
		"unique_visitors": unlike(persons, visitorOfClick), "bots": 0., "last_clicked": nil,
	}
	for _, c := range clicks {
		if c.bot {
			row["bots"] = row["bots"].(float64) + 1
		}
	}
	if len(persons) > 0 {
		last := slices.MaxFunc(persons, func(a, b clicked) int { return a.time().Compare(b.time()) })
		row["last_clicked"] = last.time().Format("2006-01-02T15:04:05.000Z")
	}
	return []clickRow{row}
}

// rows are what a type says. Countries are without their English names.
func (q *linkQuestion) rows(typ string, all []clicked) []clickRow {
	clicks, persons := q.clicks(all)
	total := func(c []clicked) float64 { return float64(len(c)) }
	name := func(of func(*clicked) string) []clickRow {
		return top(persons, false, func(c *clicked) [2]string { return [2]string{of(c)} },
			func(c []clicked) clickRow { return clickRow{"name": of(&c[0])} })
	}
	place := func(of func(*clicked) string) []clickRow {
		return top(persons, false, func(c *clicked) [2]string { return [2]string{of(c), c.country} },
			func(c []clicked) clickRow { return clickRow{"name": of(&c[0]), "country": c[0].country} })
	}
	switch typ {
	case "link_total_clicks":
		return []clickRow{{"total": total(persons)}}
	case "link_summary":
		return q.summary(clicks, persons)
	case "link_clicks_by_day":
		return q.byStep(persons, "clicks", total)
	case "link_referrers_by_day":
		return q.byStep(persons, "value",
			func(c []clicked) float64 { return unlike(c, func(c *clicked) string { return c.host }) })
	case "link_countries_by_day":
		return q.byStep(persons, "value",
			func(c []clicked) float64 { return unlike(c, func(c *clicked) string { return c.country }) })
	case "link_top_referrers":
		return top(persons, true, func(c *clicked) [2]string { return [2]string{c.host} }, func(c []clicked) clickRow {
			return clickRow{"name": cmp.Or(c[0].site, "Direct"), "referrer": c[0].host}
		})
	case "link_top_countries":
		return top(persons, false, func(c *clicked) [2]string { return [2]string{c.country} },
			func(c []clicked) clickRow { return clickRow{"country": c[0].country} })
	case "link_top_regions":
		return place(func(c *clicked) string { return c.region })
	case "link_top_cities":
		return place(func(c *clicked) string { return c.city })
	case "link_top_devices":
		return name(func(c *clicked) string { return c.device })
	case "link_top_browsers":
		return name(func(c *clicked) string { return c.browser })
	case "link_targets":
		return top(persons, true, func(c *clicked) [2]string { return [2]string{c.rule, c.variant} },
			func(c []clicked) clickRow {
				return clickRow{
					"rule_id": c[0].rule, "variant_id": c[0].variant, "unique_visitors": unlike(c, visitorOfClick),
				}
			})
	}
	return nil
}

// Every type about a link says what plain Go counts, whatever the range, the zone and the
// filter.
func TestLinkTypesAgreeWithPlainGo(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	clicks := randomClicks(r, 800)
	s := newClicks(t, clicks)
	filters := []struct {
		more string
		linkQuestion
	}{
		{"", linkQuestion{keep: func(*clicked) bool { return true }}},
		{filter("is_qr", "true"), linkQuestion{keep: func(c *clicked) bool { return c.qr }}},
		{filter("device_type", `"d1"`), linkQuestion{keep: func(c *clicked) bool { return c.device == "d1" }}},
		{filter("is_bot", "true"), linkQuestion{keep: func(c *clicked) bool { return c.bot }, bots: true}},
	}
	for n, name := range clickZones {
		q := filters[n%len(filters)]
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		q.zone, q.layout = zone, time.DateOnly
		granularity := "day"
		if n%2 == 1 && zone.String() != "Australia/Lord_Howe" { // whose hours are told twice
			granularity, q.layout = "hour", "2006-01-02 15:00:00"
		}
		q.start = clicksFrom.Add(time.Duration(r.IntN(3*24*60)) * time.Minute)
		q.end = q.start.Add(time.Duration(60+r.IntN(8*24*60)) * time.Minute)
		for i := range analytics.Catalog {
			typ := &analytics.Catalog[i]
			if typ.Subjects != analytics.Link {
				continue
			}
			body := fmt.Sprintf(`{"parameters":[%s],"startDate":%q,"endDate":%q,"granularity":%q,"limit":1000%s}`,
				strconv.Quote(typ.Name), q.start.Format(time.RFC3339), q.end.Format(time.RFC3339), granularity, q.more)
			got := s.ask(t, body, analytics.Environment{
				Subject: analytics.Subject{Kind: analytics.Link, ID: "lnk_1"}, Now: clicksUntil, TimeZone: name,
				Rollups: n%3 > 0,
			})[0]
			if typ.Name == "link_top_countries" {
				for _, row := range got {
					delete(row, "name")
				}
			}
			if diff := gocmp.Diff(q.rows(typ.Name, clicks), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("seed %d: %s in %q (-want +got):\n%s", seed, body, name, diff)
			}
		}
	}
}
