package httpkit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/testkit"
)

func TestAHeldBodyIsHeldUntilItsClientHasItOrIsGone(t *testing.T) {
	t.Parallel()
	const size = 24 << 20 // more than a connection buffers
	gate := admission.New(admission.Config{Host: "test", Memory: 64 << 20},
		admission.Deps{Metrics: prometheus.NewRegistry()})
	app := newApp(t, Config{Host: Query, Admission: gate})
	var sent atomic.Int64
	Handle(app, http.MethodGet, "/held", func(c *fiber.Ctx) error {
		WhenSent(c, func() { sent.Add(1) })
		c.Context().Response.SetBodyRaw(make([]byte, size))
		return nil
	})
	addr := serve(t, app)
	for name, leave := range map[string]func(io.ReadCloser) error{
		"has it":  func(body io.ReadCloser) error { _, err := io.Copy(io.Discard, body); return err },
		"is gone": io.ReadCloser.Close,
	} {
		resp := get(t, "http://"+addr+"/held")
		if resp.ContentLength != size || gate.Used() != size {
			t.Errorf("%s: %d bytes of %d are held", name, gate.Used(), resp.ContentLength)
		}
		if err := leave(resp.Body); err != nil {
			t.Error(err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if n := gate.Used(); n != 0 {
				return fmt.Errorf("%s, and %d bytes are held", name, n)
			}
			return nil
		})
	}
	if sent.Load() != 2 {
		t.Errorf("%d of 2 responses count as sent", sent.Load())
	}
	if got := do(t, app, http.MethodHead, "/held", nil, ""); got.status != http.StatusOK || gate.Used() != 0 {
		t.Errorf("only its header: %d, %d bytes are held", got.status, gate.Used())
	}
}

// get asks on a connection of its own, and returns once the header is there.
func get(t *testing.T, url string) streamed {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return streamed{resp}
}

func TestHeld_RejectsAResponseWithoutMemory(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	gate := admission.New(admission.Config{Host: "test", Memory: 4 << 20},
		admission.Deps{Metrics: prometheus.NewRegistry()})
	app := newApp(t, Config{Host: Query, Admission: gate})
	body := make([]byte, size)
	for path, prepare := range map[string]func(*fiber.Ctx){
		"/read": func(*fiber.Ctx) {}, "/change": Committed,
		"/shared": func(c *fiber.Ctx) { SendShared(c, body) },
	} {
		Handle(app, http.MethodGet, path, func(c *fiber.Ctx) error {
			c.Set("ETag", `"1"`)
			c.Set("Content-Encoding", "gzip") // as if it were
			c.Context().Response.SetBodyRaw(make([]byte, size))
			prepare(c)
			return nil
		})
	}
	others := gate.Open(admission.Response, "others", "")
	if err := others.Take(2 << 20); err != nil { // all that responses may have
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/read": 503, "/change": 200, "/shared": 200} {
		got := do(t, app, http.MethodGet, path, nil, "")
		if got.status != want || want == 503 && (got.header.Get("Retry-After") == "" ||
			got.header.Get("ETag")+got.header.Get("Content-Encoding") != "") {
			t.Errorf("%s = %d %v, want %d", path, got.status, got.header, want)
		}
	}
	if gate.Used() != 2<<20 {
		t.Errorf("%d bytes are held, and nobody had any", gate.Used()-2<<20)
	}
	others.Release(true)
	if got := do(t, app, http.MethodGet, "/read", nil, ""); got.status != 200 || gate.Used() != 0 {
		t.Errorf("with memory: %d, %d bytes are held", got.status, gate.Used())
	}
}

func TestHeld_ClaimsInTheNameOfItsOwner(t *testing.T) {
	t.Parallel()
	const size = 24 << 20 // more than a connection buffers
	gate := admission.New(admission.Config{Host: "test", Memory: 128 << 20},
		admission.Deps{Metrics: prometheus.NewRegistry()})
	app := newApp(t, Config{Host: Query, Admission: gate})
	Handle(app, http.MethodGet, "/:owner", func(c *fiber.Ctx) error {
		Bill(c, c.Params("owner"), "")
		c.Context().Response.SetBodyRaw(make([]byte, size))
		return nil
	})
	addr := serve(t, app)
	// Of 64 MiB for responses, an owner may hold as much as is free.
	for i, owner := range []string{"greedy", "greedy", "small"} {
		resp := get(t, "http://"+addr+"/"+owner)
		if want := map[int]int{0: 200, 1: 503, 2: 200}[i]; resp.StatusCode != want {
			t.Errorf("response %d, to %s: %d, want %d", i, owner, resp.StatusCode, want)
		}
	}
}

// A client that reads a large response at the floor gets it, and one that reads less is cut off.
func TestConn_CutsAReaderBelowTheFloor(t *testing.T) {
	t.Parallel()
	const write, size = 500 * time.Millisecond, 24 << 20
	const floor = floorRate * int(write) / int(time.Second)
	a, b := net.Pipe()
	defer b.Close()
	l := newListener(nil, kitOf(newApp(t, Config{Conns: Conns{Write: write, Idle: time.Second}})))
	c := &guardedConn{Conn: a, listener: l, limits: &l.kit.cfg.Conns}
	c.paces(eachWrite)
	read := make(chan int)
	go func() { // reads as much as it is told to
		buffer := make([]byte, size)
		for n := range read {
			io.ReadFull(b, buffer[:n]) // the writer finds out how it ends
		}
	}()
	defer close(read)
	for range 20 { // ten times as long as Conns.Write in all, a fast part at a time
		read <- 10 * floor
		if n, err := c.Write(make([]byte, 10*floor)); n != 10*floor || err != nil {
			t.Fatalf("Write() = %d, %v", n, err)
		}
	}
	read <- floor - 1
	if n, err := c.Write(make([]byte, floor)); n != floor-1 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write() to a client that stops = %d, %v", n, err)
	}
	if n := testutil.ToFloat64(l.kit.metrics.rejected[slowReader]); n != 1 {
		t.Errorf("%g clients were cut off, want 1", n)
	}
}

func TestRequest_HasAtMostMaxParts(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Host: Query})
	Handle(app, http.MethodGet, "/parts", func(c *fiber.Ctx) error { return c.SendString("ok") })
	addr := serve(t, app)
	for name, tc := range map[string]struct {
		query, header string
		status        int
	}{
		"parameters at the limit": {"?" + strings.Repeat("a&", MaxParts), "", 200},
		"parameters beyond":       {"?" + strings.Repeat("a&", MaxParts+1), "", 400},
		"fields at the limit":     {"", strings.Repeat("A: b\r\n", MaxParts-2), 200}, // besides Host, and the end
		"fields beyond":           {"", strings.Repeat("A: b\r\n", MaxParts), 400},
		"cookies at the limit":    {"", "Cookie: " + strings.Repeat("a=b;", MaxParts-1) + "\r\n", 200},
		"cookies beyond":          {"", "Cookie: " + strings.Repeat("a=b;", MaxParts) + "\r\n", 400},
	} {
		got := raw(t, addr, "GET /parts"+tc.query+" HTTP/1.1\r\nHost: x\r\n"+tc.header+"\r\n")
		if len(got) != 1 || got[0].status != tc.status {
			t.Errorf("%s: %v, want %d", name, got, tc.status)
		}
	}
}
