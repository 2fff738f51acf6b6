package query

import (
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/resource/flag/exposure"
)

// exposuresClient names what publishes exposures to brokers and in metrics.
const exposuresClient = Component + "-exposures"

// newExposures returns what takes note of who was served which variant of a feature flag, and
// its parts, which are to be listed before the listener, so that a stop first drains the
// listener, then the exposures. It connects to nothing.
func newExposures(
	s config.Settings, t *telemetry.Telemetry, salts salt.Store,
) (*exposure.Collector, []lifecycle.Part, error) {
	sender, err := kafka.NewSender(s.Kafka, kafka.SenderDeps{Client: exposuresClient, Log: t.Log, Metrics: t.Registry})
	if err != nil {
		return nil, nil, err
	}
	known := salt.New(salts, t.Log, nil)
	collector := exposure.New(
		exposure.Config{},
		exposure.Deps{Publisher: sender, Salts: known, Log: t.Log, Metrics: t.Registry},
	)
	return collector, []lifecycle.Part{
		{Name: "visitor salts of exposures", Run: known.Run},
		{Name: "kafka sender of exposures", Stop: sender.Close},
		{Name: "exposures", Run: collector.Run, Stop: collector.Stop},
	}, nil
}
