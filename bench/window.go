package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// windowKeys is how many events are in the windows before the first row.
const windowKeys = 4_000_000

// seenGroup is a group whose offsets stand behind the events that were seen.
const seenGroup = "seen"

// admin calls do with a client of the brokers.
func admin(brokers []string, do func(*kadm.Client) error) error {
	opts, err := kafka.ClientOptions(kafkaSettings(brokers), "bench", telemetry.Discard().Log, nil)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer client.Close()
	return do(kadm.NewClient(client))
}

// fillSeen publishes the events that are in the windows, with nothing but their
// headers, and commits the offsets behind them for seenGroup.
func fillSeen(ctx context.Context, j job, say func(result) error) error {
	t := telemetry.Discard()
	producer, err := kafka.NewProducer(kafkaSettings(j.Brokers), kafka.ProducerDeps{
		Client: "bench", Deadline: time.Minute, Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return err
	}
	const step = 20_000
	r := newRecorder()
	defer r.close()
	begin, cpu := time.Now(), cpuTime()
	for first := 0; first < j.Seen; first += step {
		// Other events than those that come later.
		recs, err := r.records(ctx, 1<<30+first, min(step, j.Seen-first), websites)
		if err != nil {
			return err
		}
		for i := range recs {
			recs[i].Value = nil
		}
		if err := producer.Publish(ctx, recs); err != nil {
			return err
		}
	}
	if err := producer.Close(ctx); err != nil {
		return err
	}
	err = admin(j.Brokers, func(adm *kadm.Client) error {
		ends, err := adm.ListEndOffsets(ctx, record.TopicEvents)
		if err != nil {
			return err
		}
		_, err = adm.CommitOffsets(ctx, seenGroup, ends.Offsets())
		return err
	})
	return errors.Join(err, say(measured(j.Seen, begin, cpu)))
}

// beginBehindSeen gives the job's group the offsets of seenGroup, if there is one.
func (j job) beginBehindSeen(ctx context.Context, s config.Settings) error {
	if j.Seen == 0 {
		return nil
	}
	return admin(j.Brokers, func(adm *kadm.Client) error {
		offsets, err := adm.FetchOffsets(ctx, seenGroup)
		if err != nil {
			return fmt.Errorf("reading where to begin: %w", err)
		}
		_, err = adm.CommitOffsets(ctx, s.Sink.Group, offsets.Offsets())
		return err
	})
}
