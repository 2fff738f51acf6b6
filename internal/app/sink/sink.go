// Package sink composes the sink daemon: the Kafka consumer, the ClickHouse
// inserter and the steps between them. It starts only on a schema and topics that
// fit this build, and waits for a ClickHouse that is away.
package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/clickhouse"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/kafka"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/sink"
	"github.com/millrace/millrace/internal/telemetry"
)

// Component is the daemon's name in logs, metrics and towards brokers.
const Component = "sink"

// epoch is the first part of every insert token. Only storing a topic's records
// again on purpose would need another one.
const epoch = sink.FixedEpoch(1)

// topics are what the daemon consumes.
var topics = []string{record.TopicEvents, record.TopicEventsBackfill}

// schemaRetry is how long to wait before asking a ClickHouse again that is away.
const schemaRetry = time.Second

// Parts builds the daemon.
func Parts(_ context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness) ([]lifecycle.Part, error) {
	consumer, err := kafka.NewConsumer(s.Kafka, s.Sink, topics, kafka.ConsumerDeps{Client: Component, Log: t.Log, Metrics: t.Registry})
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	inserter := clickhouse.NewInserter(s.ClickHouse, &clickhouse.Events, "")
	worker, err := sink.New(s.Sink, sink.Deps{
		Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Source: consumer, Inserter: inserter, DeadLetters: consumer, Epochs: epoch,
	})
	if err != nil {
		return nil, err
	}
	r.AddCheck("sink: kafka", consumer.Ready)
	r.AddCheck("sink: clickhouse", inserter.Ping)
	return []lifecycle.Part{
		{Name: "analytics schema", Start: func(ctx context.Context) error { return checkSchema(ctx, s.ClickHouse, t.Log) }},
		{Name: "event topics", Start: func(ctx context.Context) error { return kafka.CheckTopics(ctx, s.Kafka) }},
		{Name: "sink", Run: worker.Run, Stop: func(context.Context) error { return inserter.Close() }},
	}, nil
}

// checkSchema waits until ClickHouse answers, and returns what it has to say.
func checkSchema(ctx context.Context, cfg config.ClickHouse, log *slog.Logger) error {
	for {
		err := clickhouse.CheckSchema(ctx, cfg)
		if err == nil || errors.Is(err, clickhouse.ErrSchema) {
			return err
		}
		log.LogAttrs(ctx, slog.LevelWarn, "waiting for ClickHouse", slog.Any("error", err))
		select {
		case <-time.After(schemaRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
