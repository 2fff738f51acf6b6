package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/places"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Limits of an endpoint.
const (
	MaxBody       = 1 << 20 // bytes of a message
	MaxValues     = 20_000  // JSON values of a message
	MaxInFlight   = 20      // calls of one key at the same time
	MaxStreams    = 1000    // open streams of the process
	MaxKeyStreams = 5       // open streams of one key; its organization has half of MaxStreams
)

// placeWait is how long a caller waits for a place.
const placeWait = time.Second

// copies is how many times a message is in memory besides its body: for the SDK, for the tool, and in
// the requests that the tool makes.
const copies = 8

// Config describes the endpoint of a host.
type Config struct {
	Host httpkit.Host // for metrics
	// Path is the route, such as /v1/mcp.
	Path string
	// Name and Title identify the server to clients, and Version is its release.
	Name, Title, Version string
	// Instructions describe the tools to the model, in a few sentences.
	Instructions string
	Tools        []Tool // sorted by name
	Resources    []Resource
	// Site is the host's own address.
	Site *httpkit.Site
	// Origins are other origins whose pages may call the endpoint.
	Origins []string
	// StreamMemory is the claim of a stream on the host's memory for bodies, in bytes; 0 for none.
	StreamMemory int64
}

// Resource is a document that clients can read.
type Resource struct {
	URI, Name, Title, Description, MIMEType string
	Text                                    func() string
}

// Keys recognises API keys; *auth.Authenticator is one.
type Keys interface {
	Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error)
}

// Deps are the parts that an endpoint needs.
type Deps struct {
	Keys   Keys
	Limits *ratelimit.Limiter // nil for no limits
	// Secret returns the key that signs confirmations, the same in all processes. It is required if a
	// tool has a Preview.
	Secret  func(context.Context) ([]byte, error)
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil for time.Now
}

// Endpoint is the MCP server of a host.
type Endpoint struct {
	cfg     Config
	deps    Deps
	handler http.Handler // the SDK's
	server  *mcp.Server
	calls   *places.Places
	streams *places.Places
	metrics *metrics
}

// New returns the endpoint of a table of tools.
func New(cfg Config, deps Deps) *Endpoint {
	e := &Endpoint{
		cfg: cfg, deps: deps, calls: places.New(0), streams: places.New(MaxStreams),
	}
	if e.deps.Now == nil {
		e.deps.Now = time.Now
	}
	e.metrics = newMetrics(deps.Metrics, e)
	e.server = e.newServer()
	e.handler = mcp.NewStreamableHTTPHandler(
		func(r *http.Request) *mcp.Server { return requestOf(r.Context()).server },
		&mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: MaxBody,
			DisableLocalhostProtection: true, // checkPage has done it, with the host's error body
			Logger:                     slog.New(slog.DiscardHandler),
		})
	return e
}

// Mount adds the endpoint's route to an app.
func (e *Endpoint) Mount(app *fiber.App) {
	httpkit.Handle(app, fiber.MethodPost, e.cfg.Path, e.serve)
	httpkit.Handle(app, fiber.MethodOptions, e.cfg.Path, e.preflight)
}

// request is a message on its way through the SDK, which passes it on in its context.
type request struct {
	Caller

	ctx    context.Context //nolint:containedctx // of tools: the SDK's own does not end with the HTTP request
	server *mcp.Server
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// serve answers a message. Checks are made in the order of httpkit.Checks.
func (e *Endpoint) serve(c *fiber.Ctx) error {
	e.expose(c)
	body, err := httpkit.JSON(c, httpkit.Limits{Bytes: MaxBody, Values: MaxValues})
	if err != nil {
		return err
	}
	if err := e.checkPage(c); err != nil {
		return err
	}
	p, err := e.identify(c)
	if err != nil {
		return err
	}
	m, failed := parse(body)
	limited := ratelimit.Request{Family: ratelimit.MCP, Who: ratelimit.Identity{Kind: ratelimit.Key, ID: p.KeyID}}
	if m.Method != methodCall { // a tool's own requests count against the key's limit
		limited.Custom = p.Limit()
	}
	lease, err := e.deps.Limits.Admit(c.UserContext(), limited)
	if err != nil {
		return err
	}
	lease.Release(c.UserContext()) // places below, and the requests of tools, count what is in flight
	if failed == nil {
		failed = m.undeclared(c.Get(headerVersion))
	}
	if failed != nil {
		return failed.send(c)
	}
	r := &request{Caller: Caller{Principal: p, Host: httpkit.NewInner(c)}}
	if m.Method == methodListen {
		return e.listen(c, r, body, &m)
	}
	if err := enter(c, p, e.calls, copies*int64(len(body)), places.Share{Of: p.KeyID, Most: MaxInFlight}); err != nil {
		return err
	}
	httpkit.Committed(c) // a tool may change something
	r.server = e.server
	return (&exchange{log: e.deps.Log}).serve(c, e.handler, r, body, &m)
}

// enter acquires a place and memory of the host until the client has the response.
// It returns a RateLimited error if a share is used up, and a ServiceUnavailable error without a place.
func enter(c *fiber.Ctx, p auth.Principal, among *places.Places, memory int64, shares ...places.Share) error {
	leave, err := among.Enter(shares...)
	if full, ok := errors.AsType[*places.ShareError](err); ok {
		return &apierr.Error{
			Code: apierr.RateLimited, RetryAfter: placeWait, Err: err,
			Rate: &apierr.Rate{Limit: full.Most, Reset: time.Now().Add(placeWait)},
		}
	}
	if err != nil {
		return &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: placeWait, Err: err}
	}
	httpkit.WhenSent(c, leave)
	httpkit.Bill(c, p.KeyID, p.OrganizationID)
	return httpkit.Memory(c).Await(c.UserContext(), memory)
}

// identify returns the caller: the owner of an API key. A cookie or a client id is no credential
// here.
func (e *Endpoint) identify(c *fiber.Ctx) (auth.Principal, error) {
	secret := httpkit.Credential(c)
	if secret == nil {
		return auth.Principal{}, apierr.New(apierr.AuthRequired)
	}
	return e.deps.Keys.Key(c.UserContext(), secret,
		auth.From{Addr: httpkit.ClientAddr(c), Limits: e.deps.Limits, Family: ratelimit.MCP})
}

var (
	errOrigin = &apierr.Error{Code: apierr.Forbidden, Message: "Pages of this origin cannot use the MCP endpoint"}
	errHost   = &apierr.Error{Code: apierr.Forbidden, Message: "The Host header does not name this host"}
)

// checkPage rejects requests of foreign pages. They have a foreign Origin, or reach a loopback address
// under a foreign name, as after DNS rebinding.
func (e *Endpoint) checkPage(c *fiber.Ctx) error {
	if origin := c.Get(fiber.HeaderOrigin); origin != "" && !e.allowed(origin) {
		return errOrigin
	}
	local, ok := c.Context().LocalAddr().(*net.TCPAddr)
	if ok && local.IP.IsLoopback() && !e.named(string(c.Context().Host())) {
		return errHost
	}
	return nil
}

// allowed reports whether pages of an origin may call the endpoint.
func (e *Endpoint) allowed(origin string) bool {
	return origin == e.cfg.Site.PublicURL || slices.Contains(e.cfg.Origins, origin)
}

// named reports whether a Host header names a loopback address or the host's public address.
func (e *Endpoint) named(host string) bool {
	if public, err := url.Parse(e.cfg.Site.PublicURL); err == nil && public.Host == host {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	return host == "localhost" || host == "[::1]"
}

// What pages of allowed origins may send and read.
const (
	corsHeaders = "Accept, Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-Api-Key, " +
		"X-Request-ID"
	corsExposed = "X-Request-ID, WWW-Authenticate, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, " +
		"X-RateLimit-Reset"
	corsMaxAge = "86400" // seconds
)

// expose lets pages of allowed origins read the response.
func (e *Endpoint) expose(c *fiber.Ctx) {
	c.Vary(fiber.HeaderOrigin)
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" || !e.allowed(origin) {
		return
	}
	c.Set(fiber.HeaderAccessControlAllowOrigin, origin)
	c.Set(fiber.HeaderAccessControlExposeHeaders, corsExposed)
}

// preflight answers the browser's question whether a page may call the endpoint.
func (e *Endpoint) preflight(c *fiber.Ctx) error {
	e.expose(c)
	if !e.allowed(c.Get(fiber.HeaderOrigin)) {
		return errOrigin
	}
	c.Set(fiber.HeaderAccessControlAllowMethods, fiber.MethodPost)
	c.Set(fiber.HeaderAccessControlAllowHeaders, corsHeaders)
	c.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	return c.SendStatus(fiber.StatusNoContent)
}
