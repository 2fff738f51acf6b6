package queryapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const compiled = `{"projectId":"web_1","type":"pages","from":"2026-03-01","to":"2026-03-02","filters":[{"field":"path","op":"eq","value":"/it's"}],"orderBy":"visitors asc","limit":7,"offset":5}`

func TestAQueryTypeIsCompiled(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{"by the body": "", "by the query string": "?website_id=web_1"} {
		resp, text := call(t, http.MethodPost, "/v1/query/compile"+query, "global", compiled)
		var got compileBody
		if err := json.Unmarshal([]byte(text), &got); err != nil || resp.StatusCode != 200 || !got.Success ||
			got.RequestID != "req_1" || got.Type != "top_pages" {
			t.Fatalf("%s: %d %s", name, resp.StatusCode, text)
		}
		if got.Params["owner"] != "web_1" || got.Params["limit"] != "7" || got.Params["offset"] != "5" ||
			got.Types["limit"] != "UInt64" ||
			!strings.Contains(got.SQL, "ORDER BY visitors, ") || len(got.Params) != len(got.Types) {
			t.Errorf("%s: %s", name, text)
		}
		for param, typ := range got.Types {
			if !strings.Contains(got.SQL, "{"+param+":"+typ+"}") && param != "start" && param != "end" {
				t.Errorf("%s: the statement has no {%s:%s}", name, param, typ)
			}
		}
	}
	_, text := call(t, http.MethodPost, "/v1/query/compile", "global",
		`{"projectId":"org_1","type":"summary","from":"2026-03-01","to":"2026-03-02"}`)
	if !strings.Contains(text, `"owner":"org_1"`) {
		t.Errorf("an organization: %s", text)
	}
	_, text = call(t, http.MethodPost, "/v1/query/compile?timezone=Europe/Berlin", "global",
		`{"projectId":"web_1","type":"events_by_date","from":"2026-03-01","to":"2026-03-02","timeUnit":"hour"}`)
	if !strings.Contains(text, `"start":"2026-02-28 23:00:00.000"`) {
		t.Errorf("a zone: %s", text)
	}
	const exact = "12345678901234567890123"
	_, text = call(t, http.MethodPost, "/v1/query/compile?website_id=web_1", "global",
		`{"type":"funnel","from":"2026-03-01","to":"2026-03-02","options":{"steps":[{"path":"/"},{"filters":[{"field":"path","op":"eq","value":`+
			exact+`}]}]}}`)
	if !strings.Contains(text, `":"`+exact+`"`) {
		t.Errorf("a number of many digits among the options: %s", text)
	}
	for _, options := range []string{`{"granularity":"hour"}`, `{"granularity":null}`, `{}`} {
		_, text := call(t, http.MethodPost, "/v1/query/compile", "global",
			`{"projectId":"web_1","type":"events_by_date","from":"2026-03-01","to":"2026-03-01","timeUnit":"hour","options":`+
				options+`}`)
		if !strings.Contains(text, `2026-03-01 23:00:00`) {
			t.Errorf("the length of buckets twice the same, with the options %s: %s", options, text)
		}
	}
}

func TestWhatDoesNotCompileSaysWhy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ body, field, message, suggestion string }{
		"an unknown type": {
			`{"type":"top_page","from":"2026-03-01","to":"2026-03-02"}`, "type", "Unknown query type: top_page",
			"Did you mean 'top_pages'?",
		},
		"a length of buckets that is two": {
			`{"type":"events_by_date","from":"2026-03-01","to":"2026-03-02","timeUnit":"day","options":{"granularity":"hour"}}`,
			"options.granularity", "options.granularity must equal timeUnit", "",
		},
		"a length of buckets that is no text": {
			`{"type":"events_by_date","from":"2026-03-01","to":"2026-03-02","timeUnit":"day","options":{"granularity":{}}}`,
			"options.granularity", "options.granularity must equal timeUnit", "",
		},
		"no type":      {`{"from":"2026-03-01","to":"2026-03-02"}`, "type", "type is required", ""},
		"no beginning": {`{"type":"pages","to":"2026-03-02"}`, "from", "from is required", ""},
		"no end":       {`{"type":"pages","from":"2026-03-02","to":null}`, "to", "to is required", ""},
		"no date": {
			`{"type":"pages","from":"soon","to":"2026-03-02"}`, "from", "Invalid date: soon. Could not parse as a valid date",
			"",
		},
		"an unknown field": {
			`{"type":"pages","fromm":"2026-03-01","from":"2026-03-01","to":"2026-03-02"}`, "fromm", "Unknown field: fromm",
			"Did you mean 'from'?",
		},
		"limit 0": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","limit":0}`, "limit", "limit must be from 1 to 1000", "",
		},
		"limit 1001": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","limit":1001}`, "limit", "limit must be from 1 to 1000", "",
		},
		"a limit in quotes": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","limit":"5"}`, "limit", "limit must be an integer", "",
		},
		"offset -1": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","offset":-1}`, "offset", "offset must be from 0 to 10000000000",
			"",
		},
		"a number as type": {`{"type":7,"from":"2026-03-01","to":"2026-03-02"}`, "type", "type must be a string", ""},
		"an array":         {`[]`, "", "The body must be a JSON object", ""},
		"a type and another": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","type":"summary"}`, "type", "type must be given only once", "",
		},
		"an offset and another": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","offset":null,"offset":5}`, "offset", "offset must be given only once",
			"",
		},
		"an option and another": {
			`{"type":"percentiles","from":"2026-03-01","to":"2026-03-02","options":{"property":"a","property":"b"}}`,
			"options.property", "property must be given only once", "",
		},
		"a step with an event and another": {
			`{"type":"funnel","from":"2026-03-01","to":"2026-03-02","options":{"steps":[{"event":"a","event":"b"},{"path":"/"}]}}`,
			"options.steps[0].event", "event must be given only once", "",
		},
		"a length of buckets that is twice the same": {
			`{"type":"events_by_date","from":"2026-03-01","to":"2026-03-02","timeUnit":"day","options":{"granularity":"day","granularity":"day"}}`,
			"options.granularity", "granularity must be given only once", "",
		},
		"an unknown length of buckets among the options": {
			`{"type":"events_by_date","from":"2026-03-01","to":"2026-03-02","options":{"granularity":"decade"}}`,
			"options.granularity", "Invalid granularity: decade", "Supported granularities: minute, hour, day, week, month",
		},
		"too many buckets": {
			`{"type":"events_by_date","from":"2026-01-01","to":"2026-03-02","timeUnit":"hour"}`, "timeUnit",
			"Hourly granularity is limited to 30 days", "Use a shorter range",
		},
		"steps that are no list": {
			`{"type":"funnel","from":"2026-03-01","to":"2026-03-02","options":{"steps":{}}}`, "options.steps",
			"options.steps must be an array", "",
		},
		"an end before the beginning": {
			`{"type":"pages","from":"2026-03-02","to":"2026-03-01"}`, "to", "to must not be before from", "",
		},
		"an order that is none": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","orderBy":"visitors up"}`, "orderBy", "Invalid orderBy: up",
			"Use 'asc' or 'desc'",
		},
		"an unknown field that a query has": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","sortBy":"visitors"}`, "sortBy", "Unknown field: sortBy", "",
		},
		"options that are no object": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","options":["x"]}`, "options", "options must be an object", "",
		},
		"a text with what is not printed": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","groupBy":"\u0000\udb40\udc01"}`, "groupBy", "", "",
		},
		"an unknown unit": {
			`{"type":"events_by_date","from":"2026-03-01","to":"2026-03-02","timeUnit":"decade"}`, "timeUnit",
			"Invalid granularity: decade", "Supported granularities: minute, hour, day, week, month",
		},
		"a unit of what has no buckets": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","timeUnit":"hour"}`, "timeUnit",
			"Granularity is not supported by top_pages", "",
		},
		"a type among the options": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","options":{"name":"summary"}}`, "options.name",
			"Unknown field: options.name", "",
		},
		"a label among the options": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","options":{"id":"x"}}`, "options.id",
			"Unknown field: options.id", "",
		},
		"a filter": {
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","filters":[{"field":"path","op":"is","value":"/"}]}`,
			"filters[0].op", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, text := call(t, http.MethodPost, "/v1/query/compile?website_id=web_1", "global", tc.body)
			var got struct {
				Code    string `json:"code"`
				Details []struct {
					Field      string `json:"field"`
					Message    string `json:"message"`
					Suggestion string `json:"suggestion"`
				} `json:"details"`
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil || resp.StatusCode != 400 ||
				got.Code != "COMPILATION_ERROR" || len(got.Details) == 0 {
				t.Fatalf("%d %s", resp.StatusCode, text)
			}
			if d := got.Details[0]; d.Field != tc.field || tc.message != "" && d.Message != tc.message ||
				d.Suggestion != tc.suggestion && tc.suggestion != "" {
				t.Errorf("%+v, want %s: %s", d, tc.field, tc.message)
			}
		})
	}
	for name, body := range map[string]string{"no JSON": "{", "nothing": "", "no UTF-8": "{\"type\":\"\xff\"}"} {
		if resp, text := call(t, http.MethodPost,
			"/v1/query/compile?website_id=web_1", "global", body); resp.StatusCode != 400 || !strings.Contains(text, `"PARSE"`) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
	}
	for _, limit := range []string{"1", "1000"} {
		if resp, text := call(t, http.MethodPost, "/v1/query/compile?website_id=web_1", "global",
			`{"type":"pages","from":"2026-03-01","to":"2026-03-02","limit":`+limit+`}`); resp.StatusCode != 200 {
			t.Errorf("limit %s: %d %s", limit, resp.StatusCode, text)
		}
	}
}

func TestCompilingHasTheAccessOfQueries(t *testing.T) {
	t.Parallel()
	body := func(project, typ string) string {
		return `{"projectId":"` + project + `","type":"` + typ + `","from":"2026-03-01","to":"2026-03-02"}`
	}
	for _, tc := range []struct {
		name, key, query, body string
		status                 int
		contains               string
	}{
		{"nobody", "", "", body("web_1", "pages"), 401, "AUTH_REQUIRED"},
		{"nobody, a public website", "", "", body("web_open", "pages"), 200, `"owner":"web_open"`},
		{"nobody, a public website, a private type", "", "", body("web_open", "session_list"), 401, "AUTH_REQUIRED"},
		{"nobody, who visitors are", "", "", body("web_open", "recent_errors"), 200, `'' AS anonymous_id,\n    '' AS session_id`},
		{"a key, who visitors are", "global", "", body("web_open", "recent_errors"), 200, `e.anonymous_id AS anonymous_id`},
		{"no scope", "powerless", "", body("web_1", "pages"), 403, "FORBIDDEN"},
		{"another organization's website", "foreign", "", body("web_1", "pages"), 403, "Access denied to this website"},
		{"another organization", "global", "", body("org_2", "pages"), 403, "Access denied to this website"},
		{
			"the organization with a key of one website", "website", "", body("org_1", "pages"), 403,
			"Access denied to this organization",
		},
		{
			"a query string that wins", "global", "?website_id=web_9", body("web_1", "pages"), 403,
			"Access denied to this website",
		},
		{"nothing, with a global key", "global", "", body("", "pages"), 200, `"owner":"org_1"`},
		{"nothing, with a key of one website", "website", "", body("", "pages"), 400, "MISSING_PROJECT_ID"},
		{"access before the body", "foreign", "?website_id=web_1", "no JSON", 403, "ACCESS_DENIED"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if resp, text := call(t, http.MethodPost, "/v1/query/compile"+tc.query, tc.key,
				tc.body); resp.StatusCode != tc.status || !strings.Contains(text, tc.contains) {
				t.Errorf("%d %s\nwant %d %s", resp.StatusCode, text, tc.status, tc.contains)
			}
		})
	}
}

func TestCompile_RejectsPersonalFieldsForAnyone(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"session_id", "anonymous_id", "profile_id", "trait:email"} {
		body := `{"projectId":"web_open","type":"recent_errors","from":"2026-03-01","to":"2026-03-02","filters":[{"field":"` +
			field + `","op":"starts_with","value":"a"}]}`
		resp, text := call(t, http.MethodPost, "/v1/query/compile", "", body)
		if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "to filter or group by "+field) {
			t.Errorf("%s: %d %s", field, resp.StatusCode, text)
		}
		if resp, text := call(t, http.MethodPost, "/v1/query/compile", "global", body); resp.StatusCode != http.StatusOK {
			t.Errorf("%s with a key: %d %s", field, resp.StatusCode, text)
		}
	}
}
