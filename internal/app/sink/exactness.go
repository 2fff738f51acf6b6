package sink

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
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
// ready and says so. What was found at an address stays until a look there finds nothing:
// one that is away changes nothing.
type exactness struct {
	cfg   config.ClickHouse
	check func(context.Context, config.ClickHouse) schema.Findings
	log   *slog.Logger

	mu    sync.Mutex
	found map[string]error // by address, empty for all together
}

func newExactness(
	cfg config.ClickHouse, check func(context.Context, config.ClickHouse) schema.Findings, t *telemetry.Telemetry,
) *exactness {
	e := &exactness{cfg: cfg, check: check, log: t.Log, found: map[string]error{}}
	t.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_inexact",
		Help: "1 while the ClickHouse configuration does not guarantee that every event is stored exactly once, as of the " +
			"latest check of each address.",
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

// first is the look of the start.
func (e *exactness) first(ctx context.Context, cfg config.ClickHouse) error {
	return e.check(ctx, cfg).Err()
}

// Ready returns what was found.
func (e *exactness) Ready(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all()
}

// all returns what was found at all addresses, sorted by them.
func (e *exactness) all() error {
	var errs []error
	for _, addr := range slices.Sorted(maps.Keys(e.found)) {
		errs = append(errs, e.found[addr])
	}
	return errors.Join(errs...)
}

func (e *exactness) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, exactWithin)
	defer cancel()
	findings := e.check(ctx, e.cfg)
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.all()
	for _, f := range findings {
		switch {
		case f.Err == nil:
			delete(e.found, f.Addr)
		case errors.Is(f.Err, schema.ErrInexact):
			e.found[f.Addr] = f.Err
		} // else the inserts tell of a server that is away
	}
	switch err := e.all(); {
	case err != nil && (before == nil || before.Error() != err.Error()):
		e.log.LogAttrs(ctx, slog.LevelError, "ClickHouse settings no longer guarantee exactly-once storage",
			slog.Any("error", err))
	case err == nil && before != nil:
		e.log.LogAttrs(ctx, slog.LevelInfo, "ClickHouse settings guarantee exactly-once storage again")
	}
}

func (e *exactness) inexact() float64 {
	if e.Ready(context.Background()) != nil {
		return 1
	}
	return 0
}
