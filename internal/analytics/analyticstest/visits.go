package analyticstest

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// visitResults are those about sessions, pages and this moment.
var visitResults = map[string]result{
	"today_metrics": {rows: todayMetrics, single: true, today: true},
	"active_stats":  {rows: activeStats, single: true, recent: 5 * time.Minute},

	"page_performance": {rows: topPages, order: "visitors", limit: 100, about: isView, share: "pageviews"},
	"entry_pages": {
		rows: edgePages(first), order: "pageviews", limit: 100, share: "pageviews", whole: sessionsWithViews,
	},
	"exit_pages": {
		rows: edgePages(last), order: "pageviews", limit: 100, share: "pageviews", whole: sessionsWithViews,
	},
	"page_time_analysis": {rows: pageTimes, order: "sessions_with_time", limit: 100, about: isTimed, share: partOf},

	"session_metrics": {rows: sessionMetrics, single: true},
	"session_duration_distribution": {
		rows: durations, order: "duration_range", ascending: true, limit: 100, ranks: durationRanges,
	},
	"sessions_by_device":   {rows: sessionsBy(web("device")), order: "sessions", limit: 100},
	"sessions_by_browser":  {rows: sessionsBy(web("browser")), order: "sessions", limit: 100},
	"sessions_time_series": {rows: sessionSeries, order: "date", ascending: true, limit: 10_000},
	"session_pages":        {rows: sessionPages, order: "sessions", limit: 100},

	"realtime_pages":     {rows: realtimePages, order: "visitors", limit: 100, recent: 5 * time.Minute},
	"realtime_referrers": {rows: realtimeReferrers, order: "visitors", limit: 100, recent: 5 * time.Minute},
	"realtime_countries": {rows: realtimeCountries, order: "visitors", limit: 100, recent: 5 * time.Minute},
	"realtime_cities":    {rows: realtimeCities, order: "visitors", limit: 100, recent: 5 * time.Minute},
	"realtime_feed":      {rows: realtimeFeed, order: "timestamp", limit: 50, recent: 30 * time.Minute},
	"realtime_sessions":  {rows: realtimeSessions, order: "last_seen", limit: 100, recent: 30 * time.Minute},
	"realtime_velocity":  {rows: velocity, order: "minute", ascending: true, limit: 100, recent: 30 * time.Minute},
}

func web(column string) func(*Event) string {
	return func(e *Event) string { return e.Web[column] }
}

func inSession(e *Event) bool { return e.SessionID != "" }

// inOrder are events as they happened.
func inOrder(events []Event) []Event {
	return slices.SortedFunc(slices.Values(events), func(a, b Event) int { return a.Time.Compare(b.Time) })
}

func first(events []Event) *Event { return &inOrder(events)[0] }

func last(events []Event) *Event { return &inOrder(events)[len(events)-1] }

// told is the first value that is not empty, in the order of the events.
func told(events []Event, get func(*Event) string) string {
	for i := range events {
		if v := get(&events[i]); v != "" {
			return v
		}
	}
	return ""
}

func reversed(events []Event) []Event {
	events = slices.Clone(events)
	slices.Reverse(events)
	return events
}

func todayMetrics(events []Event, _ *Question) []Row {
	return []Row{{
		"pageviews": count(events, isView), "visitors": distinct(events, visitorOf), "sessions": distinct(events, sessionOf),
	}}
}

func activeStats(events []Event, _ *Question) []Row {
	return []Row{{"active_users": distinct(events, visitorOf), "active_sessions": distinct(events, sessionOf)}}
}

// edgePages are the pages of the first or last page view of each session.
func edgePages(edge func([]Event) *Event) func([]Event, *Question) []Row {
	return func(events []Event, q *Question) []Row {
		ids, groups := group(only(only(events, isView), inSession), sessionOf)
		var views []Event
		for _, id := range ids {
			views = append(views, *edge(groups[id]))
		}
		return topPages(views, q)
	}
}

func sessionsWithViews(events []Event, _ *Question) int {
	return int(distinct(only(events, isView), sessionOf))
}

// isTimed reports whether an event tells how long a page was open.
func isTimed(e *Event) bool {
	s, ok := secondsOnPage(e)
	return e.Name == "page_exit" && ok && s >= 0
}

func pageTimes(events []Event, _ *Question) []Row {
	exits := only(events, isTimed)
	var rows []Row
	paths, groups := group(exits, pathOf)
	for _, p := range paths {
		if p == "" {
			continue
		}
		var times []float64
		for i := range groups[p] {
			s, _ := secondsOnPage(&groups[p][i])
			times = append(times, s)
		}
		rows = append(rows, Row{
			"name": p, "sessions_with_time": distinct(groups[p], sessionOf), "visitors": distinct(groups[p], visitorOf),
			"median_time_on_page": round2(median(times)), "percentage": share(len(groups[p]), len(exits)),
			partOf: float64(len(groups[p])),
		})
	}
	return rows
}

func sessionMetrics(events []Event, _ *Question) []Row {
	f := factsOf(events)
	mean := 0.0
	for _, d := range f.durations { // whole milliseconds, whose sum does not depend on their order
		mean += math.RoundToEven(d * 1000)
	}
	if f.sessions > 0 {
		mean = mean / f.sessions / 1000
	}
	return []Row{{
		"total_sessions": f.sessions, "avg_session_duration": round2(mean), "bounce_rate": f.bounceRate(),
		"total_events": float64(len(events)),
	}}
}

var durationRanges = map[string]int{"0-30s": 1, "30s-1m": 2, "1m-5m": 3, "5m-15m": 4, "15m-1h": 5, "1h+": 6}

func durations(events []Event, _ *Question) []Row {
	rangeOf := func(d float64) string {
		switch {
		case d < 30:
			return "0-30s"
		case d < 60:
			return "30s-1m"
		case d < 300:
			return "1m-5m"
		case d < 900:
			return "5m-15m"
		case d < 3600:
			return "15m-1h"
		}
		return "1h+"
	}
	in := map[string][]Event{}
	_, groups := group(only(events, inSession), sessionOf)
	for _, session := range groups {
		in[rangeOf(duration(session))] = append(in[rangeOf(duration(session))], session...)
	}
	var rows []Row
	for name, of := range in {
		rows = append(rows,
			Row{"duration_range": name, "sessions": distinct(of, sessionOf), "visitors": distinct(of, visitorOf)})
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Compare(durationRanges[a["duration_range"].(string)], durationRanges[b["duration_range"].(string)])
	})
	return rows
}

// counted are rows of sessions and visitors per value of what events have.
func counted(events []Event, column string, get func(*Event) string) []Row {
	var rows []Row
	values, groups := group(events, get)
	for _, v := range values {
		if v != "" {
			rows = append(rows,
				Row{column: v, "sessions": distinct(groups[v], sessionOf), "visitors": distinct(groups[v], visitorOf)})
		}
	}
	return rows
}

func sessionsBy(get func(*Event) string) func([]Event, *Question) []Row {
	return func(events []Event, _ *Question) []Row { return counted(only(events, inSession), "name", get) }
}

func sessionPages(events []Event, _ *Question) []Row {
	return counted(only(only(events, inSession), isView), "name", pathOf)
}

func sessionSeries(events []Event, q *Question) []Row {
	return series(events, q, func(events []Event) Row {
		return Row{"sessions": distinct(events, sessionOf), "visitors": distinct(events, visitorOf)}
	})
}

// visitorsBy are the rows of counted without their sessions.
func visitorsBy(events []Event, column string, get func(*Event) string) []Row {
	rows := counted(events, column, get)
	for _, r := range rows {
		delete(r, "sessions")
	}
	return rows
}

func realtimePages(events []Event, _ *Question) []Row {
	views := only(events, isView)
	rows := visitorsBy(views, "path", pathOf)
	for _, r := range rows {
		r["pageviews"] = count(views, func(e *Event) bool { return e.Path == r["path"] })
	}
	return rows
}

func realtimeReferrers(events []Event, _ *Question) []Row {
	views := only(events, func(e *Event) bool { return isView(e) && e.Web["referrer_kind"] != "internal" })
	// One without a name, which nothing calls so but the tests, is left out by counted.
	rows := visitorsBy(views, "referrer", func(e *Event) string { return "=" + nameOfReferrer(e) })
	for _, r := range rows {
		r["referrer"] = r["referrer"].(string)[1:]
	}
	return rows
}

func realtimeCountries(events []Event, _ *Question) []Row {
	rows := visitorsBy(events, "name", web("country"))
	for _, r := range rows {
		r["name"] = countryNames[r["name"].(string)]
	}
	return rows
}

func realtimeCities(events []Event, _ *Question) []Row {
	var rows []Row
	cities, groups := group(events, web("city"))
	for _, c := range cities {
		if c == "" {
			continue
		}
		countries, of := group(groups[c], web("country"))
		for _, code := range countries {
			rows = append(rows, Row{"city": c, "country": countryNames[code], "visitors": distinct(of[code], visitorOf)})
		}
	}
	return rows
}

func realtimeFeed(events []Event, _ *Question) []Row {
	var rows []Row
	for _, e := range events {
		rows = append(rows, Row{
			"event_name": e.Name, "path": e.Path, "country": e.Web["country"], "browser_name": e.Web["browser"],
			"timestamp": instant(e.Time),
		})
	}
	return rows
}

func realtimeSessions(events []Event, q *Question) []Row {
	var rows []Row
	ids, groups := group(only(events, inSession), sessionOf)
	for _, id := range ids {
		latest := reversed(inOrder(groups[id]))
		if latest[0].Time.Before(q.Now.Add(-5 * time.Minute)) {
			continue
		}
		page := told(only(latest, isView), pathOf)
		rows = append(rows, Row{
			"session_id": id, "current_page": cmp.Or(page, told(latest, pathOf)), "country": told(latest, web("country")),
			"device_type": told(latest, web("device")), "pages_viewed": count(latest, isView),
			"last_seen": instant(latest[0].Time),
		})
	}
	return rows
}

func velocity(events []Event, q *Question) []Row {
	q.Granularity = "minute"
	rows := series(events, q, func(events []Event) Row {
		return Row{
			"pageviews": count(events, isView), "events": float64(len(events)), "visitors": distinct(events, visitorOf),
		}
	})
	for _, r := range rows {
		r["minute"] = r["date"]
		delete(r, "date")
	}
	return rows
}
