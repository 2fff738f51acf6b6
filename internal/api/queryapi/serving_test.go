package queryapi

import (
	"bufio"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/testkit"
)

// state is a version of the data that tests turn.
type state struct{ atomic.Uint64 }

func (s *state) Bases(tables []string) []string { return tables }

func (s *state) Of(context.Context, analytics.Subject, analytics.Range, []string) (analytics.Version, error) {
	return analytics.Version{Number: s.Load()}, nil
}

// rowsRunner answers with n rows of wide text; those of top_pages fail with err.
type rowsRunner struct {
	n    int
	err  error
	runs atomic.Int64
}

func (r *rowsRunner) Run(_ context.Context, s *analytics.Statement) (*analytics.Table, error) {
	r.runs.Add(1)
	if s.Type.Name == "top_pages" && r.err != nil {
		return nil, r.err
	}
	t := &analytics.Table{Rows: r.n}
	for _, c := range s.Columns {
		v := analytics.Values{Name: c.Name}
		for i := range r.n {
			switch c.Type {
			case analytics.Number:
				v.Uints = append(v.Uints, uint64(i))
			default:
				v.Strings = append(v.Strings, fmt.Sprintf("%s, \"%d\"", strings.Repeat("x", 40), i))
			}
		}
		t.Columns = append(t.Columns, v)
	}
	return t, nil
}

// elsewhen is a parameter about another day than the others, which is no part of
// their statement.
func elsewhen(name string, day int) string {
	return fmt.Sprintf(`{"name":%q,"start_date":"2026-03-0%d","end_date":"2026-03-0%[2]d"}`, name, day)
}

// serving is an app of a test's own.
type serving struct {
	*fiber.App
	state  state
	runner *rowsRunner
}

func newServing(t *testing.T, r *rowsRunner) *serving {
	t.Helper()
	s := &serving{runner: r}
	log := slog.New(slog.DiscardHandler)
	engine := analytics.NewEngine(analytics.Config{CacheBytes: 1 << 20},
		analytics.Deps{Log: log, Metrics: prometheus.NewRegistry(), Runner: r, Versions: &s.state})
	t.Cleanup(engine.Close)
	var err error
	s.App, err = New(Config{}, Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Access: access{}, Sessions: access{}, Executor: engine,
		Tenants: tenants{},
		Now:     func() time.Time { return time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *serving) ask(t *testing.T, body string, headers ...string) (*reply, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/query?website_id=web_1",
		strings.NewReader(body))
	req.Header.Set("X-Request-ID", "req_1")
	req.Header.Set("X-Api-Key", "global")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.Test(req, -1)
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

const pages = `{"parameters":["browser_name"],"preset":"today"}`

func TestAnUnchangedAnswerIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newServing(t, &rowsRunner{n: 2})
	resp, _ := s.ask(t, pages)
	etag := resp.Header.Get("ETag")
	if !strings.HasPrefix(etag, `W/"`) || resp.Header.Get("Cache-Control") != "private, no-cache" {
		t.Fatalf("ETag %q, Cache-Control %q", etag, resp.Header.Get("Cache-Control"))
	}
	resp, body := s.ask(t, pages, "If-None-Match", `"other", `+etag)
	if resp.StatusCode != 304 || body != "" || resp.Header.Get("ETag") != etag || s.runner.runs.Load() != 1 {
		t.Errorf("%d %q, ETag %q, %d runs", resp.StatusCode, body, resp.Header.Get("ETag"), s.runner.runs.Load())
	}
	if resp, _ := s.ask(t, pages, "If-None-Match", `"other"`, "If-None-Match", etag); resp.StatusCode != 304 {
		t.Errorf("in a second field: %d", resp.StatusCode)
	}
	for name, headers := range map[string][]string{
		"another format":      {"Accept", "text/csv"},
		"a caller's no-cache": {"Cache-Control", "no-cache"},
	} {
		if resp, _ := s.ask(t, pages, append([]string{"If-None-Match", etag}, headers...)...); resp.StatusCode != 200 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	if resp, _ := s.ask(t, pages, "If-None-Match", `W/"x"`); resp.StatusCode != 200 {
		t.Errorf("another ETag: %d", resp.StatusCode)
	}
	if resp, _ := s.ask(t, `{"parameters":["browser_name"],"preset":"yesterday"}`,
		"If-None-Match", etag); resp.StatusCode != 200 {
		t.Errorf("another question: %d", resp.StatusCode)
	}
}

func TestAResponseWithAFailureHasNoETag(t *testing.T) {
	t.Parallel()
	s := newServing(t, &rowsRunner{n: 1, err: errors.New("secret")})
	if resp, _ := s.ask(t,
		`{"parameters":["browser_name",`+elsewhen("pages", 1)+`],"preset":"today"}`); resp.Header.Get("ETag") != "" {
		t.Errorf("ETag %q", resp.Header.Get("ETag"))
	}
}

func TestFailuresHaveStableCodes(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		fmt.Errorf("%w: x", analytics.ErrTimeout):     "QUERY_TIMEOUT",
		fmt.Errorf("%w: x", analytics.ErrTooLarge):    "QUERY_TOO_LARGE",
		fmt.Errorf("%w: x", analytics.ErrUnavailable): "QUERY_UNAVAILABLE",
		errors.New("secret"):                          "QUERY_FAILED",
	} {
		s := newServing(t, &rowsRunner{err: err})
		_, body := s.ask(t, `{"parameters":["pages"],"preset":"today"}`)
		if !strings.Contains(body,
			`"data":[{"parameter":"pages","success":false,"error":"Query execution failed","code":"`+want+`","data":[]}]`) {
			t.Errorf("%v: %s", err, body)
		}
	}
}

func TestRowsComeAsCSV(t *testing.T) {
	t.Parallel()
	s := newServing(t, &rowsRunner{n: 2, err: fmt.Errorf("%w: x", analytics.ErrUnavailable)})
	resp, body := s.ask(t, pages, "Accept", "text/csv")
	x := strings.Repeat("x", 40)
	want := "name,pageviews,visitors,percentage\r\n\"" + x + ", \"\"0\"\"\",0,0,0\r\n\"" + x + ", \"\"1\"\"\",1,1,1\r\n"
	if resp.StatusCode != 200 || body != want ||
		resp.Header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" {
		t.Errorf("%d %s %q\nwant %q", resp.StatusCode, resp.Header.Get("Content-Type"), body, want)
	}
	if resp, body = s.ask(t, pages, "Accept", "application/json;q=0.5", "Accept", "text/csv"); body != want {
		t.Errorf("asked for in a second field: %d %q", resp.StatusCode, body)
	}
	resp, body = s.ask(t, `{"parameters":["browser_name","browser_name"],"preset":"today"}`, "Accept", "text/csv")
	if resp.StatusCode != 400 || !strings.Contains(body, "CSV supports only one parameter") {
		t.Errorf("two parameters: %d %s", resp.StatusCode, body)
	}
	resp, body = s.ask(t, `{"parameters":["pages"],"preset":"today"}`, "Accept", "text/csv")
	if resp.StatusCode != 503 || !strings.Contains(body, `"SERVICE_UNAVAILABLE"`) ||
		resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("a failure: %d %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
}

func TestRowsComeAsLines(t *testing.T) {
	t.Parallel()
	s := newServing(t, &rowsRunner{n: 1, err: errors.New("secret")})
	x := strings.Repeat("x", 40)
	for body, want := range map[string]string{
		`{"parameters":[` + elsewhen("pages", 1) +
			`,"browser_name"],"preset":"today"}`: `{"parameter":"browser_name","name":"` +
			x + `, \"0\"","pageviews":0,"visitors":0,"percentage":0}` + "\n" +
			`{"parameter":"pages","success":false,"error":"Query execution failed","code":"QUERY_FAILED"}` + "\n",
		`[{"id":"a","parameters":["browser_name"],"preset":"today"},{"parameters":["pages"],"preset":"today"}]`: `{"queryId":"a","parameter":"browser_name","name":"` +
			x + `, \"0\"","pageviews":0,"visitors":0,"percentage":0}` + "\n" +
			`{"queryId":"","parameter":"pages","success":false,"error":"Query execution failed","code":"QUERY_FAILED"}` + "\n",
	} {
		resp, got := s.ask(t, body, "Accept", "application/x-ndjson")
		if resp.StatusCode != 200 || got != want || resp.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%d %s\nwant %s", resp.StatusCode, got, want)
		}
	}
}

func TestTheFormatThatACallerLikesBestIsWritten(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]format{
		"": formatJSON, "*/*": formatJSON, "application/json": formatJSON, "application/*": formatJSON,
		"image/png": formatJSON,
		"text/csv":  formatCSV, "TEXT/CSV": formatCSV, "text/*": formatCSV, "text/csv;header=present": formatCSV,
		"application/x-ndjson": formatNDJSON, "application/ndjson;q=0.1": formatNDJSON,
		"application/json, text/csv":                   formatJSON,
		"application/json;q=0.5, text/csv;q=0.6":       formatCSV,
		"application/json;q=0.5, text/csv; q=0.4":      formatJSON,
		"text/csv;q=0, */*;q=0.1":                      formatJSON,
		"text/*;q=0.9, text/csv;q=0.1, */*;q=0.5":      formatJSON,
		"text/html,application/xhtml+xml,*/*;q=0.8":    formatJSON,
		"text/csv;q=nonsense, application/x-ndjson":    formatNDJSON,
		"text/csv;q=7, application/x-ndjson;q=0.001":   formatNDJSON,
		"application/x-ndjson, application/json;q=0.9": formatNDJSON,
	} {
		if got := formatOf(accept); got != want {
			t.Errorf("Accept: %s is format %d, want %d", accept, got, want)
		}
	}
}

// A large response arrives in pieces, and whole.
func TestALargeResponseIsStreamed(t *testing.T) {
	t.Parallel()
	s := newServing(t, &rowsRunner{n: 2000})
	for accept, lines := range map[string]int{"application/json": 0, "application/x-ndjson": 3 * 2000, "text/csv": 2001} {
		body := pages
		if accept != "text/csv" {
			body = `{"parameters":["browser_name",` + elsewhen("os_name", 1) + `,` +
				elsewhen("country", 2) + `],"preset":"today"}`
		}
		resp, got := s.ask(t, body, "Accept", accept)
		if resp.StatusCode != 200 || resp.Header.Get("Content-Length") != "" || len(got) < httpkit.WholeBytes {
			t.Errorf("%s: %d, Content-Length %q, %d bytes", accept, resp.StatusCode, resp.Header.Get("Content-Length"), len(got))
		}
		if lines == 0 {
			var response struct {
				Data []struct {
					Data []map[string]any `json:"data"`
				} `json:"data"`
			}
			if err := json.Unmarshal([]byte(got), &response); err != nil || len(response.Data) != 3 ||
				len(response.Data[2].Data) != 2000 {
				t.Errorf("%v in %d bytes", err, len(got))
			}
		} else if n := strings.Count(got, "\n"); n != lines {
			t.Errorf("%s: %d lines, want %d", accept, n, lines)
		}
	}
	if resp, got := s.ask(t, `{"parameters":["browser_name"],"preset":"today","limit":3}`); resp.Header.Get(
		"ETag") == "" || len(got) < httpkit.WholeBytes {
		t.Errorf("a streamed answer that is all there has no ETag")
	}
}

func TestResponsesAreCompressedWhereItIsWorthIt(t *testing.T) {
	t.Parallel()
	for rows, packed := range map[int]bool{1: false, 100: true, 2000: true} {
		s := newServing(t, &rowsRunner{n: rows})
		resp, got := s.ask(t, pages, "Accept-Encoding", "gzip")
		if (resp.Header.Get("Content-Encoding") == "gzip") != packed ||
			!strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%d rows: Content-Encoding %q, Vary %q",
				rows, resp.Header.Get("Content-Encoding"), resp.Header.Values("Vary"))
		}
		if !packed {
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(z)
		if text, err := io.ReadAll(lines); err != nil || !json.Valid(text) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

func TestAKnownResponseRunsNothing(t *testing.T) {
	t.Parallel()
	s := newServing(t, &rowsRunner{n: 10})
	testkit.Eventually(t, time.Minute, func() error { // it is kept in the background, and for a moment only
		before := s.runner.runs.Load()
		if s.ask(t, pages); s.runner.runs.Load() != before {
			return errors.New("the statement ran again")
		}
		return nil
	})
	before := s.runner.runs.Load()
	s.ask(t, pages, "Cache-Control", "no-cache")
	if n := s.runner.runs.Load(); n != before+1 {
		t.Errorf("%d runs with a no-cache, want 1", n-before)
	}
}

func TestTheCatalogueIsNotSentAgain(t *testing.T) {
	t.Parallel()
	plain, body := call(t, http.MethodGet, "/v1/query/types", "", "")
	meta, _ := call(t, http.MethodGet, "/v1/query/types?include_meta=true", "", "")
	etag := plain.Header.Get("ETag")
	if etag == "" || etag == meta.Header.Get("ETag") || !strings.Contains(body, `"requestId":"req_1"`) {
		t.Errorf("ETags %q and %q", etag, meta.Header.Get("ETag"))
	}
	if resp, body := call(t, http.MethodGet, "/v1/query/types", "", "",
		"If-None-Match", etag); resp.StatusCode != 304 || body != "" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	if resp, body := call(t, http.MethodGet, "/v1/query/types?include_meta=true", "", "",
		"Accept-Encoding", "zstd, gzip"); resp.Header.Get("Content-Encoding") != "zstd" || len(body) > 60_000 {
		t.Errorf("%s of %d bytes", resp.Header.Get("Content-Encoding"), len(body))
	}
}
