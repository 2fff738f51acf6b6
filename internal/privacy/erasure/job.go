package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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

	// OpenErasures returns up to limit erasures that are not done, oldest first.
	OpenErasures(ctx context.Context, limit int) ([]*Erasure, error)
	// SaveErasure keeps how far an erasure got. One that is done is remembered by the
	// audit in the same transaction, in which the row of a website or an organization
	// goes too.
	SaveErasure(ctx context.Context, e *Erasure, now time.Time) error
	// CreateErasure is that of Registry.
	CreateErasure(ctx context.Context, by audit.By, e *Erasure) error
	// DeletedWebsites returns up to limit websites, without their settings, that were
	// deleted at or before a time, or whose organization was, and that no erasure is
	// about.
	DeletedWebsites(ctx context.Context, by time.Time, limit int) ([]*website.Website, error)
	// DeletedOrganizations returns the ids of up to limit organizations that were
	// deleted at or before a time, have no website any more, and that no erasure is
	// about.
	DeletedOrganizations(ctx context.Context, by time.Time, limit int) ([]string, error)
	// PruneSalts destroys the salts of the UTC days before that of first.
	PruneSalts(ctx context.Context, first time.Time) error
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
}

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
	// atOnce bounds the erasures of a round: they are deleted together, for what is
	// dear about a deletion is to write parts anew.
	atOnce = 100
	// restoreSlack is added to the time for which a website can be restored, for
	// clocks that are apart.
	restoreSlack = 10 * time.Minute
	longestPause = time.Minute
)

// Job carries erasures out, in one of the processes that run it. Run it once.
type Job struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	lease   *lease.Lease

	// Of whoever holds the lease:
	buried map[string]time.Time // when the tombstones of an erasure were there for certain
	paused map[string]time.Time // until when an erasure that failed waits
	swept  time.Time
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
	j.lease.Run(ctx, j.work)
	return nil
}

func (j *Job) work(ctx context.Context) {
	// A tombstone that somebody else wrote is as young as it can be: clocks of two
	// processes are not compared.
	j.buried, j.paused, j.swept = map[string]time.Time{}, map[string]time.Time{}, time.Time{}
	defer j.metrics.standing(nil, time.Time{})
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := j.round(ctx); err != nil && ctx.Err() == nil {
			j.metrics.failures.Inc()
			j.deps.Log.LogAttrs(ctx, slog.LevelWarn, "going on with erasures failed, trying again", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// round brings every erasure on as far as it goes now.
func (j *Job) round(ctx context.Context) error {
	var errs []error
	if time.Since(j.swept) >= sweepEvery {
		if err := j.sweep(ctx); err != nil {
			errs = append(errs, err)
		} else {
			j.swept = time.Now()
		}
	}
	open, err := j.deps.Store.OpenErasures(ctx, atOnce)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	j.metrics.standing(open, j.deps.Now())
	var due []*Erasure
	for _, e := range open {
		if time.Now().Before(j.paused[e.ID]) {
			continue
		}
		ready, err := j.prepare(ctx, e)
		switch {
		case err != nil:
			errs = append(errs, j.failed(ctx, e, err))
		case ready:
			due = append(due, e)
		}
	}
	if len(due) > 0 {
		errs = append(errs, j.erase(ctx, due))
	}
	return errors.Join(errs...)
}

// sweep asks for the erasure of websites that nobody can restore any more, and of
// what an organization has besides once its websites are gone; and it has the salts of days
// that are over destroyed also where no edge runs.
func (j *Job) sweep(ctx context.Context) error {
	now := j.deps.Now().UTC().Truncate(time.Millisecond)
	if err := j.deps.Store.PruneSalts(ctx, now.Add(-event.SaltGrace)); err != nil {
		return err
	}
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

// askFor asks for the erasure of all that an owner has, a website or an organization.
func (j *Job) askFor(ctx context.Context, organizationID, ownerID string, now time.Time) error {
	e := newErasure(tombstone.Website, organizationID, ownerID, tombstone.Forever, now, audit.BySystem().Actor)
	if err := j.deps.Store.CreateErasure(ctx, audit.BySystem(), e); err != nil {
		return fmt.Errorf("asking for the erasure of %s: %w", ownerID, err)
	}
	return nil
}

// prepare brings an erasure to where its rows can be deleted, and reports whether
// it is there.
func (j *Job) prepare(ctx context.Context, e *Erasure) (ready bool, err error) {
	switch e.State {
	case Requested:
		return false, j.bury(ctx, e)
	case Tombstoned:
		since, known := j.buried[e.ID]
		if !known {
			since = time.Now()
			j.buried[e.ID] = since
		}
		if time.Since(since) < j.cfg.Settle {
			return false, nil
		}
		// What was under way when it was requested has been stored by now.
		if grew, err := j.link(ctx, e); grew || err != nil {
			if err != nil {
				return false, err
			}
			return false, j.bury(ctx, e)
		}
		e.State = Deleting
		return true, j.deps.Store.SaveErasure(ctx, e, j.deps.Now())
	default:
		return true, nil
	}
}

// bury writes the tombstones of all ids that the erasure is about.
func (j *Job) bury(ctx context.Context, e *Erasure) error {
	if _, err := j.link(ctx, e); err != nil {
		return err
	}
	if err := j.deps.Tables.Bury(ctx, e.ID, e.Tombstones()); err != nil {
		return err
	}
	j.buried[e.ID] = time.Now()
	e.State, e.TombstonedAt = Tombstoned, j.deps.Now().UTC().Truncate(time.Millisecond)
	return j.deps.Store.SaveErasure(ctx, e, j.deps.Now())
}

// link adds the visitor ids of a profile, and reports whether there were new ones.
func (j *Job) link(ctx context.Context, e *Erasure) (grew bool, err error) {
	if e.Kind != tombstone.Profile {
		return false, nil
	}
	own, shared, err := j.deps.Tables.Links(ctx, e.OwnerID, e.Stones[0].ID)
	if err != nil {
		return false, err
	}
	e.Shared = max(e.Shared, shared)
	return e.add(tombstone.Visitor, own...), nil
}

// erase deletes the rows of erasures together, and looks for what is left of each.
func (j *Job) erase(ctx context.Context, due []*Erasure) error {
	err := j.delete(ctx, due)
	var errs []error
	for _, e := range due {
		cause := err
		if cause == nil {
			cause = j.finish(ctx, e)
		}
		if cause != nil {
			errs = append(errs, j.failed(ctx, e, cause))
		}
	}
	return errors.Join(errs...)
}

func (j *Job) delete(ctx context.Context, due []*Erasure) error {
	var stones []tombstone.Tombstone
	for _, e := range due {
		found, err := j.deps.Tables.Count(ctx, e.Tombstones())
		if err != nil {
			return err
		}
		for table, rows := range found {
			e.Deleted[table] = max(e.Deleted[table], rows)
		}
		if len(found) > 0 {
			stones = append(stones, e.Tombstones()...)
		}
	}
	if len(stones) == 0 {
		return nil
	}
	return j.deps.Tables.Delete(ctx, stones)
}

// finish ends an erasure of which nothing is left.
func (j *Job) finish(ctx context.Context, e *Erasure) error {
	left, err := j.deps.Tables.Left(ctx, e.Tombstones())
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("rows are left in %v", slices.Sorted(maps.Keys(left)))
	}
	now := j.deps.Now().UTC().Truncate(time.Millisecond)
	e.State, e.DoneAt, e.Failures = Done, now, 0
	if err := j.deps.Store.SaveErasure(ctx, e, now); err != nil {
		e.State, e.DoneAt = Deleting, time.Time{}
		return err
	}
	delete(j.buried, e.ID)
	delete(j.paused, e.ID)
	j.metrics.finished(e)
	j.deps.Log.LogAttrs(ctx, slog.LevelInfo, "erasure done", slog.String("erasure", e.ID),
		slog.String("kind", string(e.Kind)), slog.Any("rows", e.Deleted))
	return nil
}

// failed has an erasure wait before it is gone on with, so that one that cannot be
// done does not keep the others from it.
func (j *Job) failed(ctx context.Context, e *Erasure, cause error) error {
	e.Failures++
	j.paused[e.ID] = time.Now().Add(min(longestPause, time.Second<<min(e.Failures, 6)))
	return errors.Join(fmt.Errorf("erasure %s: %w", e.ID, cause), j.deps.Store.SaveErasure(ctx, e, j.deps.Now()))
}
