// Package query puts the query host together: the metadata store behind caches,
// the connections to ClickHouse, the query engine and the listener. It starts
// only on a schema that fits this build, and waits for a ClickHouse that is away.
package query

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/limits"
	"github.com/millrace/millrace/internal/app/propagation"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/clickhouse"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/control"
	"github.com/millrace/millrace/internal/httpkit"
	"github.com/millrace/millrace/internal/idempotency"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/telemetry"
)

// Component is the daemon's name in logs, metrics and towards ClickHouse.
const Component = "query"

// schemaRetry is how long to wait before asking a ClickHouse again that is away.
const schemaRetry = time.Second

// Parts returns the parts of the query host. A stop therefore first drains the
// listener, then closes what the requests needed.
func Parts(ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness) ([]lifecycle.Part, error) {
	limiter, part, err := limits.Open(s, t, r, false)
	if err != nil {
		return nil, err
	}
	parts, err := With(limiter)(ctx, s, t, r)
	return append([]lifecycle.Part{part}, parts...), err
}

// With returns Parts for a process that limits its callers itself.
func With(limiter *ratelimit.Limiter) daemon.Parts {
	return func(ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness) ([]lifecycle.Part, error) {
		return parts(ctx, s, t, r, limiter)
	}
}

func parts(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, limiter *ratelimit.Limiter,
) ([]lifecycle.Part, error) {
	runner, err := clickhouse.NewRunner(ctx, s.ClickHouse, clickhouse.RunnerConfig{MaxTime: s.Query.Deadline})
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, s.Store.URL.Reveal(), store.Options{})
	if err != nil {
		runner.Close()
		return nil, err
	}
	uses := apikey.NewUsage(db, t.Log)
	access := auth.New(
		auth.Config{KeyPrefix: s.Key.Prefix, Fresh: s.Lookup.Fresh, Trusted: s.Lookup.Trusted, Stale: s.Lookup.Stale},
		auth.Deps{Keys: db, Websites: db, Uses: uses, Metrics: t.Registry},
	)
	engine := analytics.NewEngine(analytics.Config{}, analytics.Deps{
		Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Runner: runner,
	})
	people, err := newPeople(s, t, db)
	if err != nil {
		runner.Close()
		access.Close()
		return nil, errors.Join(err, db.Close())
	}
	quotas := newQuotas(s, t, db, people.mailer)
	proxies := httpkit.Proxies{Trusted: s.Proxy.Networks(), Header: s.Proxy.Header}
	operations := withSites(people.management(), s, db)
	operations.Audit = management.Audit{Entries: db}
	operations.Organizations.Quotas = quotas.service
	app, err := queryapi.New(
		queryapi.Config{Deadline: s.Query.Deadline, AccessLog: s.Log.Access, Proxies: proxies, Site: httpkit.Site{PublicURL: s.Query.PublicURL, Origins: s.Query.Origins}, IngestURL: s.Ingest.BaseURL(), Unavailable: store.Unavailable},
		queryapi.Deps{
			Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Access: access, Executor: engine, Tenants: db, Limits: limiter, Repeats: idempotency.New(db, nil),
			Sessions: people.sessions, Management: operations,
		},
	)
	follower, changes := propagation.Follow(Component, s, t, r, []control.Cache{access})
	var relay []lifecycle.Part
	if err == nil {
		relay, err = propagation.Relay(Component, s, t, db, follower)
	}
	if err != nil {
		runner.Close()
		access.Close()
		return nil, errors.Join(err, db.Close())
	}
	r.AddCheck("query: clickhouse", runner.Ping)
	r.AddCheck("query: metadata store", db.Ping)

	return slices.Concat([]lifecycle.Part{
		{Name: "metadata store", Start: db.CheckSchema, Stop: func(context.Context) error {
			access.Close()
			return db.Close()
		}},
		{Name: "use of keys", Run: uses.Run},
		{
			Name:  "clickhouse",
			Start: func(ctx context.Context) error { return checkSchema(ctx, s.ClickHouse, t.Log) },
			Stop: func(context.Context) error {
				runner.Close()
				return nil
			},
		},
		changes,
	}, relay, people.parts, []lifecycle.Part{
		quotas.part(),
		httpkit.ListenPart("query listener", s.Query.Listen, "MILLRACE_QUERY_LISTEN", app, t.Log),
	}), nil
}

// checkSchema waits until ClickHouse answers, and returns what it has to say.
func checkSchema(ctx context.Context, cfg config.ClickHouse, log *slog.Logger) error {
	for {
		err := clickhouse.CheckSchema(ctx, cfg)
		if err == nil || errors.Is(err, clickhouse.ErrSchema) {
			return err
		}
		log.LogAttrs(ctx, slog.LevelWarn, "waiting for ClickHouse", slog.Any("error", err))
		select {
		case <-time.After(schemaRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
