package analytics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/fault"
)

// Each row is one thing that a caller can get wrong, and all that it is told.
func TestEveryRefusalNamesTheFieldAndWhatIsSupported(t *testing.T) {
	t.Parallel()
	const days = `"startDate":"2026-03-01","endDate":"2026-03-02"`
	for _, tc := range []struct{ name, body, field, message, suggestion string }{
		{"no parameters", `{"preset":"today"}`, "parameters", "At least one parameter is required", ""},
		{"empty parameters", `{"parameters":[],"preset":"today"}`, "parameters", "At least one parameter is required", ""},
		{"an unknown type", `{"parameters":["top_page"],"preset":"today"}`, "parameters[0]", "Unknown query type: top_page", "Did you mean 'top_pages'?"},
		{"a type of another world", `{"parameters":["zzzz"],"preset":"today"}`, "parameters[0]", "Unknown query type: zzzz", ""},
		{"a parameter that is a number", `{"parameters":[1],"preset":"today"}`, "parameters[0]", "parameters[0] must be a string or an object", ""},
		{"a parameter without a name", `{"parameters":[{"id":"x"}],"preset":"today"}`, "parameters[0]", "Unknown query type: ", ""},
		{"an unknown key of a parameter", `{"parameters":[{"name":"summary","startdate":"x"}],"preset":"today"}`, "parameters[0].startdate", "Unknown field: startdate", "Did you mean 'start_date'?"},
		{"parameters that are no array", `{"parameters":"summary","preset":"today"}`, "parameters", "parameters must be an array", ""},
		{"an unknown field", `{"parameters":["summary"],"preset":"today","filter":[]}`, "filter", "Unknown field: filter", "Did you mean 'filters'?"},
		{"a field given twice", `{"parameters":["summary"],"preset":"today","preset":"today"}`, "preset", "preset is given twice", ""},
		{"an id that is a number", `{"id":7,"parameters":["summary"],"preset":"today"}`, "id", "id must be a string", ""},
		{"no range", `{"parameters":["summary"]}`, "startDate", "Either startDate or preset is required", ""},
		{"no end", `{"parameters":["summary"],"startDate":"2026-03-01"}`, "endDate", "Either endDate or preset is required", ""},
		{"no date", `{"parameters":["summary"],"startDate":"soon","endDate":"2026-03-01"}`, "startDate", "Invalid date: soon. Could not parse as a valid date", ""},
		{"a day that is not", `{"parameters":["summary"],"startDate":"2026-02-30","endDate":"2026-03-01"}`, "startDate", "Invalid date: 2026-02-30. Could not parse as a valid date", ""},
		{"a year too far", `{"parameters":["summary"],"startDate":"2026-02-01","endDate":"2106-01-01"}`, "endDate", "Invalid date: 2106-01-01. Could not parse as a valid date", ""},
		{"an end before the start", `{"parameters":["summary"],"startDate":"2026-03-02","endDate":"2026-03-01"}`, "endDate", "endDate must not be before startDate", ""},
		{"an instant of no length", `{"parameters":["summary"],"startDate":"2026-03-02T10:00:00Z","endDate":"2026-03-02T10:00:00Z"}`, "endDate", "endDate must not be before startDate", ""},
		{"a date of a parameter", `{"parameters":[{"name":"summary","start_date":"x"}],` + days + `}`, "parameters[0].start_date", "Invalid date: x. Could not parse as a valid date", ""},
		{"an unknown preset", `{"parameters":["summary"],"preset":"last_8d"}`, "preset", "Invalid date preset: last_8d", presetSuggestion()},
		{"an unknown zone", `{"parameters":["summary"],"preset":"today","timeZone":"Mars/Olympus"}`, "timeZone", "Invalid timezone: Mars/Olympus", "Use an IANA name such as 'Europe/Berlin'"},
		{"the machine's zone", `{"parameters":["summary"],"preset":"today","timeZone":"Local"}`, "timeZone", "Invalid timezone: Local", "Use an IANA name such as 'Europe/Berlin'"},
		{"a path for a zone", `{"parameters":["summary"],"preset":"today","timezone":"../../etc/passwd"}`, "timeZone", "Invalid timezone: ../../etc/passwd", "Use an IANA name such as 'Europe/Berlin'"},
		{"an unknown granularity", `{"parameters":["events_by_date"],"preset":"today","granularity":"weekly"}`, "granularity", "Invalid granularity: weekly", "Use 'hourly' or 'daily'"},
		{"hours of 31 days", `{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-31","granularity":"hourly"}`, "granularity", "Hourly granularity is limited to 30 days", "Use a shorter range"},
		{"days of too many years", `{"parameters":["events_by_date"],"startDate":"2000-01-01","endDate":"2027-05-19"}`, "granularity", "Daily granularity is limited to 10000 days", "Use a shorter range"},
		{"a granularity for a summary", `{"parameters":[{"name":"summary","granularity":"hour"}],"preset":"today"}`, "parameters[0].granularity", "Granularity is not supported by summary_metrics", ""},
		{"limit 0", `{"parameters":["top_pages"],"preset":"today","limit":0}`, "limit", "Limit must be at least 1", ""},
		{"limit 10001", `{"parameters":["top_pages"],"preset":"today","limit":10001}`, "limit", "Limit cannot exceed 10000", ""},
		{"a limit with a fraction", `{"parameters":["top_pages"],"preset":"today","limit":1.5}`, "limit", "limit must be a whole number", ""},
		{"a limit that is text", `{"parameters":["top_pages"],"preset":"today","limit":"10"}`, "limit", "limit must be a number", ""},
		{"page 0", `{"parameters":["top_pages"],"preset":"today","page":0}`, "page", "Page must be at least 1", ""},
		{"a page too far", `{"parameters":["top_pages"],"preset":"today","page":1000001}`, "page", "Page cannot exceed 1000000", ""},
		{"a group", `{"parameters":["top_pages"],"preset":"today","groupBy":"country"}`, "groupBy", "Grouping by country is not supported by top_pages", "top_pages supports no groupBy"},
		{"a sort field of another type", `{"parameters":["top_pages"],"preset":"today","sortBy":"date"}`, "sortBy", "Sorting by date is not supported by top_pages", "Supported sort fields: pageviews, visitors"},
		{"sorting one row", `{"parameters":["summary"],"preset":"today","sortBy":"pageviews"}`, "sortBy", "Sorting by pageviews is not supported by summary_metrics", "summary_metrics has one row"},
		{"an unknown order", `{"parameters":["top_pages"],"preset":"today","sortOrder":"up"}`, "sortOrder", "Invalid sortOrder: up", "Use 'asc' or 'desc'"},
		{"a filter like nothing we have", filterBody(`{"field":"zzz","op":"eq","value":"x"}`), "filters[0].field", "Unknown filter field: zzz", "Supported filter fields: path, event_name, namespace, source, profile_id, anonymous_id, session_id, website_id, property_key"},
		{"an unknown filter", filterBody(`{"field":"pth","op":"eq","value":"x"}`), "filters[0].field", "Unknown filter field: pth", "Did you mean 'path'?"},
		{"a filter of another type", filterBody(`{"field":"property_key","op":"eq","value":"x"}`), "filters[0].field", "Filter property_key is not supported by top_pages", supportedFilters(Lookup("top_pages"))},
		{"an unknown operator", filterBody(`{"field":"path","op":"like","value":"x"}`), "filters[0].op", "Unknown filter operator: like", "Supported operators: eq, ne, contains, not_contains, starts_with, in, not_in"},
		{"a list for one value", filterBody(`{"field":"path","op":"eq","value":["x"]}`), "filters[0].value", "Operator eq takes one string", "Use in or not_in for several values"},
		{"one value for a list", filterBody(`{"field":"path","op":"in","value":"x"}`), "filters[0].value", "Operator in takes an array of strings", ""},
		{"an empty list", filterBody(`{"field":"path","op":"in","value":[]}`), "filters[0].value", "At least one value is required", ""},
		{"a number for a value", filterBody(`{"field":"path","op":"eq","value":1}`), "filters[0].value", "filters[0].value must be a string or an array of strings", ""},
		{"a number in a list", filterBody(`{"field":"path","op":"in","value":["a",1]}`), "filters[0].value[1]", "filters[0].value[1] must be a string", ""},
		{"no value", filterBody(`{"field":"path","op":"eq"}`), "filters[0].value", "filters[0].value is required", ""},
		{"a filter that is text", filterBody(`"path"`), "filters[0]", "filters[0] must be an object", ""},
		{"an operator that a key cannot have", `{"parameters":["custom_events"],"preset":"today","filters":[{"field":"property_key","op":"contains","value":"x"}]}`, "filters[0].op", "Operator contains is not supported by property_key", "Supported operators: eq, ne, in, not_in"},
		{"an empty batch", `[]`, "", "At least one query is required", ""},
		{"a batch of text", `["x"]`, "batch[0]", "batch[0] must be an object", ""},
		{"the second of a batch", `[{"parameters":["summary"],"preset":"today"},{"parameters":["summery"],"preset":"today"}]`, "batch[1].parameters[0]", "Unknown query type: summery", "Did you mean 'summary'?"},
		{"a body that is text", `"summary"`, "", "Request body must be an object or an array of objects", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := compileBody(t, tc.body, websiteEnv())
			if !fault.Is(err, fault.Validation) {
				t.Fatalf("%s: error %v, want a validation fault", tc.body, err)
			}
			f := fault.Of(err)
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
	_, err := compileBody(t, `[{"parameters":["summery","summary","events_by_date"],"startDate":"x","endDate":"y","sortOrder":"z",
		"filters":[{"field":"path","op":"is","value":"x"}],"timeZone":"Nowhere"}]`, websiteEnv())
	var got []string
	for _, d := range fault.Of(err).Details {
		got = append(got, d.Field)
	}
	want := []string{
		"batch[0].parameters[0]", "batch[0].timeZone", "batch[0].filters[0].op", "batch[0].sortOrder", "batch[0].startDate", "batch[0].endDate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestLimitsAreAcceptedAtAndRefusedBeyond(t *testing.T) {
	t.Parallel()
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	query := func(parameters, filters, limit int, extra string) string {
		return fmt.Sprintf(`{"parameters":[%s],"preset":"today","limit":%d,"filters":[%s]%s}`,
			many(parameters, `"top_pages"`), limit, many(filters, `{"field":"path","op":"eq","value":"x"}`), extra)
	}
	in := func(values, length int) string {
		return filterBody(`{"field":"path","op":"in","value":[` + many(values, `"`+strings.Repeat("é", length)+`"`) + `]}`)
	}
	id := func(n int) string { return query(1, 0, 1, `,"id":"`+strings.Repeat("x", n)+`"`) }
	for _, tc := range []struct {
		name, at, beyond, message string
	}{
		{"parameters", query(MaxParameters, 0, 1, ""), query(MaxParameters+1, 0, 1, ""), "Too many parameters: 26 given, at most 25 are allowed"},
		{"queries", "[" + many(MaxRequests, query(1, 0, 1, "")) + "]", "[" + many(MaxRequests+1, query(1, 0, 1, "")) + "]", "Too many queries: 11 given, at most 10 are allowed"},
		{"filters", query(1, MaxFilters, 1, ""), query(1, MaxFilters+1, 1, ""), "Too many filters: 51 given, at most 50 are allowed"},
		{"limit", query(1, 0, MaxLimit, ""), query(1, 0, MaxLimit+1, ""), "Limit cannot exceed 10000"},
		{"values of a filter", in(MaxFilterValues, 1), in(MaxFilterValues+1, 1), "1001 values; at most 1000 are allowed"},
		{"length of a value", in(1, MaxFilterValueLen), in(1, MaxFilterValueLen+1), "A filter value is longer than 2048 characters"},
		{"length of an id", id(MaxLabelLen), id(MaxLabelLen + 1), "id is longer than 256 bytes"},
		{
			"hours", `{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-30","granularity":"hourly"}`,
			`{"parameters":["events_by_date"],"startDate":"2026-03-01","endDate":"2026-03-31","granularity":"hourly"}`,
			"Hourly granularity is limited to 30 days. Use a shorter range",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, err := compileBody(t, tc.at, websiteEnv()); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := compileBody(t, tc.beyond, websiteEnv())
			if !fault.Is(err, fault.Validation) || fault.Of(err).Message != tc.message {
				t.Errorf("beyond the limit: %v, want %q", err, tc.message)
			}
		})
	}
}

func TestARefusalIsShortHoweverLongTheRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 10_000)
	for _, body := range []string{
		`{"parameters":["` + long + `"],"preset":"today"}`, `{"` + long + `":1,"parameters":["summary"]}`, `{"parameters":["summary"],"preset":"` + long + `"}`,
		filterBody(`{"field":"` + long + `","op":"` + long + `","value":""}`), `{"parameters":["top_pages"],"preset":"today","sortBy":"` + long + `","groupBy":"` + long + `"}`,
		`{"parameters":["summary"],"startDate":"` + long + `","endDate":"2026-01-01","timeZone":"` + long + `","granularity":"` + long + `"}`,
		`{"parameters":[` + strings.Repeat("1,", 10_000) + `1]}`,
	} {
		_, err := compileBody(t, body, websiteEnv())
		f := fault.Of(err)
		if f.Code != fault.Validation || len(f.Details) > MaxProblems {
			t.Errorf("%.60s: %s with %d details", body, f.Code, len(f.Details))
			continue
		}
		for _, d := range f.Details {
			if n := len(d.Field) + len(d.Message) + len(d.Suggestion); n > 500 {
				t.Errorf("%.60s: a detail of %d bytes", body, n)
			}
		}
	}
}

func TestWhatIsNoJSONIsAParseFault(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", "nope", `{"parameters":["summary"],}`, `{"limit":1e}`, `{"limit":NaN}`, "{\"id\":\"\xff\"}", "{\"id\":\"a\nb\"}", `{} {}`} {
		if _, _, err := Decode([]byte(body)); !fault.Is(err, fault.Parse) {
			t.Errorf("Decode(%q) = %v, want a parse fault", body, err)
		}
	}
}

func TestNullIsAbsent(t *testing.T) {
	t.Parallel()
	body := `{"id":null,"parameters":["top_pages"],"preset":"today","startDate":null,"filters":null,"groupBy":null,"sortBy":null,"limit":null,"page":null,"timeZone":null}`
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
