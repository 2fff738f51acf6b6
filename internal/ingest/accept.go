package ingest

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/website"
)

// Access recognises callers and websites; *auth.Authenticator is one. Strings
// passed to it may alias memory that is reused after the call.
type Access interface {
	// Key returns whom a key stands for that came from an address, or an
	// AuthRequired, IPNotAuthorized or ServiceUnavailable fault.
	Key(ctx context.Context, secret []byte, from netip.Addr) (auth.Principal, error)
	// ClientWebsite finds a website by client id, or website.ErrNotFound, or a
	// ServiceUnavailable fault.
	ClientWebsite(ctx context.Context, clientID string) (*website.Website, error)
	// Website finds a website by id or client id; errors as ClientWebsite's.
	Website(ctx context.Context, ref string) (*website.Website, error)
}

// Publisher sends records to Kafka.
type Publisher interface {
	// Publish returns nil only when every record is acknowledged by all in-sync
	// replicas. After an error the memory behind the records, though not the
	// slice itself, still belongs to the Publisher.
	Publish(ctx context.Context, recs []record.Record) error
}

// Quota says who may send no more; *quota.Gate and *quota.External are two.
type Quota interface {
	// Check returns nil, or a QuotaExceeded or BillingUnavailable fault, for an
	// organization at a moment.
	Check(ctx context.Context, organizationID string, now time.Time) error
}

// Deps are the parts an Acceptor needs; all but Quota, Limits and Now are required.
type Deps struct {
	Access    Access
	Quota     Quota // nil refuses nobody
	Salts     *Salts
	Publisher Publisher
	Metrics   prometheus.Registerer
	Limits    *ratelimit.Limiter // nil limits nobody
	Now       func() time.Time   // nil means time.Now
}

// Acceptor takes events in. It is safe for concurrent use.
type Acceptor struct {
	deps    Deps
	metrics metrics
	runs    sync.Pool
}

// New returns an Acceptor.
func New(deps Deps) *Acceptor {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Acceptor{deps: deps, metrics: newMetrics(deps.Metrics)}
}

// Request is one call of POST /track. Its memory is the surface's and is not
// used after Track returns.
type Request struct {
	// Body is the decompressed body.
	Body []byte
	// Key is the API key sent; nil for none.
	Key []byte
	// From is the caller's address.
	From netip.Addr
	// WebsiteID is the query parameter website_id; nil for none.
	WebsiteID []byte
	// Addr is the caller's address.
	Addr netip.Addr
	// ID is the request id.
	ID []byte
	// Traceparent is the trace to continue; empty for none.
	Traceparent string
}

// step is one of the steps of the package comment. The next ones, such as origin
// rules, are further rows.
type step struct {
	name string // as it stands in metrics
	do   func(*run, context.Context) error
}

var trackSteps = []step{
	{"credentials", (*run).identify},
	{"limits", (*run).limit},
	{"decode", (*run).decode},
	{"access", (*run).authorize},
	{"quota", (*run).checkQuota},
	{"records", (*run).build},
	{"publish", (*run).publish},
}

// checkSteps are those of trackSteps that only look, and count nothing.
var checkSteps = []step{
	{"credentials", (*run).identify},
	{"decode", (*run).decode},
	{"access", (*run).authorize},
	{"quota", (*run).checkQuota},
}

// Track accepts the events of a request and returns how many they are. The error
// is a fault.
func (a *Acceptor) Track(ctx context.Context, req Request) (count int, err error) {
	if count, err = a.do(ctx, req, trackSteps); err == nil {
		a.metrics.accepted.Add(float64(count))
	}
	return count, err
}

// Check judges a request as Track does, whatever its caller has asked before, and
// publishes nothing.
func (a *Acceptor) Check(ctx context.Context, req Request) (count int, err error) {
	return a.do(ctx, req, checkSteps)
}

func (a *Acceptor) do(ctx context.Context, req Request, steps []step) (count int, err error) {
	r := a.begin(req)
	defer a.end(ctx, r)
	for i := range steps {
		if err := steps[i].do(r, ctx); err != nil {
			f := faultOf(err)
			a.metrics.refuse(steps[i].name, f.Code)
			return 0, f
		}
	}
	return len(r.events), nil
}

// faultOf gives website.ErrNotFound its meaning on this host.
func faultOf(err error) *fault.Error {
	if errors.Is(err, website.ErrNotFound) {
		return fault.Wrap(fault.WebsiteNotFound, err)
	}
	return fault.Of(err)
}
