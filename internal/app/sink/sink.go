// Package sink composes the sink daemon: for each pipeline a Kafka consumer, a
// ClickHouse inserter and the steps between them. It starts only on a schema and
// topics that fit this build, on a server that keeps what exactly-once needs, and
// waits for servers that are away or not prepared.
package sink

import (
	"context"

	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// Component is the daemon's name in logs, metrics and towards brokers.
const Component = "sink"

// Components builds the daemon, also beside others in one process.
func Components(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	return build(ctx, s, t, r, Wiring{}, false)
}

func build(
	_ context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, w Wiring, alone bool,
) ([]lifecycle.Component, error) {
	ledger := ledgerstore.NewLedger(s.ClickHouse)
	topics := kafka.NewTopicWatch(s.Kafka, s.Sink.Window,
		kafka.TopicWatchDeps{Client: Component, Log: t.Log, Metrics: t.Registry})
	r.AddCheck("sink: topics", topics.Ready)
	exact := newExactness(s.ClickHouse, w.exact(), t)
	r.AddCheck("sink: exactness", exact.Ready)
	components := []lifecycle.Component{
		lifecycle.WaitComponent(t.Log, r, schema.Awaited(s.ClickHouse, exact.first), kafka.Awaited(s.Kafka, topics.Check)),
		{Name: "exactness of ClickHouse", Run: exact.Run},
		{Name: "settings of topics", Run: topics.Run},
		{Name: "ledger", Stop: func(context.Context) error { return ledger.Close() }},
	}
	erased := tombstone.NewWatch(ledger, s.Sink.TombstoneAge, t.Registry)
	var all []running
	for _, l := range pipelinesOf(s.Sink) {
		pipeline, err := l.build(s, t, ledger, erased, w)
		if err != nil {
			return nil, err
		}
		all = append(all, pipeline)
		r.AddCheck("sink: kafka, "+l.name, pipeline.consumer.Ready)
		r.AddCheck("sink: clickhouse, "+l.name, pipeline.inserter.Ping)
	}
	if len(all) > 0 {
		components = append(components, pipelinesComponent(all))
	}
	if alone {
		components = append(components, memoryComponent(all))
	}
	components, err := appendHealth(components, s, t)
	if err != nil {
		return nil, err
	}
	return appendReconciler(components, s, t, all)
}
