package edge

import (
	"context"
	"math"
	"runtime/debug"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// besides is what an edge uses besides the requests that it lets in and the callers whose
// requests it counts: connections, caches, the clients' buffers, and room for the collector
// to work in. It is measured: with the default settings the process stays below 256 MB
// however much is asked of it, of which the program itself takes 40 MB, and what the
// collector comes too late for up to 45 MB more.
const besides = 56 << 20

// linkBytes is what a remembered link may take, with what the collector comes too late
// for.
const linkBytes = 400

// memoryFor is what a process of its own may use by its settings.
func memoryFor(s *config.Settings) int64 {
	limit := int64(s.Ingest.MaxMemory) + int64(s.Limits.Memory) + besides
	if s.Link.Listen != "" {
		limit += int64(s.Link.CacheEntries)*linkBytes + int64(s.Link.MaxBufferedBytes)
	}
	return limit
}

// Alone is Components for a process that does nothing else: the collector is told to
// keep the heap to what the settings allow, instead of twice what is in use, unless
// somebody has set GOMEMLIMIT.
func Alone(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	components, err := Components(ctx, s, t, r)
	return append([]lifecycle.Component{memoryComponent(memoryFor(&s))}, components...), err
}

// memoryComponent keeps the collector's limit.
func memoryComponent(limit int64) lifecycle.Component {
	return lifecycle.Component{Name: "memory", Run: func(ctx context.Context) error {
		if debug.SetMemoryLimit(-1) == math.MaxInt64 {
			debug.SetMemoryLimit(limit)
			defer debug.SetMemoryLimit(math.MaxInt64)
		}
		<-ctx.Done()
		return nil
	}}
}
