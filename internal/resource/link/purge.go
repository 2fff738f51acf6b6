package link

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/lease"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// PurgeStore keeps what a Purger works on.
type PurgeStore interface {
	lease.Store

	// PurgeableLinks returns the ids of up to limit links that were deleted at or before
	// a time, or whose organization is gone.
	PurgeableLinks(ctx context.Context, deleted time.Time, limit int) ([]string, error)
	// PurgeLinks removes those of the links that are still so, with an audit entry for
	// each that has an organization, and returns how many they were. Their slugs stay
	// with the organization.
	PurgeLinks(ctx context.Context, by audit.By, ids []string, deleted, now time.Time) (int, error)
}

// ClickEraser deletes what is stored of clicks.
type ClickEraser interface {
	// EraseLinks deletes all clicks of links. Doing it twice changes nothing.
	EraseLinks(ctx context.Context, ids []string) error
}

// PurgeDeps are the parts a Purger needs; all but Now are required.
type PurgeDeps struct {
	Store   PurgeStore
	Clicks  ClickEraser
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil means time.Now
}

// Times of a Purger.
const (
	purgeEvery = 10 * time.Minute
	purgeAgain = time.Minute // after one that failed
	// restoreSlack is added to the time for which a link can be restored, for clocks
	// that are apart.
	restoreSlack = 10 * time.Minute
	purgeAtOnce  = 500
)

// Purger removes links that nobody can restore any more, in one of the processes that run
// it. Run it once.
type Purger struct {
	deps    PurgeDeps
	metrics *purgeMetrics
	lease   *lease.Lease
}

// NewPurger returns a Purger that has done nothing yet.
func NewPurger(deps PurgeDeps) *Purger {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Purger{
		deps: deps, metrics: newPurgeMetrics(deps.Metrics), lease: lease.New("link-purge", deps.Store, deps.Log),
	}
}

// Run works whenever this process has the lease, until ctx ends.
func (p *Purger) Run(ctx context.Context) error {
	p.lease.RunEvery(ctx, lease.Passes{Every: purgeEvery, Again: purgeAgain, Pass: p.pass, Failed: p.failed})
	return nil
}

func (p *Purger) failed(ctx context.Context, err error) {
	p.metrics.failures.Inc()
	p.deps.Log.LogAttrs(ctx, slog.LevelWarn, "removing deleted links failed, retrying", slog.Any("error", err))
}

// pass removes all links that are due now. Their clicks go first, while it is known whose
// they are: where that fails, the links are there for the next pass.
func (p *Purger) pass(ctx context.Context) error {
	now := p.deps.Now().UTC()
	deleted := now.Add(-RestoreFor - restoreSlack)
	for {
		ids, err := p.deps.Store.PurgeableLinks(ctx, deleted, purgeAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := p.deps.Clicks.EraseLinks(ctx, ids); err != nil {
			return err
		}
		n, err := p.deps.Store.PurgeLinks(ctx, audit.BySystem(), ids, deleted, now)
		if err != nil {
			return err
		}
		p.metrics.purged.Add(float64(n))
		p.deps.Log.LogAttrs(ctx, slog.LevelInfo, "deleted links removed", slog.Int("links", n))
		if len(ids) < purgeAtOnce {
			return nil
		}
	}
}
