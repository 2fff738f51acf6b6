package queryapi

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/httpkit/checktest"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// spoilt is a request to one of the routes of queries.
type spoilt struct {
	path, query, key, accept string
	form, typ, project       string // of the body; the form has places for the other two
	cut, long, limited       bool
}

// spoilings are the failures that both routes have.
var spoilings = map[string]checktest.Failure[spoilt]{
	"route":       {Spoil: func(s *spoilt) { s.path = "/v1/nothing" }, Code: apierr.NotFound},
	"body":        {Spoil: func(s *spoilt) { s.long = true }, Code: apierr.PayloadTooLarge},
	"credentials": {Spoil: func(s *spoilt) { s.key = "nobody" }, Code: apierr.AuthRequired},
	"limits":      {Spoil: func(s *spoilt) { s.limited = true }, Code: apierr.RateLimited},
	"subject":     {Spoil: func(s *spoilt) { s.query = "?website_id=web_none" }, Code: apierr.AccessDenied},
	"syntax":      {Spoil: func(s *spoilt) { s.cut = true }, Code: apierr.Parse},
	"coverage":    {Spoil: func(s *spoilt) { s.key, s.typ = "foreign", "session_list" }, Code: apierr.Forbidden},
}

// with is spoilings with those of one route.
func with(more map[string]checktest.Failure[spoilt]) map[string]checktest.Failure[spoilt] {
	all := maps.Clone(spoilings)
	maps.Copy(all, more)
	return all
}

// TestEachPairOfFailuresOfAQueryIsRejectedInTheOrderOfChecks plays the routes of queries:
// POST /v1/query, whose subject stands in the query string, and POST /v1/query/compile,
// whose body may name it.
func TestEachPairOfFailuresOfAQueryIsRejectedInTheOrderOfChecks(t *testing.T) {
	t.Parallel()
	checktest.Play(t, httpkit.Queries, with(map[string]checktest.Failure[spoilt]{
		"input": {Spoil: func(s *spoilt) {
			s.form, s.accept = `{"parameters":[%[1]q,%[1]q],"preset":"today","id":%[2]q}`, "text/csv" // which holds one
		}, Code: apierr.Validation},
		"operation": {Spoil: func(s *spoilt) { s.typ, s.accept = "top_pages", "text/csv" }, Code: apierr.ServiceUnavailable},
	}), func() *spoilt {
		return &spoilt{
			path: "/v1/query", query: "?website_id=web_open", key: "global", typ: "browser_name",
			form: `{"parameters":[%q],"preset":"today","id":%q}`,
		}
	}, trials(t, ratelimit.Query), "access")
	checktest.Play(t, httpkit.Queries, with(map[string]checktest.Failure[spoilt]{
		"access": {Spoil: func(s *spoilt) { s.project = "web_none" }, Code: apierr.AccessDenied},
		"input": {Spoil: func(s *spoilt) {
			s.form = `{"limit":0,"type":%q,"from":"2026-03-01","to":"2026-03-02","projectId":%q}`
		}, Code: apierr.Compilation},
	}), func() *spoilt {
		return &spoilt{
			path: "/v1/query/compile", key: "global", typ: "browser_name", project: "web_open",
			form: `{"type":%q,"from":"2026-03-01","to":"2026-03-02","projectId":%q}`,
		}
	}, trials(t, ratelimit.Compile), "operation")
}

// trial is a host that requests are tried on one after the other: with all that it
// describes, making one takes longer than a request.
type trial struct {
	host *fiber.App
	runs *rowsRunner
}

// trials returns what tries a request: on a host where the keys of a family have used up
// what they may ask at once, or on one with room for all.
func trials(t *testing.T, family ratelimit.Family) func(*testing.T, *spoilt) checktest.Response {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	room := config.Default().Limits
	room.Query, room.QueryAnonymous, room.Compile, room.CompileAnonymous = 1000, 1000, 1000, 1000
	free, full := ratelimit.New(room, ratelimit.Deps{Log: log}), ratelimit.New(config.Default().Limits,
		ratelimit.Deps{Log: log})
	checktest.UseUp(t, full, family, callers["global"].KeyID, callers["foreign"].KeyID)
	onFree, onFull := newTrial(t, free), newTrial(t, full)
	return func(t *testing.T, s *spoilt) checktest.Response {
		t.Helper()
		if s.limited {
			return onFull.try(t, s)
		}
		return onFree.try(t, s)
	}
}

func newTrial(t *testing.T, limits *ratelimit.Limiter) *trial {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	r := &rowsRunner{n: 1, err: fmt.Errorf("%w: x", analytics.ErrUnavailable)}
	engine := analytics.NewEngine(analytics.Config{}, analytics.Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Runner: r,
	})
	t.Cleanup(func() { engine.Close() })
	app, err := New(Config{}, Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Access: access{}, Sessions: access{}, Executor: engine,
		Tenants: tenants{}, Limits: limits,
		Now: func() time.Time { return time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return &trial{host: app, runs: r}
}

func (h *trial) try(t *testing.T, s *spoilt) (response checktest.Response) {
	t.Helper()
	body := fmt.Sprintf(s.form, s.typ, s.project)
	if s.cut {
		body = body[:len(body)-1]
	}
	if s.long {
		body += strings.Repeat(" ", analytics.MaxBodyBytes)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.path+s.query, strings.NewReader(body))
	req.Header.Set("X-Api-Key", s.key)
	req.Header.Set("Accept", s.accept)
	before := h.runs.runs.Load()
	resp, err := h.host.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if h.runs.runs.Load() > before {
		response.Asked = []string{"operation"}
	}
	response.Status, response.Body = resp.StatusCode, string(text)
	return response
}
