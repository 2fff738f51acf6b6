package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// holder is a Job that holds the lease. It writes tombstones beside the deletions, which may
// take hours where a website is large: what is asked for meanwhile is to be stored no longer.
// Each of the loops works on states of its own, and has what it remembers to itself.
type holder struct {
	*Job
	due chan struct{} // holds one when there is something to delete

	// Of the loop that buries:
	swept   time.Time
	prunes  time.Time            // when salts are to be destroyed
	written map[string]int       // how many tombstones of an erasure are there for certain
	buried  map[string]time.Time // since when all are
	waiting map[string]time.Time // until when an erasure that failed waits

	// Of the loop that deletes:
	paused map[string]time.Time // as waiting

	// Of the loop that removes tombstones:
	lifted time.Time
}

// hold does the work until ctx ends. A tombstone that somebody else wrote is as young as it
// can be: clocks of two processes are not compared.
func (j *Job) hold(ctx context.Context) {
	h := &holder{
		Job: j, due: make(chan struct{}, 1), written: map[string]int{},
		buried: map[string]time.Time{}, waiting: map[string]time.Time{}, paused: map[string]time.Time{},
	}
	defer j.metrics.standing(Standing{}, time.Time{})
	var loops sync.WaitGroup
	loops.Go(func() { h.repeat(ctx, h.prepareAll, nil) })
	loops.Go(func() { h.repeat(ctx, h.eraseAll, h.due) })
	loops.Go(func() { h.repeat(ctx, h.liftAll, nil) })
	loops.Wait()
}

// repeat does something every lookEvery, and when it is woken, until ctx ends.
func (h *holder) repeat(ctx context.Context, do func(context.Context) error, wake <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			h.metrics.failures.Inc()
			h.deps.Log.LogAttrs(ctx, slog.LevelWarn, "erasure failed, retrying", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-wake:
		case <-ctx.Done():
		}
	}
}

// prepareAll brings erasures on to where their rows can be deleted. What the requests name
// is buried first, since to find out what else belongs to it may take long, or fail; and for
// the same reason what came meanwhile is looked at after a while.
func (h *holder) prepareAll(ctx context.Context) error {
	errs := []error{h.look(ctx)}
	named, err := h.deps.Store.OpenErasures(ctx, Selection{
		In: []State{Requested}, Without: slices.AppendSeq(waiting(h.waiting), maps.Keys(h.written)), Limit: atOnce,
	})
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, e := range named {
		if err := h.write(ctx, e); err != nil {
			errs = append(errs, h.failed(ctx, h.waiting, e, err))
		}
	}
	open, err := h.deps.Store.OpenErasures(ctx, Selection{
		In: []State{Requested, Tombstoned}, Without: h.settling(waiting(h.waiting)), Limit: atOnce,
	})
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for began, i := time.Now(), 0; i < len(open) && time.Since(began) < lookEvery; i++ {
		if err := h.prepare(ctx, open[i]); err != nil {
			errs = append(errs, h.failed(ctx, h.waiting, open[i], err))
		}
	}
	return errors.Join(errs...)
}

// look finds out how much there is to do, and now and then what nobody has to ask for.
func (h *holder) look(ctx context.Context) error {
	var errs []error
	if time.Since(h.swept) >= sweepEvery {
		if err := h.sweep(ctx); err != nil {
			errs = append(errs, err)
		} else {
			h.swept = time.Now()
		}
	}
	if !time.Now().Before(h.prunes) {
		h.prunes = time.Now().Add(sweepEvery)
		if err := h.prune(ctx); err != nil {
			errs = append(errs, err)
			h.prunes = time.Now().Add(pruneAgain)
		}
	}
	is, err := h.deps.Store.CountErasures(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	h.metrics.standing(is, h.deps.Now())
	return errors.Join(errs...)
}

// waiting returns the erasures that wait after a failure. They are asked for again only when
// that is over: otherwise as many as are taken at once would hold back all later ones.
func waiting(until map[string]time.Time) (ids []string) {
	for id, t := range until {
		if time.Now().Before(t) {
			ids = append(ids, id)
		}
	}
	return ids
}

// settling appends those that wait, for the same reason, until every insert has ended that was
// built before their tombstones.
func (h *holder) settling(ids []string) []string {
	for id, since := range h.buried {
		if time.Since(since) < h.cfg.Settle {
			ids = append(ids, id)
		}
	}
	return ids
}

// write writes the tombstones of all ids of an erasure that are known, unless they are there.
func (h *holder) write(ctx context.Context, e *Erasure) error {
	stones := e.Tombstones()
	if h.written[e.ID] == len(stones) {
		return nil
	}
	if err := h.deps.Tables.Bury(ctx, e.ID, stones); err != nil {
		return err
	}
	h.written[e.ID] = len(stones)
	return nil
}

// prepare brings an erasure to where its rows can be deleted.
func (h *holder) prepare(ctx context.Context, e *Erasure) error {
	if e.State == Requested {
		if _, err := h.link(ctx, e); err != nil {
			return err
		}
		return h.bury(ctx, e)
	}
	since, known := h.buried[e.ID]
	if !known {
		since = time.Now()
		h.buried[e.ID] = since
	}
	if time.Since(since) < h.cfg.Settle {
		return nil
	}
	// What was under way when it was requested has been stored by now.
	if grew, err := h.link(ctx, e); err != nil {
		return err
	} else if grew {
		return h.bury(ctx, e)
	}
	e.State = Deleting
	if err := h.deps.Store.SaveErasure(ctx, e, h.deps.Now()); err != nil {
		return err
	}
	delete(h.written, e.ID)
	delete(h.buried, e.ID)
	delete(h.waiting, e.ID)
	select {
	case h.due <- struct{}{}:
	default: // the other loop is told already
	}
	return nil
}

// bury notes that the tombstones of all ids of an erasure are there.
func (h *holder) bury(ctx context.Context, e *Erasure) error {
	if err := h.write(ctx, e); err != nil {
		return err
	}
	h.buried[e.ID] = time.Now()
	e.State, e.TombstonedAt = Tombstoned, h.deps.Now().UTC().Truncate(time.Millisecond)
	return h.deps.Store.SaveErasure(ctx, e, h.deps.Now())
}

// link adds the visitor ids of a profile, and reports whether there were new ones.
func (h *holder) link(ctx context.Context, e *Erasure) (grew bool, err error) {
	if e.Kind != tombstone.Profile {
		return false, nil
	}
	own, shared, err := h.deps.Tables.Links(ctx, e.OwnerID, e.Stones[0].ID)
	if err != nil {
		return false, err
	}
	e.Shared = max(e.Shared, shared)
	return e.add(tombstone.Visitor, own...), nil
}

// eraseAll deletes the rows of erasures that are ready for it, all together, and looks for what
// is left of each. One whose rows cannot be counted waits alone.
func (h *holder) eraseAll(ctx context.Context) error {
	due, err := h.deps.Store.OpenErasures(ctx, Selection{
		In: []State{Deleting}, Without: waiting(h.paused), Limit: atOnce,
	})
	if err != nil {
		return err
	}
	var errs []error
	fail := func(e *Erasure, cause error) { errs = append(errs, h.failed(ctx, h.paused, e, cause)) }
	var counted []*Erasure
	var stones []tombstone.Tombstone
	for _, e := range due {
		found, err := h.deps.Tables.Count(ctx, e.Tombstones())
		if err != nil {
			fail(e, err)
			continue
		}
		counted = append(counted, e)
		for table, rows := range found {
			e.Deleted[table] = max(e.Deleted[table], rows)
		}
		if len(found) > 0 {
			stones = append(stones, e.Tombstones()...)
		}
	}
	if len(stones) > 0 {
		err = h.deps.Tables.Delete(ctx, stones)
	}
	for _, e := range counted {
		cause := err
		if cause == nil {
			cause = h.finish(ctx, e)
		}
		if cause != nil {
			fail(e, cause)
		}
	}
	return errors.Join(errs...)
}

// finish ends an erasure of which nothing is left.
func (h *holder) finish(ctx context.Context, e *Erasure) error {
	left, err := h.deps.Tables.Left(ctx, e.Tombstones())
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("rows are left in %v", slices.Sorted(maps.Keys(left)))
	}
	now := h.deps.Now().UTC().Truncate(time.Millisecond)
	e.State, e.DoneAt, e.Failures = Done, now, 0
	if err := h.deps.Store.SaveErasure(ctx, e, now); err != nil {
		e.State, e.DoneAt = Deleting, time.Time{}
		return err
	}
	delete(h.paused, e.ID)
	h.metrics.finished(e)
	h.deps.Log.LogAttrs(ctx, slog.LevelInfo, "erasure finished", slog.String("erasure", e.ID),
		slog.String("kind", string(e.Kind)), slog.Any("rows", e.Deleted))
	return nil
}

// failed has an erasure wait before it is gone on with, so that one that cannot be
// done does not keep the others from it.
func (h *holder) failed(ctx context.Context, until map[string]time.Time, e *Erasure, cause error) error {
	e.Failures++
	until[e.ID] = time.Now().Add(min(longestPause, time.Second<<min(e.Failures, 6)))
	return errors.Join(fmt.Errorf("erasure %s: %w", e.ID, cause), h.deps.Store.SaveErasure(ctx, e, h.deps.Now()))
}
