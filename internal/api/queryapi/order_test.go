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

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/httpkit"
	"github.com/millrace/millrace/internal/httpkit/checktest"
	"github.com/millrace/millrace/internal/ratelimit"
)

// spoilt is a request to one of the routes of queries.
type spoilt struct {
	path, query, key, accept string
	form, typ, project       string // of the body; the form has places for the other two
	family                   ratelimit.Family
	cut, long, limited       bool
}

// spoilings are the failures that both routes have.
var spoilings = map[string]checktest.Failure[spoilt]{
	"route":       {Spoil: func(s *spoilt) { s.path = "/v1/nothing" }, Code: fault.NotFound},
	"body":        {Spoil: func(s *spoilt) { s.long = true }, Code: fault.PayloadTooLarge},
	"credentials": {Spoil: func(s *spoilt) { s.key = "nobody" }, Code: fault.AuthRequired},
	"limits":      {Spoil: func(s *spoilt) { s.limited = true }, Code: fault.RateLimited},
	"subject":     {Spoil: func(s *spoilt) { s.query = "?website_id=web_none" }, Code: fault.AccessDenied},
	"syntax":      {Spoil: func(s *spoilt) { s.cut = true }, Code: fault.Parse},
	"coverage":    {Spoil: func(s *spoilt) { s.key, s.typ = "foreign", "recent_errors" }, Code: fault.Forbidden},
}

// with is spoilings with those of one route.
func with(more map[string]checktest.Failure[spoilt]) map[string]checktest.Failure[spoilt] {
	all := maps.Clone(spoilings)
	maps.Copy(all, more)
	return all
}

// TestEachPairOfFailuresOfAQueryIsRefusedInTheOrderOfChecks plays the routes of queries:
// POST /v1/query, whose subject stands in the query string, and POST /v1/query/compile,
// whose body may name it.
func TestEachPairOfFailuresOfAQueryIsRefusedInTheOrderOfChecks(t *testing.T) {
	t.Parallel()
	checktest.Play(t, httpkit.Queries, with(map[string]checktest.Failure[spoilt]{
		"input": {Spoil: func(s *spoilt) {
			s.form, s.accept = `{"parameters":[%[1]q,%[1]q],"preset":"today","id":%[2]q}`, "text/csv" // which holds one
		}, Code: fault.Validation},
		"operation": {Spoil: func(s *spoilt) { s.typ, s.accept = "top_pages", "text/csv" }, Code: fault.ServiceUnavailable},
	}), func() *spoilt {
		return &spoilt{
			path: "/v1/query", query: "?website_id=web_open", key: "global", typ: "browser_name", family: ratelimit.Query,
			form: `{"parameters":[%q],"preset":"today","id":%q}`,
		}
	}, tryQuery, "access")
	checktest.Play(t, httpkit.Queries, with(map[string]checktest.Failure[spoilt]{
		"access": {Spoil: func(s *spoilt) { s.project = "web_none" }, Code: fault.AccessDenied},
		"input": {Spoil: func(s *spoilt) {
			s.form = `{"limit":0,"type":%q,"from":"2026-03-01","to":"2026-03-02","projectId":%q}`
		}, Code: fault.Compilation},
	}), func() *spoilt {
		return &spoilt{
			path: "/v1/query/compile", key: "global", typ: "browser_name", project: "web_open", family: ratelimit.Compile,
			form: `{"type":%q,"from":"2026-03-01","to":"2026-03-02","projectId":%q}`,
		}
	}, tryQuery, "operation")
}

// tryQuery sends a request to a host of its own.
func tryQuery(t *testing.T, s *spoilt) (answer checktest.Answer) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	limits := ratelimit.New(config.Default().Limits, ratelimit.Deps{Log: log})
	if s.limited {
		checktest.UseUp(t, limits, s.family, callers["global"].KeyID, callers["foreign"].KeyID)
	}
	r := &rowsRunner{n: 1, err: fmt.Errorf("%w: x", analytics.ErrUnavailable)}
	engine := analytics.NewEngine(analytics.Config{}, analytics.Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Runner: r,
	})
	defer engine.Close()
	app, err := New(Config{}, Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Access: access{}, Sessions: access{}, Executor: engine,
		Tenants: tenants{}, Limits: limits,
		Now: func() time.Time { return time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
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
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.runs.Load() > 0 {
		answer.Asked = []string{"operation"}
	}
	answer.Status, answer.Body = resp.StatusCode, string(text)
	return answer
}
