package query

import (
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/app/daemon/hosting"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/resource/flag/exposure"
)

// newExposures returns what takes note of who was served which variant of a feature flag, and
// its components, as hosting.Publish says.
func newExposures(
	s config.Settings, t *telemetry.Telemetry, salts salt.Store,
) (*exposure.Collector, []lifecycle.Component, error) {
	known := salt.New(salts, t.Log, nil)
	collector, components, err := hosting.Publish(s, t, Component, "exposures",
		func(sender *kafka.Sender) *exposure.Collector {
			return exposure.New(
				exposure.Config{},
				exposure.Deps{Sender: sender, Salts: known, Log: t.Log, Metrics: t.Registry},
			)
		})
	return collector, append([]lifecycle.Component{{Name: "visitor salts of exposures", Run: known.Run}}, components...),
		err
}
