package repair

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// daysAtOnce is how many days are recreated in one go.
const daysAtOnce = 100

// Rollups are the tables that views fill, and the list of the days on which they
// are not to be used.
type Rollups interface {
	// Listed returns the dirty days, by month, owner and day.
	Listed(ctx context.Context) ([]ledger.Listed, error)
	// Rebuilding reports whether the server is still at a rebuild that somebody has
	// begun.
	Rebuilding(ctx context.Context) (bool, error)
	// Rebuild deletes the rollups' rows of days of one month and recreates them
	// from the base, read with FINAL.
	Rebuild(ctx context.Context, days []ledger.Touched) error
	// Differing returns those of the days for which a rollup answers otherwise than
	// the base.
	Differing(ctx context.Context, days []ledger.Touched) ([]ledger.Touched, error)
	// Clear takes days off the list.
	Clear(ctx context.Context, days []ledger.Touched) error
}

// RebuildDeps are the parts that Rebuild needs; all are required.
type RebuildDeps struct {
	Pipelines []Pipeline
	Groups    Groups
	Log       Log
	Store     Store
	Rollups   Rollups
	// Done is told of days that were recreated and taken off the list.
	Done func([]ledger.Listed)
}

var errRebuilding = errors.New(
	"the server is still running another rebuild, or one whose command was interrupted: retry when it has finished")

// Rebuild recreates the rollups of all dirty days and takes the days off the
// list. It returns the days that were listed; a dry run changes nothing.
//
// The rows of a day are deleted, then recreated, then compared with the base, then
// the day is cleared. Whoever stops it in between leaves the day on the list, and
// the next run begins with the deletion again.
//
// It refuses to run while there is anything that would still insert what the base has
// already. An insert that reached the base and not a rollup is made again by the
// sink under its token, and adds to the rollup alone what Rebuild has counted
// from the base: the day would be doubled, and off the list. Such an insert
// belongs to a plan that is open, or to a replay that has not come back to where
// the ledger says it was before. So Rebuild wants every plan closed and every
// partition at its end of the ledger: let the sinks finish, then stop them.
func Rebuild(ctx context.Context, d RebuildDeps, dryRun bool) ([]ledger.Listed, error) {
	listed, err := d.Rollups.Listed(ctx)
	if err != nil || len(listed) == 0 {
		return nil, err
	}
	if err := d.quiet(ctx); err != nil || dryRun {
		return listed, err
	}
	for rest := listed; len(rest) > 0; {
		n := sameMonth(rest)
		if err := d.rebuild(ctx, rest[:n]); err != nil {
			return listed, err
		}
		d.Done(rest[:n])
		rest = rest[n:]
	}
	return listed, nil
}

func (d *RebuildDeps) rebuild(ctx context.Context, listed []ledger.Listed) error {
	days := make([]ledger.Touched, len(listed))
	for i := range listed {
		days[i] = listed[i].Touched
	}
	if err := stopped(ctx, d.Groups, d.Pipelines); err != nil {
		return err
	}
	if err := d.Rollups.Rebuild(ctx, days); err != nil {
		return fmt.Errorf("rebuilding %d days, which stay on the list: %w", len(days), err)
	}
	// A sink that was started meanwhile may have inserted between the deletion and
	// the count. The days stay on the list then.
	if err := stopped(ctx, d.Groups, d.Pipelines); err != nil {
		return err
	}
	differ, err := d.Rollups.Differing(ctx, days)
	if err != nil {
		return fmt.Errorf("comparing %d rebuilt days: %w", len(days), err)
	}
	if len(differ) > 0 {
		return fmt.Errorf("%d days still differ, the first is %s of %s: check whether another process writes to the tables",
			len(differ), ledger.Date(differ[0].Day), differ[0].Owner)
	}
	return d.Rollups.Clear(ctx, days)
}

// quiet returns an error unless nothing is under way.
func (d *RebuildDeps) quiet(ctx context.Context) error {
	if err := stopped(ctx, d.Groups, d.Pipelines); err != nil {
		return err
	}
	for _, l := range d.Pipelines {
		if err := d.whole(ctx, l); err != nil {
			return err
		}
	}
	busy, err := d.Rollups.Rebuilding(ctx)
	if err == nil && busy {
		err = errRebuilding
	}
	return err
}

// whole returns an error if a partition has an open plan, or is behind what the
// ledger shows.
func (d *RebuildDeps) whole(ctx context.Context, l Pipeline) error {
	id, bounds, err := d.Log.Describe(ctx, l.Topic)
	if err != nil {
		return err
	}
	committed, err := d.Groups.Committed(ctx, l.Group, l.Topic)
	if err != nil {
		return err
	}
	for p := range bounds {
		c, has := committed[p]
		stored, err := d.Store.StoredTo(ctx, id, p)
		if err != nil {
			return err
		}
		if !has {
			c.Offset = 0
		}
		state, _, err := ledger.DecodeState(c.Metadata)
		switch {
		case err != nil:
			return fmt.Errorf("partition %d of %s: %w", p, l.Topic, err)
		case state.Plan != nil:
			return fmt.Errorf(
				"partition %d of %s has an open plan, offsets %d to %d: start the sinks and let them finish, then stop them",
				p, l.Topic, state.Plan[0], state.Plan[1])
		case c.Offset < stored:
			return fmt.Errorf("partition %d of %s is at offset %d, but records up to offset %d are already stored. Start "+
				"the sinks, wait until they have caught up, stop them, and run this command again",
				p, l.Topic, c.Offset, stored-1)
		}
	}
	return nil
}

// sameMonth returns how many of the days, from the first, are of its month.
func sameMonth(listed []ledger.Listed) int {
	month := func(day int32) string { return ledger.Date(day)[:len("2006-01")] }
	n := 1
	for n < len(listed) && n < daysAtOnce && month(listed[n].Day) == month(listed[0].Day) {
		n++
	}
	return n
}
