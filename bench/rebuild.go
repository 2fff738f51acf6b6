package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// loopRebuild measures how fast windows are read back, one partition after the
// other, by the consumer that the sink has.
func loopRebuild(ctx context.Context, j job, say func(result) error) error {
	r, err := j.readBatches(ctx, func(adm *kadm.Client) (kadm.Offsets, error) {
		ends, err := adm.FetchOffsets(ctx, seenGroup)
		return ends.Offsets(), err
	})
	if err == nil && int(r.Keys) != j.Seen {
		err = fmt.Errorf("the windows remember %.0f events of %d", r.Keys, j.Seen)
	}
	if err != nil {
		return err
	}
	return say(r)
}

// loopRaw is the limit of S3: the topic's batches are fetched, checked and unpacked, and
// what their records' headers name goes into windows. Nobody looks at a value.
func loopRaw(ctx context.Context, j job, say func(result) error) error {
	r, err := j.readBatches(ctx, func(adm *kadm.Client) (kadm.Offsets, error) {
		ends, err := adm.ListEndOffsets(ctx, record.TopicEvents)
		return ends.Offsets(), err
	})
	if err != nil {
		return err
	}
	return say(r)
}

// readBatches reads the topic up to the offsets into windows, as the sink does.
func (j job) readBatches(ctx context.Context, to func(*kadm.Client) (kadm.Offsets, error)) (r result, err error) {
	s := config.Default()
	s.Kafka, s.Sink.Group = kafkaSettings(j.Brokers), j.Database
	t := telemetry.Discard()
	consumer, err := kafka.NewConsumer(s.Kafka, s.Sink, []string{record.TopicEvents}, kafka.ConsumerDeps{
		Client: "bench", Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return r, err
	}
	if err := consumer.Open(ctx, &nobody{}); err != nil {
		return r, err
	}
	defer consumer.Close()
	var ends kadm.Offsets
	if err := admin(j.Brokers, func(adm *kadm.Client) (err error) {
		ends, err = to(adm)
		return err
	}); err != nil {
		return r, err
	}
	begin, cpu, records := time.Now(), cpuTime(), 0
	windows := make([]*dedup.Window, 0, len(ends[record.TopicEvents])) // as the sink keeps them
	for index, end := range ends[record.TopicEvents] {
		w := dedup.NewWindow(s.Sink.Window, s.Sink.WindowKeys)
		p, stretch := sink.Partition{Topic: record.TopicEvents, Index: index}, sink.Stretch{To: end.At}
		if err := consumer.Observations(ctx, p, &stretch, w); err != nil {
			return r, err
		}
		records += int(stretch.Records)
		windows = append(windows, w)
	}
	r = measured(records, begin, cpu)
	for _, w := range windows {
		r.Keys += float64(w.Len())
	}
	return r, nil
}

// nobody owns the partitions that the consumer gets, and does nothing with them.
type nobody struct{}

func (*nobody) Assigned(context.Context, []sink.Assignment) {}
func (*nobody) Revoked(context.Context, []sink.Partition)   {}
func (*nobody) Lost(context.Context, []sink.Partition)      {}
func (*nobody) Gone(context.Context, sink.Partition, error) {}
