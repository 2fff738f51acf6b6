package ingestapi

import (
	"context"
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace/millrace/internal/httpkit"
	"github.com/millrace/millrace/internal/ingest"
)

// Config holds the settings of the host.
type Config struct {
	// Deadline is the longest time for one request, from its header on; 0 means
	// 30 s. The wait for Kafka has a deadline of its own.
	Deadline time.Duration
	// MaxInFlight is how many requests are served at the same time; 0 means the
	// default of httpkit.
	MaxInFlight int
	// AccessLog logs one line per request.
	AccessLog bool
	// Proxies are the peers that may tell for whom they speak.
	Proxies httpkit.Proxies
	// Site is how callers reach the host.
	Site httpkit.Site
}

// Tracker accepts events; *ingest.Acceptor is one.
type Tracker interface {
	Track(ctx context.Context, req ingest.Request) (count int, err error)
}

// Deps are the parts the host needs; all but Tracer are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Tracer  trace.Tracer
	Tracker Tracker
}

// Route is one route of the host.
type Route struct {
	Method, Path string
	// Help says what the route is for.
	Help   string
	handle func(*handlers, *fiber.Ctx) error
}

// Routes is the table of the host's routes.
var Routes = []Route{
	{fiber.MethodPost, "/track", "Takes one event or an array of events.", (*handlers).track},
	{fiber.MethodGet, "/health", "Answers as long as the process serves.", (*handlers).health},
}

// New returns the ingestion host's app.
func New(cfg Config, deps Deps) *fiber.App {
	app := httpkit.New(httpkit.Config{
		Host: httpkit.Ingestion, Deadline: cfg.Deadline, MaxInFlight: cfg.MaxInFlight, AccessLog: cfg.AccessLog, Proxies: cfg.Proxies, Site: cfg.Site,
	}, httpkit.Deps{Log: deps.Log, Metrics: deps.Metrics, Tracer: deps.Tracer})
	h := &handlers{tracker: deps.Tracker}
	for _, r := range Routes {
		httpkit.Handle(app, r.Method, r.Path, func(c *fiber.Ctx) error { return r.handle(h, c) })
	}
	return app
}

// handlers serves the routes.
type handlers struct{ tracker Tracker }

// health serves GET /health.
func (*handlers) health(c *fiber.Ctx) error { return answer(c, []byte(`{"status":"ok"}`)) }

// answer writes a JSON body.
func answer(c *fiber.Ctx, body []byte) error {
	c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
	_, err := c.Context().Write(body)
	return err
}
