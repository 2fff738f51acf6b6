package sink

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// settleMargin is added to twice the deadline of an insert: what the server still
// does after whoever sent it has given up.
const settleMargin = 10 * time.Second

// appendReconciler adds the part that holds all lanes against the ledger, unless
// the settings turn it off.
func appendReconciler(parts []lifecycle.Part, s config.Settings, t *telemetry.Telemetry, lanes []running) ([]lifecycle.Part, error) {
	if s.Sink.ReconcileInterval == 0 || len(lanes) == 0 {
		return parts, nil
	}
	books := clickhouse.NewBooks(s.ClickHouse)
	r, err := ledger.New(
		ledger.Config{
			Interval: s.Sink.ReconcileInterval, Settle: 2*s.Sink.InsertTimeout + settleMargin, Pairs: s.Sink.ReconcilePairs,
		},
		ledger.Deps{
			Log: t.Log, Metrics: t.Registry, Books: books, Remembered: lanes[0].inserter.TokenMemory,
			Settled: func() []ledger.Position { return settled(lanes) },
		},
	)
	if err != nil {
		return nil, err
	}
	return append(parts, lifecycle.Part{
		Name: "reconciler", Run: r.Run, Stop: func(context.Context) error { return books.Close() },
	}), nil
}

func settled(lanes []running) []ledger.Position {
	var all []ledger.Position
	for i := range lanes {
		all = append(all, lanes[i].sink.Positions()...)
	}
	return all
}
