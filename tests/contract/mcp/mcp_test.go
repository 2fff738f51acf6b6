package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/mcpclient"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// system is a running product with a link and a flag.
type system struct {
	*harness.System

	endpoint       string
	linkID, flagID string
}

func TestClients_CallTheEndpoint(t *testing.T) {
	s := &system{System: harness.New(t, harness.InProcess, harness.Options{Verbose: true})}
	s.endpoint = s.QueryURL + "/v1/mcp"
	s.linkID = s.create(t, "links", `{"url":"https://example.com/"}`)
	s.flagID = s.create(t, "flags", `{"key":"nav","type":"boolean"}`)
	t.Run("clients", func(t *testing.T) {
		for _, e := range []endpoint{
			{"query host", s.QueryURL, "/v1/mcp", s.Key}, {"ingestion host", s.IngestURL, "/mcp", s.NoReadKey},
		} {
			for _, revision := range mcpclient.Revisions {
				t.Run("conformance suite, "+e.name+", "+revision, func(t *testing.T) {
					t.Parallel()
					mcpclient.Conform(t, e.proxy(t), revision, "testdata/expected_failures.yaml")
				})
			}
			t.Run("Inspector, "+e.name, func(t *testing.T) { s.runInspector(t, e) })
		}
		for _, era := range []string{"legacy", "modern"} {
			t.Run("TypeScript SDK, "+era, func(t *testing.T) {
				t.Parallel()
				s.runSDK(t, era)
			})
		}
		t.Run("writes", s.runWrites)
	})
	for _, key := range []string{s.UnknownKey, s.RevokedKey, s.MalformedKey} {
		if a, err := harness.Post(t.Context(), s.endpoint, key, []byte(`{}`)); err != nil || a.Status != http.StatusUnauthorized {
			t.Errorf("an invalid key: %d %s, %v", a.Status, a.Body, err)
		}
	}
	if !strings.Contains(s.Log(), "/v1/mcp") {
		t.Error("the log has no calls of the endpoint")
	}
	for name, value := range s.Vars() {
		if strings.HasSuffix(name, "KEY") && strings.Contains(s.Log(), value) {
			t.Errorf("the log has the value of %s", name)
		}
	}
}

// endpoint is the endpoint of a host, with the key of its clients.
type endpoint struct{ name, host, path, key string }

// create creates a record and returns its id.
func (s *system) create(t *testing.T, resource, body string) string {
	t.Helper()
	a, err := harness.Post(t.Context(), s.QueryURL+"/rpc/"+resource+"/create", s.Key, []byte(body))
	var created struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err != nil || json.Unmarshal(a.Body, &created) != nil || created.Data.ID == "" {
		t.Fatalf("creating one of %s: %d %s, %v", resource, a.Status, a.Body, err)
	}
	return created.Data.ID
}

// proxy serves the endpoint to the conformance suite, which sends no credentials: it adds a key.
// Host and Origin change as behind any proxy: those of the proxy become the host's.
func (e endpoint) proxy(t *testing.T) string {
	t.Helper()
	target, err := url.Parse(e.host)
	if err != nil {
		t.Fatal(err)
	}
	p := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1, // streams
		Rewrite: func(r *httputil.ProxyRequest) {
			own := r.In.Context().Value(http.LocalAddrContextKey).(fmt.Stringer).String()
			r.SetURL(target)
			r.Out.Host = strings.ReplaceAll(r.In.Host, own, target.Host)
			r.Out.Header.Set("X-Api-Key", e.key)
			// A fast response closes the request's body, which the transport may still read.
			body, _ := io.ReadAll(r.In.Body)
			r.Out.Body = io.NopCloser(bytes.NewReader(body))
			if origin := r.In.Header.Get("Origin"); origin != "" {
				r.Out.Header.Set("Origin", strings.ReplaceAll(origin, own, target.Host))
			}
		},
	})
	t.Cleanup(p.Close)
	return p.URL + e.path
}

// runSDK calls the endpoint with the TypeScript SDK of an era: with a key of all scopes, and with
// one that may not read.
func (s *system) runSDK(t *testing.T, era string) {
	t.Helper()
	link := s.create(t, "links", `{"url":"https://example.com/","name":"old","slug":"sdk-`+era+`"}`)
	shortURL := s.LinkURL + "/sdk-" + era
	out, err := mcpclient.Run(t, "testdata/client.mjs", era, s.endpoint, s.NewKey(t), s.NoReadKey, s.WebsiteID, link)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Tools, OtherTools []string
		Saved             []string
		Rows              int
		IsError           bool
		Error             struct {
			Code, Message string
			Allowed       []string
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !slices.Contains(got.Tools, "run_query") || slices.Contains(got.OtherTools, "run_query") || got.Rows != 1 {
		t.Errorf("tools or rows are wrong: %s", out)
	}
	if want := map[string]int{"legacy": 1, "modern": 3}[era]; len(got.Saved) != want || got.Saved[0] != "by token" {
		t.Errorf("the confirmed writes: %q", got.Saved)
	}
	if era == "modern" && (got.Saved[2] != "by form" ||
		!strings.HasPrefix(got.Saved[1], "Change "+shortURL+"?\nRecord: ") ||
		!strings.HasSuffix(got.Saved[1], "\nname: \"by form\" (now \"by token\")")) {
		t.Errorf("the form: %q", got.Saved)
	}
	if !got.IsError || got.Error.Code != "forbidden" || !strings.Contains(got.Error.Message, "read:data") {
		t.Errorf("a key without the scope: %s", out)
	}
}

// calls are the arguments of a call of each tool, with variables of the fixture.
var calls = map[string]string{
	"list_websites":        `{"limit":1}`,
	"list_query_types":     `{"names":["summary_metrics"]}`,
	"run_query":            `{"websiteId":"$WEBSITE","queries":[{"type":"summary_metrics","preset":"today"}]}`,
	"compile_query":        `{"websiteId":"$WEBSITE","type":"summary_metrics","from":"2026-01-01","to":"2026-01-31"}`,
	"get_ingestion_health": `{}`,
	"list_links":           `{"withClicks":true}`,
	"get_link_report":      `{"linkId":"$LINK"}`,
	"list_flags":           `{}`,
	"get_flag":             `{"key":"nav","websiteId":null}`,
	"evaluate_flag":        `{"key":"nav","context":{"attributes":{"plan":"pro"}},"explain":true}`,
	"save_link":            `{"url":"https://example.com/new"}`,
	"delete_link":          `{"id":"$LINK"}`,
	"save_flag":            `{"key":"new","type":"boolean"}`,
	"set_flag_status":      `{"id":"$FLAG","status":"active"}`,
	"set_flag_targets":     `{"id":"$FLAG","variant":"on","userIds":["u1"]}`,
	"track_event":          `{"websiteId":"$WEBSITE","name":"signup","timestamp":1795000000000}`,
	"track_events":         `{"websiteId":"$WEBSITE","events":[{"name":"a"},{"name":"b","anonymizeVisitorIds":true}]}`,
	"track_page_view":      `{"websiteId":"$WEBSITE","path":"https://example.com/"}`,
	"identify_profile":     `{"websiteId":"$WEBSITE","profileId":"u","traits":{"plan":"pro"}}`,
	"start_session":        `{"websiteId":"$WEBSITE"}`,
	"end_session":          `{"websiteId":"$WEBSITE","sessionId":"sess_1"}`,
	"get_tracking_status":  `{}`,
}

// runInspector lists the tools with the MCP Inspector, which checks their schemas, and calls each.
func (s *system) runInspector(t *testing.T, e endpoint) {
	t.Parallel()
	key := s.NewKey(t) // a key may write ten times a minute
	inspect := func(t *testing.T, args ...string) string {
		t.Helper()
		out, err := mcpclient.Run(t, mcpclient.Inspector, append([]string{
			"--cli", e.host + e.path, "--transport", "http", "--header", "x-api-key: " + key, "--format", "json",
		}, args...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}
	out := inspect(t, "--method", "tools/list", "--strict")
	var listed struct {
		Result struct {
			Tools []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Result.Tools) == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tool := range listed.Result.Tools {
		t.Run(tool.Name, func(t *testing.T) {
			t.Parallel()
			arguments, ok := calls[tool.Name]
			if !ok {
				t.Fatal("calls has no arguments for this tool")
			}
			arguments = strings.NewReplacer("$WEBSITE", s.WebsiteID, "$LINK", s.linkID, "$FLAG", s.flagID).Replace(arguments)
			out := inspect(t, "--method", "tools/call", "--tool-name", tool.Name, "--tool-args-json", arguments)
			if strings.Contains(out, `"isError"`) {
				t.Errorf("the call failed: %s", out)
			}
		})
	}
}
