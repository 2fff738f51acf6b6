package limits

import (
	"context"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Build builds the components of a daemon whose callers a limiter limits.
type Build func(
	s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, l *ratelimit.Limiter,
) ([]lifecycle.Component, error)

// Alone returns the components of a daemon in a process of its own, with those of its limiter.
func (b Build) Alone(
	_ context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	limiter, component, err := Open(s, t, r, false)
	if err != nil {
		return nil, err
	}
	components, err := b(s, t, r, limiter)
	return append([]lifecycle.Component{component}, components...), err
}

// With builds the components of a daemon in a process that limits its callers itself.
func (b Build) With(l *ratelimit.Limiter) daemon.Components {
	return func(
		_ context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
	) ([]lifecycle.Component, error) {
		return b(s, t, r, l)
	}
}
