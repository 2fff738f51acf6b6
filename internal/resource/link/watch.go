package link

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/platform/lease"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// WatchStore keeps what a Watch works on.
type WatchStore interface {
	lease.Store

	// DueDomains returns up to limit domains that serve, of organizations that live, and are
	// due at or before a time, the longest due first.
	DueDomains(ctx context.Context, due time.Time, limit int) ([]*Domain, error)
	// SaveDomain is that of DomainStore.
	SaveDomain(ctx context.Context, by audit.By, action managed.Action, was, is *Domain) error
	// CountDomains returns how many domains of organizations that live have a status.
	CountDomains(ctx context.Context, status DomainStatus) (int, error)
}

// WatchDeps are the parts a Watch needs; all but Now are required.
type WatchDeps struct {
	Store   WatchStore
	DNS     DomainChecker
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil means time.Now
}

// Times of a Watch.
const (
	watchEvery = time.Minute
	// watchAtOnce is how many domains are looked at together, and saved before the next.
	watchAtOnce = 20
)

// errNoResolver says that no domain could be looked at, which is no domain's fault.
var errNoResolver = errors.New("no resolver answers")

// Watch looks daily whether domains are still proved, in one of the processes that run it.
// Run it once.
type Watch struct {
	deps     WatchDeps
	lease    *lease.Lease
	failing  atomic.Int64
	failures prometheus.Counter
}

// NewWatch returns a Watch that has done nothing yet.
func NewWatch(deps WatchDeps) *Watch {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	w := &Watch{deps: deps, lease: lease.New("link-domains", deps.Store, deps.Log)}
	f := promauto.With(deps.Metrics)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_domains_failing",
		Help: "Short-link domains whose DNS record has been missing for three days. Always 0 on the processes that do not " +
			"check domains.",
	}, w.told)
	w.failures = f.NewCounter(prometheus.CounterOpts{
		Name: "millrace_link_domains_check_failures_total", Help: "Daily domain checks that stopped because the resolver " +
			"or the metadata store did not answer. They are retried after a minute.",
	})
	return w
}

func (w *Watch) told() float64 {
	if !w.lease.Held() {
		return 0
	}
	return float64(w.failing.Load())
}

// Run works whenever this process has the lease, until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	w.lease.RunEvery(ctx, lease.Passes{Every: watchEvery, Again: watchEvery, Pass: w.pass, Failed: w.failed})
	return nil
}

func (w *Watch) failed(ctx context.Context, err error) {
	w.failures.Inc()
	w.deps.Log.LogAttrs(ctx, slog.LevelWarn, "checking domains of short links failed, retrying",
		slog.Any("error", err))
}

// pass looks at all domains that are due now.
func (w *Watch) pass(ctx context.Context) error {
	return errors.Join(w.look(ctx), w.count(ctx))
}

func (w *Watch) count(ctx context.Context) error {
	n, err := w.deps.Store.CountDomains(ctx, DomainFailing)
	if err == nil {
		w.failing.Store(int64(n))
	}
	return err
}

// look ends where no domain of several could be looked at: those are due again, and would be
// the next.
func (w *Watch) look(ctx context.Context) error {
	for {
		due, err := w.deps.Store.DueDomains(ctx, w.deps.Now(), watchAtOnce)
		if err != nil || len(due) == 0 {
			return err
		}
		reached, err := w.lookAt(ctx, due)
		switch {
		case err != nil:
			return err
		case reached == 0:
			return errNoResolver
		case len(due) < watchAtOnce:
			return nil
		}
	}
}

// lookAt keeps what DNS says of domains, and returns of how many it said anything.
func (w *Watch) lookAt(ctx context.Context, due []*Domain) (reached int, err error) {
	proofs := make([]Proof, len(due))
	var looks sync.WaitGroup
	for i, d := range due {
		looks.Go(func() { proofs[i] = w.deps.DNS.CheckDomain(ctx, d) })
	}
	looks.Wait()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	now := w.deps.Now().UTC().Truncate(time.Millisecond)
	for i, d := range due {
		if !proofs[i].Reached {
			continue
		}
		reached++
		if err := w.keep(ctx, d, d.lookedDaily(proofs[i], now)); err != nil {
			return reached, err
		}
	}
	return reached, nil
}

// keep saves a domain; one that was changed meanwhile is looked at in the next pass.
func (w *Watch) keep(ctx context.Context, was, is *Domain) error {
	err := w.deps.Store.SaveDomain(ctx, audit.BySystem(), Checked, was, is)
	if errors.Is(err, managed.ErrChanged) {
		return nil
	}
	if err == nil && was.Status != is.Status {
		w.deps.Log.LogAttrs(ctx, slog.LevelWarn, "status of a short link domain changed",
			slog.String("domain", is.ID), slog.String("hostname", is.Name), slog.String("status", string(is.Status)),
			slog.String("problem", is.Problem))
	}
	return err
}
