package queryapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

// callers are the keys of these tests by their secret.
var callers = map[string]auth.Principal{
	"global": {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_1", Scopes: auth.AllScopes()},
	"website": {
		Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_2", Scopes: auth.AllScopes(), WebsiteID: "web_1",
	},
	"foreign":   {Kind: auth.KindKey, OrganizationID: "org_2", KeyID: "key_3", Scopes: auth.AllScopes()},
	"monitors":  {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_6", Scopes: scopes("read:monitors")},
	"reader":    {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_7", Scopes: scopes("read:data")},
	"powerless": {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_4"},
	"many":      {Kind: auth.KindKey, OrganizationID: "org_many", KeyID: "key_5", Scopes: auth.AllScopes()},
}

func scopes(names ...string) auth.ScopeSet {
	set, _ := auth.ParseScopes(names) // of constants
	return set
}

var websites = []website.Website{
	{Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}, ClientID: "public-1"},
	{Record: managed.Record{ID: "web_2", OrganizationID: "org_1"}, ClientID: "web_2"},
	{Record: managed.Record{ID: "web_9", OrganizationID: "org_2"}, ClientID: "web_9"},
	{Record: managed.Record{ID: "web_orphan"}, ClientID: "web_orphan"},
	{Record: managed.Record{ID: "web_open", OrganizationID: "org_1"}, ClientID: "public-open", Public: true},
}

type access struct{}

func (access) Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error) {
	if string(secret) == "store down" {
		return auth.Principal{}, &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: 5 * time.Second}
	}
	if words := strings.Fields(string(secret)); words[0] == "scope" { // such as "scope read:data", "scope read:data web_1"
		return auth.Principal{
			Kind: auth.KindKey, OrganizationID: "org_1", KeyID: string(secret), Scopes: scopes(words[1]),
			WebsiteID: strings.Join(words[2:], ""),
		}, nil
	}
	p, ok := callers[string(secret)]
	if !ok {
		return p, from.Failed(ctx, apierr.New(apierr.AuthRequired))
	}
	return p, nil
}

func (access) Website(_ context.Context, ref string) (*website.Website, error) {
	if ref == "web_down" {
		return nil, &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: 5 * time.Second}
	}
	for i := range websites {
		if w := &websites[i]; ref == w.ID || ref == w.ClientID {
			return w, nil
		}
	}
	return nil, website.ErrNotFound
}

// runner answers every statement with its owner; those of top_pages fail.
type runner struct{}

func (runner) Run(_ context.Context, s *analytics.Statement) (*analytics.Table, error) {
	if s.Type.Name == "top_pages" {
		return nil, errors.New("DB::Exception: memory limit for web_9 exceeded")
	}
	return &analytics.Table{Rows: 1, Columns: []analytics.Values{{Name: "owner", Strings: []string{s.Params[0].Text}}}},
		nil
}

// newApp is the app of these tests; it keeps nothing from one request to the
// next.
var newApp = sync.OnceValues(func() (*fiber.App, error) {
	log := slog.New(slog.DiscardHandler)
	engine := analytics.NewEngine(analytics.Config{},
		analytics.Deps{Log: log, Metrics: prometheus.NewRegistry(), Runner: runner{}})
	return New(Config{SecurityContact: "mailto:security@example.com"}, Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Access: access{}, Moves: access{}, Sessions: access{}, Executor: engine,
		Tenants: tenants{}, Links: access{},
		Now: func() time.Time { return time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC) },
	})
})

// reply is a response without its body.
type reply struct {
	StatusCode int
	Header     http.Header
}

// call sends a request; key is empty for none.
func call(t *testing.T, method, target, key, body string, headers ...string) (*reply, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	req.Header.Set("X-Request-ID", "req_1")
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	app, err := newApp()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &reply{resp.StatusCode, resp.Header}, string(text)
}

// applied is what meta says of the one parameter of a query about today.
func applied(label, name string, rows int) string {
	return `"applied":[` + today(label, name, 100, 0, rows) + `]`
}

func today(label, name string, limit, filters, rows int) string {
	sorted := ""
	if name == "top_pages" {
		sorted = fmt.Sprintf(`,"sort":"-pageviews","limit":%d,"page":1`, limit)
	}
	return fmt.Sprintf(`{"parameter":%q,"type":%q,"start":"2026-03-30T00:00:00Z","end":"2026-03-31T00:00:00Z","timezone":"UTC"%s,"filters":%d,"source":"events","rows":%d}`,
		label, name, sorted, filters, rows)
}

const summary = `{"parameters":["summary"],"preset":"today"}`

func TestEveryRouteIsPublicOrNeedsAScope(t *testing.T) {
	t.Parallel()
	for _, r := range Routes {
		if r.Public != (r.Scope == "") || r.Help == "" || r.Public && r.Open {
			t.Errorf("%s %s: public %t, scope %q, help %q", r.Method, r.Path, r.Public, r.Scope, r.Help)
		}
		target := r.Path + "?website_id=web_1"
		resp, _ := call(t, r.Method, target, "", summary)
		if r.Public {
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s %s without a credential: %d", r.Method, r.Path, resp.StatusCode)
			}
			continue
		}
		if resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s %s without a credential: %d, %q",
				r.Method, r.Path, resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
		}
		if resp, body := call(t, r.Method, target, "powerless", summary); resp.StatusCode != http.StatusForbidden ||
			!strings.Contains(body, `"FORBIDDEN"`) {
			t.Errorf("%s %s without the scope: %d %s", r.Method, r.Path, resp.StatusCode, body)
		}
	}
}

func TestWhoMayAskAboutWhat(t *testing.T) {
	t.Parallel()
	denied := func(what string) string {
		return `{"success":false,"error":"Access denied to this ` + what + `","code":"ACCESS_DENIED","requestId":"req_1"}`
	}
	owner := func(id string) string {
		return `{"success":true,"requestId":"req_1","queryId":"","data":[{"parameter":"summary","success":true,"data":[{"owner":"` +
			id + `"}]}],` +
			`"meta":{"parameters":["summary"],"total_parameters":1,"page":1,"limit":100,"filters_applied":0,` +
			applied("summary", "summary_metrics", 1) + `}}`
	}
	const missing = `{"success":false,"error":"website_id is required","code":"MISSING_PROJECT_ID","requestId":"req_1"}`
	const unauthorized = `{"success":false,"error":"Authentication required","code":"AUTH_REQUIRED","requestId":"req_1"}`
	const forbidden = `{"success":false,"error":"Insufficient permissions","code":"FORBIDDEN","requestId":"req_1"}`
	const down = `{"success":false,"error":"Service temporarily unavailable","code":"SERVICE_UNAVAILABLE","requestId":"req_1"}`
	for _, tc := range []struct {
		name, key, query string
		status           int
		body             string
	}{
		{"no key", "", "?website_id=web_1", 401, unauthorized},
		{"a bad key", "nobody", "?website_id=web_1", 401, unauthorized},
		{"a bad key and nothing to ask about", "nobody", "", 401, unauthorized},
		{"no scope", "powerless", "?website_id=web_1", 403, forbidden},
		{"no scope, whatever the website", "powerless", "?website_id=web_9", 403, forbidden},
		{"the key store is down", "store down", "?website_id=web_1", 503, down},
		{"the website store is down", "global", "?website_id=web_down", 503, down},
		{"a website by id", "global", "?website_id=web_1", 200, owner("web_1")},
		{"a website by client id", "global", "?website_id=public-1", 200, owner("web_1")},
		{"the key's own website", "website", "?website_id=web_1", 200, owner("web_1")},
		{"another website of the organization", "website", "?website_id=web_2", 403, denied("website")},
		{"another organization's website", "global", "?website_id=web_9", 403, denied("website")},
		{"no such website", "global", "?website_id=web_0", 403, denied("website")},
		{"a website of nobody", "global", "?website_id=web_orphan", 403, denied("website")},
		{"a website from elsewhere", "foreign", "?website_id=web_1", 403, denied("website")},
		{"nothing, with a global key", "global", "", 200, owner("org_1")},
		{"an empty website_id", "global", "?website_id=", 400, missing},
		{"nothing, with a key of one website", "website", "", 400, missing},
		{"the own organization", "global", "?organization_id=org_1", 200, owner("org_1")},
		{"another organization", "global", "?organization_id=org_2", 403, denied("organization")},
		{"the organization with a key of one website", "website", "?organization_id=org_1", 403, denied("organization")},
		{"the website wins over the organization", "global", "?organization_id=org_2&website_id=web_2", 200, owner("web_2")},
		{"a link wins over the website", "global", "?link_id=link_1&website_id=web_1", 403, denied("link")},
		{"a link without read:data", "monitors", "?link_id=link_1", 403, forbidden},
		{"a monitor without read:monitors", "reader", "?schedule_id=mon_1", 403, forbidden},
		{"a monitor with read:monitors alone", "monitors", "?schedule_id=mon_1", 403, denied("monitor")},
		{"a monitor", "global", "?schedule_id=mon_1&website_id=web_1", 403, denied("monitor")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			resp, body := call(t, http.MethodPost, "/v1/query"+tc.query, tc.key, summary)
			if resp.StatusCode != tc.status || body != tc.body {
				t.Errorf("%d %s\nwant %d %s", resp.StatusCode, body, tc.status, tc.body)
			}
			if tc.status == 503 && resp.Header.Get("Retry-After") != "5" {
				t.Errorf("Retry-After %q, want 5", resp.Header.Get("Retry-After"))
			}
			if resp.Header.Get("X-Request-ID") != "req_1" {
				t.Errorf("X-Request-ID %q", resp.Header.Get("X-Request-ID"))
			}
		})
	}
}

func TestAccessIsDecidedBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{"": 401, "powerless": 403, "foreign": 403, "global": 400} {
		if resp, body := call(t, http.MethodPost, "/v1/query?website_id=web_1", key, "no JSON"); resp.StatusCode != want {
			t.Errorf("key %q: %d %s, want %d", key, resp.StatusCode, body, want)
		}
	}
}

func TestABearerTokenIsAKeyToo(t *testing.T) {
	t.Parallel()
	if resp, body := call(t, http.MethodPost, "/v1/query?website_id=web_1", "", summary,
		"Authorization", "Bearer global"); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestWhatWasAppliedIsToldToTheMillisecond(t *testing.T) {
	t.Parallel()
	_, body := call(t, http.MethodPost, "/v1/query?website_id=web_1", "global",
		`{"parameters":["summary"],"startDate":"2026-03-29T10:00:00.25Z","endDate":"2026-03-29T23:59:59.999999Z"}`)
	if want := `"start":"2026-03-29T10:00:00.25Z","end":"2026-03-30T00:00:00Z"`; !strings.Contains(body, want) {
		t.Errorf("%s has no %s", body, want)
	}
}

func TestFailedParametersComeLastAndTellNothing(t *testing.T) {
	t.Parallel()
	resp, body := call(t, http.MethodPost, "/v1/query?website_id=web_1", "global",
		`{"id":"dash-1","parameters":[{"name":"pages","id":"mine"},"summary_metrics","top_pages"],"preset":"today",
		"filters":[{"field":"path","op":"eq","value":"/"}],"limit":5,"page":1}`)
	want := `{"success":true,"requestId":"req_1","queryId":"dash-1","data":[` +
		`{"parameter":"summary_metrics","success":true,"data":[{"owner":"web_1"}]},` +
		`{"parameter":"mine","success":false,"error":"Query execution failed","code":"QUERY_FAILED","data":[]},` +
		`{"parameter":"top_pages","success":false,"error":"Query execution failed","code":"QUERY_FAILED","data":[]}],` +
		`"meta":{"parameters":["pages","summary_metrics","top_pages"],"total_parameters":3,"page":1,"limit":5,"filters_applied":1,"applied":[` +
		today("mine", "top_pages", 5, 1, 0) + `,` + today("summary_metrics", "summary_metrics", 5, 1, 1) + `,` +
		today("top_pages", "top_pages", 5, 1, 0) + `]}}`
	if resp.StatusCode != 200 || body != want {
		t.Errorf("%d %s\nwant 200 %s", resp.StatusCode, body, want)
	}
}

func TestTheSecondPageOfOneRowIsEmptyInEveryFormat(t *testing.T) {
	t.Parallel()
	const columns = "pageviews,unique_visitors,sessions,bounce_rate,median_session_duration,total_events\r\n"
	for accept, want := range map[string]string{
		"application/json": `{"success":true,"requestId":"req_1","queryId":"","data":[{"parameter":"summary","success":true,"data":[]}],` +
			`"meta":{"parameters":["summary"],"total_parameters":1,"page":2,"limit":100,"filters_applied":0,` +
			applied("summary", "summary_metrics", 0) + `}}`,
		"text/csv": columns, "application/x-ndjson": "",
	} {
		resp, body := call(t, http.MethodPost, "/v1/query?website_id=web_1", "global",
			`{"parameters":["summary"],"preset":"today","page":2}`, "Accept", accept)
		if resp.StatusCode != 200 || body != want || resp.Header.Get("ETag") == "" {
			t.Errorf("%s: %d %s %q\nwant 200 %q", accept, resp.StatusCode, resp.Header.Get("ETag"), body, want)
		}
	}
}

func TestAnArrayIsABatch(t *testing.T) {
	t.Parallel()
	_, body := call(t, http.MethodPost, "/v1/query?website_id=web_1", "global",
		`[{"id":"a","parameters":["summary"],"preset":"today"},{"id":"b\u2028","parameters":["pages"],"preset":"today"}]`)
	want := `{"success":true,"requestId":"req_1","batch":true,"results":[` +
		`{"queryId":"a","data":[{"parameter":"summary","success":true,"data":[{"owner":"web_1"}]}],"meta":{"parameters":["summary"],"total_parameters":1,"page":1,"limit":100,"filters_applied":0,` + applied("summary", "summary_metrics", 1) + `}},` +
		`{"queryId":"b\u2028","data":[{"parameter":"pages","success":false,"error":"Query execution failed","code":"QUERY_FAILED","data":[]}],"meta":{"parameters":["pages"],"total_parameters":1,"page":1,"limit":100,"filters_applied":0,` + applied("pages", "top_pages", 0) + `}}]}`
	if body != want {
		t.Errorf("%s\nwant %s", body, want)
	}
}

func TestRejectionsCarryTheirDetails(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"parameters":["top_page"],"preset":"today"}`: `{"success":false,"error":"Unknown query type: top_page. Did you mean 'top_pages'?","code":"VALIDATION_ERROR","requestId":"req_1",` +
			`"details":[{"field":"parameters[0]","message":"Unknown query type: top_page","suggestion":"Did you mean 'top_pages'?"}]}`,
		`{"parameters":7}`: `{"success":false,"error":"parameters must be an array","code":"VALIDATION_ERROR","requestId":"req_1","details":[{"field":"parameters","message":"parameters must be an array"}]}`,
		`{`:                `{"success":false,"error":"Request body is not valid JSON","code":"PARSE","requestId":"req_1"}`,
		``:                 `{"success":false,"error":"Request body is not valid JSON","code":"PARSE","requestId":"req_1"}`,
	} {
		resp, got := call(t, http.MethodPost, "/v1/query?website_id=web_1", "global", body)
		if diff := cmp.Diff(want, got); diff != "" || resp.StatusCode != 400 {
			t.Errorf("%s: %d (-want +got):\n%s", body, resp.StatusCode, diff)
		}
	}
	_, got := call(t, http.MethodPost, "/v1/query?website_id=web_1&timezone=Mars", "global", summary)
	if !strings.Contains(got, `"details":[{"field":"timezone","message":"Invalid timezone: Mars"`) {
		t.Errorf("timezone of the query string: %s", got)
	}
}

// A subject that is named wrongly, or by an empty variable of a script, is not the whole
// organization's response.
func TestTheQueryStringIsReadStrictly(t *testing.T) {
	t.Parallel()
	const missing = `"error":"website_id is required","code":"MISSING_PROJECT_ID"`
	for _, route := range []struct{ path, body, code string }{
		{"/v1/query", summary, "VALIDATION_ERROR"},
		{"/v1/query/compile", `{"type":"pages","from":"2026-03-01","to":"2026-03-02"}`, "COMPILATION_ERROR"},
	} {
		for query, want := range map[string]string{
			"?website_id=":                       missing,
			"?organization_id=":                  missing,
			"?website_id=&organization_id=org_1": `"success":true`,
			"?website_id=web_1&timezone=":        `"success":true`,
			"?websiteId=web_1": `"error":"Unknown query parameter: websiteId. Did you mean 'website_id'?","code":"` +
				route.code + `"`,
			"?website_id=web_1&timeZone=Asia/Tokyo": `"details":[{"field":"timeZone","message":"Unknown query parameter: timeZone","suggestion":"Did you mean 'timezone'?"}]`,
			"?website_id=web_1&website_id=web_2":    `"error":"website_id must be given only once","code":"` + route.code + `"`,
			"?timezone=UTC&timezone=UTC":            `"error":"timezone must be given only once","code":"` + route.code + `"`,
			"?website_id=web_1&page=2":              `"error":"Unknown query parameter: page","code":"` + route.code + `"`,
		} {
			if _, got := call(t, http.MethodPost, route.path+query, "global", route.body); !strings.Contains(got, want) {
				t.Errorf("%s%s: %s\nwant %s", route.path, query, got, want)
			}
		}
	}
	if resp, got := call(t, http.MethodPost, "/v1/query?websiteId=web_1", "", summary); resp.StatusCode != 401 {
		t.Errorf("nobody is told of parameters: %d %s", resp.StatusCode, got)
	}
}

func TestABodyIsTakenUpToItsLimit(t *testing.T) {
	t.Parallel()
	sized := func(n int) string { return summary + strings.Repeat(" ", n-len(summary)) }
	if resp, body := call(t, http.MethodPost, "/v1/query", "global",
		sized(analytics.MaxBodyBytes)); resp.StatusCode != 200 {
		t.Errorf("at the limit: %d %s", resp.StatusCode, body)
	}
	if resp, body := call(t, http.MethodPost, "/v1/query", "global",
		sized(analytics.MaxBodyBytes+1)); resp.StatusCode != 413 || !strings.Contains(body, "PAYLOAD_TOO_LARGE") {
		t.Errorf("beyond: %d %s", resp.StatusCode, body)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(sized(analytics.MaxBodyBytes + 1))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if resp, body := call(t, http.MethodPost, "/v1/query", "global", packed.String(),
		"Content-Encoding", "gzip"); resp.StatusCode != 413 {
		t.Errorf("beyond when inflated: %d %s", resp.StatusCode, body)
	}
}

func TestTypesListTheCatalogue(t *testing.T) {
	t.Parallel()
	type body struct {
		Success   bool     `json:"success"`
		RequestID string   `json:"requestId"`
		Types     []string `json:"types"`
		Presets   []string `json:"presets"`
		Configs   map[string]struct {
			Meta *struct {
				OutputFields        []map[string]string `json:"output_fields"`
				SupportsGranularity []string            `json:"supports_granularity"`
				SupportsGroupBy     []string            `json:"supports_group_by"`
				SupportsCompare     bool                `json:"supports_compare"`
				Options             []map[string]any    `json:"options"`
			} `json:"meta"`
		} `json:"configs"`
	}
	for _, withMeta := range []bool{false, true} {
		target := "/v1/query/types"
		if withMeta {
			target += "?include_meta=true"
		}
		resp, text := call(t, http.MethodGet, target, "", "")
		var got body
		if err := json.Unmarshal([]byte(text), &got); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%d %s: %v", resp.StatusCode, text, err)
		}
		if !got.Success || got.RequestID != "req_1" || len(got.Types) != len(analytics.Catalog) ||
			len(got.Configs) != len(analytics.Catalog) || len(got.Presets) != len(analytics.Presets) {
			t.Errorf("%s", text)
		}
		c := got.Configs["events_by_date"]
		if (c.Meta != nil) != withMeta {
			t.Errorf("%s: meta is %v", target, c.Meta)
		}
		if withMeta {
			want := map[string]string{
				"name": "date", "type": "string", "label": "Date", "unit": "", "example": "2026-03-29",
				"description": "YYYY-MM-DD, or YYYY-MM-DD HH:00:00 by hour, in the request's time zone.",
			}
			if diff := cmp.Diff(want, c.Meta.OutputFields[0]); diff != "" {
				t.Errorf("first field (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(analytics.GranularityNames(), c.Meta.SupportsGranularity); diff != "" {
				t.Errorf("granularities (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(analytics.Lookup("events_by_date").Groups, c.Meta.SupportsGroupBy); diff != "" ||
				!c.Meta.SupportsCompare {
				t.Errorf("groups (-want +got), comparable %v:\n%s", c.Meta.SupportsCompare, diff)
			}
			for name, options := range map[string]int{
				"events_by_date": 0, "funnel": len(analytics.Lookup("funnel").Options), "percentiles": 2,
			} {
				if got := got.Configs[name].Meta.Options; len(got) != options ||
					options > 0 && (got[0]["description"] == "" || got[0]["required"] != true) {
					t.Errorf("options of %s: %v", name, got)
				}
			}
		}
		if i, j := strings.Index(text, `"summary_metrics":{`), strings.Index(text, `"top_pages":{`); i < 0 || j < i {
			t.Errorf("configs are not in the catalogue's order: %d, %d", i, j)
		}
		if strings.Contains(text, ":null") {
			t.Errorf("an empty list is null: %s", text)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	resp, body := call(t, http.MethodGet, "/health", "", "")
	if resp.StatusCode != 200 || body != `{"status":"ok"}` || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
}

func TestOtherRoutesAndMethodsAreTold(t *testing.T) {
	t.Parallel()
	if resp, body := call(t, http.MethodGet, "/v1/nothing", "", ""); resp.StatusCode != 404 ||
		!strings.Contains(body, `"NOT_FOUND"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := call(t, http.MethodGet, "/v1/query", "global", ""); resp.StatusCode != 405 ||
		!strings.Contains(body, `"METHOD_NOT_ALLOWED"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
