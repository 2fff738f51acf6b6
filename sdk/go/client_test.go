//go:build go1.25

package millrace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewNamesEveryOptionWithoutMeaning(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", " \t\n", "a\nb", "ключ"} {
		if _, err := New(key); !errors.Is(err, ErrAPIKey) {
			t.Errorf("New(%q) = %v, want ErrAPIKey", key, err)
		}
	}
	for name, opt := range map[string]Option{
		"batch size": WithBatchSize(-1), "maximal queue size": WithMaxQueueSize(0), "batch timeout": WithBatchTimeout(-1),
		"maximal deduplication cache size": WithMaxDeduplicationCacheSize(-1), "request timeout": WithRequestTimeout(0),
		"retries": WithRetries(-1), "middleware": WithMiddleware(nil), "API URL": WithAPIURL("ftp://host"),
		"website ID": WithWebsiteID(tooLong(256)), "namespace": WithNamespace(tooLong(65)),
		"source": WithSource(tooLong(65)),
	} {
		if _, err := New(goodKey, WithAPIURL("http://h"), opt); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: New() = %v", name, err)
		}
	}
	_, err := New(goodKey, WithWebsiteID(tooLong(255)), WithNamespace(tooLong(64)), WithSource(tooLong(64)))
	if err != nil {
		t.Errorf("New() with the longest texts = %v", err)
	}
	_, err = New(goodKey, WithBatchSize(-1), WithRetries(-2))
	if err == nil || !strings.Contains(err.Error(), "batch size") || !strings.Contains(err.Error(), "retries") {
		t.Errorf("New() = %v, want both told", err)
	}
	for _, address := range []string{
		"", "host", "//host", "http://", "http://u:p@host", "http://host?x=1", "http://host#x", "http://ho st",
	} {
		if _, err := New(goodKey, WithAPIURL(address)); err == nil {
			t.Errorf("New() with the address %q = nil", address)
		} else if strings.Contains(err.Error(), ":p@") {
			t.Errorf("%v tells a password", err)
		}
	}
}

func TestOptionsHaveTheirDefaultsAndBounds(t *testing.T) {
	t.Parallel()
	c, err := New("  " + goodKey + "\n")
	if err != nil {
		t.Fatal(err)
	}
	o := c.opts
	got := fmt.Sprint(o.apiURL, o.websiteID, o.namespace, o.source, o.debug, o.batching, o.batchSize, o.batchTimeout,
		o.maxQueueSize, o.deduplication, o.maxDeduplicationCacheSize, o.requestTimeout, o.retries, len(o.middleware))
	want := fmt.Sprint("http://127.0.0.1:8081", "", "", "", false, true, 10, 2*time.Second, 1000, true,
		10000, 10*time.Second, 2, 0)
	if got != want {
		t.Errorf("defaults are %s, want %s", got, want)
	}
	for in, want := range map[int]int{0: 1, 1: 1, 100: 100, 101: 100, math.MaxInt: 100} {
		c, err := New(goodKey, WithBatchSize(in))
		if err != nil || c.opts.batchSize != want {
			t.Errorf("batch size %d becomes %d, %v, want %d", in, c.opts.batchSize, err, want)
		}
	}
	c, err = New(goodKey, WithAPIURL(" https://host.test/base// "))
	if err != nil || c.host.url != "https://host.test/base" {
		t.Errorf("the address is %q, %v", c.host.url, err)
	}
}

func TestNoPrintOfAClientShowsItsKey(t *testing.T) {
	t.Parallel()
	c, err := New(goodKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprintf("%v %+v %#v", *c.host, *c.host, *c.host),
	} {
		if strings.Contains(text, goodKey) {
			t.Error("a print of the client shows the key")
		}
	}
}

func TestWithoutBatchingTrackSendsOneObjectAndTellsTheResponse(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	at := time.UnixMilli(1_700_000_000_123)
	c := h.client(WithBatching(false), WithWebsiteID("web_1"), WithNamespace("shop"), WithSource("server"))
	r := c.Track(t.Context(), Event{
		Name: "purchase <&>", EventID: "e-1", Path: "/a", AnonymousID: "anon_1", ProfileID: "p", SessionID: "s",
		Type:                "custom",
		AnonymizeVisitorIDs: AnonymizeAuto, Timestamp: at,
		Properties: map[string]any{"amount": 12.5, "b": []int{1}, "html": "<&>"},
	})
	check(t, "track", r, Result{Success: true, EventID: "e-1", Delivery: Delivered, StatusCode: 200})
	got := h.requests()[0]
	const want = `{"name":"purchase <&>","eventId":"e-1","timestamp":1700000000123,"path":"/a","anonymousId":"anon_1","profileId":"p","sessionId":"s",` +
		`"anonymizeVisitorIds":"auto","namespace":"shop","source":"server","websiteId":"web_1","properties":{"amount":12.5,"b":[1],"html":"<&>"}}`
	if got.body != want || got.path != "/track" {
		t.Errorf("sent to %s:\n got %s\nwant %s", got.path, got.body, want)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + goodKey, "User-Agent": "millrace-go/2.0.0", "Content-Type": "application/json",
	} {
		if v := got.header.Get(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
}

func TestAnEventsOwnFieldsStandAboveTheClients(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	c := h.client(WithBatching(false), WithWebsiteID("web_1"), WithNamespace("n"), WithSource("s"))
	c.SetGlobalProperties(map[string]any{"plan": "free", "region": "eu"})
	c.SetGlobalProperties(map[string]any{"build": 7})
	own := map[string]any{"plan": "pro"}
	before := time.Now().UnixMilli()
	r := c.Track(t.Context(), Event{
		Name: "x", WebsiteID: "web_2", Namespace: "m", Source: "t", Properties: own, AnonymizeVisitorIDs: AnonymizeFalse,
	})
	e := h.requests()[0].events[0]
	for field, want := range map[string]any{
		"websiteId": "web_2", "namespace": "m", "source": "t", "anonymizeVisitorIds": false, "eventId": r.EventID,
		"properties": map[string]any{"plan": "pro", "region": "eu", "build": 7.0},
	} {
		if fmt.Sprint(e[field]) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", field, e[field], want)
		}
	}
	if ts, ok := e["timestamp"].(float64); !ok || int64(ts) < before || int64(ts) > time.Now().UnixMilli() {
		t.Errorf("the time is %v", e["timestamp"])
	}
	if len(own) != 1 {
		t.Errorf("the caller's properties became %v", own)
	}
	if g := c.GlobalProperties(); len(g) != 3 {
		t.Errorf("the global properties are %v", g)
	}
	c.ClearGlobalProperties()
	c.Track(t.Context(), Event{Name: "x"})
	if p, ok := h.requests()[1].events[0]["properties"]; ok || len(c.GlobalProperties()) != 0 {
		t.Errorf("properties are %v after they were cleared", p)
	}
}

func TestMiddlewareChangesAndDropsEvents(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	var seen []string
	c := h.client(WithBatching(false), WithWebsiteID("web_1"), WithMiddleware(
		func(_ context.Context, e *Event) bool {
			seen = append(seen, e.WebsiteID)
			e.Name, e.EventID = strings.ToUpper(e.Name), ""
			e.Properties["added"] = true
			return true
		},
		func(_ context.Context, e *Event) bool { return e.Name != "DROP" },
	))
	own := map[string]any{"a": 1}
	r := c.Track(t.Context(), Event{Name: "keep", Properties: own})
	if !r.Success || r.EventID == "" || h.requests()[0].events[0]["name"] != "KEEP" {
		t.Errorf("result %+v, sent %s", r, h.requests()[0].body)
	}
	r = c.Track(t.Context(), Event{Name: "drop", EventID: "e"})
	check(t, "dropped", r, Result{Success: true, Delivery: Skipped})
	c.AddMiddleware(func(context.Context, *Event) bool { return false })
	c.Track(t.Context(), Event{Name: "keep"})
	if n := len(h.requests()); n != 1 || len(own) != 1 || !slices.Equal(seen, []string{"web_1", "web_1", "web_1"}) {
		t.Errorf("%d requests, the caller's properties are %v, seen %v", n, own, seen)
	}
	c.ClearMiddleware()
	c.AddMiddleware(nil)
	if r := c.Track(t.Context(), Event{Name: "drop"}); r.Delivery != Delivered {
		t.Errorf("without middleware: %+v", r)
	}
}

// tooLong is a text of n characters, each of several bytes.
func tooLong(n int) string { return strings.Repeat("é", n) }

func manyKeys(n int) map[string]any {
	m := map[string]any{}
	for i := range n {
		m[fmt.Sprint("k", i)] = i
	}
	return m
}

// exactly is properties whose JSON has n bytes.
func exactly(n int) map[string]any {
	return map[string]any{"k": strings.Repeat("<", n-len(`{"k":""}`))}
}

func TestEveryLimitIsCheckedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		at, beyond Event
	}{
		{"name", Event{Name: tooLong(256)}, Event{Name: tooLong(257)}},
		{"no name", Event{Name: "x"}, Event{}},
		{"eventId", Event{Name: "x", EventID: tooLong(512)}, Event{Name: "x", EventID: tooLong(513)}},
		{"path", Event{Name: "x", Path: tooLong(2048)}, Event{Name: "x", Path: tooLong(2049)}},
		{"anonymousId", Event{Name: "x", AnonymousID: tooLong(256)}, Event{Name: "x", AnonymousID: tooLong(257)}},
		{"profileId", Event{Name: "x", ProfileID: tooLong(256)}, Event{Name: "x", ProfileID: tooLong(257)}},
		{"sessionId", Event{Name: "x", SessionID: tooLong(256)}, Event{Name: "x", SessionID: tooLong(257)}},
		{"namespace", Event{Name: "x", Namespace: tooLong(64)}, Event{Name: "x", Namespace: tooLong(65)}},
		{"source", Event{Name: "x", Source: tooLong(64)}, Event{Name: "x", Source: tooLong(65)}},
		{"websiteId", Event{Name: "x", WebsiteID: tooLong(255)}, Event{Name: "x", WebsiteID: tooLong(256)}},
		{"keys", Event{Name: "x", Properties: manyKeys(50)}, Event{Name: "x", Properties: manyKeys(51)}},
		{"size", Event{Name: "x", Properties: exactly(32768)}, Event{Name: "x", Properties: exactly(32769)}},
		{
			"JSON",
			Event{Name: "x", Properties: map[string]any{"k": nil}},
			Event{Name: "x", Properties: map[string]any{"k": math.NaN()}},
		},
		{"type", Event{Name: "x", Type: "custom_event"}, Event{Name: "x", Type: "page_view"}},
		{"anonymize", Event{Name: "x", AnonymizeVisitorIDs: "true"}, Event{Name: "x", AnonymizeVisitorIDs: "yes"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, nil)
			c := h.client(WithBatching(false))
			if r := c.Track(t.Context(), tc.at); r.Delivery != Delivered {
				t.Errorf("at the limit: %+v", r)
			}
			bad := c.Track(t.Context(), tc.beyond)
			check(t, "beyond", bad, Result{Code: CodeValidation, EventID: bad.EventID})
			b := c.Batch(t.Context(), []Event{{Name: "good"}, tc.beyond})
			check(t, "in a batch", b.Result, Result{Code: CodeValidation})
			if b.Failed != 2 || len(b.Results) != 2 || b.Results[0].Success || b.Error == b.Results[0].Error {
				t.Errorf("batch: %+v", b)
			}
			if n := len(h.requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestABatchHasOneToAHundredEvents(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	c := h.client()
	events := make([]Event, 101)
	for i := range events {
		events[i] = Event{Type: "custom", Name: "x", EventID: strconv.Itoa(i)}
	}
	for _, bad := range [][]Event{nil, {}, events} {
		b := c.Batch(t.Context(), bad)
		check(t, strconv.Itoa(len(bad)), b.Result, Result{Code: CodeValidation})
	}
	b := c.Batch(t.Context(), events[:100])
	check(t, "100", b.Result, Result{Success: true, Delivery: Delivered})
	if b.Processed != 100 || len(b.Results) != 100 || b.Results[99].EventID != "99" ||
		b.Results[99].Delivery != Delivered {
		t.Errorf("%+v", b)
	}
	c.Batch(t.Context(), events[100:])
	calls := h.requests()
	if len(calls) != 2 || len(calls[0].events) != 100 || !strings.HasPrefix(calls[1].body, "[{") {
		t.Errorf("%d requests", len(calls))
	}
}

func TestABatchBeyondTheBodyLimitIsSentInParts(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	c := h.client()
	events := make([]Event, 100)
	for i := range events {
		events[i] = Event{Name: "x", Properties: exactly(32768)}
	}
	b := c.Batch(t.Context(), events)
	if b.Processed != 100 || len(h.stored) != 100 {
		t.Errorf("%d processed, %d stored", b.Processed, len(h.stored))
	}
	for _, r := range h.requests() {
		if len(r.body) > maxBodyBytes {
			t.Errorf("a body has %d bytes", len(r.body))
		}
	}
	if n := len(h.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestIdentifySendsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	c := h.client(WithWebsiteID("web_1"))
	r := c.Identify(t.Context(),
		Identity{
			ProfileID: "user-1", AnonymousID: "anon_1", Traits: map[string]any{"plan": "pro", "old": nil},
			EventID: "id-1", Timestamp: time.UnixMilli(1795000000000),
		})
	check(t, "identify", r, Result{Success: true, Delivery: Delivered, StatusCode: 200, EventID: "id-1"})
	const want = `{"profileId":"user-1","eventId":"id-1","timestamp":1795000000000,"anonymousId":"anon_1","websiteId":"web_1","traits":{"old":null,"plan":"pro"}}`
	if got := h.requests()[0]; got.body != want || got.path != "/identify" {
		t.Errorf("sent to %s:\n got %s\nwant %s", got.path, got.body, want)
	}
	c.Identify(t.Context(),
		Identity{ProfileID: "user-1", WebsiteID: "web_2", EventID: "id-2", Timestamp: time.UnixMilli(1795000000001)})
	if got := h.requests()[1].body; got !=
		`{"profileId":"user-1","eventId":"id-2","timestamp":1795000000001,"websiteId":"web_2"}` {
		t.Errorf("sent %s", got)
	}
	for name, bad := range map[string]Identity{
		"no profile": {}, "profileId": {ProfileID: tooLong(257)}, "anonymousId": {ProfileID: "p", AnonymousID: tooLong(257)},
		"eventId": {ProfileID: "p", EventID: tooLong(513)}, "traits": {ProfileID: "p", Traits: manyKeys(51)},
		"size": {ProfileID: "p", Traits: exactly(32769)},
	} {
		r := c.Identify(t.Context(), bad)
		check(t, name, r, Result{Code: CodeValidation, EventID: r.EventID})
		if r.EventID == "" {
			t.Errorf("%s: the result has no id", name)
		}
	}
	if n := len(h.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestResponsesBecomeResults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		reply reply
		want  Result
	}{
		{"accepted", accepted, Result{Success: true, Delivery: Delivered, StatusCode: 200}},
		{"nothing stored, nothing said", reply{status: 204}, Result{Success: true, Delivery: Delivered, StatusCode: 204}},
		{
			"no key", rejection(401, "AUTH_REQUIRED", false), Result{Code: "AUTH_REQUIRED", StatusCode: 401, RequestID: "req_1"},
		},
		{
			"quota", rejection(402, "QUOTA_EXCEEDED", false),
			Result{Code: "QUOTA_EXCEEDED", StatusCode: 402, RequestID: "req_1"},
		},
		{
			"fault", rejection(500, "INTERNAL_SERVER_ERROR", true),
			Result{Code: "INTERNAL_SERVER_ERROR", StatusCode: 500, RequestID: "req_1", Retryable: true},
		},
		{"the body knows better", rejection(500, "X", false), Result{Code: "X", StatusCode: 500, RequestID: "req_1"}},
		{"proxy", reply{status: 502, body: "<html>"}, Result{Code: CodeHTTP, StatusCode: 502, Retryable: true}},
		{"too early", reply{status: 425}, Result{Code: CodeHTTP, StatusCode: 425, Retryable: true}},
		{
			"elsewhere",
			reply{status: 301, header: http.Header{"Location": {"https://h"}}},
			Result{Code: CodeHTTP, StatusCode: 301},
		},
		{"nobody in particular", reply{status: 200}, Result{Code: CodeInvalidResponse, StatusCode: 200, Retryable: true}},
		{
			"another host",
			reply{status: 200, body: "<html>"},
			Result{Code: CodeInvalidResponse, StatusCode: 200, Retryable: true},
		},
		{
			"2xx that says no",
			reply{status: 200, body: `{"status":"error","message":"no"}`},
			Result{Code: CodeHTTP, StatusCode: 200},
		},
		{"cut off", reply{err: errCut}, Result{Code: CodeNetwork, Retryable: true}},
		{"silence", reply{hang: time.Hour}, Result{Code: CodeNetwork, Retryable: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, func(int, *call) reply { return tc.reply })
				c := h.client(WithBatching(false), WithRetries(0))
				begin := time.Now()
				tc.want.EventID = "e"
				check(t, "identify", c.Identify(t.Context(), Identity{ProfileID: "p", EventID: "e"}), tc.want)
				if took := time.Since(begin); took > DefaultRequestTimeout {
					t.Errorf("took %s", took)
				}
				r := c.Track(t.Context(), Event{Name: "x", EventID: "e"})
				check(t, "track", r, tc.want)
				if tc.reply.err != nil && !errors.Is(r.Err(), tc.reply.err) {
					t.Errorf("Err() = %v, want it to be %v", r.Err(), tc.reply.err)
				}
				want := 0
				if tc.want.Success {
					want = 1
				}
				if n := c.DeduplicationCacheSize(); n != want {
					t.Errorf("%d ids are remembered, want %d", n, want)
				}
			})
		})
	}
}

func TestWhatMaySucceedLaterIsTriedAgainWithTheSameID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stored := unavailable
		stored.store = true
		h := newHost(t, replies(stored, reply{err: errCut}))
		c := h.client(WithBatching(false))
		r := c.Track(t.Context(), Event{Name: "x"})
		check(t, "track", r, Result{Success: true, Delivery: Delivered, StatusCode: 200, EventID: r.EventID})
		calls := h.requests()
		if len(calls) != 3 || calls[0].body != calls[1].body || calls[1].body != calls[2].body || len(h.stored) != 1 {
			t.Errorf("requests %v", h.names())
		}
		for i, least := range []time.Duration{leastPause / 2, leastPause} {
			if pause := calls[i+1].at.Sub(calls[i].at); pause < least || pause > 2*least {
				t.Errorf("pause %d is %s, want %s to %s", i, pause, least, 2*least)
			}
		}
		h.script = func(int, *call) reply { return unavailable }
		i := Identity{ProfileID: "p", Timestamp: time.UnixMilli(1795000000000)}
		for range 2 { // the second time with the id that the first has told
			r := c.Identify(t.Context(), i)
			check(t, "in vain", r, Result{
				EventID: r.EventID, Code: "DELIVERY_UNAVAILABLE", StatusCode: 503, RequestID: "req_1", Retryable: true,
			})
			i.EventID = r.EventID
		}
		calls = h.requests()[3:]
		for n, call := range calls {
			if i.EventID == "" || !strings.Contains(call.body, `"eventId":"`+i.EventID+`"`) || call.body != calls[0].body {
				t.Errorf("request %d sends the identity %q as another one: %s", n, i.EventID, call.body)
			}
		}
		if len(calls) != 6 {
			t.Errorf("%d requests, want 6", len(calls))
		}
	})
}

func TestRetryAfterIsHonouredUnlessItIsTooLongForACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := rejection(429, "RATE_LIMITED", true)
		limited.header = http.Header{"Retry-After": {"7"}}
		h := newHost(t, replies(limited))
		c := h.client(WithBatching(false))
		if r := c.Track(t.Context(), Event{Name: "x"}); r.Delivery != Delivered {
			t.Errorf("%+v", r)
		}
		if calls := h.requests(); len(calls) != 2 || calls[1].at.Sub(calls[0].at) < 7*time.Second {
			t.Errorf("%d requests", len(calls))
		}
		limited.header = http.Header{"Retry-After": {"3600"}}
		h.script = func(int, *call) reply { return limited }
		begin := time.Now()
		if r := c.Track(t.Context(), Event{Name: "x"}); r.Code != "RATE_LIMITED" || !r.Retryable || time.Since(begin) > 0 {
			t.Errorf("%+v after %s", r, time.Since(begin))
		}
	})
}

func TestEveryCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(int, *call) reply { return reply{hang: time.Hour} })
		c := h.client(WithBatchSize(1), WithRequestTimeout(time.Hour))
		single := h.client(WithBatching(false), WithRequestTimeout(time.Hour))
		lost := Result{Code: CodeCanceled, Retryable: true}
		for name, work := range map[string]func(context.Context) Result{
			"track": func(ctx context.Context) Result { return single.Track(ctx, Event{Name: "x"}).of("") },
			"batch": func(ctx context.Context) Result { return single.Batch(ctx, []Event{{Name: "x"}}).Result },
			"identify": func(ctx context.Context) Result {
				return single.Identify(ctx, Identity{ProfileID: "p"}).of("")
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			begin := time.Now()
			r := work(ctx)
			check(t, name, r, lost)
			if took := time.Since(begin); took != time.Second || !errors.Is(r.Err(), context.DeadlineExceeded) {
				t.Errorf("%s took %s, %v", name, took, r.Err())
			}
			check(t, name+" after the end", work(ctx), lost)
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := c.Track(ctx, Event{Name: "x", EventID: "e"})
		check(t, "queued", r, Result{Success: true, Delivery: Queued, EventID: "e"})
		check(t, "flush", c.Flush(ctx).Result, Result{Code: CodeCanceled, Retryable: true, Delivery: Queued})
		check(t, "track after the end", c.Track(ctx, Event{Name: "y", EventID: "f"}),
			Result{Code: CodeCanceled, Retryable: true, EventID: "f"})
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	h := newHost(t, func(int, *call) reply {
		return reply{status: 302, header: http.Header{"Location": {"https://elsewhere.test"}}}
	})
	c := h.client(WithBatching(false))
	r := c.Track(t.Context(), Event{Name: "x"})
	if r.Success || r.Retryable || !strings.Contains(r.Fix, "https://elsewhere.test") || len(h.requests()) != 1 {
		t.Errorf("%+v after %d requests", r, len(h.requests()))
	}
}

func TestAResultReadsAsTheSpecificationNamesIt(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Result{
		Success: true, EventID: "e", Error: "x", Delivery: Queued, Code: "C", Why: "w", Fix: "f", RequestID: "r",
		Retryable: true, StatusCode: 503,
	})
	const want = `{"success":true,"eventId":"e","error":"x","delivery":"queued","code":"C","why":"w","fix":"f","requestId":"r","retryable":true,"statusCode":503}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v\nwant %s", b, err, want)
	}
}

func TestTheLogHasNeitherKeysNorEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		h := newHost(t, replies(unavailable, rejection(401, "AUTH_REQUIRED", false)))
		c := h.client(WithDebug(true), WithBatchSize(1),
			WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		for range 2 {
			c.Track(t.Context(),
				Event{Name: "secret-name", ProfileID: "secret-profile", Properties: map[string]any{"k": "secret-value"}})
		}
		c.Flush(t.Context())
		c.Close(t.Context())
		text := log.String()
		if strings.Contains(text, "secret") || strings.Contains(text, goodKey) {
			t.Errorf("the log tells too much:\n%s", text)
		}
		for _, want := range []string{
			"retrying", "events lost", "event tracked", "code=AUTH_REQUIRED", "request_id=req_1",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the log does not say %q:\n%s", want, text)
			}
		}
	})
}
