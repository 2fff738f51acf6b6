package erasure

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/platform/lease"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Store keeps what the Job works on.
type Store interface {
	lease.Store
	Deleted

	// OpenErasures returns the erasures that a selection names: the oldest of each
	// organization first, then the second oldest of each, and so on.
	OpenErasures(ctx context.Context, s Selection) ([]*Erasure, error)
	// CountErasures says what there is to do in all.
	CountErasures(ctx context.Context) (Standing, error)
	// SaveErasure keeps how far an erasure got. One that is done is remembered by the
	// audit in the same transaction, in which the row of a website or an organization
	// goes too.
	SaveErasure(ctx context.Context, e *Erasure, now time.Time) error
	// CreateErasure is that of Registry.
	CreateErasure(ctx context.Context, by audit.By, e *Erasure) error
	// DoneErasures returns those of the erasures with these ids that were done at or before a
	// time.
	DoneErasures(ctx context.Context, ids []string, by time.Time) ([]string, error)
	// PruneSalts destroys the salts of the UTC days before that of first.
	PruneSalts(ctx context.Context, first time.Time) error
}

// Deleted tells what was deleted for good.
type Deleted interface {
	// DeletedWebsites returns up to limit websites, without their settings, that were
	// deleted at or before a time, or whose organization was, and that no erasure is
	// about.
	DeletedWebsites(ctx context.Context, by time.Time, limit int) ([]*website.Website, error)
	// DeletedOrganizations returns the ids of up to limit organizations that were
	// deleted at or before a time, have no website any more, and that no erasure is
	// about.
	DeletedOrganizations(ctx context.Context, by time.Time, limit int) ([]string, error)
}

// Selection names erasures that are not done.
type Selection struct {
	In      []State  // one of these; nil for all but Done
	Without []string // ids that are left out
	Limit   int      // how many at most
}

// Standing is how many erasures that are not done there are in a state, and when the oldest
// of all was asked for; zero where there is none.
type Standing struct {
	Open   map[State]int
	Oldest time.Time
}

// Tables is the analytics database.
type Tables interface {
	// Bury writes tombstones. Doing it twice changes nothing.
	Bury(ctx context.Context, erasureID string, stones []tombstone.Tombstone) error
	// Links returns the visitor ids, as they are stored, that an owner's profile was
	// told to have and no other profile was, and how many there are besides.
	Links(ctx context.Context, ownerID string, profile tombstone.ID) (own [][]byte, shared int, err error)
	// Count returns how many rows the tombstones cover, by table; those that have none
	// are left out.
	Count(ctx context.Context, stones []tombstone.Tombstone) (map[string]int64, error)
	// Delete deletes them, and returns when the parts that held them are replaced.
	// Days of rollups that differ by it are listed as dirty before.
	Delete(ctx context.Context, stones []tombstone.Tombstone) error
	// Left is Count after Delete: what a table without a time of receipt shows of what
	// came later is not counted.
	Left(ctx context.Context, stones []tombstone.Tombstone) (map[string]int64, error)
	// Buried returns the erasures of visitors whose tombstones were all written at or before
	// a time.
	Buried(ctx context.Context, by time.Time) (erasureIDs []string, err error)
	// Lift removes the tombstones of erasures of visitors that were written at or before a time.
	Lift(ctx context.Context, erasureIDs []string, by time.Time) error
}

// Topics returns how long a sink may still read a record that is in a topic or a dead letter
// now; 0 means forever.
type Topics func(ctx context.Context) (time.Duration, error)

// Config bounds what a Job does.
type Config struct {
	// Settle is how long after its tombstones an erasure deletes: longer than the age
	// of the tombstones that a sink uses, and the time that an insert may take, here
	// and on the server.
	Settle time.Duration
	// RestoreFor is how long a deleted website can be restored; 0 means
	// website.RestoreFor.
	RestoreFor time.Duration
}

// Deps are the parts a Job needs; all but Now are required.
type Deps struct {
	Store   Store
	Tables  Tables
	Topics  Topics
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil means time.Now
}

// Times of a Job.
const (
	lookEvery = time.Second
	// sweepEvery is how often websites past their restore period and salts past their day
	// are looked for.
	sweepEvery = 10 * time.Minute
	// pruneAgain is the pause after salts could not be destroyed. Each try may keep edges
	// waiting that read theirs.
	pruneAgain = 30 * time.Second
	// atOnce bounds the erasures of a round: they are deleted together, for what is
	// dear about a deletion is to write parts anew.
	atOnce = 100
	// restoreSlack is added to the time for which a website can be restored, for
	// clocks that are apart.
	restoreSlack = 10 * time.Minute
	longestPause = time.Minute
	// liftSlack is added to the life of a record: for the brokers' pauses between two clean-ups,
	// and for clocks that are apart.
	liftSlack = 24 * time.Hour
	// liftAtOnce is how many erasures a statement lifts the tombstones of.
	liftAtOnce = 1000
)

// Job carries erasures out, in one of the processes that run it. Run it once.
type Job struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	lease   *lease.Lease
}

// NewJob returns a Job that has done nothing yet.
func NewJob(cfg Config, deps Deps) *Job {
	if cfg.RestoreFor == 0 {
		cfg.RestoreFor = website.RestoreFor
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Job{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Metrics), lease: lease.New("erasures", deps.Store, deps.Log),
	}
}

// Run works whenever this process has the lease, until ctx ends.
func (j *Job) Run(ctx context.Context) error {
	j.lease.Run(ctx, j.hold)
	return nil
}

// sweep asks for the erasure of websites that nobody can restore any more, and of
// what an organization has besides once its websites are gone.
func (j *Job) sweep(ctx context.Context) error {
	now := j.deps.Now().UTC().Truncate(time.Millisecond)
	deleted := now.Add(-j.cfg.RestoreFor - restoreSlack)
	websites, err := j.deps.Store.DeletedWebsites(ctx, deleted, atOnce)
	if err != nil {
		return err
	}
	for _, w := range websites {
		if err := j.askFor(ctx, w.OrganizationID, w.ID, now); err != nil {
			return err
		}
	}
	organizations, err := j.deps.Store.DeletedOrganizations(ctx, deleted, atOnce)
	if err != nil {
		return err
	}
	for _, id := range organizations {
		if err := j.askFor(ctx, id, id, now); err != nil {
			return err
		}
	}
	return nil
}

// prune has the salts of days that are over destroyed also where no edge runs.
func (j *Job) prune(ctx context.Context) error {
	return j.deps.Store.PruneSalts(ctx, j.deps.Now().UTC().Add(-event.SaltGrace))
}

// askFor asks for the erasure of all that an owner has, a website or an organization.
func (j *Job) askFor(ctx context.Context, organizationID, ownerID string, now time.Time) error {
	e := newErasure(tombstone.Website, organizationID, ownerID, tombstone.Forever, now, audit.BySystem().Actor)
	if err := j.deps.Store.CreateErasure(ctx, audit.BySystem(), e); err != nil {
		return fmt.Errorf("requesting the erasure of %s: %w", ownerID, err)
	}
	return nil
}
