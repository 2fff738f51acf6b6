package analytics

import "strings"

// The columns that counts of sessions share.
var (
	sessionColumn = Column{
		Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct session ids.", Example: "344",
		Expr: sessions,
	}
	sessionVisitor = Column{
		Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids of their events.",
		Example: "301", Expr: visitors,
	}
)

// inSession is the predicate of an event that belongs to a session.
const inSession = "e.session_id != ''"

// sessionsBy counts sessions by a text that their events have; one with several values
// counts for each.
func sessionsBy(name, title, label, field, description, example string) Type {
	return Type{
		Name: name, Subjects: Website | Organization,
		Title: title, Category: "Sessions", Tags: []string{"sessions", "breakdown"}, Visualization: "table",
		Description: description,
		Columns: []Column{
			{
				Name: "name", Type: String, Label: label, Description: "Value of the field; events without a value are excluded.",
				Example: example, Expr: field,
			},
			sessionColumn, sessionVisitor,
		},
		Filters: eventFilters, Groups: visitorGroups, Sorts: []string{"sessions", "visitors"}, DefaultLimit: DefaultLimit,
		Where: inSession + " AND " + field + " != ''", GroupBy: field, OrderBy: "sessions", Desc: true, Tie: field,
	}
}

// durationRange is which of a few ranges a session's duration is in.
const durationRange = "multiIf(duration < 30, '0-30s', duration < 60, '30s-1m', duration < 300, '1m-5m', duration < " +
	"900, '5m-15m', duration < 3600, '15m-1h', '1h+')"

// wholeMillis is a session's duration in whole milliseconds, whose sum is the same in
// whatever order it is made.
const wholeMillis = "round(duration * 1000)"

var sessionTypes = []Type{
	{
		Name: "session_metrics", Subjects: Website | Organization,
		Title: "Session metrics", Category: "Sessions", Tags: []string{"sessions", "overview"}, Visualization: "metric",
		Description: "Sessions in the range, their duration and bounce rate.",
		Columns: []Column{
			{
				Name: "total_sessions", Type: Number, Label: "Sessions", Description: "Distinct session ids on any event.",
				Example: "344", Expr: sessionCount,
			},
			{
				Name: "avg_session_duration", Type: Number, Label: "Average session", Unit: seconds,
				Description: "Duration: time on page from the session's page exits, otherwise from the first to " +
					"the last event.", Example: "148.2",
				Expr: "ifNotFinite(round(avgIf(" + wholeMillis + ", session != '') / 1000, 2), 0)",
			},
			{
				Name: "bounce_rate", Type: Number, Label: "Bounce rate", Unit: percent,
				Description: "Share of sessions that consist of one page view of under 10 seconds and no other " +
					"event.", Example: "41.28",
				Expr: bounceRate,
			},
			{
				Name: "total_events", Type: Number, Label: "Events", Description: "All events, including page views.",
				Example: "1290", Expr: "sum(events)",
			},
		},
		Filters: eventFilters, DefaultLimit: 1, From: perSession,
		Rollup: overTraffic(map[string]string{"total_sessions": wide + "(e.sessions)", "total_events": "sum(e.events)"},
			map[string]string{
				"avg_session_duration": "ifNotFinite(round(avg(" + wholeMillis + ") / 1000, 2), 0)", "bounce_rate": factsBounceRate,
			}),
	},
	{
		Name: "session_duration_distribution", Subjects: Website | Organization,
		Title: "Session durations", Category: "Sessions", Tags: []string{"sessions"}, Visualization: "bar",
		Description: "Sessions by range of duration, shortest first. Ranges without sessions are excluded.",
		Columns: []Column{
			{
				Name: "duration_range", Type: String, Label: "Duration",
				Description: "0-30s, 30s-1m, 1m-5m, 5m-15m, 15m-1h or 1h+. Each range includes its start and excludes its end.",
				Example:     "1m-5m", Expr: durationRange, Order: "min(duration)",
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Sessions with a duration in the " +
					"range.", Example: "57",
				Expr: "count()",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids of these sessions.",
				Example: "52", Expr: "uniqExactArray(visitors)",
			},
		},
		Filters: eventFilters, Sorts: []string{"duration_range", "sessions", "visitors"}, DefaultLimit: DefaultLimit,
		From: perSession, Where: inSession, GroupBy: durationRange, OrderBy: "duration_range", Tie: "min(duration)",
	},
	sessionsBy("sessions_by_device", "Sessions by device", "Device", "e.device",
		"Sessions by device type, most sessions first.", "desktop"),
	sessionsBy("sessions_by_browser", "Sessions by browser", "Browser", "e.browser",
		"Sessions by browser, most sessions first.", "Firefox"),
	{
		Name: "sessions_time_series", Subjects: Website | Organization,
		Title: "Sessions over time", Category: "Sessions", Tags: []string{"sessions", "series"}, Visualization: "line",
		Description: "Sessions and visitors by part of the range. A session counts in every part in which it has an event.",
		Columns: []Column{
			dateColumn, sessionColumn,
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids on any event.",
				Example: "301", Expr: visitors,
			},
		},
		Filters: eventFilters, Groups: visitorGroups, Sorts: []string{"date", "sessions", "visitors"}, DefaultLimit: MaxLimit,
		Series: true, OrderBy: "date", Rollup: overShape(traffic, "", trafficColumns),
	},
	{
		Name: "session_pages", Subjects: Website | Organization,
		Title: "Pages of sessions", Category: "Sessions", Tags: []string{"sessions", "pages"}, Visualization: "table",
		Description: "Sessions with a page view, by path, most sessions first.",
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct sessions with a view of " +
					"the path.", Example: "229",
				Expr: sessions,
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids of these page views.",
				Example: "221", Expr: visitors,
			},
		},
		Filters: viewFilters, Groups: visitorGroups, Sorts: []string{"sessions", "visitors"}, DefaultLimit: DefaultLimit,
		Where: inSession + " AND " + pageView + " AND e.path != ''", GroupBy: "e.path", OrderBy: "sessions", Desc: true,
		Tie: "e.path",
	},
}

// eventsDoc says what an events column holds.
const eventsDoc = "The session's first " + MaxSessionEvents +
	" events in order, each an array of id, time, name, path and properties."

var sessionListTypes = []Type{
	{
		Name: "session_list", Aliases: []string{"sessions"}, Subjects: Website | Organization,
		Title: "Sessions", Category: "Sessions", Tags: []string{"sessions"}, Visualization: "table",
		Description: "Sessions with their events, latest first. Filters select those with an event that matches all filters.",
		Columns: []Column{
			{
				Name: "session_id", Type: String, Label: "Session", Description: "Session id.", Example: "sess_91b2d4",
				Expr: "e.session_id",
			},
			{
				Name: "first_visit", Type: Datetime, Label: "First", Description: "Time of the session's first event in the range.",
				Example: "2026-03-29T11:12:00.000Z", Expr: "min(e.event_time)",
			},
			{
				Name: "last_visit", Type: Datetime, Label: "Last", Description: "Time of the session's last event in the range.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "max(e.event_time)",
			},
			{
				Name: "page_views", Type: Number, Label: "Page views", Description: "Events named screen_view.", Example: "5",
				Expr: "countIf(" + pageView + ")",
			},
			{
				Name: "visitor_id", Type: String, Label: "Visitor", Description: "First anonymous id of the session, as stored.",
				Example: "anon_5f0c1a", Expr: firstKnown("e.anonymous_id"),
			},
			{
				Name: "country", Type: String, Label: "Country", Description: "ISO 3166-1 alpha-2.", Example: "AT",
				Expr: firstKnown("e.country"),
			},
			{
				Name: "referrer", Type: String, Label: "Referrer", Description: "Referrer URL of the session's first page view.",
				Example: "https://www.google.com/", Expr: "argMinIf(e.referrer, (e.event_time, e.event_key), " + pageView + ")",
			},
			{
				Name: "device_type", Type: String, Label: "Device", Description: "Device type.", Example: "desktop",
				Expr: firstKnown("e.device"),
			},
			{
				Name: "browser_name", Type: String, Label: "Browser", Description: "Browser.", Example: "Firefox",
				Expr: firstKnown("e.browser"),
			},
			{
				Name: "os_name", Type: String, Label: "System", Description: "Operating system.", Example: "Windows",
				Expr: firstKnown("e.os"),
			},
			{
				Name: "events", Type: JSON, Label: "Events", Description: eventsDoc,
				Example: `[["evt_1","2026-03-29T11:12:00.000Z","screen_view","/",{}]]`, Expr: jsonArray(jsonLines(eventLine...)),
			},
		},
		Filters: eventFilters, Measures: []string{"page_views"}, Sorts: []string{"last_visit", "first_visit", "page_views"},
		DefaultLimit: DefaultLimit, Lists: true,
		From: eachEventOfPage, GroupBy: "e.session_id", OrderBy: "last_visit", Desc: true, Tie: "e.session_id",
	},
	{
		Name: "session_events", Subjects: Website | Organization,
		Title: "Events of a session", Category: "Sessions", Tags: []string{"sessions", "events"}, Visualization: "table",
		Description: "Events of the session that the filter session_id selects, in order.",
		Columns: []Column{
			{
				Name: "session_id", Type: String, Label: "Session", Description: "Session id.", Example: "sess_91b2d4",
				Expr: "e.session_id",
			},
			{Name: "id", Type: String, Label: "Event id", Description: "Id of the event.", Example: "evt_1", Expr: "e.event_id"},
			{
				Name: "time", Type: Datetime, Label: "Time", Description: "Time of the event.", Example: "2026-03-29T11:12:00.000Z",
				Expr: "e.event_time",
			},
			{
				Name: "event_name", Type: String, Label: "Event", Description: "Name of the event.", Example: "screen_view",
				Expr: "e.name",
			},
			{
				Name: "path", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			{
				Name: "properties", Type: JSON, Label: "Properties", Description: "Properties as sent.", Example: `{"plan":"pro"}`,
				Expr: "e.properties",
			},
			{
				Name: "anonymous_id", Type: String, Label: "Visitor", Description: "Anonymous id as stored.",
				Example: "anon_5f0c1a", Expr: "e.anonymous_id",
			},
		},
		Filters: eventFilters, Requires: []string{"session_id"}, Sorts: []string{"time"}, DefaultLimit: 500, Lists: true,
		From: foundFirst, OrderBy: "time", Tie: "e.owner_id, e.event_key, e.name",
	},
	{
		Name: "interesting_sessions", Subjects: Website | Organization,
		Title: "Sessions worth a look", Category: "Sessions", Tags: []string{"sessions"}, Visualization: "table",
		Description: "Sessions with errors, rage clicks, custom events, at least ten page views or at least ten minutes, " +
			"those with most of these first. Filters select those with an event that matches all filters.",
		Columns: []Column{
			{
				Name: "session_id", Type: String, Label: "Session", Description: "Session id.", Example: "sess_91b2d4",
				Expr: "e.session",
			},
			{
				Name: "visitor_id", Type: String, Label: "Visitor", Description: "First anonymous id of the session, as stored.",
				Example: "anon_5f0c1a", Expr: "e.visitor",
			},
			{
				Name: "first_visit", Type: Datetime, Label: "First", Description: "Time of the session's first event in the range.",
				Example: "2026-03-29T11:12:00.000Z", Expr: "e.first",
			},
			{
				Name: "last_visit", Type: Datetime, Label: "Last", Description: "Time of the session's last event in the range.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "e.last",
			},
			{
				Name: "duration", Type: Number, Label: "Duration", Unit: seconds, Description: "Time from the first to the last " +
					"event.",
				Example: "1080", Expr: "round(e.took, 2)",
			},
			{
				Name: "page_views", Type: Number, Label: "Page views", Description: "Events named screen_view.", Example: "12",
				Expr: "e.views",
			},
			{
				Name: "custom_events", Type: Number, Label: "Custom events", Description: "Custom events.", Example: "2",
				Expr: "e.customs",
			},
			{
				Name: "errors", Type: Number, Label: "Errors", Description: "Script errors on pages.", Example: "1",
				Expr: "e.errors",
			},
			{
				Name: "rage_clicks", Type: Number, Label: "Rage clicks", Description: "Rage clicks reported by engagement records.",
				Example: "3", Expr: "e.rage",
			},
			{
				Name: "score", Type: Number, Label: "Score", Description: "Number of reasons why the session is " +
					"interesting.", Example: "4",
				Expr: "length(e.reasons)",
			},
			{
				Name:  "reasons",
				Type:  JSON,
				Label: "Reasons",
				Description: "Reasons: errors, rage_clicks, custom_events, many_pages for at least ten page views, and long for " +
					"at least ten minutes.",
				Example: `["errors","long"]`,
				Expr:    "toJSONString(e.reasons)",
			},
		},
		Filters: eventFilters, Sorts: []string{"score", "last_visit", "duration", "page_views", "errors", "rage_clicks"},
		DefaultLimit: DefaultLimit, Lists: true,
		From: perCase, Where: inSession, Keep: "score > 0", OrderBy: "score", Desc: true, Tie: "e.last DESC, e.session",
	},
}

// foundFirst makes a row of each event that passes the filters. Its key is found first,
// by what filters need, and the rest is read where the keys lead.
var foundFirst = &Source{Build: func(q *query) string {
	stored := strings.Replace(q.events(), " FINAL", "", 1)
	return "(\n    SELECT e.*\n    {events}\n      AND (e.event_date, e.name, e.event_key) IN (\n" +
		indent(indent("SELECT e.event_date, e.name, e.event_key\n"+stored)) + "\n      )\n) AS e"
}}
