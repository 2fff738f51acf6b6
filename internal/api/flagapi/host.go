package flagapi

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Keys recognises API keys; *auth.Authenticator is one.
type Keys interface {
	Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error)
}

// Deps are the parts the routes need; Log, Metrics, Sets, Websites, Keys and
// Shapes are required.
type Deps struct {
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	Sets     Sets
	Websites Websites
	Keys     Keys
	// Limits counts callers' requests; nil limits nobody.
	Limits *ratelimit.Limiter
	// Country returns the country of an address, such as "DE"; empty where it is not known.
	// nil knows none.
	Country func(netip.Addr) string
	// Exposures takes note of what people were served; nil for nobody.
	Exposures Exposures
	// Watch tells of changes of an organization's flags until it is closed; nil for never:
	// streams look by themselves with each heartbeat.
	Watch func(organizationID string) Watch
	// MaxStreams is how many streams may be open at the same time; 0 means the constant of
	// this name.
	MaxStreams int
	// PublicURL is how callers reach the host, such as https://api.example.com; empty for the
	// same way as they came.
	PublicURL string
	// Shapes are how definitions are told.
	Shapes Shapes
	// Now tells the time at which flags are evaluated; nil means time.Now.
	Now func() time.Time
}

// Shapes return what becomes the JSON of definitions, as the management operations tell them.
type Shapes struct {
	Flag    func(f *flag.Flag, now time.Time) any
	Segment func(g *flag.Segment) any
}

// Host serves the routes. It is safe for concurrent use.
type Host struct {
	deps    Deps
	metrics *metrics
	streams *streams
}

// New returns a host. It opens nothing.
func New(deps Deps) *Host {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Country == nil {
		deps.Country = func(netip.Addr) string { return "" }
	}
	if deps.Watch == nil {
		deps.Watch = func(string) Watch { return silence{} }
	}
	return &Host{deps: deps, metrics: newMetrics(deps.Metrics), streams: newStreams(deps.MaxStreams, deps.Metrics)}
}
