package sink

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// lettersAtOnce bounds the dead letters in memory.
const lettersAtOnce = 500

// sendLetters has dead letters acknowledged, without a builder.
func (w *worker) sendLetters(ctx context.Context, r *frozen, letters []letter) error {
	a := attempt{worker: w}
	for some := range slices.Chunk(letters, lettersAtOnce) {
		whole, err := a.fetchLetters(ctx, r, some)
		if err != nil {
			return err
		}
		if len(whole) == 0 {
			continue
		}
		if err := a.until(ctx, stepDeadLetter, func(ctx context.Context) error {
			return w.sink.deps.DeadLetters.Send(ctx, whole)
		}); err != nil {
			return err
		}
		r.addLetters(whole)
	}
	return nil
}

// fetchLetters reads records again that become dead letters: only what is needed
// to store a record is kept in hand, and they are few. Those that retention was faster
// with are lost, which is told; the records of the range that can be stored are in hand
// for good reason, since the log may not hold them any more either.
func (a *attempt) fetchLetters(ctx context.Context, r *frozen, letters []letter) ([]DeadLetter, error) {
	w := a.worker
	offsets := make([]int64, len(letters))
	for i := range letters {
		offsets[i] = letters[i].offset
	}
	var whole []DeadLetter
	err := a.until(ctx, stepFetch, func(ctx context.Context) error {
		originals, err := w.sink.deps.Reader.Fetch(ctx, w.partition, offsets)
		if err != nil {
			return err
		}
		var gone []letter
		whole, gone = w.matched(letters, originals)
		if len(gone) == 0 {
			return nil
		}
		start, err := w.sink.deps.Reader.LogStart(ctx, w.partition)
		if err != nil || gone[len(gone)-1].offset >= start {
			return fmt.Errorf("reading %d dead letters again: %d are there", len(letters), len(originals))
		}
		w.lose(ctx, r, gone)
		return nil
	})
	return whole, err
}

// matched returns the letters with their originals, and those that have none.
func (w *worker) matched(letters []letter, originals []Original) (whole []DeadLetter, gone []letter) {
	for _, l := range letters {
		if len(originals) == 0 || originals[0].Offset != l.offset {
			gone = append(gone, l)
			continue
		}
		whole = append(whole, DeadLetter{Partition: w.partition, Original: originals[0], Reason: l.reason, Err: l.err})
		originals = originals[1:]
	}
	return whole, gone
}

// lose notes dead letters that no try brings back.
func (w *worker) lose(ctx context.Context, r *frozen, gone []letter) {
	r.lost.add(gone)
	w.sink.metrics.lettersLost.Add(float64(len(gone)))
	w.sink.deps.Log.LogAttrs(ctx, slog.LevelError, "dead letters are lost: retention removed them before they were sent",
		slog.String("topic", w.partition.Topic), slog.Int("partition", int(w.partition.Index)),
		slog.Int("letters", len(gone)), slog.Int64("first", gone[0].offset), slog.Int64("last", gone[len(gone)-1].offset))
}

// lostLetters counts dead letters that are lost, by reason. Those that the build found
// are looked for while those that the server made are.
type lostLetters struct {
	mu sync.Mutex
	by map[Reason]int
}

func (l *lostLetters) add(gone []letter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[Reason]int{}
	}
	for _, g := range gone {
		l.by[g.reason]++
	}
}

// count returns those of a reason, and of all with an empty one.
func (l *lostLetters) count(reason Reason) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reason != "" {
		return l.by[reason]
	}
	for of := range maps.Values(l.by) {
		n += of
	}
	return n
}
