//go:build go1.25

package millrace

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// results collects what OnResult is told.
type results struct {
	mu  sync.Mutex
	all []Result
}

func (r *results) add(one Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// fates returns what was told, as "id delivery code", sorted.
func (r *results) fates() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, one := range r.all {
		all = append(all, strings.TrimSpace(fmt.Sprint(one.EventID, " ", one.Delivery, one.Code)))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// track tracks events that are called as their ids.
func track(t *testing.T, c *Client, ids ...string) (last Result) {
	t.Helper()
	for _, id := range ids {
		last = c.Track(t.Context(), Event{Name: id, EventID: id})
		if !last.Success {
			t.Errorf("%s: %+v", id, last)
		}
	}
	return last
}

// stage is what a test in a bubble works with.
type stage struct {
	t      *testing.T
	host   *fakeHost
	client *Client
	told   *results
}

func (s stage) parts() (*testing.T, *fakeHost, *Client, *results) {
	return s.t, s.host, s.client, s.told
}

// bubble runs a test in a bubble with a host and a client.
func bubble(t *testing.T, script func(int, *call) reply, opts []Option, body func(s stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h, told := newHost(t, script), &results{}
		body(stage{t, h, h.client(append(opts, WithOnResult(told.add))...), told})
	})
}

// after lets time pass in a bubble, and everything happen that is due.
func after(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's time
	synctest.Wait()
}

func wantRequests(t *testing.T, h *fakeHost, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := h.names(); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

func TestTheCallThatFillsABatchSendsIt(t *testing.T) {
	t.Parallel()
	bubble(t, nil, []Option{WithBatchSize(3)}, func(s stage) {
		t, h, c, told := s.parts()
		check(t, "a", track(t, c, "a", "b"), Result{Success: true, Delivery: Queued, EventID: "b"})
		wantRequests(t, h)
		check(t, "c", track(t, c, "c"), Result{Success: true, Delivery: Delivered, StatusCode: 200, EventID: "c"})
		wantRequests(t, h, "a b c")
		synctest.Wait()
		if got := told.fates(); got != "a delivered, b delivered, c delivered" {
			t.Errorf("OnResult was told %s", got)
		}
	})
}

func TestWhatDoesNotFillABatchIsSentAfterTheBatchTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, nil, nil, func(s stage) {
		t, h, c, _ := s.parts()
		begin := time.Now()
		track(t, c, "a")
		after(1500 * time.Millisecond)
		track(t, c, "b")
		after(499 * time.Millisecond)
		wantRequests(t, h)
		after(time.Millisecond)
		wantRequests(t, h, "a b")
		if at := h.requests()[0].at.Sub(begin); at != 2*time.Second {
			t.Errorf("sent after %s", at)
		}
		track(t, c, "c")
		after(2 * time.Second)
		wantRequests(t, h, "a b", "c")
	})
}

func TestAFullQueueIsSentAtOnceThoughNoBatchIsFull(t *testing.T) {
	t.Parallel()
	bubble(t, nil, []Option{WithMaxQueueSize(2)}, func(s stage) {
		t, h, c, _ := s.parts()
		check(t, "b", track(t, c, "a", "b"), Result{Success: true, Delivery: Delivered, StatusCode: 200, EventID: "b"})
		wantRequests(t, h, "a b")
	})
}

func TestAnEventThatDoesNotFitIsRejectedAndNoneIsGivenUpForIt(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	script := func(int, *call) reply {
		if !up.Load() {
			return reply{err: errCut}
		}
		return accepted
	}
	bubble(t, script, []Option{WithMaxQueueSize(3)}, func(s stage) {
		t, h, c, told := s.parts()
		track(t, c, "a", "b", "c")
		full := c.Track(t.Context(), Event{Name: "d", EventID: "d"})
		check(t, "d", full, Result{Code: CodeQueueFull, Retryable: true, EventID: "d"})
		up.Store(true)
		after(2 * time.Second)
		wantRequests(t, h, "a b c", "a b c")
		track(t, c, "d") // its id was not remembered
		c.Flush(t.Context())
		if got := told.fates(); got != "a delivered, b delivered, c delivered, d delivered" {
			t.Errorf("OnResult was told %s", got)
		}
	})
}

func TestWhatIsBeingSentCountsTowardsTheQueue(t *testing.T) {
	t.Parallel()
	slow := accepted
	slow.hang = time.Second
	bubble(t, func(int, *call) reply { return slow }, []Option{WithMaxQueueSize(2), WithBatchSize(2)}, func(s stage) {
		t, _, c, _ := s.parts()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for _, id := range []string{"a", "b"} {
			check(t, id, c.Track(ctx, Event{Name: "x", EventID: id}), Result{Success: true, Delivery: Queued, EventID: id})
		}
		check(t, "c", c.Track(t.Context(), Event{Name: "x", EventID: "c"}),
			Result{Code: CodeQueueFull, Retryable: true, EventID: "c"})
		after(time.Second)
		track(t, c, "c")
	})
}

func TestTheQueueTriesAgainLaterAndLaterWithTheSameBodies(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	script := func(int, *call) reply {
		if !up.Load() {
			stored := unavailable
			stored.store = true
			return stored
		}
		return accepted
	}
	bubble(t, script, []Option{WithBatchTimeout(time.Millisecond)}, func(s stage) {
		t, h, c, told := s.parts()
		track(t, c, "a")
		after(5 * time.Minute)
		calls := h.requests()
		if len(calls) < 15 {
			t.Fatalf("%d requests in five minutes", len(calls))
		}
		for i := range calls[1:] {
			most := min(leastPause<<i, mostPause)
			if pause := calls[i+1].at.Sub(calls[i].at); pause < most/2 || pause > most {
				t.Errorf("the pause after failure %d is %s, want %s to %s", i, pause, most/2, most)
			}
			if calls[i+1].body != calls[0].body {
				t.Errorf("sent %s, then %s", calls[0].body, calls[i+1].body)
			}
		}
		r := c.Track(t.Context(), Event{Name: "again", EventID: "a"})
		check(t, "the same id", r, Result{Success: true, Delivery: Skipped, EventID: "a"})
		up.Store(true)
		after(mostPause)
		if got := told.fates(); got != "a delivered" || len(h.stored) != 1 || len(h.twice) > 0 {
			t.Errorf("OnResult was told %s; %d stored, %v stored differently", got, len(h.stored), h.twice)
		}
	})
}

func TestTheQueueWaitsAsLongAsTheHostAsks(t *testing.T) {
	t.Parallel()
	limited := rejection(429, "RATE_LIMITED", true)
	limited.header = http.Header{"Retry-After": {"90"}}
	bubble(t, replies(limited), []Option{WithBatchSize(1)}, func(s stage) {
		t, h, c, _ := s.parts()
		r := c.Track(t.Context(), Event{Name: "a", EventID: "a"})
		check(t, "track", r, Result{
			Success: true, Delivery: Queued, EventID: "a", Code: "RATE_LIMITED", StatusCode: 429, RequestID: "req_1",
			Retryable: true,
		})
		track(t, c, "b", "c") // full batches, which wait too
		b := c.Flush(t.Context())
		check(t, "flush", b.Result,
			Result{Delivery: Queued, Code: "RATE_LIMITED", StatusCode: 429, RequestID: "req_1", Retryable: true})
		if b.Pending != 3 {
			t.Errorf("%d are pending, want 3", b.Pending)
		}
		after(90*time.Second - time.Nanosecond)
		wantRequests(t, h, "a")
		after(time.Nanosecond)
		if got := h.names(); len(got) != 4 || got[1] != "a" {
			t.Errorf("requests %q", got)
		}
	})
}

func TestAnEventThatIsQueuedOrWasDeliveredIsSkipped(t *testing.T) {
	t.Parallel()
	bubble(t, replies(rejection(401, "AUTH_REQUIRED", false)), nil, func(s stage) {
		t, h, c, told := s.parts()
		skipped := Result{Success: true, Delivery: Skipped, EventID: "a"}
		track(t, c, "a")
		check(t, "queued", track(t, c, "a"), skipped)
		b := c.Flush(t.Context())
		if b.Failed != 1 || b.Code != "AUTH_REQUIRED" || c.DeduplicationCacheSize() != 0 {
			t.Errorf("%+v, %d remembered", b, c.DeduplicationCacheSize())
		}
		check(t, "failed", track(t, c, "a"), Result{Success: true, Delivery: Queued, EventID: "a"})
		if b := c.Flush(t.Context()); b.Processed != 1 || c.DeduplicationCacheSize() != 1 {
			t.Errorf("%+v, %d remembered", b, c.DeduplicationCacheSize())
		}
		check(t, "delivered", track(t, c, "a"), skipped)
		batch := c.Batch(t.Context(),
			[]Event{{Name: "x", EventID: "a"}, {Name: "x", EventID: "b"}, {Name: "x", EventID: "b"}})
		if batch.Processed != 1 || batch.Results[0].Delivery != Skipped || batch.Results[1].Delivery != Delivered ||
			batch.Results[2].Delivery != Skipped {
			t.Errorf("%+v", batch)
		}
		other := c.Track(t.Context(), Event{Name: "x", EventID: "a", WebsiteID: "web_2"})
		check(t, "of another website", other, Result{Success: true, Delivery: Queued, EventID: "a"})
		c.ClearDeduplicationCache()
		check(t, "forgotten", track(t, c, "a"), Result{Success: true, Delivery: Queued, EventID: "a"})
		c.Flush(t.Context())
		wantRequests(t, h, "a", "a", "x", "x a")
		if got := told.fates(); got != "a AUTH_REQUIRED, a delivered, a delivered, a delivered" {
			t.Errorf("OnResult was told %s", got)
		}
	})
}

func TestWithoutDeduplicationEverythingIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, nil, []Option{WithDeduplication(false)}, func(s stage) {
		t, h, c, _ := s.parts()
		track(t, c, "a", "a")
		c.Flush(t.Context())
		track(t, c, "a")
		c.Flush(t.Context())
		wantRequests(t, h, "a a", "a")
		if n := c.DeduplicationCacheSize(); n != 0 {
			t.Errorf("%d are remembered", n)
		}
	})
}

func TestOneBadEventDoesNotTakeTheOthersWithIt(t *testing.T) {
	t.Parallel()
	bad := func(_ int, c *call) reply {
		var at []int
		for i, e := range c.events {
			if strings.HasPrefix(fmt.Sprint(e["name"]), "bad") {
				at = append(at, i)
			}
		}
		if at != nil {
			return naming(at...)
		}
		return accepted
	}
	bubble(t, bad, nil, func(s stage) {
		t, h, c, told := s.parts()
		track(t, c, "a", "bad1", "b", "bad2")
		b := c.Flush(t.Context())
		check(t, "flush", b.Result, Result{Code: CodeValidation, StatusCode: 400, RequestID: "req_1"})
		if b.Processed != 2 || b.Failed != 2 || b.Pending != 0 || !strings.Contains(b.Error, "name is bad") {
			t.Errorf("%+v", b)
		}
		wantRequests(t, h, "a bad1 b bad2", "a b")
		check(t, "what was told", c.Flush(t.Context()).Result, Result{Success: true})
		if got := told.fates(); got != "a delivered, b delivered, bad1 VALIDATION_ERROR, bad2 VALIDATION_ERROR" {
			t.Errorf("OnResult was told %s", got)
		}
	})
}

func TestWhatTheHostDoesNotNameIsFound(t *testing.T) {
	t.Parallel()
	foreign := func(_ int, c *call) reply {
		for _, e := range c.events {
			if e["websiteId"] == "foreign" {
				return rejection(403, "ACCESS_DENIED", false)
			}
		}
		return accepted
	}
	large := func(_ int, c *call) reply {
		for _, e := range c.events {
			if e["name"] == "huge" || len(c.events) > 2 {
				return rejection(413, "PAYLOAD_TOO_LARGE", false)
			}
		}
		return accepted
	}
	for _, tc := range []struct {
		name   string
		script func(int, *call) reply
		events string // name@website
		want   string // the names of the events that are lost
		most   int    // requests
	}{
		{"by website", foreign, "a@own b@foreign c@own d@foreign e@", "b d", 4},
		{"one website alone", foreign, "a@foreign b@foreign", "a b", 1},
		{"by halves", large, "a@ b@ huge@ c@ d@ e@", "huge", 9},
		{"the key", func(int, *call) reply { return rejection(403, "FORBIDDEN", false) }, "a@x b@y", "a b", 1},
		{"the quota", func(int, *call) reply { return rejection(402, "QUOTA_EXCEEDED", false) }, "a@x b@y", "a b", 1},
		{"all named", func(int, *call) reply { return naming(0, 1, 7) }, "a@x b@y", "a b", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, tc.script)
			var events []Event
			for e := range strings.FieldsSeq(tc.events) {
				name, website, _ := strings.Cut(e, "@")
				events = append(events, Event{Name: name, WebsiteID: website})
			}
			var lost []string
			for i, r := range h.client().Batch(t.Context(), events).Results {
				if !r.Success {
					lost = append(lost, events[i].Name)
				}
			}
			if got := strings.Join(lost, " "); got != tc.want || len(h.stored) != len(events)-len(lost) {
				t.Errorf("lost %q, want %q; %d stored", got, tc.want, len(h.stored))
			}
			if n := len(h.requests()); n > tc.most {
				t.Errorf("%d requests, want at most %d: %q", n, tc.most, h.names())
			}
		})
	}
}

func TestAfterAFailureThatMayPassNothingMoreOfTheBatchIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, replies(naming(1), unavailable), []Option{WithRetries(0)}, func(s stage) {
		t, h, c, told := s.parts()
		track(t, c, "a", "bad", "b")
		b := c.Flush(t.Context())
		if b.Success || b.Pending != 2 || b.Failed != 1 || b.Delivery != Queued || b.Code != "DELIVERY_UNAVAILABLE" {
			t.Errorf("%+v", b)
		}
		wantRequests(t, h, "a bad b", "a b")
		c.Flush(t.Context())
		wantRequests(t, h, "a bad b", "a b", "a b")
		if got := told.fates(); got != "a delivered, b delivered, bad VALIDATION_ERROR" {
			t.Errorf("OnResult was told %s", got)
		}
	})
}

func TestAfterAFailureThatMayPassTheOtherHalfIsNotSent(t *testing.T) {
	t.Parallel()
	bubble(t, replies(rejection(413, "PAYLOAD_TOO_LARGE", false), unavailable), []Option{WithRetries(0)}, func(s stage) {
		t, h, c, _ := s.parts()
		b := c.Batch(t.Context(), []Event{{Name: "a"}, {Name: "b"}})
		if b.Failed != 2 || b.Code != "DELIVERY_UNAVAILABLE" {
			t.Errorf("%+v", b)
		}
		wantRequests(t, h, "a b", "a")
	})
}

func TestFlushWaitsForNothingButTheHost(t *testing.T) {
	t.Parallel()
	limited := rejection(429, "RATE_LIMITED", true)
	limited.header = http.Header{"Retry-After": {"90"}}
	bubble(t, replies(accepted, unavailable, accepted, limited), nil, func(s stage) {
		t, h, c, _ := s.parts()
		begin := time.Now()
		track(t, c, "a")
		if b := c.Flush(t.Context()); b.Processed != 1 || time.Since(begin) > 0 {
			t.Errorf("not for the batch timeout: %+v after %s", b, time.Since(begin))
		}
		track(t, c, "b")
		after(DefaultBatchTimeout) // and in vain
		begin = time.Now()
		if b := c.Flush(t.Context()); b.Processed != 1 || time.Since(begin) > 0 {
			t.Errorf("not for the client's own pause: %+v after %s", b, time.Since(begin))
		}
		track(t, c, "c")
		if b := c.Flush(t.Context()); b.Pending != 1 || b.Code != "RATE_LIMITED" || time.Since(begin) > 0 {
			t.Errorf("not for a minute and a half: %+v after %s", b, time.Since(begin))
		}
		wantRequests(t, h, "a", "b", "b", "c")
	})
}

func TestWhatFailedIsTriedAgainWhateverTheBatchTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, replies(unavailable), []Option{WithBatchTimeout(time.Hour), WithRetries(0)}, func(s stage) {
		t, h, c, _ := s.parts()
		track(t, c, "a")
		c.Flush(t.Context())
		after(mostPause)
		wantRequests(t, h, "a", "a")
	})
}

func TestWhatFailedGoesBeforeWhatCameLater(t *testing.T) {
	t.Parallel()
	slow := reply{err: errCut, hang: time.Second}
	bubble(t, replies(slow, slow, slow), []Option{WithBatchSize(1)}, func(s stage) {
		t, h, c, _ := s.parts()
		track(t, c, "a") // fails once
		for len(h.requests()) < 2 {
			after(100 * time.Millisecond)
		}
		track(t, c, "b", "c") // while it is tried again
		c.Close(t.Context())
		if got := h.names(); len(got) != 6 || got[2] != "a" || got[3] != "a" {
			t.Errorf("requests %q", got)
		}
	})
}

func TestAnOlderSuccessDoesNotEndAPause(t *testing.T) {
	t.Parallel()
	limited := rejection(429, "RATE_LIMITED", true)
	limited.header, limited.hang = http.Header{"Retry-After": {"60"}}, time.Second
	late := accepted
	late.hang = 2 * time.Second
	bubble(t, replies(limited, late), []Option{WithBatchSize(1)}, func(s stage) {
		t, h, c, _ := s.parts()
		for _, id := range []string{"a", "b"} {
			go c.Track(t.Context(), Event{Name: id, EventID: id})
		}
		after(2 * time.Second)
		track(t, c, "c")
		after(58 * time.Second)
		if got := h.names(); len(got) != 2 {
			t.Errorf("requests %q within the minute", got)
		}
		c.Close(t.Context())
		if got := h.names(); len(got) != 4 {
			t.Errorf("requests %q", got)
		}
	})
}

func TestARetryAfterHoldsThoughAnotherRequestHasFailedBefore(t *testing.T) {
	t.Parallel()
	const asked = time.Second // when the host does, after the failure and before the success of two others
	cut, limited, late := reply{err: errCut, hang: asked / 2}, rejection(429, "RATE_LIMITED", true), accepted
	limited.header, limited.hang, late.hang = http.Header{"Retry-After": {"60"}}, asked, 5*time.Second
	bubble(t, replies(cut, limited, late), []Option{WithBatchSize(1)}, func(s stage) {
		t, h, c, _ := s.parts()
		begin := time.Now()
		for _, id := range []string{"a", "b", "c"} {
			go c.Track(t.Context(), Event{Name: id, EventID: id})
		}
		synctest.Wait()
		if b := c.Flush(t.Context()); b.Code != "RATE_LIMITED" || b.Pending != 3 || time.Since(begin) != asked {
			t.Errorf("a flush that was waiting: %+v after %s", b, time.Since(begin))
		}
		after(10 * time.Second)
		track(t, c, "d")
		if b := c.Flush(t.Context()); b.Pending != 3 || time.Since(begin) != asked+10*time.Second {
			t.Errorf("a flush within the minute: %+v after %s", b, time.Since(begin))
		}
		after(time.Until(begin.Add(asked+time.Minute)) - time.Nanosecond)
		if got := h.names(); len(got) != 3 {
			t.Errorf("requests %q within the minute, want 3", got)
		}
		c.Close(t.Context())
		if got := h.names(); len(got) != 6 {
			t.Errorf("requests %q, want 6", got)
		}
	})
}

func TestFlushReturnsTheFinalResult(t *testing.T) {
	t.Parallel()
	bubble(t, replies(rejection(402, "QUOTA_EXCEEDED", false), unavailable, reply{err: errCut}), nil, func(s stage) {
		t, h, c, _ := s.parts()
		b := c.Flush(t.Context())
		check(t, "nothing", b.Result, Result{Success: true})
		if b.Results == nil {
			t.Error("no results are null in JSON")
		}
		track(t, c, "a")
		after(DefaultBatchTimeout)
		track(t, c, "b", "c")
		b = c.Flush(t.Context())
		check(t, "flush", b.Result, Result{Code: "QUOTA_EXCEEDED", StatusCode: 402, RequestID: "req_1"})
		if b.Processed != 2 || b.Failed != 1 || b.Pending != 0 || len(b.Results) != 3 || b.Results[0].EventID != "a" {
			t.Errorf("%+v", b)
		}
		wantRequests(t, h, "a", "b c", "b c", "b c")
		b = c.Flush(t.Context())
		check(t, "told before", b.Result, Result{Success: true})
	})
}

func TestFlushGivesUpAfterTheRetriesAndTheQueueDoesNot(t *testing.T) {
	t.Parallel()
	bubble(t, replies(unavailable, unavailable, unavailable), nil, func(s stage) {
		t, h, c, told := s.parts()
		track(t, c, "a")
		b := c.Flush(t.Context())
		check(t, "flush", b.Result,
			Result{Delivery: Queued, Code: "DELIVERY_UNAVAILABLE", StatusCode: 503, RequestID: "req_1", Retryable: true})
		if b.Pending != 1 || len(h.requests()) != 3 {
			t.Errorf("%+v after %d requests", b, len(h.requests()))
		}
		after(mostPause)
		wantRequests(t, h, "a", "a", "a", "a")
		if got := told.fates(); got != "a delivered" {
			t.Errorf("OnResult was told %s", got)
		}
	})
}

func TestWhileTheHostFailsOneRequestAtATimeIsSent(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	script := func(int, *call) reply {
		if !up.Load() {
			return reply{err: errCut, hang: time.Second}
		}
		ok := accepted
		ok.hang = time.Second
		return ok
	}
	bubble(t, script, []Option{WithBatchSize(1), WithMaxQueueSize(20)}, func(s stage) {
		t, h, c, told := s.parts()
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 10 {
			go c.Track(ctx, Event{Name: "x", EventID: strconv.Itoa(i)})
		}
		synctest.Wait()
		cancel()
		if n := len(h.requests()); n != maxSenders {
			t.Errorf("%d requests at first, want %d", n, maxSenders)
		}
		after(time.Second)
		after(2 * time.Second)
		if n := len(h.requests()); n != maxSenders+1 {
			t.Errorf("%d requests after the pause, want one more", n)
		}
		up.Store(true)
		c.Close(t.Context())
		if n := len(told.all); n != 10 {
			t.Errorf("OnResult was told %s", told.fates())
		}
	})
}

func TestCloseSendsWhatThereIsAndThenRejects(t *testing.T) {
	t.Parallel()
	bubble(t, replies(unavailable, unavailable, unavailable, unavailable), nil, func(s stage) {
		t, h, c, told := s.parts()
		track(t, c, "a")
		b := c.Close(t.Context())
		if !b.Success || b.Processed != 1 || told.fates() != "a delivered" {
			t.Errorf("%+v, told %s", b, told.fates())
		}
		closed := Result{Code: CodeClosed}
		check(t, "track", c.Track(t.Context(), Event{Name: "x", EventID: "b"}), closed.of("b"))
		check(t, "batch", c.Batch(t.Context(), []Event{{Name: "x"}}).Result, closed)
		check(t, "identify", c.Identify(t.Context(), Identity{ProfileID: "p", EventID: "i"}), closed.of("i"))
		check(t, "flush", c.Flush(t.Context()).Result, Result{Success: true})
		if again := c.Close(t.Context()); again.Processed != 1 {
			t.Errorf("closing again: %+v", again)
		}
		wantRequests(t, h, "a", "a", "a", "a", "a")
	})
}

func TestCloseSaysWhatItCouldNotSend(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply reply
		code  string
	}{
		"failing": {reply{err: errCut}, CodeNetwork},
		"silent":  {reply{hang: time.Hour}, CodeClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(int, *call) reply { return tc.reply },
				[]Option{WithBatchSize(2), WithRequestTimeout(time.Hour)}, func(s stage) {
					t, _, c, told := s.parts()
					track(t, c, "a")
					go c.Track(t.Context(), Event{Name: "b", EventID: "b"})
					synctest.Wait()
					track(t, c, "c")
					begin := time.Now()
					b := c.Close(t.Context())
					check(t, "close", b.Result, Result{Code: tc.code, Retryable: true})
					if b.Failed != 3 || b.Pending != 0 || time.Since(begin) != closeTime {
						t.Errorf("%+v after %s", b, time.Since(begin))
					}
					if got, want := told.fates(), fmt.Sprintf("a %[1]s, b %[1]s, c %[1]s", tc.code); got != want {
						t.Errorf("OnResult was told %s, want %s", got, want)
					}
				})
		})
	}
}

func TestOnResultMayTrackAndFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		var c *Client
		c = h.client(WithBatchSize(1), WithOnResult(func(r Result) {
			if r.EventID == "a" {
				c.Track(t.Context(), Event{Name: "b", EventID: "b"})
				c.Flush(t.Context())
			}
		}))
		track(t, c, "a")
		c.Close(t.Context())
		wantRequests(t, h, "a", "b")
	})
}
