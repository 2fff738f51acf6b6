package load

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// steady is a work of requests of so many units.
type steady int

func (steady) Unit() string                       { return "events" }
func (s steady) Next() Request                    { return Request{Units: int(s)} }
func (steady) Judge(r *Request, _ []byte) Verdict { return Verdict{Accepted: r.Units} }

func drive(t *testing.T, opts Options, work Work, send Sender) *Report {
	t.Helper()
	if opts.Timeout == 0 {
		opts.Timeout = time.Minute
	}
	r, err := Drive(t.Context(), opts, work, send)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// takes answers 200 after a while.
func takes(d time.Duration) Sender {
	return func(context.Context, *Request) (int, []byte, error) {
		time.Sleep(d) //nolint:forbidigo // fake time
		return 200, nil, nil
	}
}

func TestRequestsAreSentAtTheMomentsOfTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, sent := time.Now(), make(chan time.Duration, 100)
		r := drive(t, Options{Rate: 50, Duration: 2 * time.Second, Connections: 3}, steady(10),
			func(context.Context, *Request) (int, []byte, error) {
				sent <- time.Since(begun)
				return 200, nil, nil
			})
		if r.Requests != 10 || r.Sent != 100 || r.Accepted != 100 || r.Unsent != 0 || r.Statuses["200"] != 10 {
			t.Errorf("%+v, want 10 requests of 10 events, all answered 200", r)
		}
		for n := range 10 {
			if at, want := <-sent, time.Duration(n)*200*time.Millisecond; at != want {
				t.Errorf("request %d was sent after %s, want %s", n, at, want)
			}
		}
		if r.Seconds != 2 || r.RateReached != 50 {
			t.Errorf("%v s at %v a second, want 2 s at 50", r.Seconds, r.RateReached)
		}
	})
}

// The host stalls for a second at its first request, with a connection alone: those
// that wait behind it are late by what is left of the second, and told so.
func TestWhatWaitsBehindAStallCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var first atomic.Bool
		r := drive(t, Options{Rate: 10, Duration: 10 * time.Second, Connections: 1}, steady(1),
			func(context.Context, *Request) (int, []byte, error) {
				if first.CompareAndSwap(false, true) {
					time.Sleep(time.Second) //nolint:forbidigo // fake time
				}
				return 200, nil, nil
			})
		// Of 100 requests ten are late: by 1 s, 0.9 s and so on.
		if r.Requests != 100 || r.Latency.Max < 1000 || r.Latency.P95 < 400 || r.Latency.P50 > 1 {
			t.Errorf("latencies %+v, want p95 of 0.4 s or more and a p50 of nothing", r.Latency)
		}
		if r.Service.P95 > 1 || r.Service.Max < 1000 {
			t.Errorf("from when they were sent: %+v, want one of a second", r.Service)
		}
	})
}

func TestARunEndsWhenItsDurationIsOverAndTellsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r := drive(t, Options{Rate: 10, Duration: 3 * time.Second, Connections: 1}, steady(1), takes(time.Second))
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("it took %s, want 3 s", took)
		}
		if r.Requests != 3 || r.Unsent < 26 || r.Unsent > 28 {
			t.Errorf("%d requests were answered and %d not sent, of 30; want 3 and 27", r.Requests, r.Unsent)
		}
	})
}

func TestACancelledRunHasAReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1550*time.Millisecond)
		defer cancel()
		r, err := Drive(ctx, Options{Rate: 10, Duration: time.Hour, Connections: 2, Timeout: time.Second}, steady(1),
			takes(time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if r.Requests != 16 || r.Seconds != 1.55 || r.Unsent != 0 {
			t.Errorf("%d requests in %v s, %d not sent; want 16 in 1.55 s", r.Requests, r.Seconds, r.Unsent)
		}
	})
}

func TestResponsesThatDoNotComeAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := drive(t, Options{Rate: 2, Duration: 2 * time.Second, Connections: 4, Timeout: 3 * time.Second}, steady(1),
			func(ctx context.Context, _ *Request) (int, []byte, error) {
				<-ctx.Done()
				return 0, nil, errors.New("no answer in time")
			})
		if r.Statuses[NoResponse] != 4 || r.Accepted != 0 || r.FirstError != "no answer in time" || r.Latency.Max < 3000 {
			t.Errorf("%+v, want 4 requests without an answer after 3 s", r)
		}
	})
}

func TestProgressIsALineASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines strings.Builder
		drive(t, Options{Rate: 100, Duration: 3500 * time.Millisecond, Connections: 2, Progress: &lines}, steady(10),
			takes(5*time.Millisecond))
		text := lines.String()
		if n := strings.Count(text, "\n"); n != 3 {
			t.Errorf("%d lines, want 3:\n%s", n, text)
		}
		for _, part := range []string{"100 events/s sent", "p50    5.0", "200: 10"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is missing:\n%s", part, text)
			}
		}
	})
}

func TestOptionsHaveBounds(t *testing.T) {
	t.Parallel()
	good := Options{Rate: 1, Duration: time.Second, Connections: 1, Timeout: time.Second}
	for _, c := range []struct {
		name   string
		change func(*Options)
		ok     bool
	}{
		{"the least", func(*Options) {}, true},
		{"no rate", func(o *Options) { o.Rate = 0 }, false},
		{"the highest rate", func(o *Options) { o.Rate = MaxRate }, true},
		{"a higher rate", func(o *Options) { o.Rate = MaxRate + 1 }, false},
		{"no duration", func(o *Options) { o.Duration = 0 }, false},
		{"the longest duration", func(o *Options) { o.Duration = MaxDuration }, true},
		{"a longer duration", func(o *Options) { o.Duration = MaxDuration + 1 }, false},
		{"no connection", func(o *Options) { o.Connections = 0 }, false},
		{"the most connections", func(o *Options) { o.Connections = MaxConnections }, true},
		{"one connection more", func(o *Options) { o.Connections = MaxConnections + 1 }, false},
		{"no timeout", func(o *Options) { o.Timeout = 0 }, false},
	} {
		o := good
		c.change(&o)
		if err := o.check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestResponsesAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		work Work
		body string
		want Verdict
	}{
		{&Events{}, `{"status":"success","type":"custom_event","count":7}`, Verdict{Accepted: 7}},
		{
			&Events{}, `{"status":"partial","batch":true,"processed":4,"batched":{"track":2,"outgoing_link":1},"results":[]}`,
			Verdict{Accepted: 3},
		},
		{&Events{}, ``, Verdict{}},
		{
			&Questions{}, `{"success":true,"data":[{"parameter":"a","success":true},{"parameter":"b","success":false}]}`,
			Verdict{Accepted: 1, Failed: 1},
		},
		{&Questions{}, `{`, Verdict{Failed: 1}},
	} {
		if got := c.work.Judge(&Request{}, []byte(c.body)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.body, got, c.want)
		}
	}
}

func TestQuestionsAreThoseOfTheSeed(t *testing.T) {
	t.Parallel()
	asked := func(seed uint64, kind Kind) (all []string) {
		q, err := NewQuestions(QuestionsConfig{
			URL: "http://127.0.0.1:1/", Websites: []string{"web_1", "web_2"}, Kind: kind,
			Until: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Days: 30, Seed: seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			r := q.Next()
			all = append(all, r.URL+string(r.Body))
		}
		return all
	}
	a, b, c := strings.Join(asked(1, Mixed), "\n"), strings.Join(asked(1, Mixed), "\n"),
		strings.Join(asked(2, Mixed), "\n")
	if a != b || a == c {
		t.Error("the seed does not decide")
	}
	for _, body := range asked(1, Dashboards) {
		if !strings.Contains(body, `"summary_metrics"`) ||
			!strings.Contains(body, `"startDate":"2026-10-22","endDate":"2026-11-20"`) {
			t.Errorf("a dashboard of the 30 days before 2026-11-21: %s", body)
		}
	}
	if _, err := NewQuestions(QuestionsConfig{Websites: []string{"web_1"}, Kind: "other", Days: 1}); err == nil {
		t.Error("another kind is taken")
	}
}
