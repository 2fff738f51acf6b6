package edge_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/testkit"
)

// packers compress, under the names of Content-Encoding.
var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestCompression) },
	"br":   func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriterLevel(w, brotli.BestSpeed), nil },
	"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
}

// pack compresses n repetitions of a text.
func pack(t *testing.T, encoding, text string, n int) string {
	t.Helper()
	var out bytes.Buffer
	w, err := packers[encoding](&out)
	if err != nil {
		t.Fatal(err)
	}
	part := []byte(strings.Repeat(text, min(n, 1<<10)))
	for ; n > 0; n -= 1 << 10 {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// wideZstd is a frame whose header asks the decoder for a window of 1 GiB.
const wideZstd = "\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00"

// keys is an object of n keys.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// heard is a response without its body.
type heard struct {
	status int
	header http.Header
}

// exchange sends bytes on a fresh connection, without waiting in between, and
// returns the responses until the host closes or says nothing more. The sending side
// stays open, as an attacker's would.
func (e *host) exchange(t *testing.T, sent string, want int) []heard {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(e.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go io.WriteString(conn, sent) // the host may have enough of it before it ends
	var responses []heard
	for in := bufio.NewReader(conn); len(responses) < want; {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("reading answer %d: %v", len(responses)+1, err)
			}
			return responses
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Errorf("reading the body of answer %d: %v", len(responses)+1, err)
			return responses
		}
		responses = append(responses, heard{resp.StatusCode, resp.Header})
	}
	return responses
}

// post makes a request out of further header lines and a body.
func (e *host) post(lines, body string) string {
	return fmt.Sprintf("POST /track?website_id=%s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n%s\r\n%s",
		e.site.ID, e.key, lines, body)
}

// sized is post with the body's length.
func (e *host) sized(lines, body string) string {
	return e.post(fmt.Sprintf("%sContent-Length: %d\r\n", lines, len(body)), body)
}

func TestHostileBodiesAreRejectedAndNothingOfThemIsStored(t *testing.T) {
	t.Parallel()
	e := newHost(t).run(t)
	const million = 1 << 20
	bomb := 16 << 10 // KiB, eight times what a host takes; whoever packs it does most of the work
	if testkit.Strict() {
		bomb *= 8
	}
	many := strings.Repeat(pack(t, "gzip", " ", 1<<10), 20_000)
	for _, tc := range []struct {
		name, encoding, body string
		want                 int
	}{
		{"gzip bomb", "gzip", pack(t, "gzip", strings.Repeat(" ", 1024), bomb), 413},
		{"brotli bomb", "br", pack(t, "br", strings.Repeat(" ", 1024), bomb), 413},
		{"zstd bomb", "zstd", pack(t, "zstd", strings.Repeat(" ", 1024), bomb), 413},
		{"zstd window of 1 GiB", "zstd", wideZstd, 400},
		{"gzip of many members", "gzip", many, 413},
		{"gzip in gzip, told once", "gzip", pack(t, "gzip", pack(t, "gzip", `{"name":"a"}`, 1), 1), 400},
		{"gzip in gzip, told twice", "gzip, gzip", pack(t, "gzip", pack(t, "gzip", `{"name":"a"}`, 1), 1), 400},
		{"cut gzip", "gzip", pack(t, "gzip", `{"name":"a"}`, 1)[:15], 400},
		{"unknown encoding", "compress", "x", 400},
		{"10,000 keys", "", `{"name":"a","properties":` + keys(10_000) + `}`, 413},
		{"one key too many", "", `{"name":"a","properties":` + keys(51) + `}`, 413},
		{"10,000 keys of an event", "", `{"name":"a",` + strings.TrimPrefix(keys(10_000), "{"), 200},
		{"deep arrays", "", `{"name":"a","properties":{"a":` + strings.Repeat("[", million) + `}`, 400},
		{"deep objects", "", `{"name":"a","properties":` + strings.Repeat(`{"a":`, million/8) + `}`, 400},
		{"deep unknown field", "", `{"name":"a","x":` + strings.Repeat("[", million) + `}`, 400},
		{"number of a million digits", "", `{"name":"a","properties":{"n":` + strings.Repeat("9", million) + `}}`, 400},
		{"number beyond all", "", `{"name":"a","properties":{"n":1e400}}`, 400},
		{"timestamp beyond all", "", `{"name":"a","timestamp":1e400}`, 400},
		{"duplicate key", "", `{"name":"a","name":"b"}`, 400},
		{"duplicate key in properties", "", `{"name":"a","properties":{"a":1,"a":2}}`, 400},
		{"duplicate key by escape", "", `{"name":"a","n\u0061me":"b"}`, 400},
		{"invalid UTF-8", "", "{\"name\":\"a\xff\"}", 400},
		{"overlong UTF-8", "", "{\"name\":\"\xc0\xaf\"}", 400},
		{"half a surrogate, which is replaced", "", `{"name":"\ud800"}`, 200},
		{"raw line break", "", "{\"name\":\"a\r\nb\"}", 400},
		{"one byte too many", "", strings.Repeat(" ", event.MaxBodyBytes-11) + `{"name":"a"}`, 413},
		{"empty array", "", `[]`, 400},
		{"nothing", "", ``, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			lines := ""
			if tc.encoding != "" {
				lines = "Content-Encoding: " + tc.encoding + "\r\n"
			}
			responses := e.exchange(t, e.sized(lines, tc.body), 1)
			if len(responses) != 1 || responses[0].status != tc.want {
				t.Errorf("answers %v, want %d", statuses(responses), tc.want)
			}
		})
	}
}

func statuses(responses []heard) (all []int) {
	for _, a := range responses {
		all = append(all, a.status)
	}
	return all
}

func TestHostileFramingIsRejectedAndIsNeverTheNextRequest(t *testing.T) {
	t.Parallel()
	e := newHost(t).run(t)
	const event = `{"name":"a"}`
	next := e.sized("", event)
	for _, tc := range []struct {
		name, sent string
		want       []int
	}{
		{"chunks", e.post("Transfer-Encoding: chunked\r\n", "c\r\n"+event+"\r\n0\r\n\r\n") + next, []int{200, 200}},
		{"absurd chunk", e.post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\n"+event) + next, []int{400}},
		{
			"huge chunk", e.post("Transfer-Encoding: chunked\r\n", "7FFFFFFF\r\n"+strings.Repeat(" ", 3<<20)) + next, []int{413},
		},
		{"negative chunk", e.post("Transfer-Encoding: chunked\r\n", "-1\r\n"+event) + next, []int{400}},
		{
			"long extension",
			e.post("Transfer-Encoding: chunked\r\n", "c;"+strings.Repeat("a", 1<<20)+"\r\n"+event+"\r\n0\r\n\r\n") + next,
			[]int{200, 200},
		},
		{"endless extension", e.post("Transfer-Encoding: chunked\r\n", "c;"+strings.Repeat("a", 40<<20)), []int{400}},
		{"two lengths", e.post("Content-Length: 12\r\nContent-Length: 13\r\n", event) + next, []int{400}},
		{"length and chunks", e.post("Content-Length: 12\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n") + next, []int{400}},
		{"chunks and length", e.post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n") + next, []int{400}},
		{"negative length", e.post("Content-Length: -1\r\n", event) + next, []int{400}},
		{"signed length", e.post("Content-Length: +12\r\n", event) + next, []int{400}},
		{"length that is none", e.post("Content-Length: 12,12\r\n", event) + next, []int{400}},
		{"length beyond all", e.post("Content-Length: 99999999999999999999\r\n", event) + next, []int{400}},
		{"unknown transfer encoding", e.post("Transfer-Encoding: gzip\r\n", event) + next, []int{400}},
		{"many headers", e.sized(strings.Repeat("X: y\r\n", 10_000), event) + next, []int{431}},
		{"long header", e.sized("X: "+strings.Repeat("y", 1<<20)+"\r\n", event) + next, []int{431}},
		{"long URL", "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n" + next, []int{431}},
		{"folded header", e.sized("X: a\r\n Content-Length: 3\r\n", event) + next, []int{400}},
		{"header without a name", e.sized(": y\r\n", event), []int{400}},
		{"space before the colon", e.sized("Content-Length : 3\r\n", event) + next, []int{400}},
		{"tab before the colon", e.post("Content-Length\t: 12\r\n", event) + next, []int{400}},
		{"space before another colon", e.sized("X: y :z\r\n", event) + next, []int{200, 200}},
		{"a hundred at once", strings.Repeat(next, 100), repeat(200, 100)},
		{"refused and taken", strings.Repeat(e.sized("", "{")+next, 10), repeat2(400, 200, 10)},
		{"waits for a word", e.sized("Expect: 100-continue\r\n", event) + next, []int{100, 200, 200}},
		{"HTTP/1.0", strings.Replace(next, "HTTP/1.1", "HTTP/1.0", 1) + next, []int{200}},
		{"no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("a", 100) + "\r\n\r\n", []int{400}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			responses := e.exchange(t, tc.sent, len(tc.want)+extra(tc.want))
			// One response more would be to what was smuggled.
			if got := fmt.Sprint(statuses(responses)); got != fmt.Sprint(tc.want) {
				t.Errorf("answers %s, want %v", got, tc.want)
			}
		})
	}
}

func repeat(status, n int) (all []int) {
	for range n {
		all = append(all, status)
	}
	return all
}

func repeat2(a, b, n int) (all []int) {
	for range n {
		all = append(all, a, b)
	}
	return all
}

func TestNothingACallerSendsBreaksOutOfAHeader(t *testing.T) {
	t.Parallel()
	e := newHost(t).run(t)
	for name, id := range map[string]string{
		"space": "a b", "quote": `a"b`, "tab": "a\tb", "escape": "a%0d%0aX-Evil: 1", "comma": "a,b",
		"too long": strings.Repeat("a", 129), "not ASCII": "é",
	} {
		responses := e.exchange(t,
			e.sized("X-Request-ID: "+id+"\r\n", `{"name":"a","eventId":"x\r\nX-Evil: 1","path":"/\r\n\r\n"}`), 1)
		if len(responses) != 1 || responses[0].status != 200 {
			t.Fatalf("%s: answers %v", name, statuses(responses))
		}
		if got := responses[0].header.Get("X-Request-ID"); got == id || len(got) != 36 ||
			responses[0].header.Get("X-Evil") != "" {
			t.Errorf("%s: the answer has the request id %q and the header %v", name, got, responses[0].header)
		}
	}
}

func TestAClientThatGoesAwayEarlyLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	e := newHost(t).run(t)
	whole := e.sized("", `{"name":"a"}`)
	for _, sent := range []string{
		"", "P", whole[:40], whole[:len(whole)-1], e.post("Content-Length: 2000000\r\n", "["), whole,
	} {
		for _, reset := range []bool{false, true} {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(e.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			if reset {
				if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
					t.Fatal(err)
				}
			}
			conn.Close()
		}
	}
	status, text, err := e.track(context.WithoutCancel(t.Context()), http.DefaultClient, "after", `{"name":"a"}`)
	if err != nil || status != 200 {
		t.Errorf("afterwards: %d %s %v", status, text, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// extra is how many responses more are looked for after a rejection, which must end the
// connection.
func extra(want []int) int {
	if want[len(want)-1] >= 400 {
		return 1
	}
	return 0
}
