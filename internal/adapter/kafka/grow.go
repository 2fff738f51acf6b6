package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// PartitionOf implements repair.Partitions: as every producer of ours chooses, and
// the Java client does.
func (o *Offsets) PartitionOf(key string, partitions int) int32 {
	p := kgo.StickyKeyPartitioner(nil).ForTopic("")
	return int32(p.Partition(&kgo.Record{Key: []byte(key)}, partitions))
}

// Grow implements repair.Partitions. It returns when brokers tell of all partitions.
func (o *Offsets) Grow(ctx context.Context, topic string, partitions int) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name := TopicName(o.cfg, topic)
	grown, err := o.admin.UpdatePartitions(ctx, partitions, name)
	if err == nil {
		err = grown.Error()
	}
	if err != nil {
		return fmt.Errorf("adding partitions to %s: %w", name, err)
	}
	return visible(ctx, func() (bool, error) {
		topics, err := o.admin.ListTopics(ctx, name)
		return err == nil && len(topics[name].Partitions) == partitions, err
	})
}
