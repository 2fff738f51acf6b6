package sink

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// settleMargin is added to twice the deadline of an insert: what the server still
// does after whoever sent it has given up.
const settleMargin = 10 * time.Second

// appendReconciler adds the component that holds all pipelines against the ledger, unless
// the settings turn it off.
func appendReconciler(
	components []lifecycle.Component, s config.Settings, t *telemetry.Telemetry, pipelines []running,
) ([]lifecycle.Component, error) {
	if s.Sink.ReconcileInterval == 0 || len(pipelines) == 0 {
		return components, nil
	}
	store := ledgerstore.NewStore(s.ClickHouse)
	r, err := ledger.New(
		ledger.Config{
			Interval: s.Sink.ReconcileInterval, Settle: 2*s.Sink.InsertTimeout + settleMargin, Pairs: s.Sink.ReconcilePairs,
		},
		ledger.Deps{
			Log: t.Log, Metrics: t.Registry, Store: store, Remembered: pipelines[0].inserter.InsertTokenMemory,
			Settled: func() []ledger.Settled { return settled(pipelines) },
		},
	)
	if err != nil {
		return nil, err
	}
	return append(components, lifecycle.Component{
		Name: "reconciler", Run: r.Run, Stop: func(context.Context) error { return store.Close() },
	}), nil
}

func settled(pipelines []running) []ledger.Settled {
	var all []ledger.Settled
	for i := range pipelines {
		all = append(all, pipelines[i].sink.Positions()...)
	}
	return all
}
