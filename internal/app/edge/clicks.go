package edge

import (
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/app/daemon/hosting"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/resource/link/click"
)

// NewClicks returns what publishes the clicks of short links, and its components, as
// hosting.Publish says. maxBufferedBytes bounds the memory of clicks that Kafka has not
// acknowledged.
func NewClicks(
	s config.Settings, t *telemetry.Telemetry, salts *salt.Salts, maxBufferedBytes int,
) (*click.Queue, []lifecycle.Component, error) {
	return hosting.Publish(s, t, Component, "clicks", func(sender *kafka.Sender) *click.Queue {
		return click.New(
			click.Config{MaxBufferedBytes: maxBufferedBytes},
			click.Deps{Sender: sender, Salts: salts, Log: t.Log, Metrics: t.Registry},
		)
	})
}
