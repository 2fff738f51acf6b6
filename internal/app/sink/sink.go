// Package sink composes the sink daemon: for each lane a Kafka consumer, a
// ClickHouse inserter and the steps between them. It starts only on a schema and
// topics that fit this build, on a server that keeps what exactly-once needs, and
// waits for a ClickHouse that is away.
package sink

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/clickhouse"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/kafka"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/sink"
	"github.com/millrace/millrace/internal/telemetry"
)

// Component is the daemon's name in logs, metrics and towards brokers.
const Component = "sink"

// schemaRetry is how long to wait before asking a ClickHouse again that is away.
const schemaRetry = time.Second

// Parts builds the daemon, also beside others in one process.
func Parts(ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness) ([]lifecycle.Part, error) {
	return build(ctx, s, t, r, sink.Testing{}, false)
}

// Build is Parts for tests that watch the steps, or take a lock away.
func Build(ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, testing sink.Testing) ([]lifecycle.Part, error) {
	return build(ctx, s, t, r, testing, false)
}

func build(_ context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, testing sink.Testing, alone bool) ([]lifecycle.Part, error) {
	ledger := clickhouse.NewLedger(s.ClickHouse)
	parts := []lifecycle.Part{
		{Name: "analytics schema", Start: func(ctx context.Context) error { return checkServer(ctx, s.ClickHouse, t.Log, testing.AnyServer) }},
		{Name: "event topics", Start: func(ctx context.Context) error { return kafka.CheckTopics(ctx, s.Kafka) }},
		{Name: "ledger", Stop: func(context.Context) error { return ledger.Close() }},
	}
	var all []running
	for _, l := range lanesOf(s.Sink) {
		lane, err := l.build(s, t, ledger, testing)
		if err != nil {
			return nil, err
		}
		all = append(all, lane)
		r.AddCheck("sink: kafka, "+l.name, lane.consumer.Ready)
		r.AddCheck("sink: clickhouse, "+l.name, lane.inserter.Ping)
		parts = append(parts, lifecycle.Part{
			Name: l.name + " lane", Run: lane.sink.Run, Stop: func(context.Context) error { return lane.inserter.Close() },
		})
	}
	if alone {
		parts = append(parts, memoryPart(all))
	}
	return appendReconciler(parts, s, t, all)
}

// checkServer waits until ClickHouse answers, and returns what it has to say about
// the schema, and about what exactly-once needs of it.
func checkServer(ctx context.Context, cfg config.ClickHouse, log *slog.Logger, anyServer bool) error {
	for {
		err := clickhouse.CheckSchema(ctx, cfg)
		if err == nil && !anyServer {
			err = clickhouse.CheckExactness(ctx, cfg)
		}
		if err == nil || errors.Is(err, clickhouse.ErrSchema) || errors.Is(err, clickhouse.ErrInexact) {
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
