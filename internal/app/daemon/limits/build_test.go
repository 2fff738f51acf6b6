package limits_test

import (
	"errors"
	"testing"

	"github.com/millrace/millrace/internal/app/daemon/limits"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

var errBroken = errors.New("broken")

func TestADaemonOfItsOwnHasALimiterOfItsOwn(t *testing.T) {
	t.Parallel()
	tel, r := telemetry.Discard(), &lifecycle.Readiness{}
	var with []*ratelimit.Limiter
	build := limits.Build(func(
		_ config.Settings, _ *telemetry.Telemetry, _ *lifecycle.Readiness, l *ratelimit.Limiter,
	) ([]lifecycle.Component, error) {
		with = append(with, l)
		return []lifecycle.Component{{Name: "host"}}, nil
	})
	alone, err := build.Alone(t.Context(), config.Default(), tel, r)
	if err != nil || len(alone) != 2 || alone[0].Name != "limits" || alone[1].Name != "host" {
		t.Errorf("alone: %+v, %v", alone, err)
	}
	shared := ratelimit.New(config.Default().Limits, ratelimit.Deps{Log: tel.Log, Metrics: telemetry.Discard().Registry})
	beside, err := build.With(shared)(t.Context(), config.Default(), tel, r)
	if err != nil || len(beside) != 1 || beside[0].Name != "host" {
		t.Errorf("beside others: %+v, %v", beside, err)
	}
	if len(with) != 2 || with[0] == nil || with[0] == shared || with[1] != shared {
		t.Errorf("built with %v", with)
	}
}

func TestADaemonThatCannotBeBuiltSaysWhy(t *testing.T) {
	t.Parallel()
	build := limits.Build(func(
		config.Settings, *telemetry.Telemetry, *lifecycle.Readiness, *ratelimit.Limiter,
	) ([]lifecycle.Component, error) {
		return nil, errBroken
	})
	if _, err := build.Alone(t.Context(), config.Default(), telemetry.Discard(),
		&lifecycle.Readiness{}); !errors.Is(err, errBroken) {
		t.Errorf("Alone() = %v", err)
	}
}
