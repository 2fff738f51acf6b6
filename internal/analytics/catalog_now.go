package analytics

import "time"

// How far back questions about this moment look.
const (
	activeFor   = 5 * time.Minute  // since its last event, for a visitor to be there
	recentFor   = 30 * time.Minute // for what happened lately
	feedLimit   = 50
	activeSince = "{end:" + typeInstant + "} - INTERVAL 5 MINUTE - INTERVAL 1 MILLISECOND"
)

// liveFilters are what questions about this moment may be filtered by.
var liveFilters = eventFilters

var currentTypes = []Type{
	{
		Name: "today_metrics", Subjects: Website | Organization,
		Title: "Today", Category: "Summary", Tags: []string{"overview"}, Visualization: "metric",
		Description: "Page views, visitors and sessions of the current day in the request's time zone, regardless of the " +
			"range.",
		Columns: []Column{
			{
				Name: "pageviews", Type: Number, Label: "Page views", Description: "Events named screen_view.", Example: "112",
				Expr: "countIf(" + pageView + ")",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids on any event.",
				Example: "61", Expr: visitors,
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct session ids on any event.", Example: "64",
				Expr: sessions,
			},
		},
		Filters: eventFilters, DefaultLimit: 1, Public: true, Today: true, Rollup: overShape(traffic, "", trafficColumns),
	},
	{
		Name: "active_stats", Subjects: Website | Organization,
		Title: "Active now", Category: "Summary", Tags: []string{"overview", "realtime"}, Visualization: "metric",
		Description: "Visitors and sessions with an event in the last five minutes.",
		Columns: []Column{
			{
				Name: "active_users", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids on any event.",
				Example: "9", Expr: visitors,
			},
			{
				Name: "active_sessions", Type: Number, Label: "Sessions", Description: "Distinct session ids on any event.",
				Example: "9", Expr: sessions,
			},
		},
		Filters: liveFilters, DefaultLimit: 1, Public: true, Recent: activeFor,
	},
}

var realtimeTypes = []Type{
	{
		Name: "realtime_pages", Subjects: Website | Organization,
		Title: "Pages now", Category: "Realtime", Tags: []string{"realtime", "pages"}, Visualization: "table",
		Description: "Page views of the last five minutes by path, most visitors first. Page views without a path are " +
			"excluded.",
		Columns: []Column{
			{
				Name: "path", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			{
				Name: "pageviews", Type: Number, Label: "Page views", Description: "Page views of this path.", Example: "7",
				Expr: "count()",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids with a view of this path.",
				Example: "5", Expr: visitors,
			},
		},
		Filters: viewFilters, Sorts: []string{"pageviews", "visitors"}, DefaultLimit: DefaultLimit, Recent: activeFor,
		Where: pageView + " AND e.path != ''", GroupBy: "e.path", OrderBy: "visitors", Desc: true, Tie: "e.path",
	},
	{
		Name: "realtime_referrers", Subjects: Website | Organization,
		Title: "Referrers now", Category: "Realtime", Tags: []string{"realtime", "traffic"}, Visualization: "table",
		Description: "Referrers of page views of the last five minutes, most visitors first. Pages of the website itself " +
			"are excluded.",
		Columns: []Column{
			{
				Name: "referrer", Type: String, Label: "Source",
				Description: "Name of the referrer, such as Google; Direct without a referrer.",
				Example:     "Google", Expr: referrerName,
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids.", Example: "5",
				Expr: visitors,
			},
		},
		Filters: viewFilters, Sorts: []string{"visitors"}, DefaultLimit: DefaultLimit, Recent: activeFor,
		Where: pageView + " AND e.referrer_kind != 'internal'", GroupBy: referrerName, OrderBy: "visitors", Desc: true,
		Tie: referrerName,
	},
	{
		Name: "realtime_countries", Subjects: Website | Organization,
		Title: "Countries now", Category: "Realtime", Tags: []string{"realtime", "geo"}, Visualization: "map",
		Description: "Visitors of the last five minutes by country, most visitors first.",
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Country", Description: "English name of the country.", Example: "Austria",
				Expr: "e.country", Show: countryName,
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids on any event.",
				Example: "5", Expr: visitors,
			},
		},
		Filters: liveFilters, Sorts: []string{"visitors"}, DefaultLimit: DefaultLimit, Recent: activeFor,
		Where: "e.country != ''", GroupBy: "e.country", OrderBy: "visitors", Desc: true, Tie: "e.country",
	},
	{
		Name: "realtime_cities", Subjects: Website | Organization,
		Title: "Cities now", Category: "Realtime", Tags: []string{"realtime", "geo"}, Visualization: "table",
		Description: "Visitors of the last five minutes by city, most visitors first.",
		Columns: []Column{
			{Name: "city", Type: String, Label: "City", Description: "City.", Example: "Graz", Expr: "e.city"},
			{
				Name: "country", Type: String, Label: "Country", Description: "English name of the country.", Example: "Austria",
				Expr: "e.country", Show: countryName,
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids on any event.",
				Example: "3", Expr: visitors,
			},
		},
		Filters: liveFilters, Sorts: []string{"visitors"}, DefaultLimit: DefaultLimit, Recent: activeFor,
		Where: "e.city != ''", GroupBy: "e.city, e.country", OrderBy: "visitors", Desc: true, Tie: "e.city, e.country",
	},
	{
		Name: "realtime_feed", Subjects: Website | Organization,
		Title: "Live feed", Category: "Realtime", Tags: []string{"realtime", "events"}, Visualization: "table",
		Description: "The latest events of the last half hour, newest first.",
		Columns: []Column{
			{
				Name: "event_name", Type: String, Label: "Event", Description: "Name of the event.", Example: "screen_view",
				Expr: "e.name",
			},
			{
				Name: "path", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			{
				Name: "country", Type: String, Label: "Country", Description: "ISO 3166-1 alpha-2.", Example: "AT",
				Expr: "e.country",
			},
			{
				Name: "browser_name", Type: String, Label: "Browser", Description: "Browser.", Example: "Firefox",
				Expr: "e.browser",
			},
			{
				Name: "timestamp", Type: Datetime, Label: "Time", Description: "Time of the event.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "e.event_time",
			},
		},
		Filters: liveFilters, Sorts: []string{"timestamp"}, DefaultLimit: feedLimit, Recent: recentFor, Lists: true,
		OrderBy: "timestamp", Desc: true, Tie: "e.owner_id, e.event_key, e.name",
	},
	{
		Name: "realtime_sessions", Subjects: Website | Organization,
		Title: "Sessions now", Category: "Realtime", Tags: []string{"realtime", "sessions"}, Visualization: "table",
		Description: "Sessions with an event in the last five minutes, latest first, with their activity in the last half " +
			"hour.",
		Columns: []Column{
			{
				Name: "session_id", Type: String, Label: "Session", Description: "Session id.", Example: "sess_91b2d4",
				Expr: "e.session_id",
			},
			{
				Name:        "current_page",
				Type:        String,
				Label:       "Page",
				Description: "Path of the latest page view with a path, otherwise of the latest event with one.",
				Example:     "/pricing",
				Expr:        "argMaxIf(e.path, (" + pageView + ", e.event_time, e.event_key), e.path != '')",
			},
			{
				Name: "country", Type: String, Label: "Country", Description: "ISO 3166-1 alpha-2.", Example: "AT",
				Expr: lastKnown("e.country"),
			},
			{
				Name: "device_type", Type: String, Label: "Device", Description: "Device type.", Example: "desktop",
				Expr: lastKnown("e.device"),
			},
			{
				Name: "pages_viewed", Type: Number, Label: "Page views", Description: "Page views of the last half hour.",
				Example: "3", Expr: "countIf(" + pageView + ")",
			},
			{
				Name: "last_seen", Type: Datetime, Label: "Last seen", Description: "Time of the latest event of the session.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "max(e.event_time)",
			},
		},
		Filters: liveFilters, Sorts: []string{"last_seen", "pages_viewed"}, DefaultLimit: DefaultLimit, Recent: recentFor,
		Lists: true,
		Where: "e.session_id != ''", GroupBy: "e.session_id", Keep: "max(e.event_time) >= " + activeSince,
		OrderBy: "last_seen", Desc: true, Tie: "e.session_id",
	},
	{
		Name: "realtime_velocity", Subjects: Website | Organization,
		Title: "Velocity", Category: "Realtime", Tags: []string{"realtime", "series"}, Visualization: "line",
		Description: "Activity of the last half hour by minute.",
		Columns: []Column{
			{
				Name:        "minute",
				Type:        String,
				Label:       "Minute",
				Description: "YYYY-MM-DD HH:MM:00 in the request's time zone; the first and last minutes are incomplete.",
				Example:     "2026-03-29 11:30:00",
				Expr:        "date",
			},
			{
				Name: "pageviews", Type: Number, Label: "Page views", Description: "Events named screen_view.", Example: "4",
				Expr: "countIf(" + pageView + ")",
			},
			{
				Name: "events", Type: Number, Label: "Events", Description: "All events, including page views.", Example: "11",
				Expr: "count()",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids on any event.",
				Example: "5", Expr: visitors,
			},
		},
		Filters: liveFilters, Sorts: []string{"minute", "pageviews", "events", "visitors"}, DefaultLimit: DefaultLimit,
		Recent: recentFor,
		Series: true, OrderBy: "minute",
	},
}

// lastKnown is a text as the latest event tells it that does; firstKnown the earliest.
func lastKnown(field string) string {
	return "argMaxIf(" + field + ", (e.event_time, e.event_key), " + field + " != '')"
}

func firstKnown(field string) string {
	return "argMinIf(" + field + ", (e.event_time, e.event_key), " + field + " != '')"
}
