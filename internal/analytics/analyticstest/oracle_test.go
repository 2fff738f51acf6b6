package analyticstest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
	"github.com/millrace/millrace/internal/testkit"
)

// at reads a time of 2026 in UTC.
func at(s string) time.Time {
	t, err := time.Parse("01-02 15:04:05.000", s)
	if err != nil {
		t, err = time.Parse("01-02 15:04:05", s)
	}
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in this file
	}
	return t.AddDate(2026, 0, 0)
}

// smallSet is a day's worth of every case that a measure distinguishes, around
// the night on which Berlin's clocks go forward.
func smallSet() []analyticstest.Event {
	received := at("04-01 00:00:00")
	var all []analyticstest.Event
	add := func(e analyticstest.Event) {
		e.Website, e.Organization, e.ReceivedAt = "web_1", "org_1", received
		e.ID = fmt.Sprint("event ", len(all))
		all = append(all, e)
	}
	view := func(time, session, visitor, path string) {
		add(analyticstest.Event{Name: "screen_view", Time: at(time), SessionID: session, AnonymousID: visitor, Path: path})
	}
	exit := func(time, session, visitor, path, properties string) {
		add(analyticstest.Event{
			Name: "page_exit", Time: at(time), SessionID: session, AnonymousID: visitor, Path: path, Properties: properties,
		})
	}
	// s1 bounces: one view, nine seconds by its page exit.
	view("03-28 23:30:00", "s1", "a", "/")
	exit("03-28 23:50:00", "s1", "a", "/", `{"time_on_page":9}`)
	// s2 does not: ten seconds.
	view("03-29 00:10:00", "s2", "b", "/")
	exit("03-29 00:10:05", "s2", "b", "/", `{"time_on_page":10}`)
	// s3 does not: something else happened.
	view("03-29 01:30:00", "s3", "c", "/pricing")
	add(analyticstest.Event{
		Name: "signup", Time: at("03-29 01:30:01.500"), SessionID: "s3", AnonymousID: "c", Path: "/pricing",
		Namespace: "shop", Source: "browser", Properties: `{"plan":"pro","a.b":1}`,
	})
	// s4 has two views and no exit: its duration is the time between.
	view("03-29 12:00:00", "s4", "d", "/")
	view("03-29 12:01:40.250", "s4", "d", "/docs")
	// s5 bounces by the time between its events; a negative time is no time.
	view("03-29 22:05:00", "s5", "e", "/")
	exit("03-29 22:05:08", "s5", "e", "/", `{"time_on_page":-5,"x":[1,{"y":"ü"}]}`)
	// A link is something else; no path; no session; no visitor.
	view("03-30 08:00:00", "s6", "", "")
	add(analyticstest.Event{Name: "link_out", Time: at("03-30 08:00:01"), SessionID: "s6"})
	add(
		analyticstest.Event{Name: "invoice", Time: at("03-30 09:00:00"), ProfileID: "p1", Source: "server", Properties: `{}`})
	add(analyticstest.Event{
		Name: "invoice", Time: at("03-30 09:00:00.001"), ProfileID: "p1", AnonymousID: "p1", Source: "server",
	})
	add(analyticstest.Event{
		Name: "signup", Time: at("03-30 10:00:00"), ProfileID: "p2", AnonymousID: "c", Properties: `{"plan":"free"}`,
	})
	// The first sending of an event is the one that counts, wherever the second
	// one says it happened on that day.
	resent := all[0]
	resent.ReceivedAt, resent.Path, resent.Time = received.Add(time.Second), "/other", at("03-28 05:00:00")
	all = append(all, resent)
	// Other owners.
	add(analyticstest.Event{Name: "screen_view", Time: at("03-29 10:00:00"), SessionID: "s1", AnonymousID: "z", Path: "/"})
	all[len(all)-1].Website = "web_2"
	add(analyticstest.Event{Name: "signup", Time: at("03-29 11:00:00"), ProfileID: "p9"})
	all[len(all)-1].Website = ""
	add(analyticstest.Event{Name: "screen_view", Time: at("03-29 10:00:00"), SessionID: "s8", AnonymousID: "y", Path: "/"})
	all[len(all)-1].Website, all[len(all)-1].Organization = "web_9", "org_9"
	// One user is told of twice, the first time long before the range.
	for i, traits := range []string{`{"name":"Ada","email":"ada@example.com"}`, `{"display_name":"Ada L."}`} {
		add(analyticstest.Event{
			Kind: "identity", Name: "identify", Time: at("03-01 06:00:00").AddDate(0, 0, 28*i), ProfileID: "p1",
			Properties: traits,
		})
	}
	return all
}

func TestMeasuresOfAHandMadeSet(t *testing.T) {
	t.Parallel()
	s := newServer(t, smallSet())
	env := analytics.Environment{
		Subject: analytics.Subject{Kind: analytics.Website, ID: "web_1"}, Now: at("03-30 20:00:00"),
		TimeZone: "Europe/Berlin",
	}
	body := `{"parameters":["summary","pages","events_by_date","custom_events","custom_events_summary","custom_events_by_path"],"startDate":"2026-03-29","endDate":"2026-03-30"}`
	got := s.ask(t, body, env)
	// Counted by hand; the first events of s1 and s2 lie on Berlin's 29 March.
	want := [][]analyticstest.Row{
		{{
			"pageviews": 7., "unique_visitors": 6., "sessions": 6., "bounce_rate": 33.33, "median_session_duration": 8.5,
			"total_events": 15.,
		}},
		{
			{"name": "/", "pageviews": 4., "visitors": 4., "percentage": 57.14},
			{"name": "/docs", "pageviews": 1., "visitors": 1., "percentage": 14.29},
			{"name": "/pricing", "pageviews": 1., "visitors": 1., "percentage": 14.29},
		},
		{
			{
				"date": "2026-03-29", "pageviews": 5., "visitors": 4., "sessions": 4., "bounce_rate": 25.,
				"median_session_duration": 9.5, "pages_per_session": 1.25,
			},
			{
				"date": "2026-03-30", "pageviews": 2., "visitors": 3., "sessions": 2., "bounce_rate": 50.,
				"median_session_duration": 4.5, "pages_per_session": 1.,
			},
		},
		{
			{
				"name": "invoice", "total_events": 2., "unique_users": 2., "unique_sessions": 0., "events_with_properties": 0.,
				"percentage": 50., "first_occurrence": "2026-03-30T09:00:00.000Z", "last_occurrence": "2026-03-30T09:00:00.001Z",
			},
			{
				"name": "signup", "total_events": 2., "unique_users": 1., "unique_sessions": 1., "events_with_properties": 2.,
				"percentage": 50., "first_occurrence": "2026-03-29T01:30:01.500Z", "last_occurrence": "2026-03-30T10:00:00.000Z",
			},
		},
		{{"total_events": 4., "unique_event_types": 2., "unique_users": 3., "unique_sessions": 1., "unique_pages": 1.}},
		{{"name": "/pricing", "total_events": 1., "unique_event_types": 1., "unique_users": 1.}},
	}
	if diff := diffOf(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestEveryTypeAgreesWithTheOracleOnTheHandMadeSet(t *testing.T) {
	t.Parallel()
	s := newServer(t, smallSet())
	for i := range eventTypes {
		typ := &eventTypes[i]
		if len(typ.Requires) > 0 || slices.ContainsFunc(typ.Options, func(o analytics.Option) bool { return o.Required }) {
			continue
		}
		for _, organization := range []bool{false, true} {
			if organization && typ.Subjects&analytics.Organization == 0 {
				continue
			}
			for _, zone := range handZones(typ, i, organization) {
				env, q := subject(organization)
				env.TimeZone, env.Now = zone, at("03-30 20:00:00")
				q.Type = typ.Name
				preset(&q, "last_7d", env.Now, zone)
				s.check(t, `{"parameters":["`+q.Type+`"],"preset":"last_7d"}`, env, q)
			}
		}
	}
}

// handZones are those in which the type of a number is asked. Days begin with those of
// the tables that count ahead, or within them, which are different statements; in which
// zone they do are other values of the same, but for what is cut into days. The quiet
// tier asks in all.
func handZones(typ *analytics.Type, number int, organization bool) []string {
	others := []string{"Europe/Berlin", "Asia/Kolkata", "America/Los_Angeles", "Australia/Lord_Howe", "Pacific/Kiritimati"}
	if !testkit.Strict() && (organization || !typ.Series) {
		if organization {
			number++
		}
		others = others[number%len(others):][:1]
	}
	return append([]string{""}, others...)
}

// eventTypes are the types that are answered from events, which the oracle knows. Those of
// links have one of their own (linkQuestion), those of flags are counted by hand
// (handMadeExposures), and what ingestion tells of itself is for tests/component/ingestion.
var eventTypes = slices.DeleteFunc(slices.Clone(analytics.Catalog), func(t analytics.Type) bool {
	return t.Category == "Ingestion" || t.Category == "Feature flags" || t.Subjects == analytics.Link
})

func subject(organization bool) (analytics.Environment, analyticstest.Question) {
	if organization {
		return analytics.Environment{Subject: analytics.Subject{Kind: analytics.Organization, ID: "org_1"}},
			analyticstest.Question{Organization: "org_1"}
	}
	return analytics.Environment{Subject: analytics.Subject{Kind: analytics.Website, ID: "web_1"}},
		analyticstest.Question{Website: "web_1"}
}

// preset sets the range of a preset. No zone of these tests changes its clocks at
// midnight in the years they use, so package time's midnight is the day's start.
func preset(q *analyticstest.Question, name string, now time.Time, zone string) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in this file
	}
	n := now.In(loc)
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, loc) }
	y, m, d := n.Date()
	sunday := d - int(n.Weekday())
	q.Zone, q.End = loc, day(y, m, d+1)
	switch name {
	case "today":
		q.Start = day(y, m, d)
	case "yesterday":
		q.Start, q.End = day(y, m, d-1), day(y, m, d)
	case "last_7d":
		q.Start = day(y, m, d-6)
	case "last_14d":
		q.Start = day(y, m, d-13)
	case "last_30d":
		q.Start = day(y, m, d-29)
	case "last_90d":
		q.Start = day(y, m, d-89)
	case "this_week":
		q.Start, q.End = day(y, m, sunday), day(y, m, sunday+7)
	case "last_week":
		q.Start, q.End = day(y, m, sunday-7), day(y, m, sunday)
	case "this_month":
		q.Start, q.End = day(y, m, 1), day(y, m+1, 1)
	case "last_month":
		q.Start, q.End = day(y, m-1, 1), day(y, m, 1)
	case "this_year":
		q.Start, q.End = day(y, 1, 1), day(y+1, 1, 1)
	default:
		panic(name) //nolint:forbidigo // a mistake in this file
	}
}

// randomSet makes events of two websites over the days around both changes of
// the clocks, with values drawn from few, so that groups are large.
func randomSet(r *rand.Rand, n int) []analyticstest.Event {
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	received := at("11-05 00:00:00")
	all := make([]analyticstest.Event, 0, n)
	for i := range n {
		day := at("03-26 00:00:00")
		if r.IntN(2) == 0 {
			day = at("10-23 00:00:00")
		}
		e := analyticstest.Event{
			Organization: "org_1", Website: pick("web_1", "web_1", "web_1", "web_2", ""), ID: strconv.Itoa(i),
			Name: pick("screen_view", "screen_view", "screen_view", "page_exit", "page_exit", "link_out",
				"signup", "buy 100% 'now'"),
			Time: day.Add(time.Duration(r.Int64N(int64(8 * 24 * time.Hour)))).Truncate(time.Millisecond),
			Path: pick("", "/", "/a", "/a/b", "/ü?x=1&y=%41"), Namespace: pick("", "shop", "shop2"),
			Source:      pick("", "browser", "server"),
			AnonymousID: pick("", "a1", "a2", "a3", "a4"), ProfileID: pick("", "", "p1", "p2"),
			Properties: pick("", "{}", `{"plan":"pro"}`, `{"time_on_page":3.25,"plan":null}`, `{"time_on_page":41}`,
				`{"k'\\\t":{"deep":[1,2]}}`),
			ReceivedAt: received.Add(time.Duration(i) * time.Second),
		}
		if s := r.IntN(120); s > 10 {
			e.SessionID = fmt.Sprint("s", s)
		}
		randomWeb(r, &e)
		all = append(all, e)
		if r.IntN(10) == 0 { // sent again, later, with another visitor and time of that day
			e.ReceivedAt, e.AnonymousID = e.ReceivedAt.Add(time.Hour), "again"
			e.Time = e.Time.Truncate(24 * time.Hour).Add(
				time.Duration(r.Int64N(int64(24 * time.Hour)))).Truncate(time.Millisecond)
			all = append(all, e)
		}
	}
	return all
}

// randomWeb gives most events what browsers tell, and makes measurements and
// errors of some.
func randomWeb(r *rand.Rand, e *analyticstest.Event) {
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	if r.IntN(3) == 0 {
		return
	}
	e.Web, e.Exit = map[string]string{
		"browser": pick("", "Firefox", "Chrome"), "os": pick("", "Windows", "iOS"), "device": pick("desktop", "mobile"),
		"country": pick("", "AT", "US", "XX"), "region": pick("", "Styria", "Victoria"), "city": pick("", "Graz", "Vienna"),
		"referrer_kind": pick("", "direct", "internal", "search", "other"), "referrer_name": pick("", "Google", "Bing"),
		"referrer_host": pick("", "google.com", "example.org"),
		"referrer":      pick("", "https://google.com/", "https://example.org/a"),
		"utm_source":    pick("", "newsletter", "x"), "utm_medium": pick("", "email"),
		"utm_campaign": pick("", "spring", "fall"),
		"utm_term":     pick("", "shoes"), "utm_content": pick("", "footer", "top"),
	}, -1
	switch r.IntN(6) {
	case 0:
		e.Kind, e.Name, e.Value = "vital", pick("LCP", "LCP", "CLS", "FCP", "INP", "TTFB", "FPS"), float64(r.IntN(4000))/8
	case 1:
		e.Kind, e.Name = "error", pick("TypeError", "Error")
		e.Web["message"], e.Web["stack"] = pick("m", "x is \"y\"", "x is 'é'", "can't read 'b' of 0x1F",
			"can't read '' of 7"), pick("", "a\nb")
		e.Web["filename"] = pick("", "https://example.com/app.js", "https://example.com/app.js?v=2#x", "/app.js")
	case 2:
		e.Name = pick("outgoing_link", "link_out")
		e.Web["href"], e.Web["link_text"] = pick("", "https://www.Example.org/a", "https://example.org/b", "mailto:a@b.c"),
			pick("", "more")
	default:
		if e.Name == "page_exit" && r.IntN(2) == 0 {
			e.Exit = float64(r.IntN(100)) / 4
		}
	}
}

// granularities are what the range of a question may be cut into.
func granularities(q *analyticstest.Question) []string {
	days := int(q.End.Sub(q.Start).Hours()) / 24
	switch {
	case days <= 1 && q.End.Sub(q.Start) <= 25*time.Hour:
		return []string{"minute", "hour", "day", "week", "month"}
	case days < 30:
		return []string{"hour", "day", "week", "month"}
	}
	return []string{"day", "week", "month"}
}

// zones are those of random questions.
var zones = []string{
	"", "UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "Australia/Lord_Howe", "America/St_Johns",
	"Pacific/Chatham",
}

// nows are when they are asked.
var nows = []time.Time{at("03-29 01:00:00"), at("04-01 23:30:00"), at("10-25 01:30:00"), at("10-31 12:00:00")}
