package httpkit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/testkit"
)

// encoders compress test bodies, under the names of Content-Encoding.
var encoders = map[string]func(io.Writer) io.WriteCloser{
	"gzip": func(w io.Writer) io.WriteCloser {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return nil
		}
		return z
	},
	"br": func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil
		}
		return z
	},
}

func compress(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := encoders[encoding](&out)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestABodyIsAcceptedUpToTheLimitBeforeAndAfterDecompression(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	app := newApp(t, Config{BodyLimit: limit})
	for _, encoding := range []string{"", "identity", "gzip", "x-gzip", "GZIP", "br", "zstd"} {
		for _, size := range []int{0, 1, 8 << 10, 8<<10 + 1, 64 << 10, 64<<10 + 1, limit, limit + 1} {
			t.Run(fmt.Sprintf("%s %d", encoding, size), func(t *testing.T) {
				t.Parallel()
				body := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
				sent, header := body, map[string]string{}
				if encoding != "" {
					header["Content-Encoding"] = encoding
				}
				if name := strings.TrimPrefix(strings.ToLower(encoding), "x-"); encoders[name] != nil {
					sent = compress(t, name, body)
				}
				resp := do(t, app, "POST", "/echo", header, string(sent))
				if size > limit {
					if resp.status != 413 || !strings.Contains(resp.body, "PAYLOAD_TOO_LARGE") {
						t.Errorf("%d bytes over a limit of %d = %d %.200s", size, limit, resp.status, resp.body)
					}
					return
				}
				if resp.status != 200 || resp.body != string(body) {
					t.Errorf("%d bytes = %d with %d bytes back", size, resp.status, len(resp.body))
				}
			})
		}
	}
}

func TestAnEncodingThatCannotBeReadIs400(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{})
	whole := string(compress(t, "gzip", []byte(`{"name":"a"}`)))
	for _, tc := range []struct{ encoding, body, message string }{
		{"deflate", "x", "Content-Encoding must be gzip, br, zstd or identity"},
		{"gzip, br", "x", "Only one Content-Encoding is accepted"},
		{"gzip", "not gzip", "The body is not valid gzip"},
		{"gzip", whole[:len(whole)-4], "The body is not valid gzip"},
		{"gzip", "", "The body is not valid gzip"},
		{"br", "not brotli", "The body is not valid br"},
		{"zstd", "not zstandard", "The body is not valid zstd"},
	} {
		resp := do(t, app, "POST", "/echo", map[string]string{"Content-Encoding": tc.encoding}, tc.body)
		if resp.status != 400 || !strings.Contains(resp.body, `"message":"`+tc.message+`"`) ||
			!strings.Contains(resp.body, `"message":"Invalid request body","code":"VALIDATION_ERROR"`) {
			t.Errorf("%s %q = %d %s, want 400 with %q", tc.encoding, tc.body, resp.status, resp.body, tc.message)
		}
	}
	// A broken body leaves nothing behind in the pooled reader.
	for range 3 {
		if resp := do(t, app, "POST", "/echo", map[string]string{"Content-Encoding": "gzip"}, whole); resp.status != 200 {
			t.Fatalf("a good body after broken ones = %d %s", resp.status, resp.body)
		}
	}
}

func TestTwoContentEncodingHeadersAreRejected(t *testing.T) {
	t.Parallel()
	responses := raw(t, serve(t, newApp(t, Config{})),
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx")
	if len(responses) != 1 || responses[0].status != 400 {
		t.Fatalf("%d answers, want one 400", len(responses))
	}
}

// bomb is 1 MiB that unpacks to about 1 GiB: some zeros that were packed after others,
// again and again. Packing all of them would take minutes under the race detector.
func bomb(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	begins := 0
	for range 2 {
		begins = out.Len()
		if _, err := w.Write(make([]byte, 4<<20)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for again := bytes.Clone(out.Bytes()[begins:]); out.Len() < 1<<20; {
		out.Write(again)
	}
	return out.Bytes()
}

//nolint:paralleltest // measures the allocations of the process
func TestABombCostsNoMoreThanTheCap(t *testing.T) {
	body := string(bomb(t))
	app := newApp(t, Config{})
	send := func() {
		if resp := do(t, app, "POST", "/echo", map[string]string{"Content-Encoding": "gzip"}, body); resp.status != 413 {
			t.Fatalf("a bomb = %d, want 413", resp.status)
		}
	}
	plain := func() {
		if resp := do(t, app, "POST", "/unread", nil, body); resp.status != 200 {
			t.Fatalf("a plain body = %d", resp.status)
		}
	}
	send() // fills the pools
	plain()
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	// What the client of this test allocates is the same for both. Growing by
	// doubling costs twice the final size, for what is sent and what is unpacked.
	const most = 2*2*(2<<20) + 1<<20
	if cost := int64(allocated(send)) - int64(allocated(plain)); cost > most {
		t.Errorf("a bomb of 1 MiB allocates %d bytes, want at most %d", cost, most)
	}
}

func TestABodyThatNobodyReadIsNotTheNextRequest(t *testing.T) {
	t.Parallel()
	const inner = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, path := range []string{"/unread", "/nowhere", "/health"} {
		for _, padding := range []int{0, 7 << 10, 9 << 10, 3 << 20} {
			for _, chunked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d %v", path, padding, chunked), func(t *testing.T) {
					t.Parallel()
					body := strings.Repeat("\r\n", padding/2) + inner
					head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n", path)
					if chunked {
						body = head + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
					} else {
						body = head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
					}
					responses := raw(t, serve(t, newApp(t, Config{})), body+inner)
					// A connection may be closed after the first response, but what
					// was inside of the body is never answered.
					if n := len(responses); n == 0 || n > 2 || responses[n-1].closes != (n == 1) {
						t.Errorf("%d answers: %+v", n, responses)
					}
				})
			}
		}
	}
}

// noting is an endless body that notes how it is read.
type noting struct{ read, most int }

func (n *noting) Read(p []byte) (int, error) {
	n.read, n.most = n.read+len(p), max(n.most, len(p))
	return len(p), nil
}

func TestABodyThatIsThrownAwayHasABound(t *testing.T) {
	t.Parallel()
	conn, _ := net.Pipe()
	defer conn.Close()
	var rc fasthttp.RequestCtx
	rc.Init2(conn, nil, false)
	body := &noting{}
	rc.Request.SetBodyStream(body, -1)
	k := kitOf(newApp(t, Config{}))
	r := k.begin(&rc, time.Now())
	defer k.end(r)
	r.raw = buffer{} // the pool may have given it one
	r.drain(&rc)
	if body.read != drainBytes || body.most > minBytes {
		t.Errorf("%d bytes were read, up to %d at once; want %d and %d", body.read, body.most, drainBytes, minBytes)
	}
}

// As many bodies may be thrown away at once as there are connections, without a claim.
//
//nolint:paralleltest // the heap is the process's
func TestBodiesThatAreThrownAwayTakeHardlyMoreThanConnections(t *testing.T) {
	const connections = 200
	for name, head := range map[string]string{ //nolint:paralleltest // see above
		"too large": "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n",
		"unread":    "POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
		"chunked":   "POST /unread HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var came atomic.Int64
			app := newApp(t, Config{})
			k := kitOf(app)
			next := k.handler
			k.handler = func(rc *fasthttp.RequestCtx) {
				came.Add(1)
				next(rc)
			}
			addr := serve(t, app)
			conns := make([]net.Conn, connections)
			for i := range conns {
				conns[i] = dial(t, addr, "127.0.0.1")
				ask(t, conns[i])
			}
			came.Store(0)
			before := inUse()
			for _, conn := range conns {
				if _, err := io.WriteString(conn, head+strings.Repeat("a", 20<<10)); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Eventually(t, time.Minute, func() error {
				if n := came.Load(); n < connections {
					return fmt.Errorf("%d came", n)
				}
				return nil
			})
			// 8 KiB of a body are fasthttp's.
			each := (inUse() - before) / connections
			t.Logf("%d bytes a connection", each)
			if each > prefetchBytes+minBytes {
				t.Errorf("a connection takes %d bytes more while a body is thrown away, want at most %d",
					each, prefetchBytes+minBytes)
			}
		})
	}
}

// inUse is the memory that is in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // and what pools keep
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestLargeBodiesAreRejectedWhenTheirMemoryIsInUse(t *testing.T) {
	t.Parallel()
	app := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	Handle(app, "POST", "/size", func(c *fiber.Ctx) error {
		b, err := Body(c)
		if err != nil {
			return err
		}
		return c.SendString(strconv.Itoa(len(b)))
	})
	k := kitOf(app)
	gate := k.cfg.Admission
	others := gate.Open(admission.Body, "", "")
	if err := others.Take(defaultBodyMemory/2 - 200_000); err != nil {
		t.Fatal(err)
	}
	held := gate.Used()
	for body, want := range map[string]int{
		strings.Repeat("a", minBytes-1):              200, // not counted
		strings.Repeat("a", keepBytes-1):             200,
		strings.Repeat("a", 90_000):                  200,
		strings.Repeat("a", 150_000):                 503,
		string(bytes.Repeat([]byte{'a'}, 2_000_000)): 503,
	} {
		if resp := do(t, app, "POST", "/size", nil, body); resp.status != want {
			t.Errorf("%d bytes = %d %s, want %d", len(body), resp.status, resp.body, want)
		}
	}
	if left := gate.Used() - held; left != 0 {
		t.Errorf("requests left %d bytes claimed", left)
	}
}

func TestA64OfIPv6IsOneAddressForTheMemoryOfBodies(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Proxies: Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}})
	site := netip.MustParseAddr("2001:db8::").As16()
	held := kitOf(app).cfg.Admission.Open(admission.Body, string(site[:]), "")
	if err := held.Take(defaultBodyMemory / 4); err != nil { // all that one address may have
		t.Fatal(err)
	}
	for from, want := range map[string]int{
		"2001:db8::1": 503, "2001:db8:0:0:ffff::": 503, "2001:db8:0:1::1": 200, "192.0.2.1": 200,
	} {
		if got := do(t, app, "POST", "/echo", map[string]string{"X-Forwarded-For": from},
			strings.Repeat("a", 2*minBytes)); got.status != want {
			t.Errorf("a body from %s: %d, want %d", from, got.status, want)
		}
	}
}

func TestNothingOfFibersIsNeededAfterTheHandler(t *testing.T) {
	t.Parallel()
	// The kit itself keeps the request id in the context, which may outlive the
	// handler; the body and credentials are documented not to.
	app := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	var kept []*requestContext
	Handle(app, "GET", "/", func(c *fiber.Ctx) error {
		kept = append(kept, requestOf(c.Context()).ctx)
		return nil
	})
	addr := serve(t, app)
	client := &http.Client{}
	for i := range 50 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Request-ID", fmt.Sprintf("request-%d", i))
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	client.CloseIdleConnections()
	for i, c := range kept {
		if want := fmt.Sprintf("request-%d", i); string(c.id) != want {
			t.Errorf("context of request %d says %q", i, c.id)
		}
	}
}

func TestARouteMayTakeLessThanTheHost(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	app := newApp(t, Config{BodyLimit: 1 << 20})
	Handle(app, "POST", "/small", func(c *fiber.Ctx) error {
		b, err := JSON(c, Limits{Bytes: limit, Values: 1})
		if err != nil {
			return err
		}
		return c.SendString(strconv.Itoa(len(b)))
	})
	for _, encoding := range []string{"", "gzip"} {
		for size, status := range map[int]int{limit: 200, limit + 1: 413} {
			sent, header := bytes.Repeat([]byte("x"), size), map[string]string{}
			if encoding != "" {
				sent, header["Content-Encoding"] = compress(t, encoding, sent), encoding
			}
			if resp := do(t, app, "POST", "/small", header, string(sent)); resp.status != status {
				t.Errorf("%d bytes %s: %d %s", size, encoding, resp.status, resp.body)
			}
		}
	}
	if resp := do(t, app, "POST", "/echo", nil, strings.Repeat("x", limit+1)); resp.status != 200 {
		t.Errorf("another route answers %d", resp.status)
	}
}

func TestBody_DropsTrailerFields(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{})
	fields := func(h *fasthttp.RequestHeader) string {
		var b strings.Builder
		for name, value := range h.All() {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
		return b.String()
	}
	Handle(app, "POST", "/fields", func(c *fiber.Ctx) error {
		h := &c.Context().Request.Header
		before, agent, key := fields(h), h.UserAgent(), h.Peek("X-First")
		if _, err := Body(c); err != nil {
			return err
		}
		if after := fields(h); after != before || string(agent) != "test" || string(key) != "1" {
			return c.SendString(fmt.Sprintf("%s then %s; %s, %s", before, after, agent, key))
		}
		return c.SendString("the same")
	})
	addr := serve(t, app)
	for _, name := range []string{
		"X-Api-Key", "Idempotency-Key", "X-First", "x-client-id", "Forwarded", "Origin", "User-Agent", "X-Request-ID",
		"Accept", "X-New", "Traceparent",
	} {
		for field, trailer := range map[string]string{
			"one": name + ": evil\r\n", "many": strings.Repeat(name+": evil\r\n", 100), "spaced": name + " : evil\r\n",
		} {
			request := "POST /fields HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\nX-First: 1\r\nCookie: a=b\r\n" +
				"Content-Type: text/plain\r\nTrailer: " + name + "\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" +
				trailer + "\r\n"
			responses := raw(t, addr, request+request)
			if len(responses) != 2 || responses[0].body != "the same" || responses[1].body != "the same" {
				t.Errorf("%s, %s: %+v", name, field, responses)
			}
		}
	}
	for _, name := range []string{
		"X-Forwarded-For", "Content-Encoding", "Authorization", "Cookie", "Content-Length", "Host",
	} {
		responses := raw(t, addr, "POST /fields HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\nX-First: 1\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Api-Key: evil\r\n"+name+": evil\r\n\r\n")
		if len(responses) != 1 || responses[0].status != 400 || !responses[0].closes {
			t.Errorf("%s, which no trailer may have: %+v", name, responses)
		}
	}
}
