package queryapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Who asks too often is rejected with the request after the last one that may be
// asked, each caller and each route apart.
func TestQueriesAreLimitedByCallerAndRoute(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	app, err := New(Config{Proxies: httpkit.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}}, Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Access: access{}, Sessions: access{}, Tenants: tenants{},
		Limits: ratelimit.New(config.Default().Limits, ratelimit.Deps{Log: log}),
		Now:    func() time.Time { return time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	send := func(path string, headers ...string) (int, http.Header) {
		t.Helper()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{}`))
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	for _, caller := range []struct {
		name           string
		headers        []string
		query, compile int // specification, section 8
		within         int // what is answered before
	}{
		{"a key", []string{"X-Api-Key", "global"}, 120, 300, http.StatusBadRequest},
		{"another key", []string{"X-Api-Key", "foreign"}, 120, 300, http.StatusBadRequest},
		{"a person", []string{"Cookie", "millrace_session=ann"}, 120, 300, http.StatusBadRequest},
		{"nobody", []string{"X-Forwarded-For", "192.0.2.1"}, 60, 60, http.StatusBadRequest},
		{
			"a key that is not good",
			[]string{"X-Api-Key", "made up", "X-Forwarded-For", "192.0.2.2"},
			60, 60, http.StatusUnauthorized,
		},
		{
			"a session that is not good",
			[]string{"Cookie", "millrace_session=made-up", "X-Forwarded-For", "192.0.2.3"},
			60, 60, http.StatusBadRequest,
		},
		{
			"a person at an address without rest",
			[]string{"Cookie", "millrace_session=eve", "X-Forwarded-For", "192.0.2.3"},
			0, 0, 0,
		},
	} {
		for path, limit := range map[string]int{
			"/v1/query?website_id=web_open": caller.query, "/v1/query/compile?website_id=web_open": caller.compile,
		} {
			for i := range limit {
				if status, _ := send(path, caller.headers...); status != caller.within {
					t.Fatalf("%s, request %d to %s: %d, want %d", caller.name, i+1, path, status, caller.within)
				}
			}
			status, header := send(path, caller.headers...)
			if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" ||
				header.Get("X-RateLimit-Remaining") != "0" ||
				limit > 0 && header.Get("X-RateLimit-Limit") != strconv.Itoa(limit) {
				t.Errorf("%s, request %d to %s: %d %v", caller.name, limit+1, path, status, header)
			}
		}
	}
}

// waiting is an Executor that tells of each request, and answers when it is told to.
type waiting struct {
	Executor
	arrived chan struct{}
	goOn    chan struct{}
}

func (w *waiting) Prepare(ctx context.Context, plans []analytics.Plan, wants analytics.Freshness) *analytics.Execution {
	w.arrived <- struct{}{}
	<-w.goOn
	return w.Executor.Prepare(ctx, plans, wants)
}

// A key has as many requests in flight as it may (specification, section 8), and
// another key has its own.
func TestAKeyHasSoManyRequestsInFlight(t *testing.T) {
	t.Parallel()
	const most = 20
	log := slog.New(slog.DiscardHandler)
	engine := analytics.NewEngine(analytics.Config{},
		analytics.Deps{Log: log, Metrics: prometheus.NewRegistry(), Runner: runner{}})
	w := &waiting{Executor: engine, arrived: make(chan struct{}), goOn: make(chan struct{})}
	app, err := New(Config{}, Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Access: access{}, Sessions: access{}, Tenants: tenants{}, Executor: w,
		Limits: ratelimit.New(config.Default().Limits, ratelimit.Deps{Log: log}),
	})
	if err != nil {
		t.Fatal(err)
	}
	send := func(key string) (int, http.Header, string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/query?website_id=web_open",
			strings.NewReader(summary))
		req.Header.Set("X-Api-Key", key)
		resp, err := app.Test(req, -1)
		if err != nil {
			t.Error(err)
			return 0, nil, ""
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return resp.StatusCode, resp.Header, string(body)
	}
	var group sync.WaitGroup
	serve := func(key string) {
		group.Go(func() {
			if status, _, body := send(key); status != http.StatusOK {
				t.Errorf("%s: %d %s", key, status, body)
			}
		})
		<-w.arrived
	}
	for range most {
		serve("global")
	}
	status, header, body := send("global")
	if status != http.StatusTooManyRequests || header.Get("Retry-After") != "1" ||
		!strings.Contains(body, `"error":"Too many concurrent API key requests","code":"RATE_LIMITED"`) {
		t.Errorf("request %d at once: %d %v %s", most+1, status, header, body)
	}
	serve("foreign")
	close(w.goOn)
	group.Wait()
	group.Go(func() { <-w.arrived })
	if status, _, body := send("global"); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, body)
	}
	group.Wait()
}
