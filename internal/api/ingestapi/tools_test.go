package ingestapi

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files")

// TestTools_AreAsTheirGoldenFiles compares each tool, as clients see it, with testdata/tools/NAME.json.
func TestTools_AreAsTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	all := Tools()
	for i := range all {
		text, err := json.MarshalIndent(all[i].Definition(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "tools", all[i].Name+".json")
		if *update {
			if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bytes.TrimSpace(want), text) {
			t.Errorf("%s differs; go test ./internal/api/ingestapi -update writes it:\n%s", file, text)
		}
	}
	files, err := os.ReadDir(filepath.Join("testdata", "tools"))
	if err != nil || len(files) != len(all) {
		t.Errorf("%d golden files of %d tools, %v", len(files), len(all), err)
	}
}

// TestTools_HaveFieldsOfTheirForms checks the names in the table of tools.
func TestTools_HaveFieldsOfTheirForms(t *testing.T) {
	t.Parallel()
	forms := map[string]*event.Form{"track_page_view": event.Pages, "identify_profile": event.Identities}
	all := Tools()
	for i := range all {
		form := forms[all[i].Name]
		if form == nil {
			form = event.Track
		}
		var schema, batch arguments
		if err := json.Unmarshal(all[i].Input, &schema); err != nil {
			t.Fatal(err)
		}
		if events, ok := schema.Properties["events"].(map[string]any); ok {
			delete(schema.Properties, "events")
			text, _ := json.Marshal(events["items"])
			if err := json.Unmarshal(text, &batch); err != nil || len(batch.Properties) == 0 {
				t.Errorf("%s has items %s, %v", all[i].Name, text, err)
			}
		}
		for _, properties := range []map[string]any{schema.Properties, batch.Properties} {
			for name := range properties {
				if _, ok := form.Field(name); !ok || descriptions[name] == "" {
					t.Errorf("%s: the form %s has no field %s, or it has no description", all[i].Name, form.Name, name)
				}
			}
		}
	}
}

// recorder accepts events and records the last request.
type recorder struct {
	route, website, body string
	err                  error
}

// Accept and Reject implement Intake.
func (r *recorder) Accept(_ context.Context, req ingest.Request) (ingest.Result, error) {
	r.route, r.website, r.body = req.Route.Name, string(req.WebsiteID), string(bytes.TrimSpace(req.Body))
	return ingest.Result{Count: 1, Type: "track"}, r.err
}

func (*recorder) Reject(context.Context, ingest.Request, error) {}

// Key implements mcp.Keys: the secret is the website of the key, "all" for none.
func (*recorder) Key(_ context.Context, secret []byte, _ auth.From) (auth.Principal, error) {
	p := auth.Principal{Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_1", Scopes: auth.AllScopes()}
	if string(secret) != "all" {
		p.WebsiteID = string(secret)
	}
	return p, nil
}

// post sends a call of a tool and returns the response.
func (r *recorder) post(t *testing.T, cfg Config, key, tool, arguments string) (status int, body []byte) {
	t.Helper()
	down := Service{Name: "kafka", Check: func(context.Context) error { return io.ErrClosedPipe }}
	app := New(cfg, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Intake: r, Keys: r, Services: []Service{down},
	})
	message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, MCPPath, strings.NewReader(message))
	for name, value := range map[string]string{
		"X-Api-Key": key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	} {
		req.Header.Set(name, value)
	}
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// call calls a tool and returns its answer or error as JSON.
func (r *recorder) call(t *testing.T, key, tool, arguments string) string {
	t.Helper()
	status, text := r.post(t, Config{}, key, tool, arguments)
	var message struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &message); err != nil || len(message.Result.Content) == 0 {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	return made.ReplaceAllString(message.Result.Content[0].Text, "UUID")
}

// made matches the ids that tools make.
var made = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

func TestTools_SendEventsToTheirRoutes(t *testing.T) {
	t.Parallel()
	const counted, meta = `"status":"success","type":"custom_event","count":1`, `,"meta":{"truncated":false}}`
	for _, tc := range []struct{ tool, arguments, route, website, body, answer string }{
		{
			"track_event", `{"name":"a<b","properties":{"n":1.50},"websiteId":"web_1"}`,
			"track", "web_1", `{"name":"a<b","properties":{"n":1.50}}`, `{"data":{` + counted + `}` + meta,
		},
		{
			"track_events", `{"events":[{"name":"a"},{"name":"b","eventId":"e"}],"websiteId":null}`,
			"track", "", `[{"name":"a"},{"eventId":"e","name":"b"}]`, `{"data":{` + counted + `}` + meta,
		},
		{
			"track_page_view", `{"path":"https://x.example/","websiteId":"a&b"}`,
			"page", "a&b", `{"eventId":"UUID","name":"screen_view","path":"https://x.example/"}`,
			`{"data":{"eventId":"UUID","status":"success","type":"track"}` + meta,
		},
		{
			"identify_profile", `{"profileId":"u","traits":{"plan":null}}`,
			"identify", "", `{"profileId":"u","traits":{"plan":null}}`,
			`{"data":{"status":"success","type":"identify"}` + meta,
		},
		{
			"start_session", `{"sessionId":""}`,
			"track", "", `{"name":"session_start","sessionId":"sess_UUID"}`,
			`{"data":{"count":1,"sessionId":"sess_UUID","status":"success","type":"custom_event"}` + meta,
		},
		{
			"start_session", `{"sessionId":"s"}`,
			"track", "", `{"name":"session_start","sessionId":"s"}`,
			`{"data":{"count":1,"sessionId":"s","status":"success","type":"custom_event"}` + meta,
		},
		{
			"end_session", `{"sessionId":"s"}`,
			"track", "", `{"name":"session_end","sessionId":"s"}`, `{"data":{` + counted + `}` + meta,
		},
	} {
		r := &recorder{}
		answer := r.call(t, "all", tc.tool, tc.arguments)
		r.body = made.ReplaceAllString(r.body, "UUID")
		if diff := cmp.Diff(recorder{tc.route, tc.website, tc.body, nil}, *r, cmp.AllowUnexported(recorder{})); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", tc.tool, tc.arguments, diff)
		}
		if diff := cmp.Diff(tc.answer, answer); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", tc.tool, tc.arguments, diff)
		}
	}
}

func TestTools_RejectArgumentsBeforeTheySend(t *testing.T) {
	t.Parallel()
	many := `{"events":[{"name":"a"}` + strings.Repeat(`,{"name":"a"}`, maxToolEvents) + `]}`
	for _, tc := range []struct{ tool, arguments, want string }{
		{
			"track_event", `{"nam":"a"}`,
			`"message":"Unknown field: nam. Did you mean 'name'?","details":[{"field":"nam","message":"Unknown field: nam",` +
				`"suggestion":"Did you mean 'name'?"},{"field":"name","message":"name is required"}]`,
		},
		{"track_event", `{"name":"a","websiteId":1}`, `"message":"websiteId must be a string"`},
		{"track_event", `{"name":null}`, `"message":"name is required"`},
		{"track_events", `{}`, `"message":"events is required"`},
		{"track_events", `{"events":{}}`, `"message":"events must be an array of objects"`},
		{"track_events", `{"events":[]}`, `"message":"events has 0 entries; 1 to 100 are allowed"`},
		{"track_events", many, `"message":"events has 101 entries; 1 to 100 are allowed"`},
		{
			"track_events", `{"events":[{"name":"a"},{"title":"b"},null]}`,
			`"details":[{"index":1,"field":"title","message":"Unknown field: title"},` +
				`{"index":1,"field":"name","message":"name is required"},{"index":2,"field":"events","message":"events must be an array of objects"}]`,
		},
		{"track_page_view", `{}`, `"message":"path is required"`},
		{"identify_profile", `{"traits":{}}`, `"message":"profileId is required"`},
		{"start_session", `{"name":"a"}`, `"message":"Unknown field: name"`},
		{"end_session", `{}`, `"message":"sessionId is required"`},
		{"get_tracking_status", `{"verbose":true}`, `"message":"Unknown field: verbose"`},
	} {
		r := &recorder{}
		answer := r.call(t, "all", tc.tool, tc.arguments)
		if !strings.Contains(answer, `"code":"invalid_input",`) || !strings.Contains(answer, tc.want) || r.route != "" {
			t.Errorf("%s of %.100s: %s", tc.tool, tc.arguments, answer)
		}
	}
}

func TestTools_ReportRejectionsOfTheHost(t *testing.T) {
	t.Parallel()
	r := &recorder{err: apierr.New(apierr.QuotaExceeded)}
	if got := r.call(t, "all", "track_event", `{"name":"a"}`); !strings.Contains(got, `"code":"rate_limited"`) {
		t.Errorf("a used quota: %s", got)
	}
	r.err = &apierr.Error{Code: apierr.Validation, Details: []apierr.Detail{{
		Index: 1, Field: "name", Rule: "too_long", Message: "name must have at most 256 characters",
	}}}
	if got := r.call(t, "all", "track_events", `{"events":[{"name":"a"},{"name":"b"}]}`); !strings.Contains(got,
		`"details":[{"index":1,"field":"name","message":"name must have at most 256 characters"}]`) {
		t.Errorf("an invalid event: %s", got)
	}
}

// A message takes memory beside its body, which the gate counts.
func TestMCP_RejectsMessagesWithoutMemory(t *testing.T) {
	t.Parallel()
	const memory = 64 << 20
	var held int64
	gate := admission.New(admission.Config{Host: "test", Memory: memory},
		admission.Deps{Metrics: prometheus.NewRegistry(), Outside: func() int64 { return held }})
	for _, want := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		r := &recorder{}
		status, text := r.post(t, Config{Admission: gate}, "all", "track_event", `{"name":"a"}`)
		if sent := r.route != ""; status != want || sent != (want == http.StatusOK) {
			t.Errorf("with %d of %d bytes in use: %d %s", held, memory, status, text)
		}
		testkit.Eventually(t, 10*time.Second, func() error { // the host releases its own claim after the response
			if used := gate.Used(); used != 0 {
				return fmt.Errorf("%d bytes are claimed after the response", used)
			}
			return nil
		})
		held = memory
	}
}

func TestTrackingStatus_NamesWhatTheKeySendsTo(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"all":   `"key":{"organizationId":"org_1"}}`,
		"web_1": `"key":{"organizationId":"org_1","websiteId":"web_1"}}`,
	} {
		got := new(recorder).call(t, key, "get_tracking_status", `{}`)
		for _, part := range []string{want, `"status":"degraded"`, `"kafka":{"status":"error"`, `"code":"UNAVAILABLE"`} {
			if !strings.Contains(got, part) {
				t.Errorf("%s has no %s: %s", key, part, got)
			}
		}
	}
}

// TestMCP_KnowsItsOrigins asks before a request, as a browser does: pages of any origin may send events,
// and pages of some origins may call tools.
func TestMCP_KnowsItsOrigins(t *testing.T) {
	t.Parallel()
	var r recorder
	app := New(Config{MCPOrigins: []string{"https://inspector.example"}},
		Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Intake: &r, Keys: &r})
	for _, c := range []struct {
		path, origin string
		status       int
	}{
		{MCPPath, "https://inspector.example", http.StatusNoContent},
		{MCPPath, "https://evil.example", http.StatusForbidden},
		{"/track", "https://evil.example", http.StatusNoContent},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, c.path, http.NoBody)
		req.Header.Set("Origin", c.origin)
		req.Header.Set("Access-Control-Request-Method", http.MethodPost)
		resp, err := app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		allowed := resp.Header.Get("Access-Control-Allow-Origin")
		if resp.StatusCode != c.status || (allowed == c.origin) != (c.status == http.StatusNoContent) {
			t.Errorf("a preflight of %s for %s: %d, allowed %q", c.origin, c.path, resp.StatusCode, allowed)
		}
	}
}
