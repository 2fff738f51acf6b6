package queryapi

import (
	"context"
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/flagapi"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/queryapi/tools"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/idempotency"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Config holds the settings of the host.
type Config struct {
	// Deadline is the longest time for one request; 0 means 30 s.
	Deadline time.Duration
	// MaxInFlight is how many requests are served at the same time; 0 means the default
	// of httpkit.
	MaxInFlight int
	// Admission gives bodies their memory, and Conns bounds connections; the zero values
	// are httpkit's.
	Admission *admission.Gate
	Conns     httpkit.Conns
	// AccessLog logs one line per request.
	AccessLog bool
	// Proxies are the peers that may tell for whom they speak.
	Proxies httpkit.Proxies
	// Site is how browsers reach the host.
	Site httpkit.Site
	// MCPOrigins are other origins whose pages may call the MCP endpoint.
	MCPOrigins []string
	// IngestURL is where callers reach the ingestion host.
	IngestURL string
	// SecurityContact is the URI for reports of vulnerabilities; empty for none.
	SecurityContact string
	// Unavailable tells errors of servers that cannot be asked now, which are
	// answered 503; nil for none.
	Unavailable func(error) bool
}

// Access recognises callers; *auth.Authenticator is one.
type Access interface {
	Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error)
	Website(ctx context.Context, ref string) (*website.Website, error)
}

// Executor computes plans; *analytics.Engine is one.
type Executor interface {
	Prepare(ctx context.Context, plans []analytics.Plan, wants analytics.Freshness) *analytics.Execution
}

// Deps are the parts the host needs; Log, Metrics, Access, Executor and
// Tenants are required.
type Deps struct {
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Tracer   trace.Tracer
	Access   Access
	Executor Executor
	Tenants  Tenants
	// Moves tells which websites left an organization or came to it; nil means that
	// none did. *auth.Authenticator does.
	Moves interface {
		Moves(ctx context.Context, organizationID string) (*website.Moves, error)
	}
	// Links finds short links, also deleted ones, and none of a deleted organization; nil
	// knows of none. *store.Store does.
	Links Links
	// Dirty tells for which days rollups are right; nil leaves them alone.
	Dirty analytics.DirtyDays
	// Sessions recognises signed-in people; nil when nobody can sign in.
	Sessions auth.Sessions
	// Flags is what the public routes of feature flags need but Shapes; nil where there are
	// none.
	Flags *flagapi.Deps
	// Management is what the management operations need.
	Management management.Deps
	// Limits counts callers' requests; nil limits nobody.
	Limits *ratelimit.Limiter
	// Repeats remembers calls with an Idempotency-Key; nil makes each of them.
	Repeats *idempotency.Calls
	// ConfirmKey returns the key that signs confirmations of MCP clients, of 32 bytes.
	ConfirmKey func(context.Context) ([]byte, error)
	// Now tells what "today" is; nil means time.Now.
	Now func() time.Time
}

// Route is one route of the host. It is public or names the scope it needs.
type Route struct {
	Method, Path string
	Public       bool
	Scope        auth.Scope
	// Open routes can be called without a credential too, for what is public of
	// their subject.
	Open bool
	// Limit is the family of rate limits; a public route has none.
	Limit ratelimit.Family
	// Help says what the route is for.
	Help   string
	handle func(*handlers, *fiber.Ctx, *request) error
}

// Routes is the table of the host's routes.
var Routes = append([]Route{
	{
		Method: fiber.MethodGet, Path: "/health", Public: true,
		Help: "Check that the process is running.", handle: (*handlers).health,
	},
	{
		Method: fiber.MethodGet, Path: "/openapi.json", Public: true,
		Help: "Get the OpenAPI 3.1 document of both hosts.", handle: (*handlers).sendDocument,
	},
	{
		Method: fiber.MethodGet, Path: "/docs", Public: true,
		Help: "Show the reference of the management operations.", handle: (*handlers).sendDocument,
	},
	{
		Method: fiber.MethodGet, Path: "/docs/style.css", Public: true,
		Help: "Get the style sheet of that page.", handle: (*handlers).sendDocument,
	},
	{
		Method: fiber.MethodGet, Path: "/v1/query/types", Public: true,
		Help: "List the query types; include_meta=true adds their descriptions.", handle: (*handlers).types,
	},
	{
		Method: fiber.MethodGet, Path: "/v1/query/websites", Scope: auth.ScopeReadData,
		Help: "List the websites that the caller can query.", handle: (*handlers).websites,
	},
	{
		Method: fiber.MethodPost, Path: "/v1/query", Scope: auth.ScopeReadData, Open: true, Limit: ratelimit.Query,
		Help: "Run one query or an array of queries.", handle: (*handlers).query,
	},
	{
		Method: fiber.MethodPost, Path: "/v1/query/compile", Scope: auth.ScopeReadData, Open: true, Limit: ratelimit.Compile,
		Help: "Show the SQL of a query type, with its parameters.", handle: (*handlers).compile,
	},
}, discoveryRoutes()...)

// discoveryRoutes returns the routes of the discovery documents.
func discoveryRoutes() []Route {
	var all []Route
	for _, r := range httpkit.DocumentRoutes(httpkit.Query) {
		all = append(all, Route{
			Method: fiber.MethodGet, Path: r.Path, Public: true, Help: r.Help, handle: (*handlers).sendDocument,
		})
	}
	return all
}

// MCPPath is the route of the MCP endpoint.
const MCPPath = httpkit.QueryMCPPath

// handlers serves the routes.
type handlers struct {
	identifier *rpc.Identifier
	documents  httpkit.Documents
	access     Access
	moves      interface {
		Moves(ctx context.Context, organizationID string) (*website.Moves, error)
	}
	executor Executor
	links    Links
	dirty    analytics.DirtyDays
	tenants  Tenants
	now      func() time.Time
}

// New returns the query host's app.
func New(cfg Config, deps Deps) (*fiber.App, error) {
	app := httpkit.New(httpkit.Config{
		Host: httpkit.Query, BodyLimit: analytics.MaxBodyBytes, Deadline: cfg.Deadline,
		MaxInFlight: cfg.MaxInFlight, Admission: cfg.Admission, Conns: cfg.Conns, AccessLog: cfg.AccessLog,
		Proxies: cfg.Proxies, Site: cfg.Site,
		Unavailable: cfg.Unavailable, Page: flagapi.Page, Open: flagapi.Elsewhere,
	}, httpkit.Deps{Log: deps.Log, Metrics: deps.Metrics, Tracer: deps.Tracer})
	resources := management.Resources(deps.Management)
	doc, err := Describe(&cfg.Site, cfg.IngestURL, resources)
	if err != nil {
		return nil, err
	}
	identifier := &rpc.Identifier{Keys: deps.Access, Sessions: deps.Sessions, Site: &cfg.Site, Limits: deps.Limits}
	h := &handlers{
		identifier: identifier, access: deps.Access, moves: deps.Moves, executor: deps.Executor, links: deps.Links,
		dirty: deps.Dirty, tenants: deps.Tenants, now: deps.Now,
	}
	if h.now == nil {
		h.now = time.Now
	}
	if h.documents, err = newDocuments(&cfg, doc, resources); err != nil {
		return nil, err
	}
	for _, r := range Routes {
		httpkit.Handle(app, r.Method, r.Path, func(c *fiber.Ctx) error { return h.serve(&r, c) })
		if r.Open {
			httpkit.Handle(app, fiber.MethodOptions, r.Path, h.preflight)
		}
	}
	for _, r := range discoveryRoutes() {
		httpkit.Handle(app, fiber.MethodOptions, r.Path, httpkit.PreflightDocument)
	}
	if deps.Flags != nil {
		flags := *deps.Flags
		flags.Shapes = flagapi.Shapes{Flag: management.ServedFlag, Segment: management.ServedSegment}
		flagapi.Mount(app, flags)
	}
	table, err := tools.Table(doc)
	if err != nil {
		return nil, err
	}
	mcp.New(mcp.Config{
		Host: httpkit.Query, Path: MCPPath, Name: "millrace", Title: "Millrace", Version: buildinfo.Version(),
		Instructions: tools.Instructions, Tools: table, Resources: tools.Resources(),
		Site: &cfg.Site, Origins: cfg.MCPOrigins,
	}, mcp.Deps{
		Keys: deps.Access, Limits: deps.Limits, Log: deps.Log, Metrics: deps.Metrics, Now: deps.Now,
		Secret: deps.ConfirmKey,
	}).Mount(app)
	rpc.Mount(app, doc, resources, rpc.Deps{Identifier: identifier, Repeats: deps.Repeats, Log: deps.Log})
	return app, nil
}

// health serves GET /health.
func (*handlers) health(c *fiber.Ctx, _ *request) error {
	return respond(c, []byte(`{"status":"ok"}`))
}

// respond writes a JSON body.
func respond(c *fiber.Ctx, body []byte) error {
	c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
	c.Context().Response.SetBodyRaw(body)
	return nil
}
