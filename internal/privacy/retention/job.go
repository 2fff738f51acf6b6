package retention

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/lease"
)

// Website is one that does not keep its events for ever.
type Website struct {
	ID   string
	Days int // for how many days it keeps them; 0 where what is stored is no number of days
}

// Limit says that what happened before a day is not kept for a website.
type Limit struct {
	Website string
	Before  time.Time // beginning of a UTC day
}

// Store tells what websites want.
type Store interface {
	lease.Store

	// LimitedWebsites returns up to limit websites that keep events for a number of
	// days, those that can still be restored included, by id after the given one.
	LimitedWebsites(ctx context.Context, after string, limit int) ([]Website, error)
}

// Tables is the analytics database.
type Tables interface {
	// Clock returns its time.
	Clock(ctx context.Context) (time.Time, error)
	// Expire takes what is before the limits out of every response, and returns how many
	// rows that were, by table; tables without any are left out. What it takes is noted
	// before, so that no check counts it as lost.
	Expire(ctx context.Context, limits []Limit) (map[string]int64, error)
	// Compact takes what was expired off the disk where it is that part's turn on a
	// day; each has one in a week.
	Compact(ctx context.Context, day time.Time) error
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
	// Every is the time between two passes. Four in a day leave room for some that
	// fail, and have a changed setting and what came late dealt with on the same day.
	Every = 6 * time.Hour
	// again is when a pass that failed is made again.
	again = time.Minute
	// clockSlack is how far two clocks may be apart.
	clockSlack = 10 * time.Minute
	// atOnce is how many websites are read at a time.
	atOnce = 1000
	// named is how many of them a line of the log names.
	named = 10
)

// Job makes the passes, in one of the processes that run it. Run it once.
type Job struct {
	deps    Deps
	metrics *metrics
	lease   *lease.Lease
}

// NewJob returns a Job that has done nothing yet.
func NewJob(deps Deps) *Job {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Job{deps: deps, metrics: newMetrics(deps.Metrics), lease: lease.New("retention", deps.Store, deps.Log)}
}

// Run makes passes whenever this process has the lease, until ctx ends.
func (j *Job) Run(ctx context.Context) error {
	j.lease.RunEvery(ctx, lease.Passes{Every: Every, Again: again, Pass: j.pass, Failed: j.failed})
	return nil
}

func (j *Job) failed(ctx context.Context, err error) {
	j.metrics.failures.Inc()
	j.deps.Log.LogAttrs(ctx, slog.LevelWarn, "retention pass failed, retrying",
		slog.Any("error", err))
}

// pass deletes what is too old now.
func (j *Job) pass(ctx context.Context) error {
	began := time.Now()
	today, err := j.today(ctx)
	if err != nil {
		return err
	}
	limits, unreadable, err := j.limits(ctx, today)
	if err != nil {
		return err
	}
	if len(unreadable) > 0 {
		j.deps.Log.LogAttrs(ctx, slog.LevelError,
			"retention of websites cannot be read, deleting none of their events",
			slog.Int("websites", len(unreadable)), slog.Any("some", unreadable[:min(len(unreadable), named)]))
	}
	var rows map[string]int64
	if len(limits) > 0 {
		if rows, err = j.deps.Tables.Expire(ctx, limits); err != nil {
			return err
		}
	}
	if err := j.deps.Tables.Compact(ctx, today); err != nil {
		return err
	}
	j.metrics.passed(len(limits), len(unreadable), rows, time.Since(began), time.Now())
	if len(rows) > 0 {
		j.deps.Log.LogAttrs(ctx, slog.LevelInfo, "events past their retention deleted",
			slog.Int("websites", len(limits)), slog.Any("rows", rows), slog.Duration("took", time.Since(began)))
	}
	return nil
}

// today is the UTC day of which this process and the database agree that it is
// now; around midnight, the earlier one.
func (j *Job) today(ctx context.Context) (time.Time, error) {
	theirs, err := j.deps.Tables.Clock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	ours := j.deps.Now()
	if apart := ours.Sub(theirs).Abs(); apart > clockSlack {
		return time.Time{}, fmt.Errorf(
			"the clocks of this process and of ClickHouse are %s apart, and may be by %s: nothing is deleted",
			apart.Round(time.Second), clockSlack)
	}
	if theirs.Before(ours) {
		ours = theirs
	}
	return ours.UTC().Truncate(24 * time.Hour), nil
}

// limits are those of all websites on a day. One that cannot be read keeps its events,
// and holds nobody else up.
func (j *Job) limits(ctx context.Context, today time.Time) (all []Limit, unreadable []string, err error) {
	for after := ""; ; {
		some, err := j.deps.Store.LimitedWebsites(ctx, after, atOnce)
		if err != nil {
			return nil, nil, err
		}
		for _, w := range some {
			if w.Days > 0 {
				all = append(all, Limit{Website: w.ID, Before: today.AddDate(0, 0, -w.Days)})
			} else {
				unreadable = append(unreadable, w.ID)
			}
		}
		if len(some) < atOnce {
			return all, unreadable, nil
		}
		after = some[len(some)-1].ID
	}
}
