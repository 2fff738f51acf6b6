package sink

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

const (
	// exactEvery is how often a running sink asks whether ClickHouse still keeps what
	// exactly once needs: a table may be altered, and an address that was away at the
	// start may answer since.
	exactEvery = 3 * time.Minute
	// exactWithin bounds one look.
	exactWithin = time.Minute
)

// exactness asks again what was asked at the start. A sink goes on where something is
// found, for the tokens that are remembered are of use as long as they are, but is not
// ready and says so. A look that is not possible changes nothing.
type exactness struct {
	cfg   config.ClickHouse
	check func(context.Context, config.ClickHouse) error
	log   *slog.Logger

	mu    sync.Mutex
	found error
}

func newExactness(
	cfg config.ClickHouse, check func(context.Context, config.ClickHouse) error, t *telemetry.Telemetry,
) *exactness {
	e := &exactness{cfg: cfg, check: check, log: t.Log}
	t.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_inexact",
		Help: "1 while ClickHouse is not set up to store every event exactly once, as of the latest look that was possible.",
	}, e.inexact))
	return e
}

// Run looks until ctx ends; the start has looked already.
func (e *exactness) Run(ctx context.Context) error {
	tick := time.NewTicker(exactEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.look(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// Ready returns what was found.
func (e *exactness) Ready(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.found
}

func (e *exactness) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, exactWithin)
	defer cancel()
	err := e.check(ctx, e.cfg)
	if err != nil && !errors.Is(err, schema.ErrInexact) {
		return // the inserts tell of a server that is away
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && (e.found == nil || e.found.Error() != err.Error()):
		e.log.LogAttrs(ctx, slog.LevelError, "ClickHouse no longer keeps what exactly once needs", slog.Any("error", err))
	case err == nil && e.found != nil:
		e.log.LogAttrs(ctx, slog.LevelInfo, "ClickHouse keeps what exactly once needs again")
	}
	e.found = err
}

func (e *exactness) inexact() float64 {
	if e.Ready(context.Background()) != nil {
		return 1
	}
	return 0
}
