//go:build go1.25

package millrace

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestARejectionIsReadWhole(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Request-Id": {"req_header"}, "Retry-After": {"3"}}
	a := readResponse(429, header,
		[]byte(`{"success":false,"status":"error","error":"E","message":"M","code":"RATE_LIMITED","retryable":true,`+
			`"requestId":"req_body","why":"W","fix":"F","retryAfter":9,"errors":[{"index":2,"field":"name","code":"too_long","message":"x"},`+
			`{"index":2,"field":"path","message":""},{"field":"body","message":"no index"},{"index":-1},{"index":0,"message":"y"}]}`), now)
	want := Result{
		Error: "E: no index", Code: "RATE_LIMITED", Why: "W", Fix: "F", RequestID: "req_header", Retryable: true,
		StatusCode: 429, wait: 3 * time.Second,
	}
	if a.Result != want {
		t.Errorf("\n got %+v\nwant %+v", a.Result, want)
	}
	if got := fmt.Sprint(a.named); got != "map[0:y 2:x; path]" {
		t.Errorf("named %s", got)
	}
}

func TestWhatARejectionLeavesOutIsFilledIn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		status     int
		want       string // code, error, retryable
	}{
		{"message for error", `{"message":"M","code":"C"}`, 400, "C M false"},
		{"no code", `{"error":"E"}`, 404, "HTTP_ERROR E false"},
		{"nothing", ``, 503, "HTTP_ERROR HTTP 503 Service Unavailable true"},
		{"an unknown status", ``, 799, "HTTP_ERROR HTTP 799 true"},
		{
			"members of other types", `{"error":7,"code":"C","retryable":"yes","errors":{}}`, 408,
			"C HTTP 408 Request Timeout true",
		},
		{"not retryable though 5xx", `{"code":"C","error":"E","retryable":false}`, 500, "C E false"},
		{"retryable though 4xx", `{"code":"C","error":"E","retryable":true}`, 409, "C E true"},
		{
			"what is wrong with the only event",
			`{"error":"E","code":"C","errors":[{"field":"traits","message":"M"},{"field":"name"},{}]}`, 400,
			"C E: M; name false",
		},
		{"an array", `[1]`, 400, "HTTP_ERROR HTTP 400 Bad Request false"},
		{"half a body", `{"code":"C"`, 400, "HTTP_ERROR HTTP 400 Bad Request false"},
	} {
		a := readResponse(tc.status, http.Header{}, []byte(tc.body), now)
		if got := fmt.Sprint(a.Code, " ", a.Error, " ", a.Retryable); got != tc.want || a.Why == "" || a.Fix == "" {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestRetryAfterIsSecondsOrADateOrInTheBody(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		header string
		body   float64
		want   time.Duration
	}{
		{"", 0, 0},
		{"5", 0, 5 * time.Second},
		{" 5 ", 9, 5 * time.Second},
		{"0", 9, 0},
		{"-5", 0, 0},
		{"", 1.5, 1500 * time.Millisecond},
		{"", -1, 0},
		{"", 1e300, maxWait},
		{"soon", 2, 2 * time.Second},
		{"3600", 0, maxWait},
		{"3601", 0, maxWait},
		{"9223372036854775807", 0, maxWait},
		{now.Add(time.Minute).Format(http.TimeFormat), 0, time.Minute},
		{now.Add(-time.Minute).Format(http.TimeFormat), 0, 0},
		{now.Add(48 * time.Hour).Format(http.TimeFormat), 0, maxWait},
	} {
		if got := waitOf(tc.header, tc.body, now); got != tc.want {
			t.Errorf("waitOf(%q, %v) = %s, want %s", tc.header, tc.body, got, tc.want)
		}
	}
}

func FuzzAnswersHaveNoContradictions(f *testing.F) {
	f.Add(200, "", `{"status":"success","type":"custom_event","count":1}`)
	f.Add(503, "7", unavailable.body)
	f.Add(400, "", naming(0, 99).body)
	f.Add(502, "Fri, 31 Dec 1999 23:59:59 GMT", "<html>")
	f.Add(200, "", `{"status":1,"code":null,"errors":[{"index":1e9}]}`)
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		a := readResponse(status, http.Header{"Retry-After": {after}}, []byte(body), now)
		switch {
		case a.Success && (status < 200 || status > 299 || a.Code != "" || a.Retryable || a.Delivery != Delivered):
			t.Errorf("a success with %+v", a.Result)
		case !a.Success && (a.Code == "" || a.Error == "" || a.Why == "" || a.Fix == "" || a.Delivery != ""):
			t.Errorf("a failure with %+v", a.Result)
		case a.wait < 0 || a.wait > maxWait || a.StatusCode != status:
			t.Errorf("%+v", a.Result)
		}
		for i := range a.named {
			if i < 0 {
				t.Errorf("event %d is named", i)
			}
		}
	})
}

func TestIDsAreUUIDsInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	last := ""
	for i := range 10_000 {
		id := newID(now.Add(time.Duration(i) * time.Millisecond))
		if len(id) != 36 || id[14] != '7' || !strings.ContainsRune("89ab", rune(id[19])) || strings.Count(id, "-") != 4 {
			t.Fatalf("%s is no UUID of version 7", id)
		}
		if seen[id] || id <= last {
			t.Fatalf("%s comes after %s", id, last)
		}
		seen[id], last = true, id
	}
	if a, b := newID(now), newID(now); a == b {
		t.Errorf("twice %s", a)
	}
}

func TestTheOldestIDsAreForgottenFirst(t *testing.T) {
	t.Parallel()
	r := newRecent(3)
	for _, id := range []string{"a", "b", "c", "a", "d"} {
		r.add(identity{id: id})
	}
	for id, want := range map[string]bool{"a": false, "b": true, "c": true, "d": true} {
		if got := r.has(identity{id: id}); got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	if len(r.ids) != 3 || len(r.order) != 3 {
		t.Errorf("%d ids are remembered", len(r.ids))
	}
	none := newRecent(0)
	none.add(identity{id: "a"})
	if none.has(identity{id: "a"}) {
		t.Error("something is remembered without room")
	}
}

func TestBackoffIsBounded(t *testing.T) {
	t.Parallel()
	for failures, most := range map[int]time.Duration{
		0: leastPause, 1: 2 * leastPause, 6: 16 * time.Second, 7: mostPause, 100: mostPause, 1 << 40: mostPause,
	} {
		for range 100 {
			if got := backoff(0, failures); got < most/2 || got > most {
				t.Fatalf("backoff(0, %d) = %s, want %s to %s", failures, got, most/2, most)
			}
		}
	}
	if got := backoff(time.Hour, 3); got < mostPause/2 || got > mostPause {
		t.Errorf("backoff(1h, 3) = %s", got)
	}
}
