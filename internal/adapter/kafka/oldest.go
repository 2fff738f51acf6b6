package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Times returns when the first record at or after an offset was received, by
// partition. What is not found before ctx ends is left out.
func (o *Offsets) Times(ctx context.Context, topic string, at map[int32]int64) (map[int32]time.Time, error) {
	times := map[int32]time.Time{}
	if len(at) == 0 {
		return times, nil
	}
	name := TopicName(o.cfg, topic)
	from := map[int32]kgo.Offset{}
	for p, offset := range at {
		from[p] = kgo.NewOffset().At(offset)
	}
	opts, err := ClientOptions(o.cfg, "reader", o.log, nil)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(opts,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: from}),
		kgo.FetchMaxPartitionBytes(1), // one batch is given all the same
		kgo.FetchMaxWait(fetchMaxWait),
	)...)
	if err != nil {
		return nil, fmt.Errorf("creating the reader: %w", err)
	}
	defer client.Close()
	for len(times) < len(at) {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return times, ctx.Err()
		}
		if err := fetches.Err(); err != nil {
			return times, fmt.Errorf("reading %s: %w", name, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if _, seen := times[r.Partition]; !seen {
				times[r.Partition] = r.Timestamp
				client.PauseFetchPartitions(map[string][]int32{name: {r.Partition}})
			}
		})
	}
	return times, nil
}
