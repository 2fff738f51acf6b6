// Package linkhost is the HTTP surface of short links: what browsers, programs and
// crawlers get who open one. What becomes of a request is decided by package redirect.
//
// It promises that no response may be kept by a cache or listed by a search engine, that its
// pages run no script and may not be framed, and that neither addresses nor user agents
// are written anywhere. Only GET and POST are counted by redirect; HEAD is answered as GET
// is, without the body.
package linkhost

import (
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/resource/link/redirect"
)

// Config holds the settings of the host.
type Config struct {
	// MaxInFlight is how many requests are served at the same time; one more is answered
	// 503. 0 means the default of httpkit.
	MaxInFlight int
	// Conns bounds connections; the zero value is httpkit's.
	Conns httpkit.Conns
	// AccessLog logs one line per request, without slug, query and address.
	AccessLog bool
	// Proxies are the peers that may tell for whom they speak.
	Proxies httpkit.Proxies
	// Site is how visitors reach the host that all organizations share; what it says of
	// https goes for the domains of their own too.
	Site httpkit.Site
}

// Deps are the parts the host needs; all but Tracer are required.
type Deps struct {
	Log       *slog.Logger
	Metrics   prometheus.Registerer
	Tracer    trace.Tracer
	Redirects *redirect.Host
}

const (
	// deadline is the longest time for one request: a visitor who waits for longer has
	// gone.
	deadline = 5 * time.Second
	// bodyLimit is how long a form with a password may be, in bytes.
	bodyLimit = 4 << 10
)

// New returns the short-link host's app.
func New(cfg Config, deps Deps) *fiber.App {
	app := httpkit.New(httpkit.Config{
		Host: httpkit.Links, BodyLimit: bodyLimit, Deadline: deadline, MaxInFlight: cfg.MaxInFlight, Conns: cfg.Conns,
		AccessLog: cfg.AccessLog, Proxies: cfg.Proxies, Site: cfg.Site, Page: reject,
	}, httpkit.Deps{Log: deps.Log, Metrics: deps.Metrics, Tracer: deps.Tracer})
	h := &handlers{redirects: deps.Redirects, site: cfg.Site}
	httpkit.Handle(app, fiber.MethodGet, "/health", health)
	httpkit.Handle(app, fiber.MethodGet, "/*", h.open)
	httpkit.Handle(app, fiber.MethodPost, "/*", h.open)
	return app
}

// health answers as long as the process serves.
func health(c *fiber.Ctx) error {
	setCommon(&c.Context().Response.Header)
	c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
	_, err := c.Context().WriteString(`{"status":"ok"}`)
	return err
}
