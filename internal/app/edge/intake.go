package edge

import (
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/app/daemon/hosting"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/pipeline/tally"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// newIntake is the host that takes events.
func newIntake(g *ground) (*host, error) {
	s, t := g.s, g.t
	producer, err := kafka.NewProducer(s.Kafka, kafka.ProducerDeps{
		Client: Component, Deadline: s.Ingest.Deadline, Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return nil, err
	}
	access, uses := hosting.IngestAccess(s, t, g.db)
	allowed, err := newAllowance(s, t, g.db)
	if err != nil {
		return nil, err
	}
	gate := admission.New(
		admission.Config{Host: httpkit.Ingestion.String(), Memory: int64(s.Ingest.MaxMemory), QueueTime: s.Ingest.QueueTime},
		admission.Deps{Log: t.Log, Metrics: t.Registry, Outside: producer.Abandoned},
	)
	counts := tally.New(tally.Deps{Publisher: producer, Log: t.Log, Metrics: t.Registry})
	app := ingestapi.New(
		ingestapi.Config{
			MaxInFlight: s.Ingest.MaxInFlight, Admission: gate, Conns: g.conns(), AccessLog: s.Log.Access,
			Proxies: hosting.Proxies(s), Site: httpkit.Site{PublicURL: s.Ingest.BaseURL()}, ClientIDs: s.Ingest.ClientIDs,
			QueryURL: s.QueryURL(), SecurityContact: s.Security.ContactURI(),
			MCPOrigins: s.MCP.Origins,
		},
		ingestapi.Deps{
			Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Services: g.services(producer),
			Keys: access, Limits: g.limiter,
			Intake: ingest.New(ingest.Deps{
				Access: access, Salts: g.salts, Publisher: producer, Metrics: t.Registry, Limits: g.limiter,
				Quota: allowed, Gate: gate, Enrich: g.enrich, Tally: counts, Deadline: s.Ingest.Deadline,
				MaxNames: s.Ingest.MaxNames,
			}),
		},
	)
	// Cached keys serve while the store is away, so it is no condition here.
	g.r.AddCheck("edge: kafka", producer.Ready)
	return &host{
		cache: access, states: allowed.states,
		before: []lifecycle.Component{
			uses,
			{Name: "kafka producer", Stop: producer.Close},
			{Name: "counts of events", Run: counts.Run},
			{Name: "admission", Run: gate.Run},
		},
		listener: httpkit.ListenComponent("ingestion listener", s.Ingest.Listen, "MILLRACE_INGEST_LISTEN", app, t.Log),
		close:    func() { allowed.close(); access.Close() },
	}, nil
}

// services are what the host says of the health of what it depends on.
func (g *ground) services(producer *kafka.Producer) []ingestapi.Service {
	all := []ingestapi.Service{{Name: "kafka", Check: producer.Ping}, {Name: "store", Check: g.db.Ping}}
	if g.limiter.Shares() {
		all = append(all, ingestapi.Service{Name: "redis", Check: g.limiter.Ping})
	}
	return all
}
