package ingest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/privacy/salt"
)

// rejecting rejects one organization.
type rejecting map[string]apierr.Code

func (r rejecting) Check(_ context.Context, organizationID string, at time.Time) error {
	if code, ok := r[organizationID]; ok && at.Equal(noon) {
		return apierr.New(code)
	}
	return nil
}

func TestAQuotaIsLookedAtBehindAccessAndBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	const event = `{"name":"a","anonymousId":"v"}`
	for name, tc := range map[string]struct {
		key, site, body string
		want            apierr.Code
	}{
		"a key":                  {"global", "", event, apierr.QuotaExceeded},
		"a client id":            {"", "client-1", event, apierr.QuotaExceeded},
		"no decision":            {"", "client-3", event, apierr.BillingUnavailable},
		"a bad body comes first": {"global", "", `{"name":""}`, apierr.Validation},
		"and a missing scope":    {"readonly", "", event, apierr.Forbidden},
		"and a missing website":  {"", "client-x", event, apierr.WebsiteNotFound},
	} {
		w := &world{}
		a := New(Deps{
			Access: w, Salts: salt.New(w, slog.New(slog.DiscardHandler), func() time.Time { return noon }), Publisher: w,
			Metrics: prometheus.NewRegistry(), Now: func() time.Time { return noon },
			Quota: rejecting{"org_1": apierr.QuotaExceeded, "org_2": apierr.BillingUnavailable},
		})
		for what, do := range map[string]func(context.Context, Request) (int, error){
			"Check":  a.Check,
			"Accept": func(_ context.Context, req Request) (int, error) { return track(t, a, req) },
		} {
			if _, err := do(t.Context(), request(tc.key, tc.site, tc.body)); !apierr.Is(err, tc.want) {
				t.Errorf("%s: %s() = %v, want %s", name, what, err, tc.want)
			}
		}
		for _, asked := range w.asked {
			if asked == "salt" || asked == "publish" {
				t.Errorf("%s: asked %v", name, w.asked)
			}
		}
	}
}
