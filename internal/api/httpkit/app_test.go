package httpkit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/testkit"
)

// do plays one request in process.
func do(t *testing.T, app *fiber.App, method, path string, header map[string]string, body string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://ingest.example"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

var uuidV4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestARequestIDIsReusedWhenItIsAPlainTokenAndMadeOtherwise(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{})
	for given, reused := range map[string]bool{
		"":                       false,
		"abc-123_x.y:z/1+2=@":    true,
		strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false,
		"a b":                    false,
		`a"b`:                    false,
		"é":                      false,
	} {
		resp := do(t, app, "GET", "/nowhere", map[string]string{"x-request-id": given}, "")
		got := resp.header.Get("X-Request-ID")
		if reused && got != given || !reused && !uuidV4.MatchString(got) {
			t.Errorf("x-request-id %q is answered with %q", given, got)
		}
		if !strings.Contains(resp.body, `"requestId":"`+got+`"`) {
			t.Errorf("the body does not name the request id %q: %s", got, resp.body)
		}
	}
}

func TestWhatFiberRejectsComesInTheHostsBody(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, path string
		status       int
		code         apierr.Code
	}{
		{"GET", "/nowhere", 404, apierr.NotFound},
		{"POST", "/health", 405, apierr.MethodNotAllowed},
		{"BREW", "/health", 405, apierr.MethodNotAllowed},
	} {
		for _, host := range []Host{Ingestion, Query} {
			resp := do(t, newApp(t, Config{Host: host}), tc.method, tc.path, nil, "")
			want := string(errorBody(host, resolve(apierr.New(tc.code)), []byte(resp.header.Get("X-Request-ID"))))
			if resp.status != tc.status || resp.body != want || resp.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s on the %s host = %d %s, want %d %s",
					tc.method, tc.path, host, resp.status, resp.body, tc.status, want)
			}
		}
	}
}

func TestErrorsBeforeAHandlerComeInTheHostsBody(t *testing.T) {
	t.Parallel()
	addr := serve(t, newApp(t, Config{}))
	for _, tc := range []struct {
		name, text string
		status     int
		message    string
	}{
		{"no HTTP", "nonsense\r\n\r\n", 400, "The request is not valid HTTP"},
		{
			"a header line without a colon", "GET /health HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n", 400,
			"The request is not valid HTTP",
		},
		{
			"a header over 8 KiB", "GET /health HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
			431, "The request's header is too large",
		},
		{
			"a chunk without a length", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
			400, "Invalid request body",
		},
		{
			"a body that ends early",
			"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n" + strings.Repeat("a", 10000),
			400, "Invalid request body",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			responses := raw(t, addr, tc.text)
			if len(responses) != 1 {
				t.Fatalf("%d answers, want 1", len(responses))
			}
			got := responses[0]
			body := parse(t, got.body)
			if got.status != tc.status || body.Message != tc.message || !got.closes {
				t.Errorf("got %d %q close=%v, want %d %q and a close", got.status, body.Message, got.closes, tc.status, tc.message)
			}
			if id := got.header.Get("X-Request-ID"); id == "" || body.RequestID != id {
				t.Errorf("request id %q in the body, %q in the header", body.RequestID, id)
			}
		})
	}
}

func TestAHeaderThatIsTooLongIsAnsweredByHowTheRequestBegins(t *testing.T) {
	t.Parallel()
	const image, rejected = "GET /image?a=b H", `{"success":false`
	long := " HTTP/1.1\r\nHost: x\r\nCookie: " + strings.Repeat("a", 9000) + "\r\n\r\n"
	short := " HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, tc := range map[string]struct {
		before string   // answered first
		pieces []string // of the request
		want   string   // how its response's body begins
	}{
		"at once":           {"", []string{"GET /image?a=b" + long}, image},
		"byte by byte":      {"", append(strings.Split("GET /image?a=b", ""), long), image},
		"another request":   {"", []string{"GET /other" + long}, rejected},
		"after another one": {"GET /health" + short, []string{"GET /image?a=b" + long}, image},
		"another one after": {"GET /image" + short, []string{"GET /other" + long}, rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := imageApp(t)
			conn := dial(t, serve(t, app), "127.0.0.1")
			if tc.before != "" {
				if _, err := io.WriteString(conn, tc.before); err != nil {
					t.Fatal(err)
				}
				hear(t, conn)
			}
			for _, piece := range tc.pieces {
				if _, err := io.WriteString(conn, piece); err != nil {
					t.Fatal(err)
				}
			}
			got := hear(t, conn)
			if !strings.HasPrefix(got.body, tc.want) || got.header.Get("X-Request-ID") == "" || !got.closes {
				t.Errorf("the answer is %+v, want %s", got, tc.want)
			}
			if n := turnedAway(app, longHeader); n != 1 {
				t.Errorf("%v are counted as too long", n)
			}
		})
	}
	// The one before is not answered yet when the header is found to be too long.
	if got := raw(t, serve(t, imageApp(t)), "GET /image"+short+"GET /other"+long); len(got) != 2 || got[1].status != 431 {
		t.Errorf("the answers are %+v", got)
	}
}

// What is left of the request before it in the connection's buffer takes nothing from
// what the header of the next one may have.
func TestOfRequestsSentAtOnceEachMayHaveALongHeader(t *testing.T) {
	t.Parallel()
	request := func(path string, header int) string {
		start, end := "GET "+path+" HTTP/1.1\r\nHost: x\r\nCookie: ", "\r\n\r\n"
		return start + strings.Repeat("a", header-len(start)-len(end)) + end
	}
	addr := serve(t, imageApp(t))
	for _, first := range []int{100, 5000, ingestionHeaderBytes} {
		for second, want := range map[int]int{ingestionHeaderBytes: 404, ingestionHeaderBytes + 1: 431} {
			got := raw(t, addr, request("/image", first)+request("/other", second))
			if len(got) != 2 || got[0].status != 200 || got[1].status != want {
				t.Errorf("%d bytes behind %d: the answers are %+v, want the second to be %d", second, first, got, want)
			}
		}
	}
}

// imageApp is an app that answers GET /image also where its header is too long, with
// what it is told of it.
func imageApp(t *testing.T) *fiber.App {
	t.Helper()
	app := newApp(t, Config{LongHeader: func(rc *fasthttp.RequestCtx, begins []byte) bool {
		image := bytes.HasPrefix(begins, []byte("GET /image"))
		if image {
			rc.SetBody(begins)
		}
		return image
	}})
	app.Get("/image", func(c *fiber.Ctx) error { return c.SendString("image") })
	return app
}

func TestAnInternalErrorIsLoggedOnceAndItsTextWithheld(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]fiber.Handler{
		"error": func(*fiber.Ctx) error { return errors.New("secret text") },
		"panic": func(*fiber.Ctx) error { panic("secret text") }, //nolint:forbidigo // what is tested
		"fault": func(*fiber.Ctx) error {
			return &apierr.Error{Code: apierr.Internal, Message: "secret text", Err: errors.New("secret text")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			app := New(Config{}, Deps{Log: slog.New(slog.NewJSONHandler(&log, nil)), Metrics: prometheus.NewRegistry()})
			Handle(app, "GET", "/", handler)
			resp := do(t, app, "GET", "/", nil, "")
			if resp.status != 500 || strings.Contains(resp.body, "secret") ||
				!strings.Contains(resp.body, "Internal server error") {
				t.Errorf("answer %d %s", resp.status, resp.body)
			}
			if n := strings.Count(log.String(), `"msg":"request failed"`); n != 1 ||
				!strings.Contains(log.String(), "secret text") {
				t.Errorf("%d log lines, want 1 with the text: %s", n, log.String())
			}
		})
	}
}

func TestALogSaysNothingOfWhatCouldNotBeRead(t *testing.T) {
	t.Parallel()
	log := testkit.NewLog(t, "host")
	app := New(Config{}, Deps{Log: log.Logger(), Metrics: prometheus.NewRegistry()})
	addr := serve(t, app)
	const secret = "mlr_live_secret"
	for _, text := range []string{
		"POST /track HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + secret + "\r\nX-Forwarded-For: 203.0.113.77\r\nno header\r\n\r\n",
		secret + "\r\n\r\n",
		"GET / HTTP/1.1\r\nX-Api-Key: " + strings.Repeat(secret, 1000) + "\r\n\r\n",
	} {
		raw(t, addr, text)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if !log.Contains("kind=\"malformed request\"") {
			return errors.New("what could not be read is not logged at all")
		}
		return nil
	})
	for _, told := range []string{secret, "203.0.113.77", "127.0.0.1", "no header"} {
		if log.Contains(told) {
			t.Errorf("the log tells %q: %s", told, log.String())
		}
	}
}

func TestRetryAfterIsTheErrorsOwnElseItsCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  *apierr.Error
		want string
	}{
		{apierr.New(apierr.ServiceUnavailable), "5"},
		{&apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: 1500 * time.Millisecond}, "2"},
		{apierr.New(apierr.AccessDenied), ""},
	} {
		app := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
		Handle(app, "GET", "/", func(*fiber.Ctx) error { return tc.err })
		resp := do(t, app, "GET", "/", nil, "")
		if got := resp.header.Get("Retry-After"); got != tc.want {
			t.Errorf("Retry-After of %v = %q, want %q", tc.err, got, tc.want)
		}
	}
}

func TestAServerThatIsAwayIsNoFailureOfOurOwn(t *testing.T) {
	t.Parallel()
	away := errors.New("connection refused")
	for _, tc := range []struct {
		err    error
		status int
		after  string
	}{
		{fmt.Errorf("listing websites: %w", away), 503, "5"},
		{fmt.Errorf("looking up keys: %w", apierr.Wrap(apierr.Internal, away)), 503, "5"},
		{apierr.Wrap(apierr.AccessDenied, away), 403, ""},
		{errors.New("anything else"), 500, ""},
	} {
		app := New(Config{Host: Query, Unavailable: func(err error) bool { return errors.Is(err, away) }},
			Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
		Handle(app, "GET", "/", func(*fiber.Ctx) error { return tc.err })
		resp := do(t, app, "GET", "/", nil, "")
		if after := resp.header.Get("Retry-After"); resp.status != tc.status || after != tc.after {
			t.Errorf("%v: %d, Retry-After %q, want %d and %q", tc.err, resp.status, after, tc.status, tc.after)
		}
	}
}

// Who may choose what stands in Host, such as a proxy's client or a page that a cache
// keeps, must not choose where callers sign in.
func TestAChallengeRepeatsNothingOfTheRequest(t *testing.T) {
	t.Parallel()
	app := New(Config{Host: Query}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	Handle(app, "GET", "/", func(*fiber.Ctx) error { return apierr.New(apierr.AuthRequired) })
	resp := do(t, app, "GET", "/", map[string]string{
		"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example",
	}, "")
	if got := resp.header.Get("WWW-Authenticate"); resp.status != 401 || got != "Bearer" {
		t.Errorf("%d with WWW-Authenticate %s, want 401 with Bearer", resp.status, got)
	}
}

func TestCredentialPrefersTheKeyHeaderAndReadsBearerTokens(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{})
	Handle(app, "GET", "/key", func(c *fiber.Ctx) error {
		key := Credential(c)
		if key == nil {
			return c.SendString("none")
		}
		return c.Send(key)
	})
	for _, tc := range []struct{ key, authorization, want string }{
		{"", "", "none"},
		{"k", "", "k"},
		{"k", "Bearer b", "k"},
		{" k ", "", "k"},
		{"", "Bearer b", "b"},
		{"", "bEARER  b", "b"},
		{"", "Bearer ", "none"},
		{"", "Bearer", "none"},
		{"", "Basic b", "none"},
		{"  ", "Bearer b", "b"},
	} {
		got := do(t, app, "GET", "/key", map[string]string{"x-api-key": tc.key, "Authorization": tc.authorization}, "").body
		if got != tc.want {
			t.Errorf("x-api-key %q, Authorization %q: credential %q, want %q", tc.key, tc.authorization, got, tc.want)
		}
	}
}

func TestBrowsersMaySendFromAnywhere(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{})
	resp := do(t, app, "OPTIONS", "/anything", map[string]string{
		"Origin": "https://shop.example", "Access-Control-Request-Method": "POST",
		"Access-Control-Request-Headers": "content-type,x-sdk-name",
	}, "")
	got := map[string]string{}
	for _, h := range []string{
		"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
		"Access-Control-Allow-Credentials", "Vary",
	} {
		got[h] = resp.header.Get(h)
	}
	want := map[string]string{
		"Access-Control-Allow-Origin":  "https://shop.example",
		"Access-Control-Allow-Methods": "POST, GET, OPTIONS, PUT, DELETE",
		"Access-Control-Allow-Headers": "content-type,x-sdk-name", "Access-Control-Allow-Credentials": "true",
		"Vary": "Origin",
	}
	if diff := cmp.Diff(want, got); resp.status != 204 || resp.body != "" || diff != "" {
		t.Errorf("preflight = %d %q, headers (-want +got):\n%s", resp.status, resp.body, diff)
	}
	if resp := do(t, app, "GET", "/nowhere",
		map[string]string{"Origin": "https://shop.example"}, ""); resp.header.Get("Access-Control-Allow-Origin") == "" {
		t.Error("an error answer hides itself from the page that caused it")
	}
	if resp := do(t, app, "GET", "/health", nil, ""); resp.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("an answer to no page names an origin")
	}
	if resp := do(t, newApp(t, Config{Host: Query}), "OPTIONS", "/health", nil, ""); resp.status != 405 {
		t.Errorf("OPTIONS on the query host = %d, want 405", resp.status)
	}
}

// slow adds a route /slow that is answered once leave is closed.
func slow(app *fiber.App) (entered, leave chan struct{}) {
	entered, leave = make(chan struct{}), make(chan struct{})
	Handle(app, "GET", "/slow", func(c *fiber.Ctx) error {
		close(entered)
		<-leave
		return c.SendString("done")
	})
	return entered, leave
}

func TestOneRequestMoreThanTheBoundIsRejectedAtOnce(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{MaxInFlight: 1})
	entered, leave := slow(app)
	first := make(chan int, 1)
	go func() {
		resp := do(t, app, "GET", "/slow", nil, "")
		first <- resp.status
	}()
	<-entered
	if resp := do(t, app, "GET", "/health", nil, ""); resp.status != 200 {
		t.Errorf("whether the host is well is not answered: %d", resp.status)
	}
	resp := do(t, app, "POST", "/echo", nil, "x")
	if after, err := strconv.Atoi(resp.header.Get("Retry-After")); resp.status != 503 || err != nil ||
		after < 2 || after > 10 {
		t.Errorf("second request = %d, Retry-After %q; want 503 and 2 to 10", resp.status, resp.header.Get("Retry-After"))
	}
	close(leave)
	if got := <-first; got != 200 {
		t.Errorf("first request = %d, want 200", got)
	}
	if resp := do(t, app, "POST", "/echo", nil, "x"); resp.status != 200 {
		t.Errorf("third request = %d, want 200", resp.status)
	}
}

// A rejection that is held back holds nothing, and no other response waits.
func TestARejectionForWantOfRoomIsHeldBackWithoutHoldingAnything(t *testing.T) {
	t.Parallel()
	gate := admission.New(admission.Config{Host: "test", Memory: 1000}, admission.Deps{Metrics: prometheus.NewRegistry()})
	app := newApp(t, Config{Admission: gate})
	k := kitOf(app)
	asked, goesOn := make(chan struct{}), make(chan struct{})
	k.pause = func() time.Duration { asked <- struct{}{}; <-goesOn; return time.Nanosecond }
	Handle(app, "POST", "/work", func(*fiber.Ctx) error {
		claim := gate.Open(admission.Work, "", "")
		defer claim.Release(true)
		if err := claim.Take(600); err != nil {
			return err
		}
		other := gate.Open(admission.Work, "", "")
		return other.Take(600)
	})
	rejected := make(chan int, 1)
	go func() { rejected <- do(t, app, "POST", "/work", nil, "x").status }()
	<-asked
	if n, used := k.inFlight.Load(), gate.Used(); n != 0 || used != 0 {
		t.Errorf("while it is held back %d requests are in flight, and %d bytes claimed", n, used)
	}
	for path, want := range map[string]int{"/echo": 200, "/nowhere": 404} {
		if resp := do(t, app, "POST", path, nil, "x"); resp.status != want {
			t.Errorf("%s = %d, want %d", path, resp.status, want)
		}
	}
	select {
	case status := <-rejected:
		t.Errorf("the rejection, %d, was not held back", status)
	default:
	}
	close(goesOn)
	if status := <-rejected; status != 503 {
		t.Errorf("rejected with %d, want 503", status)
	}
	k.draining.Store(true)
	if resp := do(t, app, "POST", "/work", nil, "x"); resp.status != 503 { // or it waits for asked
		t.Errorf("during a stop: %d, want 503", resp.status)
	}
}

// Who sends headers and is slow with the body takes nobody's place.
func TestARequestIsInFlightOnceItsBodyIsThere(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{MaxInFlight: 1})
	entered, leave := slow(app)
	addr := serve(t, app)
	post := func(path, body string) int {
		t.Helper()
		resp, err := http.Post("http://"+addr+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return read(t, resp).status
	}
	var open []net.Conn
	for _, path := range []string{"/echo", "/echo", "/unread"} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn,
			"POST "+path+" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n"); err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	if got := post("/echo", "x"); got != 200 {
		t.Errorf("beside requests that still arrive: %d", got)
	}
	finish := func(conn net.Conn) int {
		t.Helper()
		if _, err := io.WriteString(conn, "0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, resp).status
	}
	if got := finish(open[0]); got != 200 {
		t.Errorf("once its body was there: %d", got)
	}
	busy := make(chan int, 1)
	go func() { busy <- do(t, app, "GET", "/slow", nil, "").status }()
	<-entered
	if got := finish(open[1]); got != 503 {
		t.Errorf("once its body was there, beside as many as there may be: %d", got)
	}
	close(leave)
	if got := <-busy; got != 200 {
		t.Errorf("the other one: %d", got)
	}
	if got := post("/echo", "x"); got != 200 {
		t.Errorf("when all are answered: %d", got)
	}
}

func TestRequestsAreCountedByRoutePattern(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	app := New(Config{Host: Query}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: reg})
	Handle(app, "GET", "/things/:id", func(c *fiber.Ctx) error { return c.SendString("x") })
	do(t, app, "GET", "/things/1", nil, "")
	do(t, app, "GET", "/things/2", nil, "")
	do(t, app, "GET", "/nowhere/3", nil, "")
	const want = `
# HELP millrace_http_requests_total Completed requests by route pattern, method and status. route is unmatched for a request that matches no route.
# TYPE millrace_http_requests_total counter
millrace_http_requests_total{host="query",method="",route="unmatched",status="404"} 1
millrace_http_requests_total{host="query",method="GET",route="/things/:id",status="200"} 2
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "millrace_http_requests_total"); err != nil {
		t.Error(err)
	}
}

func TestBytesOfBodiesAreCountedAsTheyWereSentByRoute(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	app := New(Config{Host: Ingestion}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: reg})
	Handle(app, "POST", "/read", func(c *fiber.Ctx) error {
		_, err := Body(c)
		return err
	})
	Handle(app, "POST", "/unread", func(c *fiber.Ctx) error { return c.SendString("unread") })
	packed := compress(t, "gzip", bytes.Repeat([]byte("x"), 10_000))
	do(t, app, "POST", "/read", nil, strings.Repeat("x", 1000))
	do(t, app, "POST", "/read", map[string]string{"Content-Encoding": "gzip"}, string(packed))
	do(t, app, "POST", "/read", nil, "")
	do(t, app, "POST", "/unread", nil, "thrown away")
	want := fmt.Sprintf(`
# HELP millrace_http_body_bytes_total Bytes of request bodies as sent, before decompression, by route pattern. Bodies discarded unread are not counted.
# TYPE millrace_http_body_bytes_total counter
millrace_http_body_bytes_total{host="ingestion",route="/read"} %d
millrace_http_body_bytes_total{host="ingestion",route="/unread"} 0
millrace_http_body_bytes_total{host="ingestion",route="unmatched"} 0
`, 1000+len(packed))
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "millrace_http_body_bytes_total"); err != nil {
		t.Error(err)
	}
}

func TestARequestsContextEndsAtItsDeadlineAndAfterItsHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newRequestContext(time.Now().Add(time.Second), []byte("id"))
		if c.Err() != nil {
			t.Errorf("a fresh context has ended: %v", c.Err())
		}
		<-c.Done()
		if !errors.Is(c.Err(), context.DeadlineExceeded) {
			t.Errorf("at the deadline: %v", c.Err())
		}

		c = newRequestContext(time.Now().Add(time.Second), nil)
		child, cancel := context.WithCancel(c)
		defer cancel()
		c.finish(context.Canceled)
		<-child.Done()
		<-c.Done()
		if !errors.Is(c.Err(), context.Canceled) {
			t.Errorf("after the handler: %v", c.Err())
		}

		c = newRequestContext(time.Now().Add(time.Second), nil)
		time.Sleep(2 * time.Second) //nolint:forbidigo // the clock of the bubble
		if !errors.Is(c.Err(), context.DeadlineExceeded) {
			t.Errorf("late, asked by Err alone: %v", c.Err())
		}
	})
}
