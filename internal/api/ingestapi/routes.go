package ingestapi

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/web/tracker"
)

// Config holds the settings of the host.
type Config struct {
	// Deadline is the longest time for one request, once its body is there; 0 means
	// 30 s. The wait for Kafka has a deadline of its own.
	Deadline time.Duration
	// MaxInFlight is how many requests are served at the same time; 0 means the
	// default of httpkit.
	MaxInFlight int
	// Admission gives bodies their memory, and Conns bounds connections; the zero
	// values are httpkit's.
	Admission *admission.Gate
	Conns     httpkit.Conns
	// AccessLog logs one line per request.
	AccessLog bool
	// Proxies are the peers that may tell for whom they speak.
	Proxies httpkit.Proxies
	// Site is how callers reach the host.
	Site httpkit.Site
	// ClientIDs are the headers in which a client id may stand.
	ClientIDs []string
	// QueryURL is where callers reach the query host; empty if that is not known.
	QueryURL string
	// SecurityContact is the URI for reports of vulnerabilities; empty for none.
	SecurityContact string
	// MCPOrigins are other origins whose pages may call the MCP endpoint.
	MCPOrigins []string
}

// Intake accepts events; *ingest.Acceptor is one.
type Intake interface {
	Accept(ctx context.Context, req ingest.Request) (ingest.Result, error)
	// Reject is told of a request whose body could not be read.
	Reject(ctx context.Context, req ingest.Request, why error)
}

// Deps are the parts the host needs; all but Tracer, Keys and Limits are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Tracer  trace.Tracer
	Intake  Intake
	// Services are what GET /health/status looks at.
	Services []Service
	// Keys recognises callers of the MCP endpoint; nil for no endpoint. Limits counts their messages
	// and the calls of tools; nil for no limits.
	Keys   mcp.Keys
	Limits *ratelimit.Limiter
}

// Route is one route of the host.
type Route struct {
	Method, Path string
	// In is what the route takes events as; nil where it takes none.
	In *ingest.Route
	// Topic is where its events go, by their name without prefix; empty where it
	// takes none.
	Topic string
	// Responses are what it answers besides errors, by status.
	Responses map[string]*Response
	// Help says what the route is for.
	Help   string
	handle func(*handlers, *fiber.Ctx) error
}

// Routes is the table of the host's routes.
var Routes = append([]Route{
	taking("/track", ingest.Track, record.TopicEvents, "Send one event or an array of events.",
		countResponse("custom_event"), counted("custom_event")),
	taking("/identify", ingest.Identify, record.TopicIdentities, "Identify a visitor.",
		typeResponse("identify"), typed("identify")),
	taking("/vitals", ingest.Vitals, record.TopicVitals, "Send an array of web vitals.",
		countResponse("web_vitals"), counted("web_vitals")),
	taking("/errors", ingest.Errors, record.TopicErrors, "Send an array of script errors.",
		countResponse("error"), counted("error")),
	taking("/engagement", ingest.Engagement, record.TopicEvents, "Send an array of engagement records.",
		countResponse("engagement"), counted("engagement")),
	taking("/", ingest.Page, record.TopicEvents, "Send one page event.",
		typeResponse("track", "outgoing_link"), typed("")),
	taking("/batch", ingest.Batch, record.TopicEvents, "Send an array of page events and get a result for each.",
		batchSchema, itemised),
	{
		Method: fiber.MethodGet, Path: "/px.jpg", In: ingest.PixelPage, Topic: record.TopicEvents,
		Responses: plainResponse("image/gif"),
		Help:      "Send one event in the query string and get an image.", handle: (*handlers).pixel,
	},
	{
		Method: fiber.MethodGet, Path: "/health", Responses: okResponse, Help: "Check that the process is running.",
		handle: (*handlers).health,
	},
	{
		Method: fiber.MethodGet, Path: "/health/status", Responses: statusResponses,
		Help: "Get the status of the services that the host depends on.", handle: (*handlers).healthStatus,
	},
	{
		Method: fiber.MethodGet, Path: "/openapi.json", Responses: plainResponse(fiber.MIMEApplicationJSON),
		Help: "Get the OpenAPI 3.1 document of the host.", handle: (*handlers).openAPI,
	},
	{
		Method: fiber.MethodGet, Path: "/tracker.js", Responses: scriptResponses,
		Help: "Get the tracker of the running release.", handle: (*handlers).script,
	},
	{
		Method: fiber.MethodGet, Path: "/tracker.:hash.js", Responses: scriptResponses,
		Help: "Get one version of the tracker.", handle: (*handlers).script,
	},
	{
		Method: fiber.MethodGet, Path: "/tracker-extra.js", Responses: scriptResponses,
		Help: "Get the script with which the tracker measures web vitals.", handle: (*handlers).script,
	},
	{
		Method: fiber.MethodGet, Path: "/tracker-extra.:hash.js", Responses: scriptResponses,
		Help: "Get one version of the script that measures web vitals.", handle: (*handlers).script,
	},
}, discoveryRoutes()...)

// discoveryRoutes returns the routes of the discovery documents.
func discoveryRoutes() []Route {
	var all []Route
	for _, r := range httpkit.DocumentRoutes(httpkit.Ingestion) {
		all = append(all, Route{
			Method: fiber.MethodGet, Path: r.Path, Responses: plainResponse(r.MediaType), Help: r.Help,
			handle: func(h *handlers, c *fiber.Ctx) error { return h.discovery.Serve(c) },
		})
	}
	return all
}

// MCPPath is the route of the MCP endpoint.
const MCPPath = httpkit.IngestionMCPPath

// New returns the ingestion host's app.
func New(cfg Config, deps Deps) *fiber.App {
	app := httpkit.New(httpkit.Config{
		Host: httpkit.Ingestion, Deadline: cfg.Deadline, MaxInFlight: cfg.MaxInFlight, Admission: cfg.Admission,
		Conns: cfg.Conns, AccessLog: cfg.AccessLog, Proxies: cfg.Proxies, Site: cfg.Site,
		LongHeader: longPixel,
	}, httpkit.Deps{Log: deps.Log, Metrics: deps.Metrics, Tracer: deps.Tracer})
	discovery := httpkit.Discovery{
		Host: httpkit.Ingestion, QueryURL: cfg.QueryURL, IngestURL: cfg.Site.PublicURL,
		Scopes: []string{string(auth.ScopeTrackEvents)}, Contact: cfg.SecurityContact,
	}
	h := &handlers{
		intake: deps.Intake, clientIDs: cfg.ClientIDs, status: newStatus(deps.Services),
		document: sync.OnceValues(func() (*httpkit.Document, error) {
			text, err := Describe(cfg.Site.PublicURL, cfg.ClientIDs)
			return httpkit.NewDocument(fiber.MIMEApplicationJSON, text), err
		}),
		discovery: discovery.Documents(),
		scripts:   newScripts(tracker.Current(), tracker.Kept()),
	}
	for _, r := range Routes {
		httpkit.Handle(app, r.Method, r.Path, func(c *fiber.Ctx) error { return r.handle(h, c) })
	}
	if deps.Keys != nil {
		mcp.New(mcp.Config{
			Host: httpkit.Ingestion, Path: MCPPath, Name: "millrace-ingestion", Title: "Millrace ingestion",
			Version: buildinfo.Version(), Instructions: instructions, Tools: Tools(), Resources: resources,
			Site: &cfg.Site, Origins: cfg.MCPOrigins, StreamMemory: streamBytes,
		}, mcp.Deps{Keys: deps.Keys, Limits: deps.Limits, Log: deps.Log, Metrics: deps.Metrics}).Mount(app)
	}
	return app
}

// handlers serves the routes.
type handlers struct {
	intake    Intake
	clientIDs []string
	status    *status
	document  func() (*httpkit.Document, error) // the host's description, made once
	discovery httpkit.Documents
	scripts   *scripts
}

// openAPI serves the description of the host.
func (h *handlers) openAPI(c *fiber.Ctx) error {
	doc, err := h.document()
	if err != nil {
		return err
	}
	return doc.Serve(c)
}

// respond writes a JSON body.
func respond(c *fiber.Ctx, body []byte) error {
	c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
	_, err := c.Context().Write(body)
	return err
}
