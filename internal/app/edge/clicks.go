package edge

import (
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/resource/link/click"
)

// clicksClient names what publishes clicks to brokers and in metrics.
const clicksClient = Component + "-clicks"

// Clicks publishes the clicks of short links by a client of its own: however many wait
// for brokers, no event waits for them.
type Clicks struct {
	Queue *click.Queue

	sender *kafka.Sender
}

// NewClicks returns Clicks whose parts have yet to run; it connects to nothing.
// maxBufferedBytes bounds the memory of clicks that Kafka has not acknowledged.
func NewClicks(s config.Settings, t *telemetry.Telemetry, salts *salt.Salts, maxBufferedBytes int) (*Clicks, error) {
	sender, err := kafka.NewSender(s.Kafka, kafka.SenderDeps{Client: clicksClient, Log: t.Log, Metrics: t.Registry})
	if err != nil {
		return nil, err
	}
	queue := click.New(
		click.Config{MaxBufferedBytes: maxBufferedBytes},
		click.Deps{Publisher: sender, Salts: salts, Log: t.Log, Metrics: t.Registry},
	)
	return &Clicks{Queue: queue, sender: sender}, nil
}

// Parts are to be listed before the listener that takes clicks, so that a stop first
// drains the listener, then the clicks.
func (c *Clicks) Parts() []lifecycle.Part {
	return []lifecycle.Part{
		{Name: "kafka sender of clicks", Stop: c.sender.Close},
		{Name: "clicks", Run: c.Queue.Run, Stop: c.Queue.Stop},
	}
}
