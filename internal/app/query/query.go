// Package query puts the query host together: the metadata store behind caches,
// the connections to ClickHouse, the query engine and the listener. It starts
// only on a schema that fits this build, and waits for servers that are away or not
// prepared.
package query

import (
	"context"
	"errors"
	"slices"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/export/download"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/daemon/limits"
	"github.com/millrace/millrace/internal/app/daemon/propagation"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/idempotency"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Component is the daemon's name in logs, metrics and towards ClickHouse.
const Component = "query"

// resultsOfRequest is how many times the largest result those of one request may have
// together.
const resultsOfRequest = 2

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
	return func(_ context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness) ([]lifecycle.Part, error) {
		return parts(s, t, r, limiter)
	}
}

func parts(
	s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, limiter *ratelimit.Limiter,
) ([]lifecycle.Part, error) {
	runner := clickhouse.NewRunner(s.ClickHouse, clickhouse.RunnerConfig{
		Connections: s.Query.Slots, MaxTime: s.Query.Deadline,
		MaxMemoryBytes: int64(s.Query.MaxMemory), MaxRows: int64(s.Query.MaxRows), MaxResultBytes: int64(s.Query.MaxResult),
	})
	db, err := store.New(s.Store)
	if err != nil {
		runner.Close()
		return nil, err
	}
	uses := apikey.NewUsage(db, t.Log)
	access := auth.New(
		auth.Config{
			KeyPrefix: s.Key.Prefix, Fresh: s.Lookup.Fresh, Trusted: s.Lookup.Trusted,
			Stale: s.Lookup.Stale, FlagStale: s.Flags.Stale,
		},
		auth.Deps{Keys: db, Websites: db, Moves: db, Uses: uses, Metrics: t.Registry},
	)
	versions, dirty := clickhouse.NewVersions(s.ClickHouse), clickhouse.NewDirtyDays(s.ClickHouse)
	engine := analytics.NewEngine(analytics.Config{
		Slots: s.Query.Slots, OwnerSlots: s.Query.WebsiteSlots, Queue: s.Query.Queue, OwnerQueue: s.Query.WebsiteQueue,
		MaxTime: min(s.Query.MaxTime, s.Query.Deadline), MaxResultBytes: resultsOfRequest * s.Query.MaxResult, CacheBytes: int64(s.Query.CacheMemory),
	}, analytics.Deps{Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Runner: runner, Versions: versions})
	people, err := newPeople(s, t, db)
	if err != nil {
		runner.Close()
		access.Close()
		return nil, errors.Join(err, db.Close())
	}
	quotas := newQuotas(s, t, db, people.mailer)
	proxies := httpkit.Proxies{Trusted: s.Proxy.Networks(), Header: s.Proxy.Header}
	operations := withSites(people.management(), s, db, people.passwords)
	clicks := clickhouse.NewLinkClicks(s.ClickHouse)
	operations.Links.Clicks, operations.Links.Log = clicks, t.Log
	operations.Audit = management.Audit{Entries: db}
	operations.Organizations.Quotas = quotas.service
	rows := clickhouse.NewExporter(s.ClickHouse)
	operations.Events = management.Events{
		Exports: download.NewExporter(download.Config{Max: s.Query.Export.Max, MaxPerOrganization: s.Query.Export.PerOrganization, Deadline: s.Query.Export.Deadline}, rows, t.Registry),
		Access:  access, Audit: db, Log: t.Log,
	}
	flags, err := newFlags(s, t, db, access, limiter)
	if err != nil {
		runner.Close()
		access.Close()
		return nil, errors.Join(err, db.Close())
	}
	app, err := queryapi.New(
		queryapi.Config{
			Deadline: s.Query.Deadline, MaxInFlight: s.Query.MaxInFlight, Conns: httpkit.Conns{Max: s.Query.MaxConns, MaxPerAddr: s.Query.MaxPerAddr},
			Admission: admission.New(admission.Config{Host: httpkit.Query.String(), Memory: int64(s.Query.MaxBodyMemory)}, admission.Deps{Metrics: t.Registry}),
			AccessLog: s.Log.Access, Proxies: proxies, Site: httpkit.Site{PublicURL: s.Query.BaseURL(), Origins: s.Query.Origins}, IngestURL: s.Ingest.BaseURL(), Unavailable: store.Unavailable,
		},
		queryapi.Deps{
			Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Access: access, Moves: access, Executor: engine, Dirty: dirty, Tenants: db, Links: db, Limits: limiter, Repeats: idempotency.New(db, nil),
			Sessions: people.sessions, Management: operations, Flags: &flags.served,
		},
	)
	follower, changes := propagation.Follow(Component, s, t, r, []control.Cache{access, flags.memory})
	var relay []lifecycle.Part
	if err == nil {
		relay, err = propagation.Relay(Component, s, t, db, follower)
	}
	if err != nil {
		runner.Close()
		access.Close()
		return nil, errors.Join(err, db.Close())
	}
	// It warns only: what is published there is in the store too, and is published again.
	topics := kafka.NewTopicWatch(s.Kafka, s.Sink.Window, kafka.TopicWatchDeps{
		Client: Component, Log: t.Log, Metrics: t.Registry, Topics: []string{control.Topic},
	})
	r.AddCheck("query: clickhouse", runner.Ping)
	r.AddCheck("query: metadata store", db.Ping)

	return slices.Concat([]lifecycle.Part{
		{Name: "metadata store", Stop: func(context.Context) error {
			access.Close()
			return db.Close()
		}},
		{
			Name: "clickhouse",
			Stop: func(context.Context) error {
				engine.Close()
				runner.Close()
				return errors.Join(rows.Close(), versions.Close(), dirty.Close(), clicks.Close())
			},
		},
		// Without Kafka it answers questions, and "changes" says what it lacks.
		lifecycle.WaitPart(t.Log, r, db.Awaited(), clickhouse.Awaited(s.ClickHouse, clickhouse.CheckServers), kafka.Awaited(s.Kafka, nil).Spared()),
		{Name: "settings of topics", Run: topics.Run},
		{Name: "use of keys", Run: uses.Run},
		changes,
	}, flags.parts, relay, people.parts, []lifecycle.Part{
		quotas.part(),
		erasures(s, t, db),
		expiry(s, t, db),
		linkPurge(s, t, db),
		linkDomains(s, t, db),
		prober(s, t, db),
		httpkit.ListenPart("query listener", s.Query.Listen, "MILLRACE_QUERY_LISTEN", app, t.Log),
	}), nil
}
