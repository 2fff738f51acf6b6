package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
)

var errPartitions = errors.New("the topic must have one partition, so that changes keep their order")

// ControlSource implements control.Source. It belongs to no consumer group, as
// every process reads every change.
type ControlSource struct {
	cfg    config.Kafka
	client string
	log    *slog.Logger
}

// NewControlSource returns a source that connects when it is followed. The name
// of the daemon is shown to brokers.
func NewControlSource(cfg config.Kafka, component string, log *slog.Logger) *ControlSource {
	return &ControlSource{cfg: cfg, client: component + "-changes", log: log}
}

// Follow implements control.Source.
func (s *ControlSource) Follow(ctx context.Context, do func(context.Context, control.Delivery) error) error {
	opts, err := ClientOptions(s.cfg, s.client, s.log, nil)
	if err != nil {
		return err
	}
	topic := TopicName(s.cfg, control.Topic)
	client, err := kgo.NewClient(append(opts,
		// What was missed must be noticed, and not be passed over.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(),
		kgo.FetchMaxWait(fetchMaxWait),
	)...)
	if err != nil {
		return fmt.Errorf("creating the reader of topic %s: %w", topic, err)
	}
	defer client.Close()
	from, end, err := controlRange(ctx, kadm.NewClient(client), topic)
	if err != nil {
		return fmt.Errorf("reading topic %s: %w", topic, err)
	}
	if from == end {
		if err := do(ctx, control.Delivery{First: true, End: true}); err != nil {
			return err
		}
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}})
	for {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("reading topic %s: %w", topic, err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, b := range controlDeliveries(p.FetchPartition, end) {
				if err == nil {
					err = do(ctx, b)
				}
			}
		})
		if err != nil {
			return err
		}
	}
}

// controlRange returns the offset of the topic's last record and the offset after
// it; the same one when the topic is empty.
func controlRange(ctx context.Context, adm *kadm.Client, topic string) (from, end int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	starts, err := offsets(ctx, adm.ListStartOffsets, topic)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return 0, 0, errors.New(`the topic does not exist; create it with "millrace topics create"`)
	}
	if err != nil {
		return 0, 0, err
	}
	ends, err := offsets(ctx, adm.ListEndOffsets, topic)
	if err != nil {
		return 0, 0, err
	}
	if len(ends) != 1 {
		return 0, 0, fmt.Errorf("%w, not %d", errPartitions, len(ends))
	}
	return max(starts[0], ends[0]-1), ends[0], nil
}

// controlDeliveries parts what was fetched into what was there before the reading
// began, which ended at end, and what came since.
func controlDeliveries(p kgo.FetchPartition, end int64) []control.Delivery {
	first, since := control.Delivery{First: true}, control.Delivery{}
	last := int64(-1)
	for _, r := range p.Records {
		last = r.Offset
		b := &since
		if r.Offset < end {
			b = &first
		}
		if !r.Attrs.IsControl() {
			b.Values = append(b.Values, r.Value)
		}
	}
	var all []control.Delivery
	if len(p.Records) > 0 && p.Records[0].Offset < end {
		first.End = last >= end-1 // whatever came since is another batch
		all = append(all, first)
	}
	if last >= end {
		since.End = last+1 >= p.HighWatermark
		all = append(all, since)
	}
	return all
}
