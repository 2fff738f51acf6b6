package analytics

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Each row is one thing that a caller can get wrong, and all that it is told.
func TestEveryRejectionNamesTheFieldAndWhatIsSupported(t *testing.T) {
	t.Parallel()
	const days = `"startDate":"2026-03-01","endDate":"2026-03-02"`
	for _, tc := range []struct{ name, body, field, message, suggestion string }{
		{"no parameters", `{"preset":"today"}`, "parameters", "At least one parameter is required", ""},
		{"empty parameters", `{"parameters":[],"preset":"today"}`, "parameters", "At least one parameter is required", ""},
		{
			"an unknown type", `{"parameters":["top_page"],"preset":"today"}`, "parameters[0]", "Unknown query type: top_page",
			"Did you mean 'top_pages'?",
		},
		{
			"a type of another world", `{"parameters":["zzzz"],"preset":"today"}`, "parameters[0]",
			"Unknown query type: zzzz", "",
		},
		{
			"a parameter that is a number", `{"parameters":[1],"preset":"today"}`, "parameters[0]",
			"parameters[0] must be a string or an object", "",
		},
		{
			"a parameter without a name", `{"parameters":[{"id":"x"}],"preset":"today"}`, "parameters[0].name",
			"parameters[0].name is required", "",
		},
		{
			"an unknown key of a parameter", `{"parameters":[{"name":"summary","startdate":"x"}],"preset":"today"}`,
			"parameters[0].startdate", "Unknown field: startdate", "Did you mean 'start_date'?",
		},
		{
			"parameters that are no array", `{"parameters":"summary","preset":"today"}`, "parameters",
			"parameters must be an array", "",
		},
		{
			"an unknown field", `{"parameters":["summary"],"preset":"today","filter":[]}`, "filter", "Unknown field: filter",
			"Did you mean 'filters'?",
		},
		{
			"a field given twice", `{"parameters":["summary"],"preset":"today","preset":"today"}`, "preset",
			"preset must be given only once", "",
		},
		{"an id that is a number", `{"id":7,"parameters":["summary"],"preset":"today"}`, "id", "id must be a string", ""},
		{"no range", `{"parameters":["summary"]}`, "startDate", "Either startDate or preset is required", ""},
		{
			"no end", `{"parameters":["summary"],"startDate":"2026-03-01"}`, "endDate",
			"Either endDate or preset is required", "",
		},
		{
			"no date", `{"parameters":["summary"],"startDate":"soon","endDate":"2026-03-01"}`, "startDate",
			"Invalid date: soon. Could not parse as a valid date", "",
		},
		{
			"a day that is not", `{"parameters":["summary"],"startDate":"2026-02-30","endDate":"2026-03-01"}`, "startDate",
			"Invalid date: 2026-02-30. Could not parse as a valid date", "",
		},
		{
			"a year too far", `{"parameters":["summary"],"startDate":"2026-02-01","endDate":"2106-01-01"}`, "endDate",
			"Invalid date: 2106-01-01. Could not parse as a valid date", "",
		},
		{
			"an end before the start", `{"parameters":["summary"],"startDate":"2026-03-02","endDate":"2026-03-01"}`, "endDate",
			"endDate must not be before startDate", "",
		},
		{
			"an instant of no length",
			`{"parameters":["summary"],"startDate":"2026-03-02T10:00:00Z","endDate":"2026-03-02T10:00:00Z"}`, "endDate",
			"endDate must not be before startDate", "",
		},
		{
			"a date of a parameter", `{"parameters":[{"name":"summary","start_date":"x"}],` + days + `}`,
			"parameters[0].start_date", "Invalid date: x. Could not parse as a valid date", "",
		},
		{
			"an unknown preset", `{"parameters":["summary"],"preset":"last_8d"}`, "preset", "Invalid date preset: last_8d",
			presetSuggestion(),
		},
		{
			"an unknown zone", `{"parameters":["summary"],"preset":"today","timeZone":"Mars/Olympus"}`, "timeZone",
			"Invalid timezone: Mars/Olympus", "Use an IANA name such as 'Europe/Berlin'",
		},
		{
			"a zone under both of its names",
			`{"parameters":["summary"],"preset":"today","timeZone":"Asia/Tokyo","timezone":"Asia/Tokyo"}`, "timezone",
			"timezone must be given only once", "",
		},
		{
			"a zone under both of its names in an array",
			`[{"parameters":["summary"],"preset":"today","timezone":"Asia/Tokyo","timeZone":"UTC"}]`, "batch[0].timeZone",
			"timeZone must be given only once", "",
		},
		{
			"a file of the machine for a zone", `{"parameters":["summary"],"preset":"today","timeZone":"right/UTC"}`, "timeZone",
			"Invalid timezone: right/UTC", "Use an IANA name such as 'Europe/Berlin'",
		},
		{
			"the machine's zone", `{"parameters":["summary"],"preset":"today","timeZone":"Local"}`, "timeZone",
			"Invalid timezone: Local", "Use an IANA name such as 'Europe/Berlin'",
		},
		{
			"a path for a zone", `{"parameters":["summary"],"preset":"today","timezone":"../../etc/passwd"}`, "timeZone",
			"Invalid timezone: ../../etc/passwd", "Use an IANA name such as 'Europe/Berlin'",
		},
		{
			"an unknown granularity", `{"parameters":["events_by_date"],"preset":"today","granularity":"yearly"}`, "granularity",
			"Invalid granularity: yearly", "Supported granularities: minute, hour, day, week, month",
		},
		{
			"hours of 31 days",
			`{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-31","granularity":"hourly"}`,
			"granularity", "Hourly granularity is limited to 30 days", "Use a shorter range",
		},
		{
			"minutes of 2 days",
			`{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-02","granularity":"minute"}`,
			"granularity", "Minutely granularity is limited to 1 day", "Use a shorter range",
		},
		{
			"months of too many years",
			`{"parameters":["events_by_date"],"startDate":"1990-01-01","endDate":"2027-05-19","granularity":"month"}`,
			"granularity", "Monthly granularity is limited to 10000 days", "Use a shorter range",
		},
		{
			"days of too many years", `{"parameters":["events_by_date"],"startDate":"2000-01-01","endDate":"2027-05-19"}`,
			"granularity", "Daily granularity is limited to 10000 days", "Use a shorter range",
		},
		{
			"a granularity for what is about the present",
			`{"parameters":[{"name":"realtime_velocity","granularity":"hour"}],"preset":"today"}`, "parameters[0].granularity",
			"Granularity is not supported by realtime_velocity", "",
		},
		{
			"an unknown granularity beside the present",
			`{"parameters":["active_stats"],"preset":"today","granularity":"decade"}`, "granularity",
			"Invalid granularity: decade", granularitySuggestion(),
		},
		{
			"a granularity for a summary", `{"parameters":[{"name":"summary","granularity":"hour"}],"preset":"today"}`,
			"parameters[0].granularity", "Granularity is not supported by summary_metrics", "",
		},
		{"limit 0", `{"parameters":["top_pages"],"preset":"today","limit":0}`, "limit", "Limit must be at least 1", ""},
		{
			"limit 10001", `{"parameters":["top_pages"],"preset":"today","limit":10001}`, "limit",
			"Limit cannot exceed 10000", "",
		},
		{
			"a limit with a fraction", `{"parameters":["top_pages"],"preset":"today","limit":1.5}`, "limit",
			"limit must be a whole number", "",
		},
		{
			"a limit that is text", `{"parameters":["top_pages"],"preset":"today","limit":"10"}`, "limit",
			"limit must be a number", "",
		},
		{"page 0", `{"parameters":["top_pages"],"preset":"today","page":0}`, "page", "Page must be at least 1", ""},
		{
			"a page too far", `{"parameters":["top_pages"],"preset":"today","page":1000001}`, "page",
			"Page cannot exceed 1000000", "",
		},
		{
			"a group of what has none", `{"parameters":["recent_errors"],"preset":"today","groupBy":"country"}`, "groupBy",
			"Grouping by country is not supported by recent_errors", "recent_errors supports no groupBy",
		},
		{
			"a group twice", `{"parameters":["summary"],"preset":"today","groupBy":["path","path"]}`, "groupBy",
			"path must be given only once", "",
		},
		{
			"a group by both of its names", `{"parameters":["summary"],"preset":"today","groupBy":["event_name","path","name"]}`,
			"groupBy", "name must be given only once", "",
		},
		{"a required option", `{"parameters":["funnel"],"preset":"today"}`, "parameters[0].steps", "funnel requires steps", ""},
		{
			"a group that no type has", `{"parameters":["vitals_overview"],"preset":"today","groupBy":"session_id"}`, "groupBy",
			"Grouping by session_id is not supported by vitals_overview", supportedGroups(Lookup("vitals_overview")),
		},
		{
			"a sort field of another type", `{"parameters":["top_pages"],"preset":"today","sortBy":"date"}`, "sortBy",
			"Sorting by date is not supported by top_pages", "Supported sort fields: pageviews, visitors",
		},
		{
			"sorting one row", `{"parameters":["summary"],"preset":"today","sortBy":"pageviews"}`, "sortBy",
			"Sorting by pageviews is not supported by summary_metrics", "summary_metrics returns a single row",
		},
		{
			"an unknown order", `{"parameters":["top_pages"],"preset":"today","sortOrder":"up"}`, "sortOrder",
			"Invalid sortOrder: up", "Use 'asc' or 'desc'",
		},
		{
			"a filter like nothing we have", filterBody(`{"field":"zzz","op":"eq","value":"x"}`), "filters[0].field",
			"Unknown filter field: zzz", suggestField(""),
		},
		{
			"an unknown filter", filterBody(`{"field":"pth","op":"eq","value":"x"}`), "filters[0].field",
			"Unknown filter field: pth", "Did you mean 'path'?",
		},
		{
			"a filter of another type", filterBody(`{"field":"metric_name","op":"eq","value":"x"}`), "filters[0].field",
			"Filter metric_name is not supported by top_pages", supportedFilters(Lookup("top_pages")),
		},
		{
			"a filter that one of two types lacks",
			`{"parameters":["summary","vitals_overview"],"preset":"today","filters":[{"field":"utm_source","op":"eq","value":"x"}]}`,
			"filters[0].field", "Filter utm_source is not supported by vitals_overview",
			supportedFilters(Lookup("vitals_overview")),
		},
		{
			"an unknown operator", filterBody(`{"field":"path","op":"like","value":"x"}`), "filters[0].op",
			"Unknown filter operator: like",
			"Supported operators: eq, ne, contains, not_contains, starts_with, ends_with, regex, in, not_in, is_set, not_set",
		},
		{
			"a list for one value", filterBody(`{"field":"path","op":"eq","value":["x"]}`), "filters[0].value",
			"Operator eq requires a single value", "Use in or not_in for several values",
		},
		{
			"one value for a list", filterBody(`{"field":"path","op":"in","value":"x"}`), "filters[0].value",
			"Operator in requires an array", "",
		},
		{
			"an empty list", filterBody(`{"field":"path","op":"in","value":[]}`), "filters[0].value",
			"At least one value is required", "",
		},
		{
			"an object for a value", filterBody(`{"field":"path","op":"eq","value":{}}`), "filters[0].value",
			"filters[0].value must be a string, a number, a boolean or an array of them", "",
		},
		{
			"a list in a list", filterBody(`{"field":"path","op":"in","value":["a",["b"]]}`), "filters[0].value[1]",
			"filters[0].value[1] must be a string, a number or a boolean", "",
		},
		{
			"a value for an operator without", filterBody(`{"field":"path","op":"is_set","value":"x"}`), "filters[0].value",
			"Operator is_set must have no value", "",
		},
		{
			"a text compared as a number", filterBody(`{"field":"path","op":"gt","value":1}`), "filters[0].op",
			"Operator gt is not supported by path",
			"Supported operators: eq, ne, contains, not_contains, starts_with, ends_with, regex, in, not_in, is_set, not_set",
		},
		{
			"a number compared as a text", filterBody(`{"field":"rtt","op":"contains","value":"1"}`), "filters[0].op",
			"Operator contains is not supported by rtt",
			"Supported operators: eq, ne, in, not_in, gt, gte, lt, lte, is_set, not_set",
		},
		{
			"a text for a number", filterBody(`{"field":"rtt","op":"gt","value":"fast"}`), "filters[0].value",
			"rtt gt requires a number in the range of a 64-bit float", "",
		},
		{
			"a number of another base", filterBody(`{"field":"rtt","op":"gt","value":"0x10"}`), "filters[0].value",
			"rtt gt requires a number in the range of a 64-bit float", "",
		},
		{
			"a boolean for a number", filterBody(`{"field":"rtt","op":"eq","value":true}`), "filters[0].value",
			"rtt eq requires a number in the range of a 64-bit float", "",
		},
		{
			"a number too large", filterBody(`{"field":"property:x","op":"eq","value":1e999}`), "filters[0].value",
			"property:x eq requires a number in the range of a 64-bit float", "",
		},
		{
			"a text for a number of a property", filterBody(`{"field":"property:x","op":"lte","value":"many"}`),
			"filters[0].value", "property:x lte requires a number in the range of a 64-bit float", "",
		},
		{
			"a property without a key", filterBody(`{"field":"property:","op":"eq","value":"x"}`), "filters[0].field",
			"property: must name a key", "Write property:<key>",
		},
		{
			"a broken expression", filterBody(`{"field":"path","op":"regex","value":"/a("}`), "filters[0].value",
			"The regular expression of path is invalid: missing closing ): /a(", "RE2 syntax is supported",
		},
		{
			"a class that the server has by another name", filterBody(`{"field":"path","op":"regex","value":"[a\\p{Letter}]"}`),
			"filters[0].value", `The regular expression of path is invalid: invalid character class range: \p{Letter}`,
			"RE2 syntax is supported",
		},
		{
			"a class that the server does not have", filterBody(`{"field":"path","op":"regex","value":"\\pL\\P{^Cn}"}`),
			"filters[0].value", `The regular expression of path is invalid: invalid character class range: \P{^Cn}`,
			"RE2 syntax is supported",
		},
		{
			"an expression that looks back", filterBody(`{"field":"path","op":"regex","value":"(a)\\1"}`), "filters[0].value",
			"The regular expression of path is invalid: invalid escape sequence: \\1", "RE2 syntax is supported",
		},
		{
			"two forms at once", filterBody(`{"field":"path","op":"eq","value":"x","or":[]}`), "filters[0]",
			"filters[0] must have exactly one of field, and, or, not", "",
		},
		{"an empty filter", filterBody(`{}`), "filters[0].field", "filters[0].field is required", ""},
		{"an empty group", filterBody(`{"or":[]}`), "filters[0].or", "At least one filter is required", ""},
		{
			"a group that is no list", filterBody(`{"and":{"field":"path","op":"is_set"}}`), "filters[0].and",
			"filters[0].and must be an array", "",
		},
		{"a negation of a list", filterBody(`{"not":[]}`), "filters[0].not", "filters[0].not must be an object", ""},
		{
			"a mistake inside",
			filterBody(`{"and":[{"not":{"or":[{"field":"path","op":"eq","value":"x"},{"field":"path","op":"eq"}]}}]}`),
			"filters[0].and[0].not.or[1].value", "filters[0].and[0].not.or[1].value is required", "",
		},
		{"no value", filterBody(`{"field":"path","op":"eq"}`), "filters[0].value", "filters[0].value is required", ""},
		{"a filter that is text", filterBody(`"path"`), "filters[0]", "filters[0] must be an object", ""},
		{
			"an operator that a key cannot have",
			`{"parameters":["custom_events"],"preset":"today","filters":[{"field":"property_key","op":"contains","value":"x"}]}`,
			"filters[0].op", "Operator contains is not supported by property_key", "Supported operators: eq, ne, in, not_in",
		},
		{
			"a comparison with nothing", `{"parameters":["summary"],"preset":"today","compare":"yesterday"}`, "compare",
			"compare must be 'previous_period' or an object with startDate and endDate", "",
		},
		{
			"a comparison without an end", `{"parameters":["summary"],"preset":"today","compare":{"startDate":"2026-01-01"}}`,
			"compare.endDate", "compare.endDate is required", "",
		},
		{
			"a comparison with no date",
			`{"parameters":["summary"],"preset":"today","compare":{"startDate":"2026-01-01","endDate":"soon"}}`,
			"compare.endDate", "Invalid date: soon. Could not parse as a valid date", "",
		},
		{
			"a comparison with a range of no length",
			`{"parameters":["summary"],"preset":"today","compare":{"startDate":"2026-01-02","endDate":"2026-01-01"}}`, "compare",
			"The range to compare with has no length", "",
		},
		{
			"a comparison of latest things",
			`{"parameters":["summary","custom_events_recent"],"preset":"today","compare":"previous_period"}`, "compare",
			"Comparing is not supported by custom_events_recent", "",
		},
		{"hours of a long comparison", `{"parameters":["events_by_date"],"preset":"today","granularity":"hour","compare":{"startDate":"2026-01-01","endDate":"2026-01-31"}}`, "compare", "Hourly granularity is limited to 30 days", "Compare with a shorter range"},
		{"an empty batch", `[]`, "", "At least one query is required", ""},
		{"a batch of text", `["x"]`, "batch[0]", "batch[0] must be an object", ""},
		{
			"the second of a batch", `[{"parameters":["summary"],"preset":"today"},{"parameters":["summery"],"preset":"today"}]`,
			"batch[1].parameters[0]", "Unknown query type: summery", "Did you mean 'summary'?",
		},
		{"a body that is text", `"summary"`, "", "Request body must be an object or an array of objects", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := compileBody(t, tc.body, websiteEnv())
			if !apierr.Is(err, apierr.Validation) {
				t.Fatalf("%s: error %v, want a validation error", tc.body, err)
			}
			f := apierr.Of(err)
			got := []string{f.Details[0].Field, f.Details[0].Message, f.Details[0].Suggestion}
			if diff := cmp.Diff([]string{tc.field, tc.message, tc.suggestion}, got); diff != "" {
				t.Errorf("first of %d details (-want +got):\n%s", len(f.Details), diff)
			}
			want := tc.message
			if tc.suggestion != "" {
				want += ". " + tc.suggestion
			}
			if f.Message != want {
				t.Errorf("message %q, want %q", f.Message, want)
			}
		})
	}
}

func filterBody(filter string) string {
	return `{"parameters":["top_pages"],"preset":"today","filters":[` + filter + `]}`
}

func TestEveryProblemIsReportedOnce(t *testing.T) {
	t.Parallel()
	_, err := compileBody(t,
		`[{"parameters":["summery","summary","events_by_date"],"startDate":"x","endDate":"y","sortOrder":"z",
		"filters":[{"field":"path","op":"is","value":"x"}],"timeZone":"Nowhere"}]`, websiteEnv())
	var got []string
	for _, d := range apierr.Of(err).Details {
		got = append(got, d.Field)
	}
	want := []string{
		"batch[0].parameters[0]", "batch[0].timeZone", "batch[0].filters[0].op", "batch[0].sortOrder", "batch[0].startDate",
		"batch[0].endDate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestATypeOfAnotherSubjectSaysWhichItHas(t *testing.T) {
	t.Parallel()
	env := websiteEnv()
	env.Subject = Subject{Kind: Organization, ID: "org_1"}
	_, err := compileBody(t, `{"parameters":["summary","profiles"],"preset":"today"}`, env)
	want := []apierr.Detail{problem("parameters[1]", "unsupported_subject",
		"Query type profiles does not support this subject", "Ask with website_id")}
	if f, ok := errors.AsType[*apierr.Error](err); !ok || !cmp.Equal(f.Details, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func TestLimitsAreAcceptedAtAndRejectedBeyond(t *testing.T) {
	t.Parallel()
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	query := func(parameters, filters, limit int, extra string) string {
		return fmt.Sprintf(`{"parameters":[%s],"preset":"today","limit":%d,"filters":[%s]%s}`,
			many(parameters, `"top_pages"`), limit, many(filters, `{"field":"path","op":"eq","value":"x"}`), extra)
	}
	in := func(values, length int) string {
		return filterBody(`{"field":"path","op":"in","value":[` + many(values, `"`+strings.Repeat("é", length)+`"`) + `]}`)
	}
	grouped := func(n int) string {
		half := many(n/2, `{"field":"path","op":"eq","value":"x"}`)
		return filterBody(`{"or":[` + half + `]},{"not":{"and":[` + half +
			strings.Repeat(`,{"field":"path","op":"is_set"}`, n%2) + `]}}`)
	}
	nested := func(levels int) string {
		return filterBody(strings.Repeat(`{"not":`, levels-1) + `{"field":"path","op":"is_set"}` +
			strings.Repeat("}", levels-1))
	}
	key := func(n int) string {
		return filterBody(`{"field":"property:` + strings.Repeat("é", n) + `","op":"is_set"}`)
	}
	regex := func(part string, n int) string {
		return filterBody(`{"field":"path","op":"regex","value":"` + strings.Repeat(part, n) + `"}`)
	}
	id := func(n int) string { return query(1, 0, 1, `,"id":"`+strings.Repeat("x", n)+`"`) }
	for _, tc := range []struct {
		name, at, beyond, message string
	}{
		{
			"parameters", query(MaxParameters, 0, 1, ""), query(MaxParameters+1, 0, 1, ""),
			"Too many parameters: 26 given, at most 25 are allowed",
		},
		{
			"queries", "[" + many(MaxRequests, query(1, 0, 1, "")) + "]", "[" + many(MaxRequests+1, query(1, 0, 1, "")) + "]",
			"Too many queries: 11 given, at most 10 are allowed",
		},
		{
			"filters", query(1, MaxFilters, 1, ""), query(1, MaxFilters+1, 1, ""),
			"Too many filters: 51 given, at most 50 are allowed",
		},
		{"limit", query(1, 0, MaxLimit, ""), query(1, 0, MaxLimit+1, ""), "Limit cannot exceed 10000"},
		{
			"filters in groups", grouped(MaxFilters), grouped(MaxFilters + 1),
			"Too many filters: 51 given, at most 50 are allowed",
		},
		{
			"depth of filters", nested(MaxFilterDepth), nested(MaxFilterDepth + 1),
			"Filters are nested too deeply: at most 8 levels are allowed",
		},
		{
			"length of a key", key(MaxFilterKeyLen), key(MaxFilterKeyLen + 1),
			"The key of property:<key> must have at most 256 characters",
		},
		{"length of an expression", regex("é", MaxRegexLen), regex("é", MaxRegexLen+1), "The regular expression of path " +
			"is invalid: it has 513 characters; at most 512 are allowed. RE2 syntax is supported"},
		{"size of an expression", regex("[a-c]{833}", 3), regex("[a-c]{834}", 3), errRegexSizeText},
		{"values of a filter", in(MaxFilterValues, 1), in(MaxFilterValues+1, 1), "1001 values; at most 1000 are allowed"},
		{
			"length of a value", in(1, MaxFilterValueLen), in(1, MaxFilterValueLen+1),
			"A filter value must have at most 2048 characters",
		},
		{"length of an id", id(MaxLabelLen), id(MaxLabelLen + 1), "id must have at most 256 bytes"},
		{"page", query(1, 0, 1, `,"page":1000000`), query(1, 0, 1, `,"page":1000001`), "Page cannot exceed 1000000"},
		{
			"groups", query(1, 0, 1, `,"groupBy":["country","os_name","device_type"]`),
			query(1, 0, 1, `,"groupBy":["country","os_name","device_type","city"]`),
			"Too many groups: 4 given, at most 3 are allowed",
		},
		{
			"minutes",
			`{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-01","granularity":"minute"}`,
			`{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-02","granularity":"minute"}`,
			"Minutely granularity is limited to 1 day. Use a shorter range",
		},
		{
			"hours", `{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-30","granularity":"hourly"}`,
			`{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-31","granularity":"hourly"}`,
			"Hourly granularity is limited to 30 days. Use a shorter range",
		},
		{
			"days from noon to noon, which are one more",
			`{"parameters":["events_by_date"],"startDate":"2000-01-01T12:00","endDate":"2027-05-18T12:00"}`,
			`{"parameters":["events_by_date"],"startDate":"2000-01-01T12:00","endDate":"2027-05-19T12:00"}`,
			"Daily granularity is limited to 10000 days. Use a shorter range",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, err := compileBody(t, tc.at, websiteEnv()); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := compileBody(t, tc.beyond, websiteEnv())
			if !apierr.Is(err, apierr.Validation) || apierr.Of(err).Message != tc.message {
				t.Errorf("beyond the limit: %v, want %q", err, tc.message)
			}
		})
	}
}

func TestARejectionIsShortHoweverLongTheRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 10_000)
	for _, body := range []string{
		`{"parameters":["` + long + `"],"preset":"today"}`, `{"` + long + `":1,"parameters":["summary"]}`,
		`{"parameters":["summary"],"preset":"` + long + `"}`,
		filterBody(`{"field":"` + long + `","op":"` + long + `","value":""}`),
		`{"parameters":["top_pages"],"preset":"today","sortBy":"` + long + `","groupBy":"` + long + `"}`,
		`{"parameters":["summary"],"startDate":"` + long + `","endDate":"2026-01-01","timeZone":"` + long +
			`","granularity":"` + long + `"}`,
		`{"parameters":[` + strings.Repeat("1,", 10_000) + `1]}`,
	} {
		_, err := compileBody(t, body, websiteEnv())
		f := apierr.Of(err)
		if f.Code != apierr.Validation || len(f.Details) > MaxProblems {
			t.Errorf("%.60s: %s with %d details", body, f.Code, len(f.Details))
			continue
		}
		for _, d := range f.Details {
			if n := len(d.Field) + len(d.Message) + len(d.Suggestion); n > 1200 {
				t.Errorf("%.60s: a detail of %d bytes", body, n)
			}
		}
	}
}

func TestWhatIsNoJSONIsAParseError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"", "{", "nope", `{"parameters":["summary"],}`, `{"limit":1e}`, `{"limit":NaN}`, "{\"id\":\"\xff\"}",
		"{\"id\":\"a\nb\"}", `{} {}`,
	} {
		if _, _, err := Decode([]byte(body)); !apierr.Is(err, apierr.Parse) {
			t.Errorf("Decode(%q) = %v, want a parse fault", body, err)
		}
	}
}

func TestNullIsAbsent(t *testing.T) {
	t.Parallel()
	body := `{"id":null,"parameters":["top_pages"],"preset":"today","startDate":null,"filters":null,"groupBy":null,"sortBy":null,"limit":null,"page":null,"timeZone":null,"timezone":"UTC"}`
	plans, err := compileBody(t, body, websiteEnv())
	if err != nil {
		t.Fatal(err)
	}
	if p := plans[0]; p.Limit != DefaultLimit || p.Page != 1 || p.Filters != 0 || len(p.Statements) != 1 {
		t.Errorf("plan %+v, want the defaults", p)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"a","parameters":["summary",{"name":"pages","id":"p","start_date":"2026-01-01"}],"preset":"today","filters":[{"field":"path","op":"in","value":["a"]}],"limit":5}`))
	f.Add([]byte(`[{"parameters":["top_pages"],"startDate":"2026-03-29T01:00","endDate":"2026-03-30","timeZone":"Europe/Berlin","granularity":"hour"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		requests, batch, err := Decode(body)
		if err != nil {
			return
		}
		plans, err := Compile(requests, batch, websiteEnv())
		if err != nil {
			return
		}
		for _, p := range plans {
			if len(p.Statements) != len(p.Names) || len(p.Names) == 0 {
				t.Errorf("%s: %d statements for %d parameters", body, len(p.Statements), len(p.Names))
			}
		}
	})
}

const errRegexSizeText = "The regular expression of path is invalid: it is too complex: it expands to more " +
	"than 10000 steps. RE2 syntax is supported"

// A body that is wrong in every place costs what it takes to read it, and not a sentence
// for each place: anybody may send one.
func TestABodyThatIsWrongEverywhereCostsNoMoreToReject(t *testing.T) { //nolint:paralleltest // allocations are counted
	const many = 60_000
	var members strings.Builder
	for i := range many {
		fmt.Fprintf(&members, `,"field%d":1`, i)
	}
	items := strings.Repeat("1,", many) + "1"
	for _, tc := range []struct {
		name, body string
		details    int
	}{
		{"unknown fields", `{"parameters":["summary"]` + members.String() + `}`, MaxProblems},
		{"unknown options", `{"parameters":[{"name":"summary"` + members.String() + `}],"preset":"today"}`, MaxProblems},
		{
			"unknown fields of a filter",
			filterBody(`{"field":"path","op":"eq","value":"a"` + members.String() + `}`), MaxProblems,
		},
		{"filters that are none", filterBody(items), MaxProblems},
		{"parameters that are none", `{"parameters":[` + items + `],"preset":"today"}`, MaxProblems},
		{"groups that are none", `{"parameters":["summary"],"preset":"today","groupBy":[` + items + `]}`, MaxProblems},
	} {
		var err error
		allocated := testing.AllocsPerRun(1, func() { _, err = compileBody(t, tc.body, websiteEnv()) })
		if f := apierr.Of(err); f.Code != apierr.Validation || len(f.Details) != tc.details {
			t.Errorf("%s: %s with %d details, want %d", tc.name, f.Code, len(f.Details), tc.details)
		}
		if allocated > 3*many {
			t.Errorf("%s: %.0f allocations to refuse %d of them", tc.name, allocated, many)
		}
	}
}
