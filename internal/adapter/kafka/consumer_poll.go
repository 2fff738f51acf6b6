package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// over is a context that has ended.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Poll implements sink.Source.
func (c *Consumer) Poll(ctx context.Context, maxBytes int64, deliver func(sink.Delivery)) error {
	if c.client == nil {
		return errNotOpen
	}
	waiting, cancel := c.wakeable(ctx)
	c.fetcher.wait(waiting)
	cancel()
	err := c.fetchErrors(ctx, c.client.PollRecords(nil, 1)) //nolint:staticcheck // for the client, nil means not to wait
	c.client.PollRecords(over, 1)                           // from here on no partition comes or goes
	defer c.client.AllowRebalance()
	if err != nil {
		return err
	}
	for _, f := range c.fetcher.failed() {
		c.fetchFailed(ctx, f.partition, f.err)
	}
	c.deliver(maxBytes, deliver)
	c.rewind(ctx)
	return nil
}

// wakeable returns a context for one wait, which Rewind cuts short.
func (c *Consumer) wakeable(ctx context.Context) (context.Context, context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, c.wake = context.WithTimeout(ctx, pollWait)
	return ctx, c.wake
}

// deliver hands over what waits, about so many bytes of it.
func (c *Consumer) deliver(maxBytes int64, deliver func(sink.Delivery)) {
	defer c.unpack.release()
	session := c.currentSession()
	for maxBytes > 0 {
		t, ok := c.fetcher.take()
		if !ok {
			return
		}
		bytes, err := c.deliverBatch(&t, session, maxBytes, deliver)
		if err != nil {
			c.fetcher.fail(&t, fmt.Errorf("%w: %w", buffer.ErrUnreadable, err))
		}
		maxBytes -= bytes
	}
}

// deliverBatch unpacks a batch and hands its records over, portion by portion. One that
// has more than was asked for is gone on with in the next poll.
func (c *Consumer) deliverBatch(
	t *taken, session sink.Session, maxBytes int64, deliver func(sink.Delivery),
) (bytes int64, err error) {
	h := headerOf(t.batch)
	if h.magic != currentMagic {
		return 0, fmt.Errorf("%w: version %d of the batch at %d", errBatch, h.magic, h.first)
	}
	records, err := c.unpack.unpack(t.batch[batchHeaderSize:], h.codec())
	if err != nil {
		return 0, fmt.Errorf("decompressing the batch at %d: %w", h.first, err)
	}
	if t.from <= h.first { // else it was told of before
		c.fetcher.tell(t, &h, len(records))
	}
	w := walk{batchHeader: h, rest: records, size: len(records), share: t.share(h.records), left: h.records, next: h.first}
	for bytes < maxBytes {
		n, err := c.deliverPortion(t, &w, session, deliver)
		if err != nil {
			return bytes, fmt.Errorf("reading the batch at %d: %w", h.first, err)
		}
		bytes += n
		if w.left <= 0 {
			c.fetcher.done(t, h.last+1, true)
			return bytes, nil
		}
	}
	c.fetcher.done(t, w.next, false)
	return bytes, nil
}

// deliverPortion hands the next records of a batch over, unless they are to be read again.
func (c *Consumer) deliverPortion(
	t *taken, w *walk, session sink.Session, deliver func(sink.Delivery),
) (bytes int64, err error) {
	bytes, err = c.portion(w, t.from)
	if err != nil || len(c.records) == 0 || c.isRewinding(t.stream.partition) {
		return bytes, err
	}
	deliver(
		sink.Delivery{Partition: t.stream.partition, Session: session, End: t.end, Packed: t.packed, Records: c.records})
	clear(c.records)
	return bytes, nil
}

// portion reads the next records of a batch.
func (c *Consumer) portion(w *walk, from int64) (bytes int64, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.records = nil
			err = panicked(cause)
		}
	}()
	c.records, bytes, err = w.portion(c.records[:0], from)
	return bytes, err
}

// fetchErrors counts and logs what the client reports, and returns what ends the
// consumer.
func (c *Consumer) fetchErrors(ctx context.Context, fetches kgo.Fetches) (fatal error) {
	if fetches.IsClientClosed() {
		return kgo.ErrClientClosed
	}
	fetches.EachError(func(topic string, partition int32, err error) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return // of a session of the group that ended
		}
		c.fetchFailed(ctx, sink.Partition{Topic: topic, Index: partition}, err)
		if errors.Is(err, kerr.FencedInstanceID) {
			fatal = fmt.Errorf("another process has the same sink.instance_id: %w", err)
		}
	})
	return fatal
}

// fetchFailed counts and logs an error. The owner is told where nothing comes any more.
func (c *Consumer) fetchFailed(ctx context.Context, p sink.Partition, err error) {
	c.errs.Inc()
	c.deps.Log.LogAttrs(ctx, slog.LevelError, "Kafka fetch failed",
		slog.String("topic", p.Topic), slog.Int("partition", int(p.Index)), slog.Any("error", err))
	if errors.Is(err, kerr.OffsetOutOfRange) || errors.Is(err, sink.ErrTruncated) || errors.Is(err, buffer.ErrUnreadable) {
		c.listener.Gone(ctx, p, err)
	}
}
