package query

import (
	"context"

	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/retention"
)

// expiry deletes what websites do not keep any longer while it runs.
func expiry(s config.Settings, t *telemetry.Telemetry, db *store.Store) lifecycle.Component {
	expirer := deletion.NewExpirer(s.ClickHouse)
	job := retention.NewJob(retention.Deps{Store: db, Tables: expirer, Log: t.Log, Metrics: t.Registry})
	return lifecycle.Component{
		Name: "retention", Run: job.Run, Stop: func(context.Context) error { return expirer.Close() },
	}
}
