package queryapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics"
)

// noting is an Executor that notes whose turns a request takes.
type noting struct {
	Executor
	organization string
}

func (n *noting) Prepare(ctx context.Context, plans []analytics.Plan, wants analytics.Freshness) *analytics.Execution {
	n.organization = plans[0].Statements[0].Subject.Organization
	return n.Executor.Prepare(ctx, plans, wants)
}

// Whoever asks about a website or a link takes the turns of the organization that has it,
// and nobody those of another.
func TestAQuestionTakesTheTurnsOfWhoseWebsiteItIs(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	n := &noting{Executor: analytics.NewEngine(analytics.Config{},
		analytics.Deps{Log: log, Metrics: prometheus.NewRegistry(), Runner: runner{}})}
	app, err := New(Config{}, Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Access: access{}, Sessions: access{}, Tenants: tenants{}, Executor: n,
		Links: access{},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ key, query, body, want string }{
		{"global", "?website_id=web_1", summary, "org_1"},
		{"foreign", "?website_id=web_9", summary, "org_2"},
		{"foreign", "?website_id=web_open", summary, "org_1"},
		{"", "?website_id=web_open", summary, "org_1"},
		{"global", "?link_id=lnk_1", clicks, "org_1"},
	} {
		n.organization = ""
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/query"+tc.query, strings.NewReader(tc.body))
		req.Header.Set("X-Api-Key", tc.key)
		resp, err := app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || n.organization != tc.want {
			t.Errorf("%q about %s: %d, turns of %q; want those of %s",
				tc.key, tc.query, resp.StatusCode, n.organization, tc.want)
		}
	}
}
