// Package propagation puts together what a daemon needs to hear of changes of
// the control plane, and to tell of them.
package propagation

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// relayDeadline is the longest wait for Kafka to acknowledge changes. What is
// given up may be stored all the same and is sent again, so a short one would fill
// the topic after an outage.
const relayDeadline = time.Minute

// Follow returns a follower of control.v1 and the component that runs it. List the
// component after what the caches and states read from. The daemon called component
// is not ready before the follower has caught up.
func Follow(
	component string, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, caches []control.Cache,
	states ...*control.States,
) (*control.Follower, lifecycle.Component) {
	f, listening := Listen(component, s, t, caches, states...)
	r.AddCheck(component+": changes", f.Ready)
	return f, listening
}

// Listen is Follow for a daemon that is ready whether it hears of changes or not: its
// caches look for them by themselves then.
func Listen(
	component string, s config.Settings, t *telemetry.Telemetry, caches []control.Cache, states ...*control.States,
) (*control.Follower, lifecycle.Component) {
	f := control.NewFollower(control.FollowerDeps{
		Source: kafka.NewControlSource(s.Kafka, component, t.Log),
		Caches: caches, States: states, Log: t.Log, Metrics: t.Registry,
	})
	return f, lifecycle.Component{Name: "changes", Run: f.Run}
}

// Relay returns the components that publish what is announced in a store, whenever no
// other process does. List them after the store and the follower.
func Relay(
	component string, s config.Settings, t *telemetry.Telemetry, db *store.Store, f *control.Follower,
) ([]lifecycle.Component, error) {
	producer, err := kafka.NewProducer(s.Kafka, kafka.ProducerDeps{
		Client: component + "-relay", Deadline: relayDeadline, Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return nil, err
	}
	relay := control.NewRelay(control.RelayDeps{
		Outbox: db, Publisher: producer, Leases: db, Follower: f, Log: t.Log, Metrics: t.Registry,
	})
	return []lifecycle.Component{
		// What is still on its way stays in the outbox too: there is nothing to wait for.
		{Name: "kafka producer", Stop: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_ = producer.Close(ctx)
			return nil
		}},
		{Name: "relay of changes", Run: relay.Run},
	}, nil
}
