package httpkit

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"
)

// opened is what pages of any site may use in these tests.
var opened = Open{Prefix: "/open/", Methods: "GET, POST", Headers: "X-Api-Key", Exposed: "Retry-After, ETag"}

// openApp is an app with open routes: one to read a body and one that panics.
func openApp(t *testing.T, cfg Config) *fiber.App {
	t.Helper()
	cfg.Host, cfg.Open = Query, opened
	app := newApp(t, cfg)
	Handle(app, http.MethodPost, "/open/body", func(c *fiber.Ctx) error {
		_, err := Body(c)
		return err
	})
	Handle(app, http.MethodGet, "/open/panic", func(*fiber.Ctx) error { return panicking() })
	return app
}

// readable says what a page of any site sees of a response: its status and the CORS headers.
func readable(got response) []string {
	h := got.header
	return []string{
		strconv.Itoa(got.status), h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Expose-Headers"),
	}
}

// asOpen is what readable says where pages of any site may read the response.
func asOpen(status int) []string { return []string{strconv.Itoa(status), "*", opened.Exposed} }

func TestPagesOfAnySiteMayReadEveryRejectionOfAnOpenRoute(t *testing.T) {
	t.Parallel()
	long := "A: " + strings.Repeat("a", queryHeaderBytes) + "\r\n\r\n"
	const host = " HTTP/1.1\r\nHost: x\r\nOrigin: https://any.example\r\n"
	for name, tc := range map[string]struct {
		request string
		status  int
		closed  bool // it is none of the open routes
	}{
		"no such route":           {"GET /open/nothing" + host + "\r\n", 404, false},
		"another method":          {"DELETE /open/body" + host + "\r\n", 405, false},
		"a method of nobody's":    {"INVENT /open/body" + host + "\r\n", 405, false},
		"too large a body":        {"POST /open/body" + host + "Content-Length: 9\r\n\r\n123456789", 413, false},
		"a panic":                 {"GET /open/panic" + host + "\r\n", 500, false},
		"too long a header":       {"GET /open/body" + host + long, 431, false},
		"whatever its case":       {"GET /Open/nothing" + host + "\r\n", 404, false},
		"outside":                 {"GET /nothing" + host + "\r\n", 404, true},
		"the path above":          {"GET /open" + host + "\r\n", 404, true},
		"too long a header there": {"GET /nothing" + host + long, 431, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, serve(t, openApp(t, Config{BodyLimit: 8})), "127.0.0.1")
			if _, err := io.WriteString(conn, tc.request); err != nil {
				t.Fatal(err)
			}
			want := asOpen(tc.status)
			if tc.closed {
				want = []string{strconv.Itoa(tc.status), "", ""}
			}
			if diff := cmp.Diff(want, readable(hear(t, conn))); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPagesOfAnySiteMayReadThatThereIsNoRoomForARequest(t *testing.T) {
	t.Parallel()
	app := openApp(t, Config{MaxInFlight: 1})
	entered, leave := slow(app)
	first := make(chan int, 1)
	go func() { first <- do(t, app, http.MethodGet, "/slow", nil, "").status }()
	<-entered
	if diff := cmp.Diff(asOpen(503), readable(do(t, app, http.MethodGet, "/open/nothing", nil, ""))); diff != "" {
		t.Errorf("one more (-want +got):\n%s", diff)
	}
	if got := do(t, app, http.MethodOptions, "/open/nothing", nil, ""); got.status != http.StatusNoContent {
		t.Errorf("a preflight, without which a page cannot ask: %d", got.status)
	}
	close(leave)
	if got := <-first; got != http.StatusOK {
		t.Errorf("the first request = %d", got)
	}
}

func TestPagesOfAnySiteMayReadThatThereIsNoConnectionForThem(t *testing.T) {
	t.Parallel()
	addr := serve(t, openApp(t, Config{Conns: Conns{Max: 1}}))
	if got := ask(t, dial(t, addr, "127.0.0.1")); got.status != http.StatusOK {
		t.Fatalf("the first: %d", got.status)
	}
	if diff := cmp.Diff(asOpen(503), readable(ask(t, dial(t, addr, "127.0.0.1")))); diff != "" {
		t.Errorf("one more (-want +got):\n%s", diff)
	}
}

// A tracker that cannot read when to come again comes at once.
func TestPagesThatSendEventsMayReadThatThereIsNoConnectionForThem(t *testing.T) {
	t.Parallel()
	addr := serve(t, newApp(t, Config{Host: Ingestion, Conns: Conns{Max: 1}}))
	if got := ask(t, dial(t, addr, "127.0.0.1")); got.status != http.StatusOK {
		t.Fatalf("the first: %d", got.status)
	}
	want := []string{"503", "*", corsExposed}
	if diff := cmp.Diff(want, readable(ask(t, dial(t, addr, "127.0.0.1")))); diff != "" {
		t.Errorf("one more (-want +got):\n%s", diff)
	}
}

func TestPagesOfOurOwnAreToldMoreOnOpenRoutesToo(t *testing.T) {
	t.Parallel()
	app := openApp(t, Config{Site: Site{PublicURL: api}})
	for _, method := range []string{http.MethodGet, http.MethodOptions} {
		got := do(t, app, method, "/open/nothing", map[string]string{"Origin": api}, "")
		h := got.header
		if h.Get("Access-Control-Allow-Origin") != api || h.Get("Access-Control-Allow-Credentials") != "true" {
			t.Errorf("%s: %d %v", method, got.status, got.header)
		}
	}
}
