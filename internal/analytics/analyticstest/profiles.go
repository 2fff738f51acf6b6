package analyticstest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// profileResults are those about single sessions, people and what they do on pages.
var profileResults = map[string]result{
	"session_list":         {rows: sessionList, order: "last_visit", limit: 100},
	"session_events":       {rows: sessionEvents, order: "time", ascending: true, limit: 500},
	"interesting_sessions": {rows: interesting, order: "score", limit: 100},

	"profile_list":     {rows: profileList, order: "last_visit", limit: 25},
	"profile_detail":   {rows: profileDetail, order: "last_visit", limit: 25},
	"profile_sessions": {rows: profileSessions, order: "last_visit", limit: 25},

	"scroll_depth_summary": {rows: scrollSummary, single: true, about: tellsOfPages},
	"scroll_depth_distribution": {
		rows: scrollDistribution, order: "depth_range", ascending: true, limit: 100, share: partOf, whole: depthsTold,
	},
	"page_scroll_performance":    {rows: scrollByPage, order: "sessions", limit: 100},
	"interaction_summary":        {rows: interactions, single: true, about: tellsOfPages},
	"frustration_by_page":        {rows: frustration, order: "frustrated_sessions", limit: 100},
	"form_abandonment_by_page":   {rows: abandonment, order: "abandoned_sessions", limit: 100},
	"engagement_quality_by_page": {rows: quality, order: "engaged_sessions", limit: 100},
}

// ofKind are the events of the subject and the range of a kind, whatever the filters.
func (q *Question) ofKind(kind string) []Event {
	return inOrder(only(q.all, func(e *Event) bool { return e.Kind == kind }))
}

// matching are the keys of the events that pass the filters.
func (q *Question) matching(key func(*Event) string) map[string]bool {
	keys := map[string]bool{}
	for _, e := range q.ofKind("") {
		if k := key(&e); k != "" && q.keeps(&e) {
			keys[k] = true
		}
	}
	return keys
}

// tuples are events as answers list them, at most 500.
func tuples(events []Event, tuple func(*Event) []any) []any {
	all := []any{}
	for i := range events[:min(len(events), 500)] {
		all = append(all, tuple(&events[i]))
	}
	return all
}

func plainTuple(e *Event) []any {
	return []any{e.ID, instant(e.Time), e.Name, e.Path, any(properties(e.Properties))}
}

func sessionList(_ []Event, q *Question) []Row {
	var rows []Row
	keep := q.matching(sessionOf)
	ids, groups := group(q.ofKind(""), sessionOf)
	for _, id := range ids {
		if !keep[id] {
			continue
		}
		of := groups[id]
		rows = append(rows, Row{
			"session_id": id, "first_visit": instant(first(of).Time), "last_visit": instant(last(of).Time),
			"page_views": count(of, isView),
			"visitor_id": told(of, visitorOf), "country": told(of, web("country")), "referrer": entryReferrer(of),
			"device_type": told(of, web("device")), "browser_name": told(of, web("browser")), "os_name": told(of, web("os")),
			"events": tuples(of, plainTuple),
		})
	}
	return rows
}

// entryReferrer is that of the first page view.
func entryReferrer(events []Event) string {
	if views := only(events, isView); len(views) > 0 {
		return first(views).Web["referrer"]
	}
	return ""
}

func sessionEvents(events []Event, _ *Question) []Row {
	var rows []Row
	for _, e := range events {
		rows = append(rows, Row{
			"session_id": e.SessionID, "id": e.ID, "time": instant(e.Time), "event_name": e.Name, "path": e.Path,
			"properties": properties(e.Properties), "anonymous_id": e.AnonymousID,
		})
	}
	return rows
}

func interesting(_ []Event, q *Question) []Row {
	var rows []Row
	keep := q.matching(sessionOf)
	ids, groups := group(q.ofKind(""), sessionOf)
	for _, id := range ids {
		if !keep[id] {
			continue
		}
		of := groups[id]
		took := float64(last(of).Time.Sub(first(of).Time).Milliseconds()) / 1000
		mine := func(e *Event) bool { return e.SessionID == id }
		errors, rage := count(q.ofKind("error"), mine), 0.0
		for _, e := range only(q.ofKind(""), mine) {
			n, _ := numberTold(&e, "rageClickCount")
			rage += n
		}
		rage = max(0, rage)
		reasons := []any{}
		for _, r := range []struct {
			name string
			is   bool
		}{
			{"errors", errors > 0},
			{"rage_clicks", rage > 0},
			{"custom_events", count(of, isCustom) > 0},
			{"many_pages", count(of, isView) >= 10},
			{"long", took >= 600},
		} {
			if r.is {
				reasons = append(reasons, r.name)
			}
		}
		if len(reasons) == 0 {
			continue
		}
		rows = append(rows, Row{
			"session_id": id, "visitor_id": told(of, visitorOf), "first_visit": instant(first(of).Time),
			"last_visit": instant(last(of).Time),
			"duration":   round2(took), "page_views": count(of, isView), "custom_events": count(of, isCustom), "errors": errors,
			"rage_clicks": rage,
			"score":       float64(len(reasons)), "reasons": reasons,
		})
	}
	slices.SortStableFunc(rows,
		func(a, b Row) int { return cmp.Compare(b["last_visit"].(string), a["last_visit"].(string)) })
	return rows
}

// person is whom an event is of: a user or a visitor.
func (q *Question) person(e *Event) string {
	if user := q.users.of(e); user != "" {
		return "\x00" + user
	}
	return e.AnonymousID
}

func (q *Question) people() (ids []string, groups map[string][]Event) {
	keep := q.matching(q.person)
	ids, groups = group(q.ofKind(""), q.person)
	return slices.DeleteFunc(ids, func(id string) bool { return !keep[id] }), groups
}

func profileList(_ []Event, q *Question) []Row {
	var rows []Row
	ids, groups := q.people()
	for _, id := range ids {
		of, user := groups[id], ""
		if strings.HasPrefix(id, "\x00") {
			user = id[1:]
		}
		latest := reversed(of)
		placed := only(latest, func(e *Event) bool { return e.Web["country"] != "" })
		country, region := "", ""
		if len(placed) > 0 {
			country, region = placed[0].Web["country"], placed[0].Web["region"]
		}
		rows = append(rows, Row{
			"visitor_id": told(latest, visitorOf), "profile_id": user, "first_visit": instant(of[0].Time),
			"last_visit": instant(latest[0].Time), "identified_at": q.users.identifiedAt(&of[0], user),
			"display_name":  cmp.Or(q.users.trait(&of[0], user, "display_name"), q.users.trait(&of[0], user, "name")),
			"email":         q.users.trait(&of[0], user, "email"),
			"session_count": distinct(of, sessionOf), "total_events": float64(len(of)), "unique_pages": distinct(of, pathOf),
			"country": country, "region": region, "device_type": told(latest, web("device")),
			"browser_name": told(latest, web("browser")),
			"os_name":      told(latest, web("os")), "referrer": entryReferrer(of), "custom_event_count": count(of, isCustom),
			"unique_event_names": distinct(only(of, isCustom), nameOf),
		})
	}
	return rows
}

func spoken(seconds float64) string {
	s := int(math.Floor(seconds))
	switch {
	case s >= 3600:
		return fmt.Sprint(s/3600, "h ", s/60%60, "m ", s%60, "s")
	case s >= 60:
		return fmt.Sprint(s/60, "m ", s%60, "s")
	}
	return fmt.Sprint(s, "s")
}

func profileDetail(_ []Event, q *Question) []Row {
	var rows []Row
	ids, groups := q.people()
	for _, id := range ids {
		of, user := groups[id], ""
		if strings.HasPrefix(id, "\x00") {
			user = id[1:]
		}
		// What was told last is what the session told that ended last, of those that did.
		sessions, in := group(of, sessionOf)
		slices.SortFunc(sessions, func(a, b string) int { return last(in[b]).Time.Compare(last(in[a]).Time) })
		total := 0.0
		latest := func(get func(*Event) string) string {
			for _, s := range sessions {
				if v := told(reversed(in[s]), get); v != "" {
					return v
				}
			}
			return ""
		}
		for _, s := range sessions {
			if s != "" {
				total += duration(in[s])
			}
		}
		place, _, _ := strings.Cut(latest(placeOf), "|")
		_, region, _ := strings.Cut(latest(placeOf), "|")
		rows = append(rows, Row{
			"visitor_id": latest(visitorOf), "first_visit": instant(first(of).Time), "last_visit": instant(last(of).Time),
			// whose sum depends on the order
			"total_sessions": distinct(of, sessionOf), "total_pageviews": count(of, isView),
			"total_duration":           math.RoundToEven(total*1000) / 1000,
			"total_duration_formatted": spoken(math.RoundToEven(total*1000) / 1000), "profile_id": user,
			"device": latest(web("device")), "browser": latest(web("browser")),
			"os": latest(web("os")), "country": place, "region": region,
		})
	}
	return rows
}

// placeOf is a country and its region, where the country is known.
func placeOf(e *Event) string {
	if e.Web["country"] == "" {
		return ""
	}
	return e.Web["country"] + "|" + e.Web["region"]
}

func profileSessions(_ []Event, q *Question) []Row {
	keep := q.matching(sessionOf)
	ids, groups := group(q.ofKind(""), sessionOf)
	ids = slices.DeleteFunc(ids, func(id string) bool { return !keep[id] })
	numbered := slices.SortedFunc(slices.Values(ids),
		func(a, b string) int { return first(groups[a]).Time.Compare(first(groups[b]).Time) })
	source := func(e *Event) string {
		switch {
		case e.Kind == "error":
			return "error"
		case isCustom(e):
			return "custom"
		case e.Name == "link_out" || e.Name == "outgoing_link":
			return "outgoing_link"
		}
		return "analytics"
	}
	var rows []Row
	for _, id := range ids {
		of := groups[id]
		mine := func(e *Event) bool { return e.SessionID == id }
		all := inOrder(append(slices.Clone(of), only(q.ofKind("error"), mine)...))
		place, region, _ := strings.Cut(told(of, placeOf), "|")
		rows = append(rows, Row{
			"session_id": id, "session_name": fmt.Sprint("Session ", 1+slices.Index(numbered, id)),
			"first_visit": instant(first(of).Time), "last_visit": instant(last(of).Time),
			"duration": round2(duration(of)), "duration_formatted": spoken(round2(duration(of))),
			"page_views":   count(of, isView),
			"unique_pages": distinct(only(of, isView), pathOf), "device": told(of, web("device")),
			"browser": told(of, web("browser")),
			"os":      told(of, web("os")), "country": place, "region": region, "referrer": entryReferrer(of),
			"events": tuples(all, func(e *Event) []any {
				line := plainTuple(e)
				if e.Kind == "error" {
					line[4] = map[string]any{"message": e.Web["message"]}
				}
				return append(line, source(e))
			}),
			"web_vitals": tuples(only(q.ofKind("vital"), mine),
				func(e *Event) []any { return []any{e.Name, e.Value, instant(e.Time), e.Path} }),
		})
	}
	return rows
}
