package analytics

import (
	"strings"
	"testing"
)

// The columns of what is told of pages, sessions, visitors and this moment.
func TestColumnsOfTheTypesAboutVisits(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"today_metrics":                 "pageviews visitors sessions",
		"active_stats":                  "active_users active_sessions",
		"page_performance":              "name pageviews visitors percentage",
		"entry_pages":                   "name pageviews visitors percentage",
		"exit_pages":                    "name pageviews visitors percentage",
		"page_time_analysis":            "name sessions_with_time visitors median_time_on_page percentage",
		"session_metrics":               "total_sessions avg_session_duration bounce_rate total_events",
		"session_duration_distribution": "duration_range sessions visitors",
		"sessions_by_device":            "name sessions visitors",
		"sessions_by_browser":           "name sessions visitors",
		"sessions_time_series":          "date sessions visitors",
		"session_pages":                 "name sessions visitors",
		"session_list": "session_id first_visit last_visit page_views visitor_id country referrer " +
			"device_type browser_name os_name events",
		"session_events": "session_id id time event_name path properties anonymous_id",
		"interesting_sessions": "session_id visitor_id first_visit last_visit duration page_views custom_events " +
			"errors rage_clicks score reasons",
		"profile_list": "visitor_id profile_id display_name email identified_at first_visit last_visit session_count " +
			"total_events unique_pages country region " +
			"device_type browser_name os_name referrer custom_event_count unique_event_names",
		"profile_detail": "visitor_id first_visit last_visit total_sessions total_pageviews total_duration " +
			"total_duration_formatted profile_id " +
			"device browser os country region",
		"profile_sessions": "session_id session_name first_visit last_visit duration duration_formatted page_views " +
			"unique_pages device browser os " +
			"country region referrer events web_vitals",
		"scroll_depth_summary":      "avg_scroll_depth total_sessions visitors",
		"scroll_depth_distribution": "depth_range visitors sessions percentage",
		"page_scroll_performance":   "name avg_scroll_depth visitors sessions pageviews",
		"interaction_summary":       "avg_interactions interactive_sessions interaction_rate total_sessions",
		"frustration_by_page":       "name sessions frustrated_sessions frustration_rate rage_clicks dead_clicks errors",
		"form_abandonment_by_page":  "name sessions started_sessions submitted_sessions abandoned_sessions abandonment_rate",
		"engagement_quality_by_page": "name sessions visitors engaged_sessions engagement_rate avg_active_time " +
			"avg_time_on_page avg_scroll_depth avg_interactions",
		"realtime_pages":     "path pageviews visitors",
		"realtime_referrers": "referrer visitors",
		"realtime_countries": "name visitors",
		"realtime_cities":    "city country visitors",
		"realtime_feed":      "event_name path country browser_name timestamp",
		"realtime_sessions":  "session_id current_page country device_type pages_viewed last_seen",
		"realtime_velocity":  "minute pageviews events visitors",
	} {
		names := make([]string, 0, len(Lookup(name).Columns))
		for _, c := range Lookup(name).Columns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has the columns %s, want %s", name, got, want)
		}
	}
}
