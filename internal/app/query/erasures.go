package query

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/erasure"
)

// eraseMargin is added to what a sink's own deadlines allow: what the server still
// does after whoever sent it has given up.
const eraseMargin = 10 * time.Second

// settleOf is how long after its tombstones an erasure deletes: every insert that
// was built without them has ended then, whatever sink has sent it.
func settleOf(s config.Sink) time.Duration { return s.TombstoneAge + s.InsertTimeout + eraseMargin }

// erasures carries out what is to be erased while it runs.
func erasures(s config.Settings, t *telemetry.Telemetry, db *store.Store) lifecycle.Component {
	eraser := deletion.NewEraser(s.ClickHouse)
	job := erasure.NewJob(erasure.Config{Settle: settleOf(s.Sink)},
		erasure.Deps{
			Store: db, Tables: eraser, Log: t.Log, Metrics: t.Registry,
			Topics: func(ctx context.Context) (time.Duration, error) { return kafka.Life(ctx, s.Kafka) },
		})
	return lifecycle.Component{Name: "erasures", Run: job.Run, Stop: func(context.Context) error { return eraser.Close() }}
}
