package ingest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/fault"
	"github.com/millrace/millrace/internal/privacy/salt"
)

// refusing refuses one organization.
type refusing map[string]fault.Code

func (r refusing) Check(_ context.Context, organizationID string, at time.Time) error {
	if code, ok := r[organizationID]; ok && at.Equal(noon) {
		return fault.New(code)
	}
	return nil
}

func TestAQuotaIsLookedAtBehindAccessAndBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	const event = `{"name":"a","anonymousId":"v"}`
	for name, tc := range map[string]struct {
		key, site, body string
		want            fault.Code
	}{
		"a key":                  {"global", "", event, fault.QuotaExceeded},
		"a client id":            {"", "client-1", event, fault.QuotaExceeded},
		"no decision":            {"", "client-3", event, fault.BillingUnavailable},
		"a bad body comes first": {"global", "", `{"name":""}`, fault.Validation},
		"and a missing scope":    {"readonly", "", event, fault.Forbidden},
		"and a missing website":  {"", "client-x", event, fault.WebsiteNotFound},
	} {
		w := &world{}
		a := New(Deps{
			Access: w, Salts: salt.New(w, slog.New(slog.DiscardHandler), func() time.Time { return noon }), Publisher: w,
			Metrics: prometheus.NewRegistry(), Now: func() time.Time { return noon },
			Quota: refusing{"org_1": fault.QuotaExceeded, "org_2": fault.BillingUnavailable},
		})
		for what, do := range map[string]func(context.Context, Request) (int, error){
			"Check":  a.Check,
			"Accept": func(_ context.Context, req Request) (int, error) { return track(t, a, req) },
		} {
			if _, err := do(t.Context(), request(tc.key, tc.site, tc.body)); !fault.Is(err, tc.want) {
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
