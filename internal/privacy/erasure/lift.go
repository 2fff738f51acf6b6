package erasure

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// liftAll removes the tombstones of visitors that no record can need any more: the erasure is
// done in every table, and what was in a topic or a dead letter then is gone from both. Those
// of websites stay. It has a loop of its own, since a deletion of hours may keep its statement
// waiting.
func (h *holder) liftAll(ctx context.Context) error {
	if time.Since(h.lifted) < sweepEvery {
		return nil
	}
	h.lifted = time.Now()
	if err := h.lift(ctx); err != nil && ctx.Err() == nil {
		h.deps.Log.LogAttrs(ctx, slog.LevelWarn, "removing ended tombstones failed, retrying", slog.Any("error", err))
	}
	return nil
}

func (h *holder) lift(ctx context.Context) error {
	life, err := h.deps.Topics(ctx)
	if err != nil || life == 0 {
		return err
	}
	by := h.deps.Now().Add(-life - liftSlack)
	buried, err := h.deps.Tables.Buried(ctx, by)
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(buried, liftAtOnce) {
		done, err := h.deps.Store.DoneErasures(ctx, ids, by)
		if err != nil {
			return err
		}
		if len(done) == 0 {
			continue
		}
		if err := h.deps.Tables.Lift(ctx, done, by); err != nil {
			return fmt.Errorf("removing the tombstones of %d erasures: %w", len(done), err)
		}
		h.deps.Log.LogAttrs(ctx, slog.LevelInfo, "ended tombstones removed", slog.Int("erasures", len(done)))
	}
	return nil
}
