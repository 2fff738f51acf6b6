package analytics

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func TestEveryTypeIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range Catalog {
		typ := &Catalog[i]
		for _, name := range append([]string{typ.Name}, typ.Aliases...) {
			if !snakeCase.MatchString(name) || seen[name] {
				t.Errorf("%s: name %q is no name of its own", typ.Name, name)
			}
			seen[name] = true
			if Lookup(name) != typ {
				t.Errorf("Lookup(%q) is not %s", name, typ.Name)
			}
		}
		for what, text := range map[string]string{
			"title": typ.Title, "category": typ.Category, "visualization": typ.Visualization,
		} {
			if text == "" {
				t.Errorf("%s has no %s", typ.Name, what)
			}
		}
		if !strings.HasSuffix(typ.Description, ".") || len(typ.Tags) == 0 || typ.Subjects == 0 {
			t.Errorf("%s: description, tags or subjects are missing", typ.Name)
		}
		if typ.DefaultLimit < 1 || typ.DefaultLimit > MaxLimit {
			t.Errorf("%s: default limit %d", typ.Name, typ.DefaultLimit)
		}
		for _, name := range typ.Groups {
			field := findField(name)
			if field == nil || field.Name != name ||
				slices.ContainsFunc(typ.groups, func(c Column) bool { return c.Name == name }) {
				t.Errorf("%s: cannot be cut by %s", typ.Name, name)
			}
		}
		for _, f := range typ.Filters {
			if field := findField(f); field == nil || field.Name != f {
				t.Errorf("%s: filter %s is no field", typ.Name, f)
			}
		}
	}
}

// Clients of the same wire format ask by these names too.
func TestNamesThatTypesHaveBesides(t *testing.T) {
	t.Parallel()
	for alias, name := range map[string]string{
		"summary": "summary_metrics", "pages": "top_pages", "traffic": "top_referrers", "countries": "country",
		"cities": "city", "errors": "recent_errors", "performance": "vitals_overview", "sessions": "session_list",
		"profiles": "profile_list", "engagement": "interaction_summary", "browsers": "browser_name",
		"operating_systems": "os_name",
	} {
		if typ := Lookup(alias); typ == nil || typ.Name != name {
			t.Errorf("%s is not %s", alias, name)
		}
	}
}

// publicTypes are those that anybody may ask of a public website: the overview and breakdowns,
// custom_events*, eight types of errors and vitals_*, as other servers have it, and percentiles,
// which tells of properties what custom_events_property_* tell.
const publicTypes = "" +
	"summary_metrics events_by_date today_metrics active_stats top_pages page_performance " +
	"entry_pages exit_pages page_time_analysis top_referrers traffic_sources utm_sources utm_mediums " +
	"utm_campaigns utm_terms utm_content browser_name browser_versions os_name device_types " +
	"screen_resolution country region city timezone language custom_events custom_events_summary " +
	"custom_events_trends custom_events_trends_by_event custom_events_by_path custom_events_recent " +
	"custom_events_property_cardinality custom_events_property_classification " +
	"custom_events_property_top_values custom_events_property_distribution custom_events_discovery " +
	"percentiles recent_errors error_types errors_by_type error_summary errors_by_page error_trends " +
	"error_frequency error_chart_data vitals_overview vitals_time_series vitals_by_page " +
	"vitals_by_country vitals_by_browser vitals_by_region vitals_by_city outbound_links " +
	"outbound_domains"

func TestWhatIsPublic(t *testing.T) {
	t.Parallel()
	var public []string
	for i := range Catalog {
		typ := &Catalog[i]
		if !typ.Public {
			continue
		}
		public = append(public, typ.Name)
		for _, c := range typ.Columns {
			ids := strings.Contains(c.Expr, "e.anonymous_id") || strings.Contains(c.Expr, "e.session_id") ||
				strings.Contains(c.Expr, "e.profile_id")
			if ids && c.Type == String && !c.Personal {
				t.Errorf("%s.%s tells one visitor from others", typ.Name, c.Name)
			}
		}
		env := envOf(typ)
		env.Public = func(*Type) bool { return true }
		sql := mustStatement(t, typ.Example("today"), env).SQL
		for _, c := range typ.Columns {
			if empty := strings.Contains(sql, "'' AS "+c.Name+","); empty != c.Personal {
				t.Errorf("%s.%s is empty: %t, in\n%s", typ.Name, c.Name, empty, sql)
			}
		}
	}
	if got := strings.Join(public, " "); got != publicTypes {
		t.Errorf("public are %s", got)
	}
}

func TestEveryResponseHasATotalOrder(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		typ := &Catalog[i]
		if typ.SingleRow() {
			if len(typ.Sorts) > 0 || typ.GroupBy != "" || typ.DefaultLimit != 1 {
				t.Errorf("%s has one row and can be sorted, grouped or limited", typ.Name)
			}
			continue
		}
		if len(typ.Sorts) == 0 || !slices.Contains(typ.Sorts, typ.OrderBy) {
			t.Errorf("%s: its own order %q is not among %v", typ.Name, typ.OrderBy, typ.Sorts)
		}
		for _, s := range typ.Sorts {
			if typ.column(s) == nil {
				t.Errorf("%s: sort field %s is no column", typ.Name, s)
			}
		}
		if typ.Tie == "" && !typ.Series {
			t.Errorf("%s: rows that are equal by %s have no order", typ.Name, typ.OrderBy)
		}
		if typ.Series && typ.Columns[0].Expr != dateColumn.Expr {
			t.Errorf("%s is a series and its first column is not the date", typ.Name)
		}
	}
}

// othersNames are types whose columns are named by another contract.
var othersNames = []string{"error_summary", "error_chart_data"}

func TestEveryColumnSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		seen := map[string]bool{}
		for _, c := range Catalog[i].Columns {
			if !snakeCase.MatchString(c.Name) && !slices.Contains(othersNames, Catalog[i].Name) || seen[c.Name] {
				t.Errorf("%s: column %q is no name of its own", Catalog[i].Name, c.Name)
			}
			seen[c.Name] = true
			if c.Label == "" || !strings.HasSuffix(c.Description, ".") || c.Example == "" || c.Expr == "" || c.Type == "" {
				t.Errorf("%s.%s is incomplete: %+v", Catalog[i].Name, c.Name, c)
			}
		}
	}
}

const (
	vitalColumns    = "name visitors p50_lcp p50_fcp p50_cls p50_inp p50_ttfb samples"
	webVitalColumns = "name visitors avg_fcp p50_fcp avg_lcp p50_lcp p75_lcp avg_cls p50_cls avg_inp p75_inp avg_ttfb " +
		"measurements"
)

// The columns are a contract with callers.
func TestColumnsOfTheTypes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"summary_metrics": "pageviews unique_visitors sessions bounce_rate median_session_duration " +
			"total_events",
		"events_by_date": "date pageviews visitors sessions bounce_rate median_session_duration " +
			"pages_per_session",
		"top_pages": "name pageviews visitors percentage",
		"custom_events": "name total_events unique_users unique_sessions last_occurrence " +
			"first_occurrence events_with_properties percentage",
		"custom_events_summary": "total_events unique_event_types unique_users unique_sessions unique_pages",
		"custom_events_trends": "date total_events unique_event_types unique_users unique_sessions " +
			"unique_pages",
		"custom_events_by_path": "name total_events unique_event_types unique_users",
		"custom_events_recent":  "event_name namespace path source properties anonymous_id session_id timestamp",
		"top_referrers": "name pageviews visitors percentage referrer source domain referrer_type " +
			"parsed_referrer",
		"traffic_sources": "name pageviews visitors percentage referrer source domain referrer_type " +
			"parsed_referrer",
		"utm_sources":                        "name pageviews visitors percentage",
		"utm_content":                        "name pageviews visitors percentage",
		"browser_name":                       "name pageviews visitors percentage",
		"os_name":                            "name pageviews visitors percentage",
		"device_types":                       "name pageviews visitors percentage",
		"custom_events_trends_by_event":      "date event_name total_events",
		"custom_event_properties":            "name property_key property_value count",
		"custom_events_property_cardinality": "event_name property_key unique_values occurrences",
		"custom_events_property_classification": "event_name property_key cardinality total_count coverage_ratio " +
			"avg_length max_length " +
			"is_numeric is_boolean is_date_like is_url_like inferred_type render_strategy sample_values",
		"custom_events_property_top_values":   "event_name property_key property_value count total percentage rank",
		"custom_events_property_distribution": "event_name property_key property_value count total percentage cardinality",
		"custom_events_discovery": "event_name total_events unique_users unique_sessions property_key " +
			"unique_values top_values",
		"browsers_grouped":       "name browser_name browser_version pageviews visitors sessions",
		"browser_versions":       "browser_name browser_version pageviews visitors percentage",
		"os_versions":            "name pageviews visitors",
		"screen_resolutions":     "name pageviews visitors",
		"screen_resolution":      "name pageviews visitors percentage device_type",
		"viewport_vs_resolution": "viewport_size visitors pageviews device_type",
		"viewport_patterns":      "viewport_size visitors sessions percentage",
		"traffic_segments":       "dimension value pageviews sessions",
		"timezone":               "name pageviews visitors percentage",
		"language":               "name pageviews visitors percentage",
		"country":                "name pageviews visitors percentage country_code country_name",
		"region":                 "name pageviews visitors percentage country_code country_name country",
		"city":                   "name pageviews visitors percentage country_code country_name country",
		"recent_errors": "message stack path anonymous_id session_id timestamp filename lineno colno error_type " +
			"browser_name browser_version " +
			"os_name os_version device_type country region",
		"error_types":      "name count users last_seen",
		"errors_by_type":   "name count users sessions",
		"error_summary":    "totalErrors uniqueErrorTypes affectedUsers affectedSessions errorRate",
		"vitals_overview":  "metric_name p50 p75 p90 p95 p99 avg_value samples",
		"outbound_links":   "href text total_clicks unique_users unique_sessions percentage last_clicked",
		"outbound_domains": "domain total_clicks unique_users unique_links percentage",
		"session_flow":     "from_path to_path name transitions sessions",
		"ingestion_health": "hour website_id accepted duplicates refused refusals bots excluded declined " +
			"dead_lettered erased last_seen",
		"errors_by_page":   "name errors users",
		"error_trends":     "date errors users",
		"error_frequency":  "date count",
		"error_chart_data": "date totalErrors affectedUsers",
		"error_customer_impact": "profile_id display_name email errors error_types pages affected_sessions total_sessions " +
			"affected_rate last_error first_seen last_seen",
		"error_route_continuation_comparison": "name errors error_sessions error_continued error_continuation_rate " +
			"clean_sessions clean_continued clean_continuation_rate difference",
		"error_fingerprints": "name count users sessions path error_type filename line stack last_seen",
		"vitals_time_series": "date metric_name p50 p75 p90 p95 p99 samples",
		"vitals_by_page":     "page metric_name p50 p75 p90 p95 p99 samples",
		"vitals_by_country":  vitalColumns, "vitals_by_browser": vitalColumns, "vitals_by_region": vitalColumns,
		"vitals_by_city":     vitalColumns,
		"web_vitals_by_page": webVitalColumns, "web_vitals_by_browser": webVitalColumns,
		"web_vitals_by_country": webVitalColumns,
		"web_vitals_by_os":      webVitalColumns, "web_vitals_by_device": webVitalColumns,
		"web_vitals_by_region": webVitalColumns,
		"web_vitals_time_series": "date avg_fcp p50_fcp avg_lcp p50_lcp avg_cls p50_cls avg_inp p50_inp avg_ttfb " +
			"p50_ttfb measurements",
		"paths":                        "step from_name to_name sessions percentage",
		"retention":                    "cohort period cohort_size visitors percentage",
		"funnel":                       "step name visitors conversion_rate step_conversion_rate median_seconds",
		"percentiles":                  "percentile value count min max avg",
		"identified_profile_retention": "activated_profiles eligible_profiles retained_profiles retention_rate",
	} {
		var names []string
		for _, c := range Lookup(name).Columns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has the columns %s, want %s", name, got, want)
		}
	}
}

func TestSuggestionsAreClose(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"top_page": "top_pages", "Top_Pages": "top_pages", "summery": "summary", "summary_metric": "summary_metrics",
		"custom_event": "custom_events", "event_by_date": "events_by_date", "custom_events_recen": "custom_events_recent",
		"x": "", "": "", "uptime_ssl_status": "", strings.Repeat("top_pages", 20): "",
	} {
		got := suggestType(name)
		if want != "" {
			want = "Did you mean '" + want + "'?"
		}
		if got != want {
			t.Errorf("for %q: %q, want %q", name, got, want)
		}
	}
}

// The server hashes a text once for each group it is counted in.
func TestIdsAreCountedByHashes(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		for _, c := range Catalog[i].Columns {
			for _, id := range []string{"e.anonymous_id", "e.session_id"} {
				if strings.Contains(c.Expr, "uniqExact("+id) || strings.Contains(c.Expr, "uniqExactIf("+id) {
					t.Errorf("%s of %s counts texts: %s", c.Name, Catalog[i].Name, c.Expr)
				}
			}
		}
	}
}
