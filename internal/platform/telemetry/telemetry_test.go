package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// newTest returns telemetry that logs JSON into a buffer.
func newTest(t *testing.T, change func(*config.Settings)) (*Telemetry, *bytes.Buffer) {
	t.Helper()
	s := config.Default()
	if change != nil {
		change(&s)
	}
	var log bytes.Buffer
	tel, err := New(s, "test", &log)
	if err != nil {
		t.Fatal(err)
	}
	return tel, &log
}

// lines decodes a JSON log and drops the times.
func lines(t *testing.T, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(log.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		delete(m, "time")
		out = append(out, m)
	}
	return out
}

func TestLogRecordsCarryTheIDsOfTheirContext(t *testing.T) {
	t.Parallel()
	tel, log := newTest(t, nil)
	ctx := ContextWithTraceparent(ContextWithRequestID(t.Context(), "req-1"), traceparent)
	tel.Log.InfoContext(ctx, "plain", slog.Int("n", 1))
	tel.Log.With(slog.Int("a", 1)).WithGroup("g").With(slog.Int("b", 2)).InfoContext(ctx, "grouped", slog.Int("n", 1))
	tel.Log.WithGroup("g").InfoContext(t.Context(), "no ids", slog.Int("n", 1))
	tel.Log.DebugContext(ctx, "below the level")
	const id = "0af7651916cd43dd8448eb211c80319c"
	want := []map[string]any{
		{"level": "INFO", "msg": "plain", "component": "test", "n": 1.0, "request_id": "req-1", "trace_id": id},
		{
			"level": "INFO", "msg": "grouped", "component": "test", "a": 1.0, "g": map[string]any{"b": 2.0, "n": 1.0},
			"request_id": "req-1", "trace_id": id,
		},
		{"level": "INFO", "msg": "no ids", "component": "test", "g": map[string]any{"n": 1.0}},
	}
	if diff := cmp.Diff(want, lines(t, log)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestLogFormatAndLevelAreSettings(t *testing.T) {
	t.Parallel()
	tel, log := newTest(t, func(s *config.Settings) { s.Log.Format, s.Log.Level = "text", "debug" })
	tel.Log.DebugContext(t.Context(), "hello")
	if got := log.String(); !strings.Contains(got, "level=DEBUG msg=hello component=test") {
		t.Errorf("log %q", got)
	}
	for _, bad := range []config.Log{{Level: "loud", Format: "json"}, {Level: "info", Format: "xml"}} {
		if _, err := New(config.Settings{Log: bad}, "test", io.Discard); err == nil {
			t.Errorf("New(%+v) succeeded", bad)
		}
	}
}

func TestRepeatedErrorsAreCountedInsteadOfWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tel, log := newTest(t, nil)
		fail := func(times int) {
			for range times {
				tel.Log.With(slog.Int("x", 1)).ErrorContext(t.Context(), "down")
			}
		}
		count := func() (errors int, suppressed []any) {
			for _, l := range lines(t, log) {
				if l["msg"] == "down" {
					errors++
				}
				if n, ok := l["suppressed"]; ok {
					suppressed = append(suppressed, n)
				}
			}
			return errors, suppressed
		}
		fail(burst + 5)
		for range burst + 5 { // neither other messages nor lower levels are held back
			tel.Log.InfoContext(t.Context(), "served")
		}
		tel.Log.ErrorContext(t.Context(), "other")
		if errors, suppressed := count(); errors != burst || suppressed != nil {
			t.Errorf("%d errors, suppressed %v; want %d and none yet", errors, suppressed, burst)
		}
		if got := len(lines(t, log)); got != burst+burst+5+1 {
			t.Errorf("%d lines", got)
		}
		time.Sleep(burstInterval) //nolint:forbidigo // the clock of synctest
		fail(burst + 3)
		if err := tel.Close(t.Context()); err != nil {
			t.Errorf("Close() = %v", err)
		}
		errors, suppressed := count()
		if diff := cmp.Diff([]any{5.0, 3.0}, suppressed); diff != "" || errors != 2*burst+1 {
			t.Errorf("%d errors, suppressed (-want +got):\n%s", errors, diff)
		}
	})
}

func TestTheSamplerIsBounded(t *testing.T) {
	t.Parallel()
	s := newSampler(slog.DiscardHandler)
	for i := range maxBursts + 10 {
		r := slog.NewRecord(time.Now(), slog.LevelError, strings.Repeat("x", i), 0)
		if ok, _ := s.allow(r); !ok {
			t.Fatal("a new message was held back")
		}
	}
	if len(s.bursts) > maxBursts {
		t.Errorf("%d messages followed", len(s.bursts))
	}
}

func TestTraceContextTravelsThroughAHeader(t *testing.T) {
	t.Parallel()
	tel := Discard()
	ctx, span := tel.Tracer.Start(ContextWithTraceparent(t.Context(), traceparent), "produce")
	defer span.End()
	if got := Traceparent(ctx); got != traceparent {
		t.Errorf("Traceparent() = %q, want the caller's %q: traces are off", got, traceparent)
	}
	for name, header := range map[string]string{
		"none": "", "malformed": "00-xyz-01", "all zero": "00-00000000000000000000000000000000-0000000000000000-01",
		"not sampled": strings.TrimSuffix(traceparent, "1") + "0",
	} {
		if got := Traceparent(ContextWithTraceparent(t.Context(), header)); got != "" {
			t.Errorf("%s: Traceparent() = %q, want none", name, got)
		}
	}
}

// collector is an OTLP/HTTP receiver.
type collector struct {
	mu    sync.Mutex
	spans []string // service/name of each
	paths []string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(z)
	var req coltrace.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &req) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = append(c.paths, r.URL.Path)
	for _, rs := range req.GetResourceSpans() {
		service := ""
		for _, a := range rs.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				c.spans = append(c.spans, service+"/"+s.GetName())
			}
		}
	}
}

func TestCloseSendsTheSpansInHand(t *testing.T) {
	t.Parallel()
	var c collector
	srv := httptest.NewServer(&c)
	defer srv.Close()
	tel, _ := newTest(t, func(s *config.Settings) { s.Trace.Endpoint, s.Trace.Ratio = srv.URL, 0 })
	_, own := tel.Tracer.Start(t.Context(), "not sampled by the ratio of 0")
	own.End()
	ctx, span := tel.Tracer.Start(ContextWithTraceparent(t.Context(), traceparent), "request")
	span.End()
	if got := Traceparent(ctx); !strings.HasPrefix(got, traceparent[:36]) || got == traceparent {
		t.Errorf("Traceparent() = %q, want a new span of the caller's trace", got)
	}
	if err := tel.Close(t.Context()); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff([]string{"test/request"}, c.spans); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/v1/traces"}, c.paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestACollectorThatHangsDoesNotHoldUpTheWork(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer srv.Close()
	defer close(release)
	tel, _ := newTest(t, func(s *config.Settings) { s.Trace.Endpoint, s.Trace.Ratio = srv.URL, 1 })
	for range 3 * spanQueue { // would block here if the queue were not dropping
		_, span := tel.Tracer.Start(t.Context(), "request")
		span.End()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tel.Close(ctx); err == nil {
		t.Error("Close() = nil although nothing was sent")
	}
}

func TestSpansGoToThePathOfTheEndpoint(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"http://h:4318": "http://h:4318/v1/traces", "https://h/": "https://h/v1/traces",
		"http://h/otlp/traces": "http://h/otlp/traces",
	} {
		if got, err := tracesURL(endpoint); err != nil || got != want {
			t.Errorf("tracesURL(%s) = %q, %v; want %q", endpoint, got, err, want)
		}
	}
}

func get(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	return rec.Code, rec.Body.String()
}

func TestAdminHandlerTellsWhyADaemonIsNotReady(t *testing.T) {
	t.Parallel()
	tel, _ := newTest(t, nil)
	r := &lifecycle.Readiness{}
	h := AdminHandler(tel, r)
	if code, body := get(t, h, http.MethodGet, "/readyz"); code != http.StatusServiceUnavailable || body != "starting\n" {
		t.Errorf("before the start: %d %q", code, body)
	}
	if code, body := get(t, h, http.MethodGet, "/livez"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("/livez: %d %q", code, body)
	}
	var healed atomic.Bool
	r.AddCheck("store", func(ctx context.Context) error {
		if healed.Load() {
			return nil
		}
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("a check has no deadline")
		}
		return io.ErrUnexpectedEOF
	})
	ctx, cancel := context.WithCancel(t.Context())
	err := lifecycle.Run(ctx, lifecycle.Options{Log: tel.Log, Readiness: r, Grace: time.Second, OnReady: func() {
		if code, body := get(t, h, http.MethodGet, "/readyz"); code != http.StatusServiceUnavailable ||
			body != "store: unexpected EOF\n" {
			t.Errorf("with a failing check: %d %q", code, body)
		}
		healed.Store(true)
		if code, body := get(t, h, http.MethodGet, "/readyz"); code != http.StatusOK || body != "ready\n" {
			t.Errorf("ready: %d %q", code, body)
		}
		r.AddDetail("limits", func() string { return "" })
		r.AddDetail("limits", func() string { return "each process by itself" })
		if code, body := get(t, h, http.MethodGet, "/readyz"); code != http.StatusOK ||
			body != "ready\nlimits: each process by itself\n" {
			t.Errorf("ready, with a detail: %d %q", code, body)
		}
		cancel()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, h, http.MethodGet, "/readyz"); code != http.StatusServiceUnavailable || body != "draining\n" {
		t.Errorf("after the stop: %d %q", code, body)
	}
}

func TestAdminHandlerServesMetricsAndProfiles(t *testing.T) {
	t.Parallel()
	tel, _ := newTest(t, nil)
	h := AdminHandler(tel, &lifecycle.Readiness{})
	_, metrics := get(t, h, http.MethodGet, "/metrics")
	for _, name := range []string{
		`millrace_build_info{component="test",version="`, "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(metrics, name) {
			t.Errorf("no %s in /metrics", name)
		}
	}
	for path, want := range map[string]int{
		"/debug/pprof/": http.StatusOK, "/debug/pprof/heap": http.StatusOK, "/debug/pprof/cmdline": http.StatusOK,
		"/": http.StatusNotFound, "/metrics/x": http.StatusNotFound,
	} {
		if code, _ := get(t, h, http.MethodGet, path); code != want {
			t.Errorf("GET %s: %d, want %d", path, code, want)
		}
	}
	if code, _ := get(t, h, http.MethodPost, "/metrics"); code != http.StatusMethodNotAllowed {
		t.Errorf("POST /metrics: %d", code)
	}
}

func TestAdminPartListensUntilTheEnd(t *testing.T) {
	t.Parallel()
	tel, log := newTest(t, nil)
	r := &lifecycle.Readiness{}
	ctx, cancel := context.WithCancel(t.Context())
	err := lifecycle.Run(ctx, lifecycle.Options{Log: tel.Log, Readiness: r, Grace: 5 * time.Second, OnReady: func() {
		defer cancel()
		addr, _ := lines(t, log)[0]["address"].(string)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/readyz", http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("/readyz: %d", resp.StatusCode)
		}
	}}, AdminComponent("127.0.0.1:0", tel, r))
	if err != nil {
		t.Errorf("Run() = %v", err)
	}
}

func TestAdminPartNamesThePortAndTheSettingWhenItCannotListen(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	r := &lifecycle.Readiness{}
	err = lifecycle.Run(t.Context(), lifecycle.Options{Log: Discard().Log, Readiness: r, Grace: time.Second},
		AdminComponent(ln.Addr().String(), Discard(), r))
	if err == nil || !strings.Contains(err.Error(), ln.Addr().String()) ||
		!strings.Contains(err.Error(), "MILLRACE_ADMIN_LISTEN") {
		t.Errorf("Run() = %v", err)
	}
}

func TestAnEmptyAdminAddressMeansNoListener(t *testing.T) {
	t.Parallel()
	p := AdminComponent("", Discard(), nil)
	if p.Start != nil || p.Run != nil || p.Stop != nil {
		t.Error("the part does something")
	}
}

func TestDiscardIsComplete(t *testing.T) {
	t.Parallel()
	tel := Discard()
	tel.Log.ErrorContext(t.Context(), "nothing")
	_, span := tel.Tracer.Start(t.Context(), "nothing", trace.WithNewRoot())
	span.End()
	if err := tel.Close(t.Context()); err != nil {
		t.Errorf("Close() = %v", err)
	}
}
