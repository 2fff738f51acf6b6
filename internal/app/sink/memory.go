package sink

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

const (
	// besides is what a sink uses besides records in hand and windows: clients'
	// buffers, blocks as they are sent, and room for the collector to work in. It is
	// measured: with the default budget the process stays below 512 MB and 40 bytes
	// a key.
	besides = 228 << 20
	// limitEvery is how often the limit follows the windows.
	limitEvery = 2 * time.Second
)

// Alone builds the daemon for a process that does nothing else: the collector is
// told to keep the heap to what the settings allow, instead of twice what is in
// use, unless somebody has set GOMEMLIMIT.
func Alone(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	return build(ctx, s, t, r, Wiring{}, true)
}

// memoryComponent keeps the collector's limit to what is in use now.
func memoryComponent(pipelines []running) lifecycle.Component {
	return lifecycle.Component{Name: "memory", Run: func(ctx context.Context) error {
		if debug.SetMemoryLimit(-1) != math.MaxInt64 {
			return wait(ctx)
		}
		defer debug.SetMemoryLimit(math.MaxInt64)
		tick := time.NewTicker(limitEvery)
		defer tick.Stop()
		for {
			limit := int64(besides)
			for _, l := range pipelines {
				limit += int64(l.cfg.MaxMemory) + l.sink.WindowRoom()
			}
			debug.SetMemoryLimit(limit)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
		}
	}}
}

func wait(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
