package sink

import (
	"context"
	"fmt"
	"runtime/debug"
)

const (
	// lettersAtOnce and letterBytesAtOnce bound the dead letters that wait for the broker at
	// a time: so many, and none behind the one with which they take so many bytes.
	lettersAtOnce     = 500
	letterBytesAtOnce = 2 << 20
	// headerOverhead is what a header takes besides its texts, here and as it is sent.
	headerOverhead = 120
)

// sendLetters has dead letters of a range, in offset order, acknowledged, without a builder.
// Their originals may be far larger than what they counted in hand: they are copied for
// those that are sent at a time only, and count meanwhile. A panic is returned as the reason
// to stand still.
func (w *worker) sendLetters(ctx context.Context, r *frozen, letters []letter) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &stuck{StuckPanic, fmt.Errorf("dead letters of %d-%d: %v\n%s", r.First, r.Last, cause, debug.Stack())}
		}
	}()
	var from reader
	for len(letters) > 0 {
		some, bytes, err := w.wholeLetters(ctx, &from, r, letters)
		if err != nil {
			return err
		}
		if err := w.sendSome(ctx, some, bytes); err != nil {
			return err
		}
		r.addLetters(some)
		letters = letters[len(some):]
	}
	return nil
}

// wholeLetters returns the first letters with their originals, as many as may wait at a
// time, and how many bytes of memory stay taken. While it copies it has one of a few places:
// batches are unpacked for it.
func (w *worker) wholeLetters(
	ctx context.Context, from *reader, r *frozen, letters []letter,
) (some []DeadLetter, bytes int64, err error) {
	if err := w.sink.copying.acquire(ctx, w.halt); err != nil {
		return nil, 0, err
	}
	defer w.sink.copying.release()
	for _, l := range letters[:min(len(letters), lettersAtOnce)] {
		o, err := r.original(from, l.offset)
		if err != nil {
			return nil, 0, err
		}
		some = append(some, DeadLetter{Partition: w.partition, Original: o, Reason: l.reason, Err: l.err})
		if bytes += o.bytes(); bytes >= letterBytesAtOnce {
			break
		}
	}
	return some, bytes + from.rest(), nil
}

// sendSome has letters acknowledged, which count so many bytes until then.
func (w *worker) sendSome(ctx context.Context, some []DeadLetter, bytes int64) error {
	w.sink.budget.take(bytes)
	defer w.sink.budget.give(bytes)
	a := attempt{worker: w}
	return a.until(ctx, stepDeadLetter, func(ctx context.Context) error {
		return w.sink.deps.DeadLetters.Send(ctx, some)
	})
}

// bytes is what a record takes in memory as the log has it.
func (o *Original) bytes() int64 {
	n := len(o.Key) + len(o.Value) + headerOverhead*len(o.Headers)
	for i := range o.Headers {
		n += len(o.Headers[i].Key) + len(o.Headers[i].Value)
	}
	return int64(n)
}
