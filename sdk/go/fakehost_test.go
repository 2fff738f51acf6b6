//go:build go1.25

package millrace

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
)

const goodKey = "mlr_good"

// call is one request that a fakeHost got.
type call struct {
	path   string
	header http.Header
	body   string
	events []map[string]any // of /track
	at     time.Time
}

// reply is what a fakeHost answers.
type reply struct {
	status int
	header http.Header
	body   string
	store  bool          // the events are stored, whatever the response
	err    error         // instead of a response
	hang   time.Duration // before it
}

var (
	accepted    = reply{status: 200, store: true, body: `{"status":"success","type":"custom_event","count":1}`}
	unavailable = rejection(503, "DELIVERY_UNAVAILABLE", true)
	errCut      = errors.New("connection reset by peer")
)

func rejection(status int, code string, retry bool) reply {
	return reply{status: status, body: fmt.Sprintf(
		`{"success":false,"status":"error","error":"says %[1]s","message":"says %[1]s","code":%[1]q,"retryable":%[2]v,"requestId":"req_1"}`, code, retry)}
}

// naming is a rejection for what is wrong with some events of the request.
func naming(indexes ...int) reply {
	r := rejection(400, CodeValidation, false)
	var list []string
	for _, i := range indexes {
		list = append(list, fmt.Sprintf(`{"index":%d,"field":"name","code":"too_long","message":"name is bad"}`, i))
	}
	r.body = strings.TrimSuffix(r.body, "}") + `,"errors":[` + strings.Join(list, ",") + `]}`
	return r
}

// fakeHost is an ingestion host without a network, so that it can be used in a
// bubble of testing/synctest. It answers as script says, and accepts without one.
type fakeHost struct {
	tb     testing.TB
	script func(n int, c *call) reply

	mu     sync.Mutex
	calls  []*call
	stored map[string]map[string]any // by website and id
	twice  []string                  // ids that came again with other content
}

func newHost(tb testing.TB, script func(n int, c *call) reply) *fakeHost {
	tb.Helper()
	return &fakeHost{tb: tb, script: script, stored: map[string]map[string]any{}}
}

// replies answers in turn, and accepts after the last.
func replies(all ...reply) func(int, *call) reply {
	return func(n int, _ *call) reply {
		if n < len(all) {
			return all[n]
		}
		return accepted
	}
}

// RoundTrip implements http.RoundTripper.
func (h *fakeHost) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	c := &call{path: req.URL.Path, header: req.Header, body: string(body), at: time.Now()}
	if c.path == "/track" {
		if c.events, err = eventsOf(body); err != nil {
			h.tb.Errorf("the client sent %s: %v", body, err)
		}
	}
	r := h.take(c)
	if r.hang > 0 {
		if err := sleep(req.Context(), r.hang); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if r.header == nil {
		r.header = http.Header{}
	}
	return &http.Response{
		StatusCode: r.status, Header: r.header, Body: io.NopCloser(strings.NewReader(r.body)), Request: req,
	}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func eventsOf(body []byte) ([]map[string]any, error) {
	if bytes.HasPrefix(body, []byte("{")) {
		body = append(append([]byte("["), body...), ']')
	}
	var events []map[string]any
	err := json.Unmarshal(body, &events)
	return events, err
}

// take notes a call and decides about it.
func (h *fakeHost) take(c *call) reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.calls)
	h.calls = append(h.calls, c)
	r := accepted
	if h.script != nil {
		r = h.script(n, c)
	}
	if !r.store {
		return r
	}
	for _, e := range c.events {
		key := fmt.Sprint(e["websiteId"], "/", e["eventId"])
		if before, ok := h.stored[key]; ok && fmt.Sprint(before) != fmt.Sprint(e) {
			h.twice = append(h.twice, key)
		}
		h.stored[key] = e
	}
	return r
}

// requests returns what the host got so far.
func (h *fakeHost) requests() []*call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*call(nil), h.calls...)
}

// names returns the names of the events of each request to /track.
func (h *fakeHost) names() []string {
	var all []string
	for _, c := range h.requests() {
		var names []string
		for _, e := range c.events {
			names = append(names, fmt.Sprint(e["name"]))
		}
		all = append(all, strings.Join(names, " "))
	}
	return all
}

// client returns a client of the host. It is closed when the test ends.
func (h *fakeHost) client(opts ...Option) *Client {
	h.tb.Helper()
	c, err := New(goodKey, append([]Option{
		WithHTTPClient(&http.Client{Transport: h}), WithAPIURL("http://host.test"), WithLogger(slog.New(slog.DiscardHandler)),
	}, opts...)...)
	if err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c.Close(ctx)
	})
	return c
}

// check compares a result with what is wanted, less what only people read.
func check(t *testing.T, what string, got, want Result) {
	t.Helper()
	if !got.Success && (got.Error == "" || got.Why == "" || got.Fix == "") {
		t.Errorf("%s: a failure without words: %+v", what, got)
	}
	if got.Success != (got.Err() == nil) {
		t.Errorf("%s: Err() = %v", what, got.Err())
	}
	plain := Result{
		Success: got.Success, EventID: got.EventID, Delivery: got.Delivery, Code: got.Code,
		RequestID: got.RequestID, Retryable: got.Retryable, StatusCode: got.StatusCode,
	}
	if plain != want {
		t.Errorf("%s:\n got %+v\nwant %+v", what, plain, want)
	}
}
