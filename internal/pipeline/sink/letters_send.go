package sink

import (
	"context"
	"slices"
)

// lettersAtOnce bounds the dead letters that wait for the broker at a time.
const lettersAtOnce = 500

// sendLetters has dead letters acknowledged, without a builder.
func (w *worker) sendLetters(ctx context.Context, r *frozen, letters []letter) error {
	a := attempt{worker: w}
	for some := range slices.Chunk(letters, lettersAtOnce) {
		whole := make([]DeadLetter, len(some))
		for i, l := range some {
			whole[i] = DeadLetter{Partition: w.partition, Original: l.original, Reason: l.reason, Err: l.err}
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
