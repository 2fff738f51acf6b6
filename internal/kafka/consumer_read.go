package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/sink"
)

var errShort = errors.New("the log ended early")

// LogStart implements sink.Reader.
func (c *Consumer) LogStart(ctx context.Context, p sink.Partition) (int64, error) {
	name := TopicName(c.cfg, p.Topic)
	<-c.opened
	starts, err := c.admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = starts[name][p.Index].Err
	}
	if err != nil {
		return 0, fmt.Errorf("reading the log start of %s/%d: %w", p.Topic, p.Index, err)
	}
	return starts[name][p.Index].Offset, nil
}

// Fetch implements sink.Reader. It reads once from the first offset to the last
// one, so it is as dear as looking at what lies between them.
func (c *Consumer) Fetch(ctx context.Context, p sink.Partition, offsets []int64) ([]sink.Original, error) {
	if len(offsets) == 0 {
		return nil, nil
	}
	<-c.opened
	s := scan{topic: TopicName(c.cfg, p.Topic), partition: p.Index, next: offsets[0], to: offsets[len(offsets)-1] + 1, wanted: offsets}
	if err := c.scan(ctx, &s); err != nil {
		return nil, fmt.Errorf("reading records of %s/%d at %d: %w", p.Topic, p.Index, s.next, err)
	}
	return s.found, nil
}

// Holds implements sink.Reader.
func (c *Consumer) Holds(ctx context.Context, p sink.Partition, offsets sink.Span) (holds bool, err error) {
	err = c.read(ctx, p, offsets.First, offsets.Last+1, func(*kgo.Record) { holds = true })
	if err != nil {
		return false, fmt.Errorf("looking for records of %s/%d at %d-%d: %w", p.Topic, p.Index, offsets.First, offsets.Last, err)
	}
	return holds, nil
}

// read gives the records [from, to) of a partition to do, over a client of its
// own that is no member of the group. A log that begins later, or has gaps, has
// fewer of them; one that ends before to is an error.
func (c *Consumer) read(ctx context.Context, p sink.Partition, from, to int64, do func(*kgo.Record)) error {
	opts, err := ClientOptions(c.cfg, c.deps.Client+"-reader", c.deps.Log, nil)
	if err != nil {
		return err
	}
	name := TopicName(c.cfg, p.Topic)
	client, err := kgo.NewClient(append(opts,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: {p.Index: kgo.NewOffset().At(from)}}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(fetchMaxBytes), kgo.FetchMaxPartitionBytes(readPartitionBytes),
		kgo.FetchMaxWait(fetchMaxWait),
	)...)
	if err != nil {
		return fmt.Errorf("making the reader: %w", err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	starts, err := offsets(ctx, admin.ListStartOffsets, name)
	if err != nil {
		return err
	}
	ends, err := offsets(ctx, admin.ListEndOffsets, name)
	switch {
	case err != nil:
		return err
	case starts[p.Index] >= to:
		return nil
	case ends[p.Index] < to:
		return fmt.Errorf("%w: at %d, before %d", errShort, ends[p.Index], to)
	}
	for next := from; next < to; {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset >= from && r.Offset < to {
				do(r)
			}
			next = r.Offset + 1
		})
	}
	return nil
}

// readPartitionBytes is how much of a partition a reader fetches at a time,
// compressed.
const readPartitionBytes = 8 << 20
