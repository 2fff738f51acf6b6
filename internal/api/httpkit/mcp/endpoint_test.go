package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/testkit"
)

// keyring knows the keys of a test by their secrets.
type keyring struct {
	mu   sync.Mutex
	keys map[string]auth.Principal
}

func (k *keyring) Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.keys[string(secret)]; ok {
		return p, nil
	}
	return auth.Principal{}, from.Failed(ctx, apierr.New(apierr.AuthRequired))
}

// set gives a key scopes; none revokes it.
func (k *keyring) set(secret string, scopes ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, secret)
	if len(scopes) > 0 {
		set, _ := auth.ParseScopes(scopes)
		k.keys[secret] = auth.Principal{Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_" + secret, Scopes: set}
	}
}

// host is an endpoint on a loopback address.
type host struct {
	url  string
	keys *keyring
	log  *testkit.Log
	// entered has a value for each call of the tool wait, which goes on when its context ends.
	entered, left chan struct{}
	stop          func() // begins to drain the host
}

const object = `{"type":"object"}`

// newHost serves an endpoint whose tools echo, fail and wait.
func newHost(tb testing.TB, change ...func(*Config, *Deps)) *host {
	tb.Helper()
	h := &host{
		keys: &keyring{keys: map[string]auth.Principal{}}, log: testkit.NewLog(tb, "host"),
		entered: make(chan struct{}, 100), left: make(chan struct{}, 100),
	}
	h.keys.set("reader", "read:data")
	h.keys.set("writer", "read:data", "write:links")
	h.keys.set("other", "read:data")
	read := []auth.Scope{auth.ScopeReadData}
	cfg := Config{
		Host: httpkit.Query, Path: httpkit.QueryMCPPath, Name: "test", Version: "1",
		Site: &httpkit.Site{PublicURL: "https://api.example.com"}, Origins: []string{"https://inspector.example"},
		Tools: []Tool{
			{
				Name: "echo", Class: ratelimit.MCPQueries, Scopes: read, Input: json.RawMessage(object),
				Run: func(_ context.Context, c *Call) (Answer, error) { return Answer{Record: c.Arguments}, nil },
			},
			{
				Name: "fail", Class: ratelimit.MCPLists, Scopes: read, Input: json.RawMessage(object),
				Run: func(_ context.Context, c *Call) (Answer, error) {
					return Answer{}, fmt.Errorf("secret: %s", c.Arguments)
				},
			},
			{
				Name: "panic", Class: ratelimit.MCPLists, Scopes: read, Input: json.RawMessage(object),
				Run: func(context.Context, *Call) (Answer, error) { panic("at the disco") }, //nolint:forbidigo // is recovered
			},
			{
				Name: "save", Class: ratelimit.MCPWrites, Scopes: []auth.Scope{auth.ScopeWriteLinks}, Writes: true,
				Input: json.RawMessage(object), Global: true,
				Run: func(context.Context, *Call) (Answer, error) { return Answer{Record: json.RawMessage(`{}`)}, nil },
			},
			{
				Name: "wait", Class: ratelimit.MCPLists, Scopes: read, Input: json.RawMessage(object),
				Run: func(ctx context.Context, _ *Call) (Answer, error) {
					h.entered <- struct{}{}
					<-ctx.Done()
					h.left <- struct{}{}
					return Answer{}, ctx.Err()
				},
			},
		},
		Resources: []Resource{{URI: "millrace://guide", Name: "guide", Text: func() string { return "# Guide" }}},
	}
	deps := Deps{Keys: h.keys, Log: h.log.Logger(), Metrics: prometheus.NewRegistry()}
	for _, f := range change {
		f(&cfg, &deps)
	}
	app := httpkit.New(httpkit.Config{Host: httpkit.Query, Site: *cfg.Site, Deadline: time.Minute},
		httpkit.Deps{Log: deps.Log, Metrics: prometheus.NewRegistry()})
	New(cfg, deps).Mount(app)
	url, stop := serve(tb, app)
	h.url, h.stop = url+cfg.Path, stop
	return h
}

// serve starts an app; stop begins to drain it, as the end of the test does.
func serve(tb testing.TB, app *fiber.App) (url string, stop func()) {
	tb.Helper()
	addr := testkit.FreeAddr(tb)
	component := httpkit.ListenComponent("host", addr, "none", app, slog.New(slog.DiscardHandler))
	if err := component.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- errors.Join(component.Run(ctx), component.Stop(context.WithoutCancel(ctx))) }()
	tb.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return "http://" + addr, stop
}

// receive waits for a value.
func receive(t *testing.T, from <-chan struct{}) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, func() error {
		select {
		case <-from:
			return nil
		default:
			return errors.New("nothing was sent")
		}
	})
}

// answer is a response as these tests see it.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// post sends a body with pairs of header names and values.
func (h *host) post(t *testing.T, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// call is the message that calls a tool, in the 2025-11-25 revision.
func call(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
}

// modern is a message of the 2026-07-28 revision and the header that it requires.
func modern(method, params string) (body string, header []string) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`
	if params != "" {
		meta = params + "," + meta
	}
	header = []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "x-api-key", "reader"}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, meta), header
}

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestEndpoint_RejectsBeforeAMessageIsRead(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for name, c := range map[string]struct {
		header []string
		body   string
		status int
		want   string
	}{
		"no credential":   {nil, list, 401, `"code":"AUTH_REQUIRED"`},
		"an unknown key":  {[]string{"x-api-key", "nobody"}, list, 401, `"code":"AUTH_REQUIRED"`},
		"a cookie":        {[]string{"Cookie", "millrace_session=x"}, list, 401, `"code":"AUTH_REQUIRED"`},
		"a client id":     {[]string{"millrace-client-id", "x"}, list, 401, `"code":"AUTH_REQUIRED"`},
		"a foreign page":  {[]string{"x-api-key", "reader", "Origin", "https://evil.example"}, list, 403, `"code":"FORBIDDEN"`},
		"the origin null": {[]string{"x-api-key", "reader", "Origin", "null"}, list, 403, `"code":"FORBIDDEN"`},
		"a foreign host":  {[]string{"x-api-key", "reader", "Host", "evil.example"}, list, 403, `"code":"FORBIDDEN"`},
		"a large body":    {[]string{"x-api-key", "reader"}, strings.Repeat(" ", MaxBody+1), 413, `"code":"PAYLOAD_TOO_LARGE"`},
	} {
		got := h.post(t, c.body, c.header...)
		if got.Status != c.status || !strings.Contains(got.Body, c.want) || !strings.Contains(got.Body, `"success":false`) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		challenge := `Bearer resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/v1/mcp"`
		if got.Status == 401 && got.Header.Get("WWW-Authenticate") != challenge {
			t.Errorf("%s: challenge %q", name, got.Header.Get("WWW-Authenticate"))
		}
	}
	for _, header := range [][]string{
		{"x-api-key", "reader"},
		{"Authorization", "Bearer reader"},
		{"x-api-key", "reader", "Origin", "https://inspector.example"},
		{"x-api-key", "reader", "Origin", "https://api.example.com"},
		{"x-api-key", "reader", "Host", "api.example.com"},
		{"x-api-key", "reader", "Host", "localhost:1"},
	} {
		if got := h.post(t, list, header...); got.Status != http.StatusOK {
			t.Errorf("%v: %d %s", header, got.Status, got.Body)
		}
	}
	if got := h.post(t, list+strings.Repeat(" ", MaxBody-len(list)), "x-api-key", "reader"); got.Status != http.StatusOK {
		t.Errorf("a body of the largest size: %d %s", got.Status, got.Body)
	}
}

func TestEndpoint_ReportsErrorsOfTheProtocol(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	unknown, header := modern("prompts/list", "")
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		code   int
	}{
		"no JSON":                       {`{"jsonrpc"`, nil, 400, -32700},
		"an empty body":                 {``, nil, 400, -32700},
		"a batch":                       {`[` + list + `]`, nil, 400, -32600},
		"a batch of none":               {`[]`, nil, 400, -32600},
		"a method in another case":      {`{"jsonrpc":"2.0","id":1,"method":"prompts/list","Method":"tools/list"}`, nil, 200, -32601},
		"a number":                      {`7`, nil, 400, -32600},
		"a method that is no string":    {`{"jsonrpc":"2.0","id":1,"method":7}`, nil, 400, -32600},
		"an undeclared method":          {`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, nil, 200, -32601},
		"a method of no revision":       {`{"jsonrpc":"2.0","id":1,"method":"x/y"}`, nil, 200, -32601},
		"an undeclared method, 2026":    {unknown, header, 404, -32601},
		"an unknown tool":               {call("nothing", "{}"), nil, 200, -32602},
		"a revision that is not served": {list, []string{"MCP-Protocol-Version", "2020-01-01"}, 400, -32600},
		"a client that reads no JSON":   {list, []string{"Accept", "text/html"}, 400, -32600},
		"a body of another type":        {list, []string{"Content-Type", "text/plain"}, 415, -32600},
		"a header of another method": {
			unknown, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, 404, -32601,
		},
	} {
		got := h.post(t, c.body, append([]string{"x-api-key", "reader"}, c.header...)...)
		var body struct {
			Version string `json:"jsonrpc"`
			ID      any    `json:"id"`
			Error   struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
			continue
		}
		if got.Status != c.status || body.Error.Code != c.code || body.Version != "2.0" || body.Error.Message == "" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	if got := h.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "x-api-key", "reader"); got.Status != 202 {
		t.Errorf("a notification: %d %s", got.Status, got.Body)
	}
}

func TestEndpoint_AllowsOtherMethodsNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		req, _ := http.NewRequestWithContext(t.Context(), method, h.url, http.NoBody)
		req.Header.Set("x-api-key", "reader")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, res.StatusCode)
		}
	}
	for origin, status := range map[string]int{"https://inspector.example": 204, "https://evil.example": 403} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodOptions, h.url, http.NoBody)
		req.Header.Set("Origin", origin)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		allowed := res.Header.Get("Access-Control-Allow-Origin") == origin
		if res.StatusCode != status || allowed != (status == 204) {
			t.Errorf("preflight of %s: %d %v", origin, res.StatusCode, res.Header)
		}
	}
}

func TestEndpoint_ShowsAKeyTheToolsOfItsScopes(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.keys.keys["narrow"] = auth.Principal{
		Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "narrow", WebsiteID: "web_1", Scopes: auth.AllScopes(),
	}
	for key, want := range map[string][]string{
		"reader": {"echo", "fail", "panic", "wait"},
		"writer": {"echo", "fail", "panic", "save", "wait"},
		"narrow": {"echo", "fail", "panic", "wait"},
	} {
		var body struct {
			Result struct {
				Tools []struct {
					Name        string `json:"name"`
					Annotations struct {
						ReadOnly bool `json:"readOnlyHint"`
					} `json:"annotations"`
				} `json:"tools"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(h.post(t, list, "x-api-key", key).Body), &body); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range body.Result.Tools {
			got = append(got, tool.Name)
			if tool.Annotations.ReadOnly != (tool.Name != "save") {
				t.Errorf("%s: read only %v", tool.Name, tool.Annotations.ReadOnly)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s sees %v, want %v", key, got, want)
		}
	}
	for key, want := range map[string]string{"reader": "requires the scope write:links", "narrow": "not limited to one website"} {
		got := h.post(t, call("save", "{}"), "x-api-key", key)
		if !strings.Contains(got.Body, `"isError":true`) || !strings.Contains(got.Body, `\"code\":\"forbidden\"`) ||
			!strings.Contains(got.Body, want) {
			t.Errorf("%s: %s", key, got.Body)
		}
	}
	body, header := modern(methodCall, `"name":"save","arguments":{}`)
	got := h.post(t, body, append(header, "Mcp-Name", "save")...)
	if !strings.Contains(got.Body, `"isError":true`) || !strings.Contains(got.Body, `"resultType":"complete"`) {
		t.Errorf("in 2026-07-28: %s", got.Body)
	}
}

func TestEndpoint_HidesWhatFailedInside(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, tool := range []string{"fail", "panic"} {
		got := h.post(t, call(tool, `{"a":"b"}`), "x-api-key", "reader")
		if !strings.Contains(got.Body, `\"code\":\"internal\"`) || strings.Contains(got.Body, "secret") ||
			strings.Contains(got.Body, "disco") {
			t.Errorf("%s: %s", tool, got.Body)
		}
		if !strings.Contains(h.log.String(), "MCP tool failed") {
			t.Errorf("%s: no log", tool)
		}
	}
	if strings.Contains(h.log.String(), "reader") {
		t.Errorf("a key is in the log: %s", h.log)
	}
}

func TestEndpoint_EndsACallWhoseClientLeft(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	body, header := modern(methodCall, `"name":"wait","arguments":{}`)
	for _, m := range []struct {
		body   string
		header []string
	}{{call("wait", "{}"), []string{"x-api-key", "reader"}}, {body, append(header, "Mcp-Name", "wait")}} {
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader([]byte(m.body)))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(m.header); i += 2 {
			req.Header.Set(m.header[i], m.header[i+1])
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if res, err := http.DefaultClient.Do(req); err == nil {
				res.Body.Close()
			}
		}()
		receive(t, h.entered)
		cancel()
		receive(t, h.left)
		<-ended
	}
}

func TestEndpoint_LimitsCallsOfAKey(t *testing.T) {
	t.Parallel()
	limits := config.Default().Limits
	h := newHost(t, func(_ *Config, d *Deps) { d.Limits = ratelimit.New(limits, ratelimit.Deps{}) })
	const queries = 30
	for i := range queries {
		if got := h.post(t, call("echo", "{}"), "x-api-key", "reader"); strings.Contains(got.Body, "isError") {
			t.Fatalf("call %d: %s", i, got.Body)
		}
	}
	got := h.post(t, call("echo", "{}"), "x-api-key", "reader")
	if !strings.Contains(got.Body, `\"code\":\"rate_limited\"`) || !strings.Contains(got.Body, "retryAfterSeconds") {
		t.Errorf("one call more: %s", got.Body)
	}
	if got := h.post(t, call("echo", "{}"), "x-api-key", "other"); strings.Contains(got.Body, "isError") {
		t.Errorf("another key: %s", got.Body)
	}
	for range limits.MCP - queries - 1 {
		if got := h.post(t, list, "x-api-key", "reader"); got.Status != http.StatusOK {
			t.Fatalf("a list: %d %s", got.Status, got.Body)
		}
	}
	got = h.post(t, list, "x-api-key", "reader")
	if got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("one message more: %d %s", got.Status, got.Body)
	}
}

func TestEndpoint_BoundsCallsInFlight(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range MaxInFlight {
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(call("wait", "{}")))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			req.Header.Set("x-api-key", "reader")
			if res, err := http.DefaultClient.Do(req); err == nil {
				res.Body.Close()
			}
		})
	}
	for range MaxInFlight {
		receive(t, h.entered)
	}
	if got := h.post(t, list, "x-api-key", "reader"); got.Status != http.StatusTooManyRequests {
		t.Errorf("one more: %d %s", got.Status, got.Body)
	}
	if got := h.post(t, list, "x-api-key", "other"); got.Status != http.StatusOK {
		t.Errorf("another key: %d %s", got.Status, got.Body)
	}
	cancel()
	wg.Wait()
}
