package harness

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/query"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/apitest"
)

// faultyQueries serves the query hosts that something is wrong with, by the names of
// their variables. All of them but the last have their data in a ClickHouse that is
// away.
func faultyQueries(t *testing.T) apitest.Vars {
	t.Helper()
	once := config.Default().Limits
	once.Query, once.QueryAnonymous, once.Compile, once.CompileAnonymous, once.Manage = 1, 1, 1, 1, 1
	return apitest.Vars{
		"QUERY_FAULTY": faultyQuery(t, queryapi.Deps{Access: faultyAccess{}}, awayRunner(t)),
		"QUERY_NO_STORE": faultyQuery(t,
			queryapi.Deps{Access: auth.New(auth.Config{KeyPrefix: keyPrefix}, auth.Deps{Keys: noStore{}, Websites: noStore{}})},
			awayRunner(t)),
		"QUERY_NO_CLICKHOUSE": faultyQuery(t, queryapi.Deps{Access: anybody{}}, awayRunner(t)),
		"QUERY_ONCE": faultyQuery(t,
			queryapi.Deps{Access: eachItself{}, Limits: ratelimit.New(once, ratelimit.Deps{})}, awayRunner(t)),
		"QUERY_BROKEN": faultyQuery(t, queryapi.Deps{Access: anybody{}}, brokenRunner{}),
	}
}

// faultyQuery serves a query host of the given parts and returns its address.
func faultyQuery(tb testing.TB, deps queryapi.Deps, runner analytics.Runner) string {
	tb.Helper()
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	engine := analytics.NewEngine(analytics.Config{}, analytics.Deps{Log: log, Metrics: reg, Runner: runner})
	tb.Cleanup(engine.Close)
	deps.Log, deps.Metrics, deps.Executor, deps.Tenants = log, reg, engine, noTenants{}
	app, err := queryapi.New(queryapi.Config{}, deps)
	if err != nil {
		tb.Fatal(err)
	}
	return serve(tb, func(addr string) lifecycle.Component {
		return httpkit.ListenComponent("faulty host", addr, "none", app, log)
	})
}

// awayRunner is the real runner with nobody to talk to.
func awayRunner(tb testing.TB) analytics.Runner {
	tb.Helper()
	cfg := config.Default().ClickHouse
	cfg.Addr = []string{testkit.FreeAddr(tb)}
	r := query.NewRunner(cfg, query.RunnerConfig{})
	tb.Cleanup(r.Close)
	return r
}

// brokenRunner fails in a way that nobody foresaw.
type brokenRunner struct{}

// Run implements analytics.Runner.
func (brokenRunner) Run(context.Context, *analytics.Statement) (*analytics.Table, error) {
	return nil, errDown
}

// eachItself lets everybody do everything, each key for itself.
type eachItself struct{ anybody }

// Key implements queryapi.Access.
func (e eachItself) Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error) {
	p, err := e.anybody.Key(ctx, secret, from)
	p.KeyID = string(secret)
	p.Key = &apikey.Key{Record: managed.Record{ID: p.KeyID, CreatedAt: time.Unix(0, 0)}}
	return p, err
}

// noTenants is a store of no websites.
type noTenants struct{}

// ListWebsites implements queryapi.Tenants.
func (noTenants) ListWebsites(context.Context, website.Filter) ([]*website.Website, error) {
	return nil, nil
}

// OrganizationByID implements queryapi.Tenants.
func (noTenants) OrganizationByID(_ context.Context, id string) (*org.Organization, error) {
	return &org.Organization{ID: id}, nil
}
