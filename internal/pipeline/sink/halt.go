package sink

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// HaltReason says why a partition that is owned is halted until somebody does
// something about it. Values are labels of a metric, and headings of the runbook.
type HaltReason string

// The reasons.
const (
	// HaltRetention: the log does not hold what comes next any more.
	HaltRetention HaltReason = "retention"
	// HaltTruncated: the log ends before what comes next, or has other records before it
	// than those that were read, or that an open plan was made of: a broker that lacked
	// some became the leader.
	HaltTruncated HaltReason = "truncated"
	// HaltOffset: nothing is committed, yet the ledger shows that records were
	// stored.
	HaltOffset HaltReason = "offset_missing"
	// HaltTopic: the offset was committed for a topic that was recreated.
	HaltTopic HaltReason = "topic_changed"
	// HaltMetadata: what is committed beside the offset cannot be read.
	HaltMetadata HaltReason = "metadata"
	// HaltDeadLetters: more records become dead letters than the limit allows.
	HaltDeadLetters HaltReason = "dead_letters"
	// HaltPanic: this build cannot read a batch, or make a block of a record. Whoever owns the
	// partition next would end by it too, and so would all its other partitions.
	HaltPanic HaltReason = "panic"
	// HaltBatch: what comes next is in a record batch that cannot be unpacked, or is not as
	// it was written.
	HaltBatch HaltReason = "batch"
)

// haltError is the error of a partition that cannot go on by itself.
type haltError struct {
	reason HaltReason
	err    error
}

func (e *haltError) Error() string { return e.err.Error() }
func (e *haltError) Unwrap() error { return e.err }

// unreadable makes the reason to halt of an error that wraps buffer.ErrUnreadable, or ErrPanicked.
func unreadable(err error) error {
	switch {
	case errors.Is(err, ErrPanicked):
		return &haltError{HaltPanic, err}
	case errors.Is(err, buffer.ErrUnreadable):
		return &haltError{HaltBatch, err}
	}
	return err
}

// exhausted returns why nothing comes any more, once what is in hand is settled,
// or cannot be because the rest of its range is gone, or is that of another log.
func (w *worker) exhausted() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.forced.diverged(&w.open); err != nil {
		return err
	}
	if w.lost == nil || w.ending != running {
		return nil
	}
	if f := w.forced; f != nil && f.exact {
		if w.complete() {
			return nil
		}
		return w.lost
	}
	if w.open.Len() > 0 {
		return nil
	}
	return w.lost
}

// giveUp is told why the range in flight was not settled, or the partition not
// taken over. A partition that is halted stays with this worker until somebody else
// is to have it.
func (w *worker) giveUp(ctx context.Context, err error) {
	where := []slog.Attr{
		slog.String("topic", w.partition.Topic), slog.Int("partition", int(w.partition.Index)), slog.Any("error", err),
	}
	if errors.Is(err, errMissed) {
		w.deps.Log.LogAttrs(ctx, slog.LevelError,
			"reading partition again, the topic has records that were not delivered", where...)
		w.metrics.missed.Inc()
		w.deps.Source.Rewind(w.partition)
		return
	}
	if errors.Is(err, errOutdated) {
		w.startOver(ctx)
		return
	}
	if errors.Is(err, errWithin) {
		w.deps.Log.LogAttrs(ctx, slog.LevelWarn,
			"reading partition again, its offset was reset into the middle of a range", where...)
		w.deps.Source.Rewind(w.partition)
		return
	}
	if errors.Is(err, ErrFenced) {
		w.deps.Log.LogAttrs(ctx, slog.LevelWarn, "partition fenced, dropping its pending records", where...)
		w.metrics.fenced.Inc()
		w.deps.Source.Rewind(w.partition)
		return
	}
	var s *haltError
	if !errors.As(err, &s) {
		return // asked to end
	}
	w.deps.Log.LogAttrs(ctx, slog.LevelError, "partition halted, an operator must remove the reason",
		append(where, slog.String("reason", string(s.reason)))...)
	w.halt(ctx, s.reason)
}

// halt keeps a halted partition, without anything of it in hand: neither records nor a
// window, whose memory others need. Whoever is to end it does not wait.
func (w *worker) halt(ctx context.Context, why HaltReason) {
	w.mu.Lock()
	w.haltReason, w.forced, w.flush = why, nil, false // nobody is to wait for it, or fetch more
	w.planned = time.Time{}                           // what is halted has a gauge of its own
	w.budget.Release(w.open.Bytes())
	w.open.Release(w.memory)
	w.regulate()
	w.mu.Unlock()
	w.window.Close()
	w.rebuilt(false)
	w.measure()
	w.lookSoon() // nothing tells any more since when its next record waits
	for !w.isEnding() {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
	}
}

// gone is told that the log does not hold what comes next. What is in hand is
// settled first.
func (w *worker) gone(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = err
	w.signal()
}
