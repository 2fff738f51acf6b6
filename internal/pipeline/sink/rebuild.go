package sink

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
)

// rebuild reads the window from the headers of the records before the first one
// that is to be decided about.
func (w *worker) rebuild(ctx context.Context, state ledger.State) error {
	w.window.Shown(w.assignment.Committed)
	if w.cfg.Window == 0 || w.assignment.Committed <= w.assignment.LogStart {
		w.window.SetLowWatermark(state.LowWatermark)
		return nil
	}
	lowWatermark := state.LowWatermark
	if lowWatermark == 0 {
		first, err := w.firstReceipts(ctx)
		if err != nil {
			return err
		}
		lowWatermark = w.window.LowWatermarkFor(first, time.Now())
	}
	if err := w.rebuilds.acquire(ctx, w.abort); err != nil {
		return err
	}
	w.rebuilding = true
	defer w.rebuilt(state.Plan != nil)
	begin := time.Now()
	w.window.SetLowWatermark(lowWatermark)
	stretch, observer := Stretch{Since: dedup.LowWatermarkMillis(lowWatermark)}, w.window.Rebuild()
	if err := w.readWindow(ctx, &stretch, observer, ceilingsOf(state)); err != nil {
		return err
	}
	observer.Done()
	took := time.Since(begin)
	w.metrics.rebuilt(stretch.Records, took)
	w.deps.Log.LogAttrs(ctx, slog.LevelInfo, "deduplication window rebuilt", slog.String("topic", w.partition.Topic),
		slog.Int("partition", int(w.partition.Index)), slog.Int64("records", stretch.Records),
		slog.Int("keys", w.window.Len()), slog.Duration("took", took))
	return nil
}

// readWindow shows the records before the committed offset, and sets the window's ceilings on
// the way, each at its offset.
func (w *worker) readWindow(
	ctx context.Context, stretch *Stretch, observer *dedup.Rebuild, ceilings []dedup.Ceiling,
) error {
	for _, c := range ceilings {
		c.From = min(c.From, w.assignment.Committed)
		if err := w.readUpTo(ctx, c.From, stretch, observer); err != nil {
			return err
		}
		observer.SetCeiling(c)
	}
	return w.readUpTo(ctx, w.assignment.Committed, stretch, observer)
}

func (w *worker) readUpTo(ctx context.Context, to int64, stretch *Stretch, observer *dedup.Rebuild) error {
	if to <= w.assignment.LogStart {
		return nil // there is nothing before it any more
	}
	if stretch.Records == 0 {
		stretch.Next = 0 // what is to be read begins behind what was looked at so far
	}
	stretch.To = to
	a := attempt{settler: &w.settler, patience: rebuildTimeout}
	return a.until(ctx, stepRebuild, func(ctx context.Context) error {
		return w.deps.Reader.Observations(ctx, w.partition, stretch, observer)
	})
}

// rebuilt lets the next window be read. Where the windows are more than there is memory for,
// that of a plan, which forgets nothing before the plan is settled, keeps its place until
// then: no more of them than places are beyond the memory.
func (w *worker) rebuilt(planned bool) {
	if w.rebuilding && (!planned || !w.windows.Full()) {
		w.rebuilding = false
		w.rebuilds.release()
	}
}

// rebuildTimeout bounds one attempt to read a window: 24 h of records at a million
// a second take minutes.
const rebuildTimeout = 30 * time.Minute

// windowExtents say, with the log, what is in a window.
type windowExtents struct {
	lowWatermark int32
	ceilings     []dedup.Ceiling
}

func extentsOf(w *dedup.Window) windowExtents { return windowExtents{w.LowWatermark(), w.Ceilings()} }

// describe notes them in what is committed.
func (e windowExtents) describe(s *ledger.State) {
	s.LowWatermark = e.lowWatermark
	for _, c := range e.ceilings {
		s.Ceilings = append(s.Ceilings, [2]int64{int64(c.Bucket), c.From})
	}
}

func ceilingsOf(s ledger.State) (all []dedup.Ceiling) {
	for _, c := range s.Ceilings {
		all = append(all, dedup.Ceiling{Bucket: int32(c[0]), From: c[1]})
	}
	return all
}
