package sink

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

const (
	// lettersAtOnce and letterBytesAtOnce bound the dead letters that wait for the broker at
	// a time: so many, and none behind the one with which they take so many bytes.
	lettersAtOnce     = 500
	letterBytesAtOnce = 2 << 20
)

// sendLetters has dead letters of a range, in offset order, acknowledged, without a builder.
// Their originals may be far larger than what they counted in hand: they are copied for
// those that are sent at a time only, and count meanwhile. A panic is returned as the reason
// to halt.
func (s *settler) sendLetters(ctx context.Context, j *job, letters []letter) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &haltError{HaltPanic, fmt.Errorf("dead letters of %d-%d: %v\n%s", j.First, j.Last, cause, debug.Stack())}
		}
	}()
	var from buffer.Reader
	for len(letters) > 0 {
		some, bytes, err := s.wholeLetters(ctx, &from, j, letters)
		if err != nil {
			return err
		}
		if err := s.sendSome(ctx, some, bytes); err != nil {
			return err
		}
		j.addLetters(some)
		letters = letters[len(some):]
	}
	return nil
}

// wholeLetters returns the first letters with their originals, as many as may wait at a
// time, and how many bytes of memory stay taken. While it copies it has one of a few places:
// batches are unpacked for it.
func (s *settler) wholeLetters(
	ctx context.Context, from *buffer.Reader, j *job, letters []letter,
) (some []DeadLetter, bytes int64, err error) {
	if err := s.copying.acquire(ctx, s.abort); err != nil {
		return nil, 0, err
	}
	defer s.copying.release()
	for _, l := range letters[:min(len(letters), lettersAtOnce)] {
		o, err := j.Original(from, l.offset)
		if err != nil {
			return nil, 0, unreadable(err)
		}
		some = append(some, DeadLetter{Partition: s.partition, Original: o, Reason: l.reason, Err: l.err})
		if bytes += o.Bytes(); bytes >= letterBytesAtOnce {
			break
		}
	}
	return some, bytes + from.Rest(), nil
}

// sendSome has letters acknowledged, which count so many bytes until then.
func (s *settler) sendSome(ctx context.Context, some []DeadLetter, bytes int64) error {
	s.budget.Take(bytes)
	defer s.budget.Release(bytes)
	a := attempt{settler: s}
	return a.until(ctx, stepDeadLetter, func(ctx context.Context) error {
		return s.deps.DeadLetters.Send(ctx, some)
	})
}
