package rpc_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/httpkit/checktest"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/idempotency"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// spoilt is a call of things/create.
type spoilt struct {
	path, key, repetition string
	fields                map[string]any
	cut, long, limited    bool
}

// TestEachPairOfFailuresOfACallIsRejectedInTheOrderOfChecks plays POST /rpc/….
func TestEachPairOfFailuresOfACallIsRejectedInTheOrderOfChecks(t *testing.T) {
	t.Parallel()
	checktest.Play(t, httpkit.Management, map[string]checktest.Failure[spoilt]{
		"route":       {Spoil: func(s *spoilt) { s.path = "/rpc/things/nothing" }, Code: apierr.NotFound},
		"body":        {Spoil: func(s *spoilt) { s.long = true }, Code: apierr.PayloadTooLarge},
		"credentials": {Spoil: func(s *spoilt) { s.key = "nobody" }, Code: apierr.AuthRequired},
		"limits":      {Spoil: func(s *spoilt) { s.limited = true }, Code: apierr.RateLimited},
		"syntax":      {Spoil: func(s *spoilt) { s.cut = true }, Code: apierr.Parse},
		"access":      {Spoil: func(s *spoilt) { s.key = "weak" }, Code: apierr.Forbidden},
		"input":       {Spoil: func(s *spoilt) { s.fields["count"] = 6 }, Code: apierr.Validation, Says: `"field":"count"`},
		"repetition": {
			Spoil: func(s *spoilt) { s.repetition = strings.Repeat("k", 256) },
			Code:  apierr.Validation, Says: `"field":"Idempotency-Key"`,
		},
		"operation": {Spoil: func(s *spoilt) { s.fields["name"] = "taken" }, Code: apierr.Conflict},
	}, func() *spoilt {
		return &spoilt{path: "/rpc/things/create", key: "good", fields: map[string]any{"name": "x"}}
	}, tryCall)
}

// tryCall makes a call of a host of its own.
func tryCall(t *testing.T, s *spoilt) (response checktest.Response) {
	t.Helper()
	limits := ratelimit.New(config.Default().Limits, ratelimit.Deps{Log: slog.New(slog.DiscardHandler)})
	if s.limited {
		checktest.UseUp(t, limits, ratelimit.Manage, "key_1", "key_2")
	}
	things := table()
	doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, things)
	if err != nil {
		t.Fatal(err)
	}
	rpc.Watch(things, func() { response.Asked = append(response.Asked, "operation") })
	log := slog.New(slog.DiscardHandler)
	app := httpkit.New(httpkit.Config{Host: httpkit.Query, BodyLimit: analytics.MaxBodyBytes}, httpkit.Deps{
		Log: log, Metrics: prometheus.NewRegistry(),
	})
	rpc.Mount(app, doc, things, rpc.Deps{
		Identifier: &rpc.Identifier{Keys: credentials{}, Sessions: credentials{}, Site: &httpkit.Site{}, Limits: limits},
		Repeats:    idempotency.New(&memory{rows: map[string]idempotency.Row{}}, nil), Log: log,
	})
	fields, err := json.Marshal(s.fields)
	if err != nil {
		t.Fatal(err)
	}
	body := string(fields)
	if s.cut {
		body = body[:len(body)-1]
	}
	if s.long {
		body += strings.Repeat(" ", analytics.MaxBodyBytes)
	}
	headers := []string{"X-Api-Key", s.key}
	if s.repetition != "" {
		headers = append(headers, "Idempotency-Key", s.repetition)
	}
	response.Status, response.Body = call(t, app, s.path, body, headers...)
	return response
}
