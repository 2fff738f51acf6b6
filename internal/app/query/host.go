package query

import (
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/analytics/export/download"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/app/daemon/hosting"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/tenant/idempotency"
)

// listener is the host, with what it needs of these.
func (g *ground) listener(people *people, quotas *quotas, flags *flags) (lifecycle.Component, error) {
	app, err := queryapi.New(g.config(), queryapi.Deps{
		Log: g.t.Log, Metrics: g.t.Registry, Tracer: g.t.Tracer, Access: g.access, Moves: g.access,
		Executor: g.tables.engine, Dirty: g.tables.dirty, Tenants: g.db, Links: g.db, Limits: g.limiter,
		Repeats: idempotency.New(g.db, nil), Sessions: people.sessions, Management: g.operations(people, quotas),
		Flags: &flags.served, ConfirmKey: g.db.ConfirmKey,
	})
	if err != nil {
		return lifecycle.Component{}, err
	}
	return httpkit.ListenComponent("query listener", g.s.Query.Listen, "MILLRACE_QUERY_LISTEN", app, g.t.Log), nil
}

func (g *ground) config() queryapi.Config {
	q := &g.s.Query
	return queryapi.Config{
		Deadline: q.Deadline, MaxInFlight: q.MaxInFlight,
		Conns: httpkit.Conns{Max: q.MaxConns, MaxPerAddr: q.MaxPerAddr, Idle: q.IdleTime},
		Admission: admission.New(
			admission.Config{Host: httpkit.Query.String(), Memory: int64(q.MaxBodyMemory)},
			admission.Deps{Metrics: g.t.Registry},
		),
		AccessLog: g.s.Log.Access, Proxies: hosting.Proxies(g.s),
		Site:       httpkit.Site{PublicURL: q.BaseURL(), Origins: q.Origins},
		MCPOrigins: g.s.MCP.Origins,
		IngestURL:  g.s.Ingest.BaseURL(), Unavailable: store.Unavailable,
		SecurityContact: g.s.Security.ContactURI(),
	}
}

// operations is what those of /rpc need.
func (g *ground) operations(people *people, quotas *quotas) management.Deps {
	deps := withSites(people.management(), g.s, g.db, people.passwords)
	deps.Links.Clicks, deps.Links.Log = g.tables.clicks, g.t.Log
	deps.Audit = management.Audit{Entries: g.db}
	deps.Organizations.Quotas = quotas.service
	export := g.s.Query.Export
	deps.Events = management.Events{
		Exports: download.NewExporter(download.Config{
			Max: export.Max, MaxPerOrganization: export.PerOrganization, Deadline: export.Deadline,
		}, g.tables.rows, g.t.Registry),
		Access: g.access, Audit: g.db, Log: g.t.Log,
	}
	return deps
}
