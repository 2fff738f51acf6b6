package analytics

import (
	"fmt"
	"strconv"
)

// showDuration writes seconds as people do.
func showDuration(text string) string {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	whole := int64(s)
	switch {
	case whole >= 3600:
		return fmt.Sprintf("%dh %dm %ds", whole/3600, whole%3600/60, whole%60)
	case whole >= 60:
		return fmt.Sprintf("%dm %ds", whole/60, whole%60)
	}
	return fmt.Sprintf("%ds", whole)
}

var profileTypes = []Type{
	{
		Name: "profile_list", Aliases: []string{"profiles"}, Subjects: Website,
		Title: "Profiles", Category: "Profiles", Tags: []string{"profiles"}, Visualization: "table",
		Description: "Users and visitors with their activity in the range, latest first. Filters select those with an " +
			"event that matches all filters.",
		Columns: []Column{
			{
				Name:        "visitor_id",
				Type:        String,
				Label:       "Visitor",
				Description: "Latest anonymous id, as stored; empty without an anonymous id.",
				Example:     "anon_5f0c1a",
				Expr:        lastKnown("e.anonymous_id"),
			},
			{
				Name:        "profile_id",
				Type:        String,
				Label:       "User",
				Description: "Your own id of the user; empty for a visitor who is not a user.",
				Example:     "user_42",
				Expr:        "max(e.profile)",
			},
			{
				Name: "display_name", Type: String, Label: "Name", Description: "Trait display_name, otherwise name.",
				Example: "Ada", Expr: "max(e.display_name)",
			},
			{
				Name: "email", Type: String, Label: "Email", Description: "Trait email.", Example: "ada@example.com",
				Expr: "max(e.email)",
			},
			{
				Name: "identified_at", Type: Datetime, Label: "Identified",
				Description: "Time of the first identify call for the user, regardless of the range; null without such a call.",
				Example:     "2026-01-07T16:20:11.004Z", Expr: "max(e.known)",
			},
			{
				Name: "first_visit", Type: Datetime, Label: "First", Description: "Time of the first event in the range.",
				Example: "2026-03-01T08:12:45.120Z", Expr: "min(e.event_time)",
			},
			{
				Name: "last_visit", Type: Datetime, Label: "Last", Description: "Time of the last event in the range.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "max(e.event_time)",
			},
			{
				Name: "session_count", Type: Number, Label: "Sessions", Description: "Distinct session ids.", Example: "4",
				Expr: sessions,
			},
			{
				Name: "total_events", Type: Number, Label: "Events", Description: "All events, including page " +
					"views.", Example: "58",
				Expr: "count()",
			},
			{Name: "unique_pages", Type: Number, Label: "Pages", Description: "Distinct paths.", Example: "9", Expr: pages},
			{
				Name: "country", Type: String, Label: "Country", Description: "Latest country, ISO 3166-1 alpha-2.", Example: "AT",
				Expr: "argMaxIf(e.country, (e.event_time, e.event_key), e.country != '')",
			},
			{
				Name: "region", Type: String, Label: "Region", Description: "Region of that country.", Example: "Styria",
				Expr: "argMaxIf(e.region, (e.event_time, e.event_key), e.country != '')",
			},
			{
				Name: "device_type", Type: String, Label: "Device", Description: "Latest device type.",
				Example: "desktop", Expr: lastKnown("e.device"),
			},
			{
				Name: "browser_name", Type: String, Label: "Browser", Description: "Latest browser.", Example: "Firefox",
				Expr: lastKnown("e.browser"),
			},
			{
				Name: "os_name", Type: String, Label: "System", Description: "Latest operating system.", Example: "Windows",
				Expr: lastKnown("e.os"),
			},
			{
				Name: "referrer", Type: String, Label: "Referrer", Description: "Referrer URL of the first page view.",
				Example: "https://www.google.com/", Expr: "argMinIf(e.referrer, (e.event_time, e.event_key), " + pageView + ")",
			},
			{
				Name: "custom_event_count", Type: Number, Label: "Custom events", Description: "Custom events.", Example: "3",
				Expr: "countIf(" + customEvent + ")",
			},
			{
				Name: "unique_event_names", Type: Number, Label: "Event names", Description: "Distinct names of custom events.",
				Example: "2", Expr: "uniqExactIf(e.name, " + customEvent + ")",
			},
		},
		Filters: eventFilters, Measures: []string{"session_count", "total_events", "unique_pages"},
		Sorts: []string{"last_visit", "first_visit", "session_count", "total_events", "unique_pages"}, DefaultLimit: 25,
		Lists: true,
		From:  perPersonEvent, GroupBy: "e.person", OrderBy: "last_visit", Desc: true, Tie: "e.person",
	},
	{
		Name: "profile_detail", Subjects: Website,
		Title: "Profile", Category: "Profiles", Tags: []string{"profiles"}, Visualization: "table",
		Description: "Activity of a user or visitor in the range. The filter anonymous_id accepts an anonymous id or a " +
			"user id. A visitor who is known as a user counts as that user.",
		Columns: []Column{
			{
				Name:        "visitor_id",
				Type:        String,
				Label:       "Visitor",
				Description: "Latest anonymous id, as stored; empty without an anonymous id.",
				Example:     "anon_5f0c1a",
				Expr:        "argMaxIf(e.visitor, e.last, e.visitor != '')",
			},
			{
				Name: "first_visit", Type: Datetime, Label: "First", Description: "Time of the first event in the range.",
				Example: "2026-03-01T08:12:45.120Z", Expr: "min(e.first)",
			},
			{
				Name: "last_visit", Type: Datetime, Label: "Last", Description: "Time of the last event in the range.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "max(e.last)",
			},
			{
				Name: "total_sessions", Type: Number, Label: "Sessions", Description: "Distinct session ids.", Example: "4",
				Expr: "countIf(e.session != '')",
			},
			{
				Name: "total_pageviews", Type: Number, Label: "Page views", Description: "Events named screen_view.", Example: "31",
				Expr: "sum(e.views)",
			},
			{
				Name: "total_duration", Type: Number, Label: "Duration", Unit: seconds,
				Description: "Total duration of the sessions, to the millisecond.", Example: "3725.25",
				Expr: "round(sum(e.took), 3)",
			},
			{
				Name: "total_duration_formatted", Type: String, Label: "Duration", Description: "Total duration as text.",
				Example: "1h 2m 5s", Expr: "toString(total_duration)", Show: showDuration,
			},
			{
				Name:        "profile_id",
				Type:        String,
				Label:       "User",
				Description: "Your own id of the user; empty for a visitor who is not a user.",
				Example:     "user_42",
				Expr:        "max(e.profile)",
			},
			{
				Name: "device", Type: String, Label: "Device", Description: "Latest device type.", Example: "desktop",
				Expr: "argMaxIf(e.device, e.last, e.device != '')",
			},
			{
				Name: "browser", Type: String, Label: "Browser", Description: "Latest browser.", Example: "Firefox",
				Expr: "argMaxIf(e.browser, e.last, e.browser != '')",
			},
			{
				Name: "os", Type: String, Label: "System", Description: "Latest operating system.", Example: "Windows",
				Expr: "argMaxIf(e.os, e.last, e.os != '')",
			},
			{
				Name: "country", Type: String, Label: "Country", Description: "Latest country, ISO 3166-1 alpha-2.", Example: "AT",
				Expr: "argMaxIf(e.place.1, e.last, e.place.1 != '')",
			},
			{
				Name: "region", Type: String, Label: "Region", Description: "Region of that country.", Example: "Styria",
				Expr: "argMaxIf(e.place.2, e.last, e.place.1 != '')",
			},
		},
		Filters: eventFilters, Means: whose, Requires: []string{"anonymous_id"}, Sorts: []string{"last_visit"},
		DefaultLimit: 25, Lists: true,
		From: perPersonSession, GroupBy: "e.person", OrderBy: "last_visit", Desc: true, Tie: "e.person",
	},
	{
		Name: "profile_sessions", Subjects: Website,
		Title: "Sessions of a profile", Category: "Profiles", Tags: []string{"profiles", "sessions"}, Visualization: "table",
		Description: "Sessions of a user or visitor with all their events, latest first. The filter anonymous_id accepts " +
			"an anonymous id or a user id.",
		Columns: []Column{
			{
				Name: "session_id", Type: String, Label: "Session", Description: "Session id.", Example: "sess_91b2d4",
				Expr: "e.session_id",
			},
			{
				Name:        "session_name",
				Type:        String,
				Label:       "Name",
				Description: "Session with its number, counted from the first one in the range.",
				Example:     "Session 1",
				Expr:        "concat('Session ', toString(e.number))",
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
				Name: "duration", Type: Number, Label: "Duration", Unit: seconds,
				Description: "Duration: time on page from page exits, otherwise from the first to the last event.", Example: "725",
				Expr: "round(e.took, 2)",
			},
			{
				Name: "duration_formatted", Type: String, Label: "Duration", Description: "Total duration as " +
					"text.", Example: "12m 5s",
				Expr: "toString(duration)", Show: showDuration,
			},
			{
				Name: "page_views", Type: Number, Label: "Page views", Description: "Events named screen_view.", Example: "5",
				Expr: "e.views",
			},
			{
				Name: "unique_pages", Type: Number, Label: "Pages", Description: "Distinct paths of page views.", Example: "4",
				Expr: "e.pages",
			},
			{
				Name: "device", Type: String, Label: "Device", Description: "Device type.", Example: "desktop", Expr: "e.device",
			},
			{Name: "browser", Type: String, Label: "Browser", Description: "Browser.", Example: "Firefox", Expr: "e.browser"},
			{Name: "os", Type: String, Label: "System", Description: "Operating system.", Example: "Windows", Expr: "e.os"},
			{
				Name: "country", Type: String, Label: "Country", Description: "ISO 3166-1 alpha-2.", Example: "AT",
				Expr: "e.place.1",
			},
			{
				Name: "region", Type: String, Label: "Region", Description: "Region of that country.", Example: "Styria",
				Expr: "e.place.2",
			},
			{
				Name: "referrer", Type: String, Label: "Referrer", Description: "Referrer URL of the session's first page view.",
				Example: "https://www.google.com/", Expr: "e.referrer",
			},
			{
				Name: "events", Type: JSON, Label: "Events",
				Example: `[["evt_1","2026-03-29T11:12:00.000Z","screen_view","/",{},"analytics"]]`, Expr: jsonArray("e.happened"),
				Description: "The first " + MaxSessionEvents + " things that happened, in order, each an array of id, time, " +
					"name, path, properties and source: analytics, custom, error or outgoing_link.",
			},
			{
				Name: "web_vitals", Type: JSON, Label: "Web vitals", Example: `[["LCP",1840.5,"2026-03-29T11:12:03.000Z","/"]]`,
				Expr: jsonArray("e.measured"),
				Description: "The first " + MaxSessionEvents +
					" measurements, in order, each an array of metric, value, time and path.",
			},
		},
		Filters: eventFilters, Means: whose, Requires: []string{"anonymous_id"},
		Sorts: []string{"last_visit", "first_visit", "page_views"}, DefaultLimit: 25, Lists: true,
		From: perTheirSession, OrderBy: "last_visit", Desc: true, Tie: "e.session_id",
	},
}
