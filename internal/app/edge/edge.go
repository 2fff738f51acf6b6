// Package edge puts together what stands at the outside: the ingestion host (the metadata
// store behind caches, the Kafka producer, the accept path and its listener), and the host
// of short links. A process may be either or both. It waits for a store and brokers that
// are away or not prepared; without an ingestion host it does not need brokers.
package edge

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/daemon/limits"
	"github.com/millrace/millrace/internal/app/daemon/propagation"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Component is the daemon's name in logs, metrics and towards brokers.
const Component = "ingest-edge"

// Components returns the components of an edge. A stop therefore first drains the listeners, then
// flushes the producers, then closes the store.
func Components(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	return limits.Build(components).Alone(ctx, s, t, r)
}

// With returns Components for a process that limits its callers itself.
func With(limiter *ratelimit.Limiter) daemon.Components {
	return limits.Build(components).With(limiter)
}

// ground is what the hosts of one process stand on.
type ground struct {
	s       config.Settings
	t       *telemetry.Telemetry
	r       *lifecycle.Readiness
	db      *store.Store
	enrich  *enrich.Enricher
	salts   *salt.Salts
	limiter *ratelimit.Limiter
}

// host is one of them.
type host struct {
	cache    control.Cache
	states   []*control.States
	before   []lifecycle.Component // what the listener needs, in the order of the start
	listener lifecycle.Component
	close    func() // once its components have stopped
}

func components(
	s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, limiter *ratelimit.Limiter,
) ([]lifecycle.Component, error) {
	enricher, err := enrich.New(enrich.Config{GeoFiles: s.Enrich.GeoFile}, enrich.Deps{Log: t.Log, Metrics: t.Registry})
	if err != nil {
		return nil, err
	}
	db, err := store.New(s.Store)
	if err != nil {
		return nil, err
	}
	g := &ground{s: s, t: t, r: r, db: db, enrich: enricher, salts: salt.New(db, t.Log, nil), limiter: limiter}
	var hosts []*host
	for _, h := range []struct {
		listen string
		open   func(*ground) (*host, error)
	}{{s.Ingest.Listen, newIntake}, {s.Link.Listen, newLinks}} {
		if h.listen == "" {
			continue
		}
		opened, err := h.open(g)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		hosts = append(hosts, opened)
	}
	return g.together(hosts), nil
}

// together lists the components of all hosts.
func (g *ground) together(hosts []*host) []lifecycle.Component {
	awaited := []lifecycle.Server{g.db.Awaited()}
	deps := kafka.TopicWatchDeps{Client: Component, Log: g.t.Log, Metrics: g.t.Registry}
	if g.s.Ingest.Listen == "" { // visitors are redirected whatever becomes of their clicks: it warns only
		deps.Topics = []string{record.TopicClicks}
	}
	topics := kafka.NewTopicWatch(g.s.Kafka, g.s.Sink.Window, deps)
	if g.s.Ingest.Listen != "" {
		g.r.AddCheck("edge: topics", topics.Ready)
		awaited = append(awaited, kafka.Awaited(g.s.Kafka, topics.Check))
	}
	all := []lifecycle.Component{
		{Name: "metadata store", Stop: func(context.Context) error {
			for _, h := range hosts {
				h.close()
			}
			g.enrich.Close()
			return g.db.Close()
		}},
		lifecycle.WaitComponent(g.t.Log, g.r, awaited...),
		{Name: "visitor salts", Run: g.salts.Run},
		{Name: "geo files", Run: g.enrich.Run},
		{Name: "settings of topics", Run: topics.Run},
	}
	for _, h := range hosts {
		all = append(all, h.before...)
	}
	all = append(all, g.changes(hosts))
	for _, h := range hosts {
		all = append(all, h.listener)
	}
	return all
}

// changes is the component that hears of changes for what the hosts remember. Who takes events
// is not ready before it does.
func (g *ground) changes(hosts []*host) lifecycle.Component {
	var caches []control.Cache
	var states []*control.States
	for _, h := range hosts {
		caches, states = append(caches, h.cache), append(states, h.states...)
	}
	if g.s.Ingest.Listen == "" {
		_, component := propagation.Listen(Component, g.s, g.t, caches, states...)
		return component
	}
	_, component := propagation.Follow(Component, g.s, g.t, g.r, caches, states...)
	return component
}

// conns are the bounds of each host's connections.
func (g *ground) conns() httpkit.Conns {
	i := &g.s.Ingest
	return httpkit.Conns{Max: i.MaxConns, MaxPerAddr: i.MaxPerAddr, Idle: i.IdleTime}
}
