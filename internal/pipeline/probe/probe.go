// Package probe sends an event a minute through everything that an event goes
// through: over HTTP to the address of the edge that callers use, and asks the
// query host for it until it is counted. What it measures is what a customer
// would, and alerts go by it.
//
// It promises that one process of several probes at a time, that one event is
// under way at a time, and that a probe which fails says at which step. Its events
// belong to a website of its own, in an organization that nobody belongs to: no
// tenant's numbers, lists or quotas have them. It does not judge how long is too
// long.
package probe

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/lease"
)

// Times of a probe.
const (
	// giveUp is how long an event is waited for.
	giveUp = 2 * time.Minute
	// askEvery is how often it is asked for: it has to be well below what limits
	// allow a key, which is two questions a second.
	askEvery = time.Second
	callTime = 10 * time.Second // of one request
)

// Config says where and how often.
type Config struct {
	Interval  time.Duration // from the beginning of a probe to that of the next
	IngestURL string        // of the ingestion host, without a slash at the end
	QueryURL  string        // likewise of the query host
}

// Account is whose events they are.
type Account struct{ WebsiteID, Key string }

// Deps are the parts of a Probe; all are required.
type Deps struct {
	Leases lease.Store
	// Account makes the website where there is none, and a new key of it.
	Account func(ctx context.Context) (Account, error)
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Probe probes while it runs, whenever no other one does.
type Probe struct {
	cfg     Config
	deps    Deps
	lease   *lease.Lease
	client  http.Client
	metrics metrics

	mu       sync.Mutex
	underway time.Time // since when an event is waited for; zero when none is
	took     time.Duration
}

// New returns a Probe that does nothing before Run.
func New(cfg Config, deps Deps) *Probe {
	p := &Probe{cfg: cfg, deps: deps, lease: lease.New("probe", deps.Leases, deps.Log)}
	p.client = http.Client{
		Timeout: callTime,
		// The key is for the two hosts that are set, and a response from elsewhere proves nothing of them.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	p.metrics = newMetrics(deps.Metrics, cfg.Interval, p.lease.Held, p.last)
	return p
}

// Run probes until ctx ends.
func (p *Probe) Run(ctx context.Context) error {
	defer p.client.CloseIdleConnections()
	p.lease.Run(ctx, p.work)
	return nil
}

// work begins with a key of its own: the one before is known to a process that
// may be gone.
func (p *Probe) work(ctx context.Context) {
	p.metrics.success.SetToCurrentTime() // so that the alert waits for the first one
	defer p.forget()
	tick := time.NewTicker(p.cfg.Interval)
	defer tick.Stop()
	var account Account
	for {
		err := p.round(ctx, &account)
		if err != nil && ctx.Err() == nil {
			p.deps.Log.LogAttrs(ctx, slog.LevelWarn, "probe failed", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// round sends one event and waits for it. A key that is rejected is thrown away.
func (p *Probe) round(ctx context.Context, account *Account) error {
	if account.Key == "" {
		made, err := p.deps.Account(ctx)
		if err != nil {
			p.metrics.attempts.WithLabelValues(noAccount).Inc()
			return err
		}
		*account = made
	}
	outcome, err := p.try(ctx, *account)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // a stop is no failure
	}
	p.metrics.attempts.WithLabelValues(outcome).Inc()
	if errors.Is(err, errUnauthorized) {
		*account = Account{}
	}
	return err
}

// try sends one event of an account and returns what became of it.
func (p *Probe) try(ctx context.Context, account Account) (outcome string, err error) {
	days := around(time.Now())
	before, err := p.count(ctx, account, days)
	if err != nil {
		return notAsked, err
	}
	start := time.Now()
	p.wait(start)
	defer p.wait(time.Time{})
	if err := p.send(ctx, account); err != nil {
		return notSent, err
	}
	if err := p.seen(ctx, account, days, before); err != nil {
		return notSeen, err
	}
	p.metrics.seconds.Observe(time.Since(start).Seconds())
	p.metrics.success.SetToCurrentTime()
	return seen, nil
}

// seen returns when more events are counted than before.
func (p *Probe) seen(ctx context.Context, account Account, days dayRange, before int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, giveUp, errNotSeen)
	defer cancel()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var last error
	for {
		var now int
		if now, last = p.count(ctx, account, days); last == nil && now > before {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		}
	}
}

// wait notes since when an event is waited for; the zero time ends it, and what it
// took stands until the next one.
func (p *Probe) wait(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since.IsZero() {
		p.took = time.Since(p.underway)
	}
	p.underway = since
}

// forget leaves nothing of what was measured: whoever probes next measures for itself.
func (p *Probe) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took = 0
}

// last is how long the last event took, or how long the one that is under way has
// been waited for, whichever is more.
func (p *Probe) last() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.underway.IsZero() {
		return p.took
	}
	return max(p.took, time.Since(p.underway))
}
