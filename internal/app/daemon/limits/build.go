package limits

import (
	"context"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Build builds the parts of a daemon whose callers a limiter limits.
type Build func(
	s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, l *ratelimit.Limiter,
) ([]lifecycle.Part, error)

// Alone returns the parts of a daemon in a process of its own, with those of its limiter.
func (b Build) Alone(
	_ context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Part, error) {
	limiter, part, err := Open(s, t, r, false)
	if err != nil {
		return nil, err
	}
	parts, err := b(s, t, r, limiter)
	return append([]lifecycle.Part{part}, parts...), err
}

// With builds the parts of a daemon in a process that limits its callers itself.
func (b Build) With(l *ratelimit.Limiter) daemon.Parts {
	return func(
		_ context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
	) ([]lifecycle.Part, error) {
		return b(s, t, r, l)
	}
}
