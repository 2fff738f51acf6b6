package ingest

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/pipeline/tally"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Access recognises callers and websites; *auth.Authenticator is one. Strings
// passed to it may alias memory that is reused after the call.
type Access interface {
	// Key returns whom a key stands for, or an AuthRequired, IPNotAuthorized,
	// RateLimited or ServiceUnavailable error.
	Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error)
	// ClientWebsite finds a website by client id, or website.ErrNotFound, or a
	// ServiceUnavailable error.
	ClientWebsite(ctx context.Context, clientID string) (*website.Website, error)
	// Website finds a website by id or client id; errors as ClientWebsite's.
	Website(ctx context.Context, ref string) (*website.Website, error)
	// Remembered finds a website by client id or id among those that were looked up
	// before; nil for none. It asks nobody.
	Remembered(ref string) *website.Website
}

// Publisher sends records to Kafka.
type Publisher interface {
	// Publish returns nil only when every record is acknowledged by all in-sync
	// replicas. After an error the memory behind the records, though not the
	// slice itself, still belongs to the Publisher.
	Publish(ctx context.Context, recs []record.Record) error
}

// Quota says who may send no more; *quota.Enforcer and *quota.External are two.
type Quota interface {
	// Check returns nil, or a QuotaExceeded or BillingUnavailable error, for an
	// organization at a moment.
	Check(ctx context.Context, organizationID string, now time.Time) error
}

// Deps are the parts an Acceptor needs; all but Quota, Limits, Gate, Enrich, Tally, Now and
// Deadline are required.
type Deps struct {
	Access    Access
	Quota     Quota // nil rejects nobody
	Salts     *salt.Salts
	Publisher Publisher
	Metrics   prometheus.Registerer
	Limits    *ratelimit.Limiter // nil limits nobody
	Gate      *admission.Gate    // nil has room for everybody
	Enrich    *enrich.Enricher   // nil finds out nothing
	Tally     *tally.Tally       // nil tells tenants nothing
	Now       func() time.Time   // nil means time.Now
	// Deadline is how long one request waits for acknowledgements, however many
	// publications it takes; 0 leaves it to the Publisher, which knows of one each.
	Deadline time.Duration
	// MaxNames is how many different names the events of a website may have in a day, and
	// how many types its errors; those beyond it share one. 0 is no limit.
	MaxNames int
}

// Acceptor takes events in. It is safe for concurrent use.
type Acceptor struct {
	deps    Deps
	metrics metrics
	names   *names
	runs    sync.Pool
}

// New returns an Acceptor.
func New(deps Deps) *Acceptor {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Acceptor{deps: deps, metrics: newMetrics(deps.Metrics), names: newNames(deps.MaxNames)}
}

// Request is one call of a route. Its memory is the surface's and is not used after
// Accept returns.
type Request struct {
	// Route is where the request came in.
	Route *Route
	// Body is the decompressed body.
	Body []byte
	// Key is the API key sent; nil for none.
	Key []byte
	// WebsiteID is the website that the query names; nil for none.
	WebsiteID []byte
	// HeaderID is the client id in a header; nil for none.
	HeaderID []byte
	// Addr is the caller's address.
	Addr netip.Addr
	// Origin is the header of that name; nil for none.
	Origin []byte
	// UserAgent is the header of that name; nil for none.
	UserAgent []byte
	// Signals are what the browser says about being tracked.
	Signals website.Signals
	// ID is the request id.
	ID []byte
	// Traceparent is the trace to continue; empty for none.
	Traceparent string
}

// Result is what became of a request that was not rejected.
type Result struct {
	// Count is how many events were taken: those that are acknowledged.
	Count int
	// Silent says that a website's page has sent nothing that is wanted: a bot's
	// events, or such as the website excludes.
	Silent bool
	// Type is the type of the first event, on routes whose events have one.
	Type string
	// Items are the events one by one, on routes that answer so.
	Items []Item
}

// step is one of the steps of the package comment.
type step struct {
	name string // as it stands in metrics
	do   func(*run, context.Context) error
}

var acceptSteps = []step{
	{"credentials", (*run).identify},
	{"room", (*run).admit},
	{"limits", (*run).limit},
	{"decode", (*run).decode},
	{"access", (*run).authorize},
	{"quota", (*run).checkQuota},
	{"screen", (*run).screen},
	{"records", (*run).build},
	{"publish", (*run).publish},
}

// checkSteps are those of acceptSteps that only look, and count nothing.
var checkSteps = []step{
	{"credentials", (*run).identify},
	{"decode", (*run).decode},
	{"access", (*run).authorize},
	{"quota", (*run).checkQuota},
}

// panicked is what becomes of a request in which a step panics.
var panicked = apierr.New(apierr.Internal)

// Accept takes the events of a request. The error is an API error.
func (a *Acceptor) Accept(ctx context.Context, req Request) (Result, error) {
	r := a.begin(req)
	defer a.end(ctx, r)
	r.limits = a.deps.Limits
	outcome := panicked // unless every step returns
	defer func() { r.account(ctx, outcome) }()
	outcome = r.take(ctx, acceptSteps)
	if outcome != nil {
		return Result{}, outcome
	}
	return r.result(), nil
}

// Check judges a request as Accept does, whatever its caller has asked before, and
// publishes nothing. It returns how many events there are.
func (a *Acceptor) Check(ctx context.Context, req Request) (count int, err error) {
	r := a.begin(req)
	defer a.end(ctx, r)
	if rejected := r.take(ctx, checkSteps); rejected != nil {
		return 0, rejected
	}
	return len(r.events), nil
}

// take takes the steps up to the first that rejects.
func (r *run) take(ctx context.Context, steps []step) *apierr.Error {
	for i := range steps {
		if err := steps[i].do(r, ctx); err != nil {
			f := errorOf(err)
			r.metrics.reject(steps[i].name, f.Code)
			return f
		}
	}
	return nil
}

// errorOf gives website.ErrNotFound its meaning on this host.
func errorOf(err error) *apierr.Error {
	if errors.Is(err, website.ErrNotFound) {
		return apierr.Wrap(apierr.WebsiteNotFound, err)
	}
	return apierr.Of(err)
}
