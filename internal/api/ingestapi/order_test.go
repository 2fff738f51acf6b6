package ingestapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/httpkit/checktest"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// spoilt is a request to POST /track, and what is around the host that it is sent to.
type spoilt struct {
	path, key, body string
	long            bool

	full, limited, used, saltless, cut bool

	asked []string // the checks that asked somebody
}

// Key implements ingest.Access: the key "reader" may not track.
func (*spoilt) Key(_ context.Context, secret []byte, _ auth.From) (auth.Principal, error) {
	p := auth.Principal{Kind: auth.KindKey, OrganizationID: "org_1", KeyID: string(secret), Scopes: auth.AllScopes()}
	switch p.KeyID {
	case "good":
	case "reader":
		p.Scopes = 0
	default:
		return auth.Principal{}, apierr.New(apierr.AuthRequired)
	}
	return p, nil
}

// ClientWebsite, Website and Remembered implement ingest.Access.
func (*spoilt) ClientWebsite(context.Context, string) (*website.Website, error) {
	return nil, website.ErrNotFound
}

func (*spoilt) Website(context.Context, string) (*website.Website, error) {
	return nil, website.ErrNotFound
}

func (*spoilt) Remembered(string) *website.Website { return nil }

// Check implements ingest.Quota.
func (s *spoilt) Check(context.Context, string, time.Time) error {
	s.asked = append(s.asked, "quota")
	if s.used {
		return apierr.New(apierr.QuotaExceeded)
	}
	return nil
}

// Salt and PruneSalts implement salt.Store.
func (s *spoilt) Salt(context.Context, time.Time) ([]byte, error) {
	s.asked = append(s.asked, "records")
	if s.saltless {
		return nil, errors.New("the store is away")
	}
	return []byte("salt"), nil
}

func (*spoilt) PruneSalts(context.Context, time.Time) error { return nil }

// Publish implements ingest.Publisher.
func (s *spoilt) Publish(context.Context, []record.Record) error {
	s.asked = append(s.asked, "publish")
	if s.cut {
		return apierr.New(apierr.DeliveryUnavailable)
	}
	return nil
}

// TestEachPairOfFailuresOfAnEventIsRejectedInTheOrderOfChecks plays POST /track; the other
// routes that take events take the same steps.
func TestEachPairOfFailuresOfAnEventIsRejectedInTheOrderOfChecks(t *testing.T) {
	t.Parallel()
	checktest.Play(t, httpkit.Intake, map[string]checktest.Failure[spoilt]{
		"route":       {Spoil: func(s *spoilt) { s.path = "/nothing" }, Code: apierr.NotFound},
		"body":        {Spoil: func(s *spoilt) { s.long = true }, Code: apierr.PayloadTooLarge},
		"credentials": {Spoil: func(s *spoilt) { s.key = "nobody" }, Code: apierr.AuthRequired},
		"room":        {Spoil: func(s *spoilt) { s.full = true }, Code: apierr.ServiceUnavailable},
		"limits":      {Spoil: func(s *spoilt) { s.limited = true }, Code: apierr.RateLimited},
		"decode":      {Spoil: func(s *spoilt) { s.body = `{"name":"","anonymousId":"v"}` }, Code: apierr.Validation},
		"access":      {Spoil: func(s *spoilt) { s.key = "reader" }, Code: apierr.Forbidden},
		"quota":       {Spoil: func(s *spoilt) { s.used = true }, Code: apierr.QuotaExceeded},
		"records":     {Spoil: func(s *spoilt) { s.saltless = true }, Code: apierr.ServiceUnavailable},
		"publish":     {Spoil: func(s *spoilt) { s.cut = true }, Code: apierr.DeliveryUnavailable},
	}, func() *spoilt {
		return &spoilt{path: "/track", key: "good", body: `{"name":"a","anonymousId":"v"}`}
	}, tryEvent)
}

// tryEvent sends a request to a host of its own.
func tryEvent(t *testing.T, s *spoilt) checktest.Response {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	limits := ratelimit.New(config.Default().Limits, ratelimit.Deps{Log: log})
	if s.limited {
		checktest.UseUp(t, limits, ingest.Track.Family, "good", "reader")
	}
	gate := admission.Config{Host: "test", Memory: 64 << 20}
	var held int64
	if s.full {
		held = gate.Memory
	}
	intake := ingest.New(ingest.Deps{
		Access: s, Quota: s, Salts: salt.New(s, log, time.Now), Publisher: s, Metrics: prometheus.NewRegistry(),
		Limits: limits,
		Gate:   admission.New(gate, admission.Deps{Metrics: prometheus.NewRegistry(), Outside: func() int64 { return held }}),
	})
	app := New(Config{}, Deps{Log: log, Metrics: prometheus.NewRegistry(), Intake: intake})
	body := s.body
	if s.long {
		body += strings.Repeat(" ", event.MaxBodyBytes)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.path, strings.NewReader(body))
	req.Header.Set("X-Api-Key", s.key)
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return checktest.Response{Status: resp.StatusCode, Body: string(text), Asked: s.asked}
}
