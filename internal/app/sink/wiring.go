package sink

import (
	"context"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// Wiring replaces components of the daemon, for tests and measurements that watch its steps or go
// without one of its locks. What is nil stays as it is; no program sets any of it.
type Wiring struct {
	// Deps returns what a pipeline's sink is given instead of its parts.
	Deps func(sink.Deps) sink.Deps
	// Fence is that of the consumers.
	Fence kafka.Fence
	// Exact looks whether ClickHouse keeps what exactly once needs, at each address.
	Exact func(context.Context, config.ClickHouse) schema.Findings
}

// Build is Components with other wiring.
func Build(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, w Wiring,
) ([]lifecycle.Component, error) {
	return build(ctx, s, t, r, w, false)
}

func (w *Wiring) deps(d sink.Deps) sink.Deps {
	if w.Deps == nil {
		return d
	}
	return w.Deps(d)
}

func (w *Wiring) exact() func(context.Context, config.ClickHouse) schema.Findings {
	if w.Exact == nil {
		return schema.Exactness
	}
	return w.Exact
}
