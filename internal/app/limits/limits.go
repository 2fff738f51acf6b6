// Package limits puts together what limits callers: the limiter of the process
// and, where redis.url is set, the server through which it counts together with
// other processes. It says at the start and in /readyz what an operator should
// know: that several processes count apart, that Redis is away, or that nobody is
// limited.
package limits

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/credential"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/redis"
	"github.com/millrace/millrace/internal/telemetry"
)

// Apart is what is said of a process that is one of several and has no Redis.
const Apart = "redis.url is empty: each process limits by itself, so that all of them together admit more than the limits"

// overtime is how much longer a lease is than the longest request.
const overtime = 10 * time.Second

// Open returns the limiter of a process and the part that runs it. Alone says that
// the process holds every host, so that it needs nobody to count with. It opens no
// connection.
func Open(s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, alone bool) (*ratelimit.Limiter, lifecycle.Part, error) {
	deps := ratelimit.Deps{Log: t.Log, Metrics: t.Registry, LeaseFor: max(s.Query.Deadline, s.Ingest.Deadline) + overtime}
	closeRedis := func() error { return nil }
	checkRedis := func(context.Context) error { return nil }
	if s.Redis.IsSet() {
		shared, err := redis.Open(s.Redis)
		if err != nil {
			return nil, lifecycle.Part{}, err
		}
		deps.Shared, closeRedis, checkRedis = shared, shared.Close, shared.Ping
	}
	l := ratelimit.New(s.Limits, deps)
	apart := !s.Redis.IsSet() && !alone && s.Limits.Enabled
	r.AddDetail("limits", func() string {
		if apart {
			return Apart
		}
		return l.Detail()
	})
	return l, lifecycle.Part{
		Name: "limits",
		Start: func(ctx context.Context) error {
			// One that is away is no reason not to start; one that will never let us in is.
			if err := checkRedis(ctx); credential.Refused(err) {
				return fmt.Errorf("connecting to Redis: %w", err)
			}
			l.Probe(ctx)
			switch {
			case apart:
				t.Log.LogAttrs(ctx, slog.LevelWarn, Apart)
			case !s.Limits.Enabled:
				t.Log.LogAttrs(ctx, slog.LevelWarn, "limits.enabled is false: nobody is limited")
			}
			return nil
		},
		Run:  l.Run,
		Stop: func(context.Context) error { return closeRedis() },
	}, nil
}
