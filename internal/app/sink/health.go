package sink

import (
	"context"

	"github.com/millrace/millrace/internal/adapter/clickhouse/inspect"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// appendHealth adds the components that tell how the servers do between which the sink
// stands. The sink can do nothing about it, but whoever is woken by its lag can.
func appendHealth(
	components []lifecycle.Component, s config.Settings, t *telemetry.Telemetry,
) ([]lifecycle.Component, error) {
	topics, err := kafka.NewHealth(s.Kafka, t.Log, t.Registry)
	if err != nil {
		return nil, err
	}
	tables := inspect.NewHealth(s.ClickHouse, t.Log, t.Registry)
	return append(
		components,
		lifecycle.Component{Name: "health of Kafka", Run: topics.Run, Stop: topics.Close},
		lifecycle.Component{
			Name: "health of ClickHouse", Run: tables.Run, Stop: func(context.Context) error { return tables.Close() },
		},
	), nil
}
