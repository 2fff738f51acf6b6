package analytics

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each field is one or the other: may a caller who can query only public types filter and group by
// it? No field is public that tells who somebody is, or one visitor from others: starts_with would
// spell it out.
const (
	personalFields = "profile_id anonymous_id session_id trait:<key>"
	publicFields   = "path query_string host title event_name namespace source website_id browser_name browser_version " +
		"os_name os_version device_type country region city connection language timezone screen viewport referrer " +
		"referrer_domain referrer_type referrer_name utm_source utm_medium utm_campaign utm_term utm_content href " +
		"link_text error_type message filename lineno colno metric_name metric_value time_on_page scroll_depth " +
		"interactions page_count load_time dom_ready dom_interactive ttfb render_time redirect_time lookup_time rtt " +
		"downlink is_bot is_qr rule_id variant_id flag_key variant environment property_key property:<key>"
)

// publicColumns are the columns of each public type. Those with a ! are Personal: empty for a
// caller who can query only public types.
var publicColumns = map[string]string{
	"summary_metrics":               "pageviews unique_visitors sessions bounce_rate median_session_duration total_events",
	"events_by_date":                "date pageviews visitors sessions bounce_rate median_session_duration pages_per_session",
	"today_metrics":                 "pageviews visitors sessions",
	"active_stats":                  "active_users active_sessions",
	"top_pages":                     "name pageviews visitors percentage",
	"page_performance":              "name pageviews visitors percentage",
	"entry_pages":                   "name pageviews visitors percentage",
	"exit_pages":                    "name pageviews visitors percentage",
	"page_time_analysis":            "name sessions_with_time visitors median_time_on_page percentage",
	"top_referrers":                 "name pageviews visitors percentage referrer source domain referrer_type parsed_referrer",
	"traffic_sources":               "name pageviews visitors percentage referrer source domain referrer_type parsed_referrer",
	"utm_sources":                   "name pageviews visitors percentage",
	"utm_mediums":                   "name pageviews visitors percentage",
	"utm_campaigns":                 "name pageviews visitors percentage",
	"utm_terms":                     "name pageviews visitors percentage",
	"utm_content":                   "name pageviews visitors percentage",
	"browser_name":                  "name pageviews visitors percentage",
	"browser_versions":              "browser_name browser_version pageviews visitors percentage",
	"os_name":                       "name pageviews visitors percentage",
	"device_types":                  "name pageviews visitors percentage",
	"screen_resolution":             "name pageviews visitors percentage device_type",
	"country":                       "name pageviews visitors percentage country_code country_name",
	"region":                        "name pageviews visitors percentage country_code country_name country",
	"city":                          "name pageviews visitors percentage country_code country_name country",
	"timezone":                      "name pageviews visitors percentage",
	"language":                      "name pageviews visitors percentage",
	"custom_events_summary":         "total_events unique_event_types unique_users unique_sessions unique_pages",
	"custom_events_trends":          "date total_events unique_event_types unique_users unique_sessions unique_pages",
	"custom_events_trends_by_event": "date event_name total_events",
	"custom_events_by_path":         "name total_events unique_event_types unique_users",
	"custom_events_recent":          "event_name namespace path source properties anonymous_id! session_id! timestamp",
	"custom_events": "name total_events unique_users unique_sessions last_occurrence first_occurrence " +
		"events_with_properties percentage",
	"custom_events_property_cardinality": "event_name property_key unique_values occurrences",
	"custom_events_property_classification": "event_name property_key cardinality total_count coverage_ratio avg_length " +
		"max_length is_numeric is_boolean is_date_like is_url_like inferred_type render_strategy sample_values",
	"custom_events_property_top_values": "event_name property_key property_value count total percentage rank",
	"custom_events_property_distribution": "event_name property_key property_value count total percentage " +
		"cardinality",
	"custom_events_discovery": "event_name total_events unique_users unique_sessions property_key unique_values top_values",
	"percentiles":             "percentile value count min max avg",
	"recent_errors": "message stack path anonymous_id! session_id! timestamp filename lineno colno error_type " +
		"browser_name browser_version os_name os_version device_type country region",
	"error_types":        "name count users last_seen",
	"errors_by_type":     "name count users sessions",
	"error_summary":      "totalErrors uniqueErrorTypes affectedUsers affectedSessions errorRate",
	"errors_by_page":     "name errors users",
	"error_trends":       "date errors users",
	"error_frequency":    "date count",
	"error_chart_data":   "date totalErrors affectedUsers",
	"vitals_overview":    "metric_name p50 p75 p90 p95 p99 avg_value samples",
	"vitals_time_series": "date metric_name p50 p75 p90 p95 p99 samples",
	"vitals_by_page":     "page metric_name p50 p75 p90 p95 p99 samples",
	"vitals_by_country":  "name visitors p50_lcp p50_fcp p50_cls p50_inp p50_ttfb samples",
	"vitals_by_browser":  "name visitors p50_lcp p50_fcp p50_cls p50_inp p50_ttfb samples",
	"vitals_by_region":   "name visitors p50_lcp p50_fcp p50_cls p50_inp p50_ttfb samples",
	"vitals_by_city":     "name visitors p50_lcp p50_fcp p50_cls p50_inp p50_ttfb samples",
	"outbound_links":     "href text total_clicks unique_users unique_sessions percentage last_clicked",
	"outbound_domains":   "domain total_clicks unique_users unique_links percentage",
}

func TestFields_ArePersonalOrPublic(t *testing.T) {
	t.Parallel()
	var personal, public []string
	for i := range Fields {
		if f := &Fields[i]; f.Personal {
			personal = append(personal, f.Name)
		} else {
			public = append(public, f.Name)
		}
	}
	if got := strings.Join(personal, " "); got != personalFields {
		t.Errorf("personal are %s, want %s", got, personalFields)
	}
	if got := strings.Join(public, " "); got != publicFields {
		t.Errorf("public are %s, want %s", got, publicFields)
	}
}

func TestColumns_OfPublicTypesAreDecided(t *testing.T) {
	t.Parallel()
	decided := 0
	for i := range Catalog {
		typ := &Catalog[i]
		if !typ.Public {
			continue
		}
		decided++
		var columns []string
		for _, c := range typ.Columns {
			if columns = append(columns, c.Name); c.Personal {
				columns[len(columns)-1] += "!"
			}
			if slices.Contains(strings.Fields(personalFields), c.Name) && !c.Personal {
				t.Errorf("%s.%s is a personal field", typ.Name, c.Name)
			}
			if c.Personal && slices.Contains(slices.Concat(typ.Sorts, typ.Measures), c.Name) {
				t.Errorf("%s can be sorted or filtered by its personal column %s", typ.Name, c.Name)
			}
		}
		if got := strings.Join(columns, " "); got != publicColumns[typ.Name] {
			t.Errorf("%s has the columns %s, want %s", typ.Name, got, publicColumns[typ.Name])
		}
	}
	if decided != len(publicColumns) {
		t.Errorf("%d public types, want %d", decided, len(publicColumns))
	}
}

// anonymously is the environment of a caller who can query only public types.
func anonymously(t *Type) Environment {
	env := envOf(t)
	env.Public = func(*Type) bool { return true }
	env.Reject = func(t *Type, personal bool) error {
		if t.Public && !personal {
			return nil
		}
		return ErrNoCredential
	}
	return env
}

// Each field under each of its names, wherever a request may write it, for each public type.
func TestCompile_RejectsPersonalFieldsOfPublicTypes(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	for i := range Catalog {
		typ := &Catalog[i]
		if !typ.Public {
			continue
		}
		for _, o := range typ.Options {
			if o.Kind == OptionSteps {
				t.Errorf("%s has filters in its option %s, which nobody checks", typ.Name, o.Name)
			}
		}
		for j := range Fields {
			f := &Fields[j]
			for _, name := range append([]string{f.Name}, f.Aliases...) {
				name = strings.ReplaceAll(name, keyMark, "email")
				check := func(request string) {
					t.Helper()
					body := strings.TrimSuffix(strings.Replace(typ.Example("today"), `,"filters":[]`, "", 1), "}") + "," + request + "}"
					plans, err := compileBody(t, body, anonymously(typ))
					if err != nil {
						t.Fatalf("%s: %v", body, err)
					}
					rejected := plans[0].Outputs[0].Rejected
					personal, is := errors.AsType[*PersonalFieldError](rejected)
					switch {
					case f.Personal != is, is && (personal.Name != name || !errors.Is(rejected, ErrNoCredential)):
						t.Errorf("%s: rejected by %v, personal is %t", body, rejected, f.Personal)
					case is && len(plans[0].Statements) > 0:
						t.Errorf("%s: it is asked nevertheless", body)
					}
					asked[f.Name]++
				}
				if slices.Contains(typ.Groups, f.Name) {
					check(fmt.Sprintf(`"groupBy":[%q]`, name))
				}
				if !slices.Contains(typ.Filters, f.Name) {
					continue
				}
				for k := range Operators {
					op := &Operators[k]
					if !op.Supports(f.Kind) {
						continue
					}
					value := map[Arity]string{OneValue: `,"value":"1"`, ListOfValues: `,"value":["1"]`}[op.Takes]
					if f.Kind == FlagField {
						value = strings.ReplaceAll(value, `"1"`, "true")
					}
					one := fmt.Sprintf(`{"field":%q,"op":%q%s}`, name, op.Name, value)
					check(`"filters":[` + one + `]`)
					if k == 0 {
						check(`"filters":[{"field":"path","op":"eq","value":"/"},{"and":[{"or":[{"not":` + one + `}]}]}]`)
					}
				}
			}
		}
	}
	for _, name := range []string{"profile_id", "anonymous_id", "session_id", "trait:<key>", "path", "property:<key>"} {
		if asked[name] == 0 {
			t.Errorf("nobody asks by %s", name)
		}
	}
}
