package query

import (
	"context"

	"github.com/millrace/millrace/internal/clickhouse"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/retention"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/telemetry"
)

// expiry deletes what websites do not keep any longer while it runs.
func expiry(s config.Settings, t *telemetry.Telemetry, db *store.Store) lifecycle.Part {
	expirer := clickhouse.NewExpirer(s.ClickHouse)
	job := retention.NewJob(retention.Deps{Store: db, Tables: expirer, Log: t.Log, Metrics: t.Registry})
	return lifecycle.Part{Name: "retention", Run: job.Run, Stop: func(context.Context) error { return expirer.Close() }}
}
