package httpkit

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/platform/admission"
)

// Config holds what differs between the hosts.
type Config struct {
	Host Host
	// BodyLimit is the largest body in bytes, before and after decompression;
	// 0 means event.MaxBodyBytes.
	BodyLimit int
	// Deadline ends the context of a request, so long after its header, or after its
	// body where that did not come with the header; 0 means 30 s.
	Deadline time.Duration
	// MaxInFlight is how many requests are served at the same time; one more is
	// answered 503. 0 means 16384.
	MaxInFlight int
	// Admission gives bodies their memory; nil means 256 MiB for all of them.
	Admission *admission.Gate
	// Conns bounds connections and how long they may take.
	Conns Conns
	// AccessLog logs one line per request.
	AccessLog bool
	// Proxies are the peers that may tell for whom they speak.
	Proxies Proxies
	// Site is how browsers reach the host.
	Site Site
	// Open are the routes of a query host that pages of any site may use.
	Open Open
	// LongHeader answers a request whose header is longer than the host reads, in place
	// of a 431, and reports whether it did. All that is known of the request is how it
	// begins: its first bytes, up to longHeaderBytes. May be nil.
	LongHeader func(rc *fasthttp.RequestCtx, begins []byte) bool
	// Page answers a rejected request in another form than the host's error body, and
	// reports whether it did. The status and the headers of a rejection are set already, and
	// more may be set either way. May be nil.
	Page func(rc *fasthttp.RequestCtx, r Rejection) bool
	// Unavailable reports whether an error that is no API error says that a server
	// cannot be asked now; it is answered 503 then instead of 500. May be nil.
	Unavailable func(error) bool
}

// Deps are the parts a host needs; all but Tracer are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Tracer  trace.Tracer
}

// Sizes of the header of a request, in bytes; a longer one is answered 431, unless
// Config.LongHeader has another response. Each connection takes as much for as long as it
// is open, so that at 4,096 of them twice the size is 32 MiB more.
const (
	ingestionHeaderBytes = 8 << 10
	queryHeaderBytes     = 16 << 10
)

const (
	defaultDeadline    = 30 * time.Second
	defaultMaxInFlight = 16384
	defaultBodyMemory  = 256 << 20
)

// kit is what all requests of one app share.
type kit struct {
	cfg      Config
	log      *slog.Logger
	tracer   trace.Tracer // nil when nothing is traced
	metrics  *metrics
	exposed  []byte // of Config.Open
	inFlight atomic.Int64
	draining atomic.Bool
	// connections counts those that are open.
	connections atomic.Int64
	streams     streams
	// cutDelay is how long they go on once a stop has begun.
	cutDelay time.Duration
	// settle is how long a stop keeps idle connections open, and lastCall how long one
	// on which a request has begun to arrive, and linger how long a client may take to
	// leave after its last response. roomPause is how often at most a connection is closed
	// in favour of another one.
	settle, lastCall, linger, roomPause time.Duration
	// pause is how long a rejection for want of room is held back.
	pause func() time.Duration

	handler fasthttp.RequestHandler // fiber's
}

// New returns the fiber app of a host, without routes. It opens nothing. The time-outs of
// its connections are those of guardedConn, not of fasthttp.
//
// What every request needs runs around fiber rather than in its chain, because
// fiber answers some requests itself, such as those with an unknown method.
func New(cfg Config, deps Deps) *fiber.App {
	if cfg.BodyLimit == 0 {
		cfg.BodyLimit = event.MaxBodyBytes
	}
	if cfg.Deadline == 0 {
		cfg.Deadline = defaultDeadline
	}
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = defaultMaxInFlight
	}
	if cfg.Admission == nil {
		cfg.Admission = admission.New(admission.Config{Host: cfg.Host.String(), Memory: defaultBodyMemory},
			admission.Deps{Metrics: deps.Metrics})
	}
	cfg.Conns = cfg.Conns.orDefaults()
	k := &kit{
		cfg: cfg, log: deps.Log, tracer: recording(deps.Tracer), cutDelay: lastCall, settle: settle, lastCall: lastCall,
		linger: lingerTime, roomPause: roomPause, pause: cfg.Admission.Pause,
	}
	k.exposed = []byte(cfg.Open.Exposed)
	k.metrics = newMetrics(deps.Metrics, k)

	headerBytes := queryHeaderBytes
	if cfg.Host == Ingestion {
		headerBytes = ingestionHeaderBytes
	}
	app := fiber.New(fiber.Config{
		// The ingestion host copies what it keeps; the query host can afford to
		// have fiber copy.
		Immutable:                    cfg.Host == Query,
		BodyLimit:                    cfg.BodyLimit,
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true, // JSON comes under any content type
		ReadBufferSize:               headerBytes,
		DisableStartupMessage:        true,
		Network:                      "tcp",
		ErrorHandler: func(c *fiber.Ctx, err error) error {
			k.fail(c.Context(), err)
			return nil
		},
	})
	server := app.Server()
	k.handler = server.Handler
	server.Handler = k.serve
	server.HeaderReceived = ignoreExpectation
	server.Logger = k
	server.CloseOnShutdown = true
	return app
}

// serve is the outermost handler. A rejection for want of room is held back a moment, where the
// gate says so, after the request has given back what it held.
func (k *kit) serve(rc *fasthttp.RequestCtx) {
	if roomless := k.respond(rc); roomless && !k.draining.Load() {
		if pause := k.pause(); pause > 0 {
			<-time.After(pause)
		}
	}
}

// respond makes the response, and reports whether it says that there is no room.
func (k *kit) respond(rc *fasthttp.RequestCtx) (roomless bool) {
	r := k.begin(rc, rc.Time())
	defer k.end(r)
	conn, _ := rc.Conn().(*guardedConn)
	conn.serves()
	rc.Response.Header.SetCanonical(canonicalRequestID, r.ctx.id)
	ambiguous, closes, crowded := framing(&rc.Request.Header)
	var full error
	if !arrives(rc) && string(rc.Path()) != healthPath {
		full = r.enter()
	}
	switch {
	case ambiguous: // whatever else it is: what follows it may be no request
		k.fail(rc, fiber.ErrBadRequest)
		r.hangUp(rc)
	case crowded:
		k.fail(rc, errCrowded)
		r.hangUp(rc) // or the connection would keep the memory
	case k.cors(rc): // before a page is rejected, so that it can read why
	case full != nil:
		k.fail(rc, full)
	case !knownMethod(rc.Method()):
		k.fail(rc, apierr.New(apierr.MethodNotAllowed))
	default:
		k.handle(rc, r)
	}
	r.hold(rc)
	r.leave() // what is left of the body is nobody's work
	if !r.consumed && rc.Request.IsBodyStream() {
		r.skip(rc)
	}
	if closes || k.draining.Load() { // asked last, for requests that a stop overtakes
		rc.SetConnectionClose()
	}
	took := time.Since(r.start)
	conn.responds(r.start.Add(took)) //nolint:errcheck // a connection that cannot take a deadline is closed already
	status := rc.Response.StatusCode()
	k.metrics.of(r.route).observe(status, took, len(r.raw.b))
	if k.cfg.AccessLog {
		k.logAccess(rc, r, status, took)
	}
	return r.roomless
}

// healthPath is answered however many requests are in flight: it asks for nothing, and
// an orchestrator ends the process that does not answer it.
const healthPath = "/health"

// handle runs fiber's handler and turns a panic into an internal error.
func (k *kit) handle(rc *fasthttp.RequestCtx, r *request) {
	defer func() {
		if p := recover(); p != nil {
			k.fail(rc, newPanicError(p))
		}
	}()
	if k.tracer != nil {
		k.traced(rc, r)
		return
	}
	k.handler(rc)
}

// knownMethod reports whether fiber knows the method.
func knownMethod(m []byte) bool {
	switch string(m) {
	case fasthttp.MethodGet, fasthttp.MethodHead, fasthttp.MethodPost, fasthttp.MethodPut, fasthttp.MethodPatch,
		fasthttp.MethodDelete, fasthttp.MethodOptions, fasthttp.MethodConnect, fasthttp.MethodTrace:
		return true
	}
	return false
}

func (k *kit) logAccess(rc *fasthttp.RequestCtx, r *request, status int, took time.Duration) {
	route := unmatched
	if r.route != nil {
		route = r.route.Path
	}
	k.log.LogAttrs(r.ctx, slog.LevelInfo, "request",
		slog.String("host", k.cfg.Host.String()),
		slog.String("method", string(rc.Method())),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Duration("took", took),
		slog.Int("body_bytes", len(r.raw.b)),
	)
}
