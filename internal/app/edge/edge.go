// Package edge puts the ingestion host together: the metadata store behind
// caches, the Kafka producer, the accept path and its listener. It waits for a store
// and brokers that are away or not prepared.
package edge

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/admission"
	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/limits"
	"github.com/millrace/millrace/internal/app/propagation"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/control"
	"github.com/millrace/millrace/internal/enrich"
	"github.com/millrace/millrace/internal/httpkit"
	"github.com/millrace/millrace/internal/ingest"
	"github.com/millrace/millrace/internal/kafka"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/salt"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/tally"
	"github.com/millrace/millrace/internal/telemetry"
)

// Component is the daemon's name in logs, metrics and towards brokers.
const Component = "ingest-edge"

// Parts returns the parts of the ingestion host. A stop therefore first drains
// the listener, then flushes the producer, then closes the store.
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
	producer, err := kafka.NewProducer(s.Kafka, kafka.ProducerDeps{
		Client: Component, Deadline: s.Ingest.Deadline, Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return nil, err
	}
	enricher, err := enrich.New(enrich.Config{GeoFiles: s.Enrich.GeoFile}, enrich.Deps{Log: t.Log, Metrics: t.Registry})
	if err != nil {
		return nil, err
	}
	db, err := store.New(s.Store)
	if err != nil {
		return nil, err
	}
	uses := apikey.NewUsage(db, t.Log)
	access := auth.New(
		auth.Config{KeyPrefix: s.Key.Prefix, Fresh: s.Lookup.Fresh, Trusted: s.Lookup.Trusted, Stale: s.Lookup.Stale},
		auth.Deps{Keys: db, Websites: db, Uses: uses, Metrics: t.Registry},
	)
	salts := salt.New(db, t.Log, nil)
	allowed, err := newAllowance(s, t, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	proxies := httpkit.Proxies{Trusted: s.Proxy.Networks(), Header: s.Proxy.Header}
	gate := admission.New(
		admission.Config{Host: httpkit.Ingestion.String(), Memory: int64(s.Ingest.MaxMemory), QueueTime: s.Ingest.QueueTime},
		admission.Deps{Log: t.Log, Metrics: t.Registry, Outside: producer.Abandoned},
	)
	counts := tally.New(tally.Deps{Publisher: producer, Log: t.Log, Metrics: t.Registry})
	services := []ingestapi.Service{{Name: "kafka", Check: producer.Ping}, {Name: "store", Check: db.Ping}}
	if limiter.Shares() {
		services = append(services, ingestapi.Service{Name: "redis", Check: limiter.Ping})
	}
	conns := httpkit.Conns{Max: s.Ingest.MaxConns, MaxPerAddr: s.Ingest.MaxPerAddr}
	app := ingestapi.New(
		ingestapi.Config{MaxInFlight: s.Ingest.MaxInFlight, Admission: gate, Conns: conns, AccessLog: s.Log.Access, Proxies: proxies, Site: httpkit.Site{PublicURL: s.Ingest.BaseURL()}, ClientIDs: s.Ingest.ClientIDs},
		ingestapi.Deps{
			Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Services: services,
			Intake: ingest.New(ingest.Deps{Access: access, Salts: salts, Publisher: producer, Metrics: t.Registry, Limits: limiter, Quota: allowed, Gate: gate, Enrich: enricher, Tally: counts, Deadline: s.Ingest.Deadline}),
		},
	)
	// Cached keys serve while the store is away, so it is no condition here.
	r.AddCheck("edge: kafka", producer.Ready)
	_, changes := propagation.Follow(Component, s, t, r, []control.Cache{access}, allowed.states...)

	return []lifecycle.Part{
		{Name: "metadata store", Stop: func(context.Context) error {
			allowed.close()
			access.Close()
			enricher.Close()
			return db.Close()
		}},
		lifecycle.WaitPart(t.Log, r, db.Awaited(), kafka.Awaited(s.Kafka)),
		{Name: "use of keys", Run: uses.Run},
		{Name: "kafka producer", Stop: producer.Close},
		{Name: "visitor salts", Run: salts.Run},
		{Name: "geo files", Run: enricher.Run},
		{Name: "counts of events", Run: counts.Run},
		changes,
		{Name: "admission", Run: gate.Run},
		httpkit.ListenPart("ingestion listener", s.Ingest.Listen, "MILLRACE_INGEST_LISTEN", app, t.Log),
	}, nil
}
