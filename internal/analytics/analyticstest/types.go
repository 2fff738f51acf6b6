package analyticstest

import (
	"slices"
	"time"
)

// sessionFacts are what the summary says about sessions.
type sessionFacts struct {
	sessions, bounced, views float64
	durations                []float64
}

func factsOf(events []Event) sessionFacts {
	var f sessionFacts
	ids, groups := group(events, sessionOf)
	for _, id := range ids {
		if id == "" {
			continue
		}
		of := groups[id]
		views, d := count(of, isView), duration(of)
		quiet := count(of, func(e *Event) bool { return !isView(e) && e.Name != "page_exit" }) == 0
		f.sessions++
		f.views += views
		f.durations = append(f.durations, d)
		if views == 1 && d < 10 && quiet {
			f.bounced++
		}
	}
	return f
}

// duration is in seconds.
func duration(session []Event) float64 {
	total, timed := 0.0, false
	first, last := session[0].Time, session[0].Time
	for i := range session {
		e := &session[i]
		if e.Time.Before(first) {
			first = e.Time
		}
		if e.Time.After(last) {
			last = e.Time
		}
		if s, ok := secondsOnPage(e); ok && e.Name == "page_exit" && s >= 0 {
			total, timed = total+s, true
		}
	}
	if timed {
		return total
	}
	return float64(last.Sub(first).Milliseconds()) / 1000
}

// secondsOnPage is what a browser told, else the property that servers send.
func secondsOnPage(e *Event) (s float64, ok bool) {
	if e.Web != nil && e.Exit >= 0 {
		return e.Exit, true
	}
	s, ok = properties(e.Properties)["time_on_page"].(float64)
	return s, ok
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	lo, hi := v[(len(v)-1)/2], v[len(v)/2]
	return lo + (hi-lo)/2
}

func (f sessionFacts) bounceRate() float64 {
	if f.sessions == 0 {
		return 0
	}
	return round2(100 * f.bounced / f.sessions)
}

func summary(events []Event, _ *Question) []Row {
	f := factsOf(events)
	return []Row{{
		"pageviews": count(events, isView), "unique_visitors": distinct(events, visitorOf), "sessions": f.sessions,
		"bounce_rate": f.bounceRate(), "median_session_duration": round2(median(f.durations)),
		"total_events": float64(len(events)),
	}}
}

func byDate(events []Event, q *Question) []Row {
	return series(events, q, func(events []Event) Row {
		f := factsOf(events)
		perSession := 0.0
		if f.sessions > 0 {
			perSession = round2(f.views / f.sessions)
		}
		return Row{
			"pageviews": count(events, isView), "visitors": distinct(events, visitorOf), "sessions": f.sessions,
			"bounce_rate": f.bounceRate(), "median_session_duration": round2(median(f.durations)),
			"pages_per_session": perSession,
		}
	})
}

// series has a row for each different minute, hour, day, week or month on the clock
// of the zone, found by walking through the range. The offset tells what is repeated
// when clocks go back apart.
func series(events []Event, q *Question, measure func([]Event) Row) []Row {
	type bucket struct {
		of     string
		offset int
	}
	of := func(t time.Time) bucket {
		t = t.In(q.Zone)
		_, offset := t.Zone()
		switch q.Granularity {
		case "minute":
			return bucket{t.Format("2006-01-02 15:04"), offset}
		case "hour":
			return bucket{t.Format("2006-01-02 15"), offset}
		case "week": // of which Sunday
			return bucket{of: t.AddDate(0, 0, -int(t.Weekday())).Format("2006-01-02")}
		case "month":
			return bucket{of: t.Format("2006-01")}
		}
		return bucket{of: t.Format("2006-01-02")}
	}
	in := map[bucket][]Event{}
	for _, e := range events {
		in[of(e.Time)] = append(in[of(e.Time)], e)
	}
	step, label := 15*time.Minute, "2006-01-02"
	switch q.Granularity {
	case "minute":
		step, label = time.Minute, "2006-01-02 15:04:00"
	case "hour":
		label = "2006-01-02 15:00:00"
	}
	var rows []Row
	var last bucket
	for t := q.Start; t.Before(q.End); t = t.Add(step) {
		if b := of(t); b != last && (len(in[b]) > 0 || len(q.GroupBy) == 0) {
			row := measure(in[b])
			row["date"] = t.In(q.Zone).Format(label)
			rows, last = append(rows, row), b
		}
	}
	return rows
}

func topPages(events []Event, _ *Question) []Row {
	views := only(events, isView)
	var rows []Row
	paths, groups := group(views, pathOf)
	for _, p := range paths {
		if p != "" {
			rows = append(rows, Row{
				"name": p, "pageviews": float64(len(groups[p])), "visitors": distinct(groups[p], visitorOf),
				"percentage": share(len(groups[p]), len(views)),
			})
		}
	}
	return rows
}

func customEvents(events []Event, _ *Question) []Row {
	custom := only(events, isCustom)
	var rows []Row
	names, groups := group(custom, nameOf)
	for _, n := range names {
		of := groups[n]
		first, last := of[0].Time, of[0].Time
		for _, e := range of {
			if e.Time.Before(first) {
				first = e.Time
			}
			if e.Time.After(last) {
				last = e.Time
			}
		}
		rows = append(rows, Row{
			"name": n, "total_events": float64(len(of)), "unique_users": distinct(of, personOf),
			"unique_sessions": distinct(of, sessionOf), "first_occurrence": instant(first), "last_occurrence": instant(last),
			"events_with_properties": count(of, func(e *Event) bool { return len(properties(e.Properties)) > 0 }),
			"percentage":             share(len(of), len(custom)),
		})
	}
	return rows
}

func customMeasures(events []Event) Row {
	custom := only(events, isCustom)
	return Row{
		"total_events": float64(len(custom)), "unique_event_types": distinct(custom, nameOf),
		"unique_users":    distinct(custom, personOf),
		"unique_sessions": distinct(custom, sessionOf), "unique_pages": distinct(custom, pathOf),
	}
}

func customSummary(events []Event, _ *Question) []Row { return []Row{customMeasures(events)} }

func customTrends(events []Event, q *Question) []Row {
	return series(only(events, isCustom), q, customMeasures)
}

func customByPath(events []Event, _ *Question) []Row {
	var rows []Row
	paths, groups := group(only(events, isCustom), pathOf)
	for _, p := range paths {
		if of := groups[p]; p != "" {
			rows = append(rows, Row{
				"name": p, "total_events": float64(len(of)), "unique_event_types": distinct(of, nameOf),
				"unique_users": distinct(of, personOf),
			})
		}
	}
	return rows
}

func customRecent(events []Event, _ *Question) []Row {
	var rows []Row
	for _, e := range only(events, isCustom) {
		rows = append(rows, Row{
			"event_name": e.Name, "namespace": e.Namespace, "path": e.Path, "source": e.Source,
			"properties":   properties(e.Properties),
			"anonymous_id": e.AnonymousID, "session_id": e.SessionID, "timestamp": instant(e.Time),
		})
	}
	return rows
}
