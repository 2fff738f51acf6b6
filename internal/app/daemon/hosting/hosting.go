// Package hosting puts together what hosts have in common: who may call them, for whom a
// proxy in front of them speaks, and what is published of their callers beside the requests.
// It connects to nothing; the components do.
package hosting

import (
	"context"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// IngestAccess returns who may call a host that takes events in, by the keys and websites of a
// store behind caches, and the component that takes note of the use of keys. Close it before
// the store.
func IngestAccess(
	s config.Settings, t *telemetry.Telemetry, db *store.Store,
) (*auth.Authenticator, lifecycle.Component) {
	return access(lookups(s), t, db, nil)
}

// QueryAccess is IngestAccess for a host that serves what is stored: it also knows which
// websites were moved, and those whose feature flags are asked for.
func QueryAccess(
	s config.Settings, t *telemetry.Telemetry, db *store.Store,
) (*auth.Authenticator, lifecycle.Component) {
	cfg := lookups(s)
	cfg.FlagStale = s.Flags.Stale
	return access(cfg, t, db, db)
}

// lookups are the settings that all hosts look keys and websites up by.
func lookups(s config.Settings) auth.Config {
	return auth.Config{
		KeyPrefix: s.Key.Prefix, Fresh: s.Lookup.Fresh, Trusted: s.Lookup.Trusted, Stale: s.Lookup.Stale,
	}
}

// access returns who may call; without moves, no website is known as moved.
func access(
	cfg auth.Config, t *telemetry.Telemetry, db *store.Store, moves auth.MoveStore,
) (*auth.Authenticator, lifecycle.Component) {
	uses := apikey.NewUsage(db, t.Log)
	deps := auth.Deps{Keys: db, Websites: db, Moves: moves, Uses: uses, Metrics: t.Registry}
	return auth.New(cfg, deps), lifecycle.Component{Name: "use of keys", Run: uses.Run}
}

// Proxies are those that may tell for whom they speak.
func Proxies(s config.Settings) httpkit.Proxies {
	return httpkit.Proxies{Trusted: s.Proxy.Networks(), Header: s.Proxy.Header}
}

// Queue takes note of something beside the requests, and publishes it while it runs.
type Queue interface {
	Run(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Publish returns a queue that publishes what, such as "clicks", of a component by a client of
// its own: however many wait for brokers, nothing else waits for them. Its components are to be
// listed before the listener that fills it, so that a stop first drains the listener, then the
// queue.
func Publish[Q Queue](
	s config.Settings, t *telemetry.Telemetry, component, what string, open func(*kafka.Sender) Q,
) (queue Q, components []lifecycle.Component, err error) {
	sender, err := kafka.NewSender(s.Kafka, kafka.SenderDeps{
		Client: component + "-" + what, Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return queue, nil, err
	}
	queue = open(sender)
	return queue, []lifecycle.Component{
		{Name: "kafka sender of " + what, Stop: sender.Close},
		{Name: what, Run: queue.Run, Stop: queue.Stop},
	}, nil
}
