// Package query puts the query host together: the metadata store behind caches,
// the connections to ClickHouse, the query engine and the listener. It starts
// only on a schema that fits this build, and waits for servers that are away or not
// prepared.
package query

import (
	"context"
	"errors"
	"slices"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/daemon/hosting"
	"github.com/millrace/millrace/internal/app/daemon/limits"
	"github.com/millrace/millrace/internal/app/daemon/propagation"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Component is the daemon's name in logs, metrics and towards ClickHouse.
const Component = "query"

// Components returns the components of the query host. A stop therefore first drains the
// listener, then closes what the requests needed.
func Components(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	return limits.Build(components).Alone(ctx, s, t, r)
}

// With returns Components for a process that limits its callers itself.
func With(limiter *ratelimit.Limiter) daemon.Components {
	return limits.Build(components).With(limiter)
}

// ground is what the host stands on.
type ground struct {
	s       config.Settings
	t       *telemetry.Telemetry
	r       *lifecycle.Readiness
	db      *store.Store
	access  *auth.Authenticator
	uses    lifecycle.Component
	tables  *tables
	limiter *ratelimit.Limiter
}

func components(
	s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, limiter *ratelimit.Limiter,
) ([]lifecycle.Component, error) {
	db, err := store.New(s.Store)
	if err != nil {
		return nil, err
	}
	g := &ground{s: s, t: t, r: r, db: db, tables: newTables(s, t), limiter: limiter}
	g.access, g.uses = hosting.QueryAccess(s, t, db)
	all, err := g.components()
	if err != nil {
		return nil, errors.Join(err, g.tables.close(), g.closeStore())
	}
	return all, nil
}

func (g *ground) closeStore() error {
	g.access.Close()
	return g.db.Close()
}

// components builds everything; whoever calls it closes what g holds when that fails.
func (g *ground) components() ([]lifecycle.Component, error) {
	people, err := newPeople(g.s, g.t, g.db)
	if err != nil {
		return nil, err
	}
	flags, err := newFlags(g.s, g.t, g.db, g.access, g.limiter)
	if err != nil {
		return nil, err
	}
	quotas := newQuotas(g.s, g.t, g.db, people.mailer)
	listener, err := g.listener(people, quotas, flags)
	if err != nil {
		return nil, err
	}
	follower, changes := propagation.Follow(Component, g.s, g.t, g.r, []control.Cache{g.access, flags.memory})
	relay, err := propagation.Relay(Component, g.s, g.t, g.db, follower)
	if err != nil {
		return nil, err
	}
	g.r.AddCheck("query: clickhouse", g.tables.runner.Ping)
	g.r.AddCheck("query: metadata store", g.db.Ping)
	return slices.Concat(g.servers(), []lifecycle.Component{g.uses, changes}, flags.components, relay,
		people.components, []lifecycle.Component{
			quotas.component(),
			erasures(g.s, g.t, g.db),
			expiry(g.s, g.t, g.db),
			linkPurge(g.s, g.t, g.db),
			linkDomains(g.s, g.t, g.db),
			prober(g.s, g.t, g.db),
			listener,
		}), nil
}

// servers are the components that hold connections to servers, and wait for them.
func (g *ground) servers() []lifecycle.Component {
	// It warns only: what is published there is in the store too, and is published again.
	topics := kafka.NewTopicWatch(g.s.Kafka, g.s.Sink.Window, kafka.TopicWatchDeps{
		Client: Component, Log: g.t.Log, Metrics: g.t.Registry, Topics: []string{control.Topic},
	})
	return []lifecycle.Component{
		{Name: "metadata store", Stop: func(context.Context) error { return g.closeStore() }},
		{Name: "clickhouse", Stop: func(context.Context) error { return g.tables.close() }},
		// Without Kafka it answers questions, and "changes" says what it lacks.
		lifecycle.WaitComponent(
			g.t.Log, g.r, g.db.Awaited(), schema.Awaited(g.s.ClickHouse, schema.CheckServers),
			kafka.Awaited(g.s.Kafka, nil).Spared(),
		),
		{Name: "settings of topics", Run: topics.Run},
	}
}
