package sink

import (
	"context"
	"errors"
	"log/slog"

	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// Tombstones says what was erased and is not to be stored again, out of whatever
// part of the log it comes. *tombstone.Watch is one.
//
// An erasure deletes stored rows once every insert that may bring new ones has
// ended. It knows when that is because of two rules here: a range is built, and
// each attempt to insert begins, with a set that is no older than the Watch's age;
// and an attempt is cut off after the insert timeout. A range that was built
// before, and cannot be inserted for long, is rebuilt as soon as it may hold
// what was erased meanwhile.
//
// What is inserted under one token may differ by this: a plan that was inserted
// before the erasure is inserted again without the rows. That is safe. Where the
// server knows the token, the rows of the first insert were there before the
// erasure deleted, so they are gone too; where it does not, only the second insert
// counts. A view that failed the first time is fed by the second insert, without
// the rows, as the base is by then.
type Tombstones interface {
	// Current returns the tombstones as of now, or an error when nobody knows.
	Current(ctx context.Context) (*tombstone.Set, error)
}

// errOutdated is the error of a range that may hold what was erased since it was
// built.
var errOutdated = errors.New("an erasure changed the range after it was built")

// readTombstones has the range built with the tombstones of this moment.
func (a *attempt) readTombstones(ctx context.Context, j *job) error {
	source := a.deps.Tombstones
	if source == nil {
		return nil
	}
	return a.until(ctx, stepTombstones, func(ctx context.Context) error {
		now, err := source.Current(ctx)
		j.tombstones.Store(now)
		return err
	})
}

// upToDate returns errOutdated when an owner of the range's rows got a tombstone
// since they were built.
func (a *attempt) upToDate(ctx context.Context, j *job) error {
	source := a.deps.Tombstones
	if source == nil {
		return nil
	}
	now, err := source.Current(ctx)
	before := j.tombstones.Load()
	if err != nil || now == before {
		return err
	}
	for i := range j.touched {
		if now.Differs(before, j.touched[i].Owner) {
			return errOutdated
		}
	}
	j.tombstones.Store(now)
	return nil
}

// startOver has the partition taken over anew, so that the range that is planned is
// read and built again.
func (w *worker) startOver(ctx context.Context) {
	w.deps.Log.LogAttrs(ctx, slog.LevelInfo,
		"erasure changed a pending range, rebuilding it",
		slog.String("topic", w.partition.Topic), slog.Int("partition", int(w.partition.Index)))
	w.deps.Source.Rewind(w.partition)
}
