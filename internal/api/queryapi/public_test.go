package queryapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// Of a public website everybody may ask the public types, and learns of the others
// no more than that they are not.
func TestWhoMayAskWhatOfAPublicWebsite(t *testing.T) {
	t.Parallel()
	const (
		mixed    = `{"parameters":["session_list","summary"],"preset":"today"}`
		private  = `{"parameters":["session_list"],"preset":"today"}`
		byUser   = `{"parameters":["summary"],"preset":"today","filters":[{"field":"profile_id","op":"eq","value":"u"}]}`
		byTrait  = `{"parameters":["summary"],"preset":"today","filters":[{"or":[{"not":{"field":"trait:email","op":"starts_with","value":"a"}}]}]}`
		perUser  = `{"parameters":["summary"],"preset":"today","groupBy":["profile_id"]}`
		session  = `{"parameters":["summary","top_pages"],"preset":"today","filters":[{"field":"session_id","op":"starts_with","value":"s"}]}`
		visitor  = `{"parameters":["recent_errors"],"preset":"today","filters":[{"not":{"field":"anonymous_id","op":"eq","value":"v"}}]}`
		failed   = `{"parameter":"session_list","success":false,"error":"`
		anybody  = failed + `Authentication required","code":"AUTH_REQUIRED","data":[]}`
		other    = failed + `Insufficient permissions","code":"FORBIDDEN","data":[]}`
		response = `"data":[{"parameter":"summary","success":true,"data":[{"owner":"web_open"}]}`
	)
	for _, tc := range []struct {
		name, key, website, body string
		status                   int
		contains                 string
	}{
		{"a public type without a key", "", "web_open", summary, 200, response},
		{"by its client id", "", "public-open", summary, 200, response},
		{"a mixture without a key", "", "web_open", mixed, 200, response + `,` + anybody},
		{"a private type without a key", "", "web_open", private, 401, `"AUTH_REQUIRED"`},
		{"a key of another organization", "foreign", "web_open", mixed, 200, response + `,` + other},
		{"another organization's key, a private type", "foreign", "web_open", private, 403, `"FORBIDDEN"`},
		{"a key of another website", "website", "web_open", mixed, 200, response + `,` + other},
		{"a key without scopes", "powerless", "web_open", mixed, 200, response + `,` + other},
		{"a key of the organization", "global", "web_open", mixed, 200, `{"parameter":"session_list","success":true`},
		{"a bad key", "nobody", "web_open", summary, 401, `"AUTH_REQUIRED"`},
		{"a private website without a key", "", "web_1", summary, 401, `"AUTH_REQUIRED"`},
		{"no such website without a key", "", "web_0", summary, 401, `"AUTH_REQUIRED"`},
		{"a key that may read monitors alone", "monitors", "web_1", summary, 403, `"FORBIDDEN"`},
		{
			"a batch of which a part is covered", "", "web_open", `[` + private + `,` + summary + `]`, 200,
			`{"queryId":"","data":[` + anybody + `],"meta"`,
		},
		{"a batch of which nothing is", "", "web_open", `[` + private + `,` + private + `]`, 401, `"AUTH_REQUIRED"`},
		{"by who users are", "", "web_open", byUser, 401, `"AUTH_REQUIRED"`},
		{"by what is known of them, deep in a filter", "", "web_open", byTrait, 401, `"AUTH_REQUIRED"`},
		{"cut by users", "", "web_open", perUser, 401, `"AUTH_REQUIRED"`},
		{"by what is known of them, with another organization's key", "foreign", "web_open", byTrait, 403, `"FORBIDDEN"`},
		{"by what is known of them, with a key of the organization", "global", "web_open", byTrait, 200, response},
		{"by who users are in a part of a batch", "", "web_open", `[` + perUser + `,` + summary + `]`, 200, response},
		{"by a session", "", "web_open", session, 401, `"error":"Authentication required to filter or group by session_id"`},
		{"by a visitor", "", "web_open", visitor, 401, `"error":"Authentication required to filter or group by anonymous_id"`},
		{
			"by a visitor, with another organization's key", "foreign", "web_open", visitor, 403,
			`"error":"Insufficient permissions to filter or group by anonymous_id","code":"FORBIDDEN"`,
		},
		{"by a session, with a key of the organization", "global", "web_open", session, 200, response},
		{
			"by a session in a part of a batch", "", "web_open", `[` + session + `,` + summary + `]`, 200,
			`{"parameter":"top_pages","success":false,"error":"Authentication required to filter or group by session_id","code":"AUTH_REQUIRED","data":[]}`,
		},
		{
			"a mistake beside", "", "web_open", `{"parameters":["session_list","nonsense"],"preset":"today"}`, 400,
			"Unknown query type: nonsense",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			resp, body := call(t, http.MethodPost, "/v1/query?website_id="+tc.website, tc.key, tc.body)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.contains) {
				t.Errorf("%d %s\nwant %d %s", resp.StatusCode, body, tc.status, tc.contains)
			}
			if (resp.StatusCode == 401) != (resp.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("WWW-Authenticate %q", resp.Header.Get("WWW-Authenticate"))
			}
		})
	}
}

// A key that may read anything is let in, and what it may read is for each type to say
// (specification, 5.3).
func TestATypeIsLookedAtBeforeItsScope(t *testing.T) {
	t.Parallel()
	const unknown = `{"parameters":["nonsense"],"preset":"today"}`
	for _, tc := range []struct {
		key, query, body string
		status           int
		contains         string
	}{
		{"monitors", "?schedule_id=mon_1", unknown, 400, "Unknown query type: nonsense"},
		{"monitors", "?schedule_id=mon_1", summary, 403, "Access denied to this monitor"},
		{"monitors", "?website_id=web_1", unknown, 400, "Unknown query type: nonsense"},
		{"monitors", "?website_id=web_1", summary, 403, `"FORBIDDEN"`},
		{"monitors", "?organization_id=org_1", unknown, 400, "Unknown query type: nonsense"},
		{"monitors", "", summary, 403, `"FORBIDDEN"`},
		{"monitors", "?website_id=web_9", unknown, 403, "Access denied to this website"},
		{"reader", "?schedule_id=mon_1", unknown, 403, `"FORBIDDEN"`},
		{"reader", "?link_id=link_1", unknown, 400, "Unknown query type: nonsense"},
		{"powerless", "?website_id=web_1", unknown, 403, `"FORBIDDEN"`},
		{"powerless", "", unknown, 403, `"FORBIDDEN"`},
	} {
		resp, body := call(t, http.MethodPost, "/v1/query"+tc.query, tc.key, tc.body)
		if resp.StatusCode != tc.status || !strings.Contains(body, tc.contains) {
			t.Errorf("%s%s %s: %d %s\nwant %d %s", tc.key, tc.query, tc.body, resp.StatusCode, body, tc.status, tc.contains)
		}
	}
	for i := range analytics.Catalog {
		if _, err := auth.ParseScopes([]string{analytics.Catalog[i].Scope}); err != nil {
			t.Errorf("%s: %v", analytics.Catalog[i].Name, err)
		}
	}
}

// What nobody may ask about has one response, whether it exists or not.
func TestNobodyLearnsWhatExists(t *testing.T) {
	t.Parallel()
	var bodies []string
	for _, query := range []string{
		"", "?website_id=web_1", "?website_id=web_0", "?organization_id=org_1", "?link_id=x", "?schedule_id=x",
	} {
		_, body := call(t, http.MethodPost, "/v1/query"+query, "", summary)
		bodies = append(bodies, body)
	}
	for _, body := range bodies {
		if body != bodies[0] || !strings.Contains(body, "AUTH_REQUIRED") {
			t.Errorf("answers %q", bodies)
		}
	}
}

// Pages of any site may ask for what is public, and a cookie that their browser sends
// along counts for nothing.
func TestPagesElsewhereMayAskForWhatIsPublic(t *testing.T) {
	t.Parallel()
	const elsewhere = "https://elsewhere.example"
	resp, _ := call(t, http.MethodOptions, "/v1/query?website_id=web_open", "", "", "Origin", elsewhere,
		"Access-Control-Request-Method", "POST")
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "*" ||
		resp.Header.Get("Access-Control-Allow-Methods") != "POST" ||
		strings.Contains(strings.ToLower(resp.Header.Get("Access-Control-Allow-Headers")), "api-key") {
		t.Errorf("preflight: %d %v", resp.StatusCode, resp.Header)
	}
	for name, tc := range map[string]struct {
		website string
		status  int
	}{
		"a public website": {"web_open", 200}, "a private one": {"web_1", 403},
	} {
		resp, body := call(t, http.MethodPost, "/v1/query?website_id="+tc.website, "",
			`{"parameters":["summary","session_list"],"preset":"today"}`,
			"Cookie", "millrace_session=ann", "Origin", elsewhere)
		if resp.StatusCode != tc.status || resp.Header.Get("Access-Control-Allow-Origin") != "*" ||
			resp.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %s %v", name, resp.StatusCode, body, resp.Header)
		}
		if tc.status == 200 && !strings.Contains(body, `"AUTH_REQUIRED"`) {
			t.Errorf("the cookie counts: %s", body)
		}
	}
}
