// Package limits puts together what limits callers: the limiter of the process
// and, where redis.url is set, the server through which it counts together with
// other processes. It says at the start and in /readyz what an operator should
// know: that several processes count apart, that Redis is away, or that nobody is
// limited.
package limits

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/adapter/redis"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Apart is what is said of a process that is one of several and has no Redis.
const Apart = "redis.url is empty: each process counts alone, so several processes together admit more than the limits"

// overtime is how much longer a lease is than the longest request. An export whose response has
// begun takes longer still: from then on other processes do not count it. A lease of its length
// would hold the places of a process that died for half an hour.
const overtime = 10 * time.Second

// firstSalt bounds how long a start waits for the salt of addresses.
const firstSalt = time.Second

// Open returns the limiter of a process and the component that runs it. Alone says that
// the process holds every host, so that it needs nobody to count with. It opens no
// connection.
func Open(
	s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness, alone bool,
) (*ratelimit.Limiter, lifecycle.Component, error) {
	deps := ratelimit.Deps{Log: t.Log, Metrics: t.Registry, LeaseFor: max(s.Query.Deadline, s.Ingest.Deadline) + overtime}
	var with *others
	if s.Redis.IsSet() {
		var err error
		if with, err = newOthers(s, t.Log); err != nil {
			return nil, lifecycle.Component{}, err
		}
		deps.Shared, deps.Salt = with.redis, with.salts.Today
	}
	l := ratelimit.New(s.Limits, deps)
	apart := !s.Redis.IsSet() && !alone && s.Limits.Enabled
	r.AddDetail("limits", func() string {
		if apart {
			return Apart
		}
		return l.Detail()
	})
	return l, lifecycle.Component{
		Name: "limits",
		Start: func(ctx context.Context) error {
			if with != nil {
				if err := with.reach(ctx); err != nil {
					return err
				}
			}
			l.Probe(ctx)
			switch {
			case apart:
				t.Log.LogAttrs(ctx, slog.LevelWarn, Apart)
			case !s.Limits.Enabled:
				t.Log.LogAttrs(ctx, slog.LevelWarn, "limits.enabled is false, rate limits are off")
			}
			return nil
		},
		Run: func(ctx context.Context) error {
			if with == nil {
				return l.Run(ctx)
			}
			var salts sync.WaitGroup
			salts.Go(func() { _ = with.salts.Run(ctx) }) // ends with ctx, and never by itself
			defer salts.Wait()
			return l.Run(ctx)
		},
		Stop: func(context.Context) error {
			if with == nil {
				return nil
			}
			return errors.Join(with.redis.Close(), with.db.Close())
		},
	}, nil
}

// others is what it takes to count together with other processes: the Redis, and the
// salts of the metadata store, with which it is told of addresses.
type others struct {
	redis *redis.Limits
	db    *store.Store
	salts *salt.Salts
}

// newOthers opens no connection.
func newOthers(s config.Settings, log *slog.Logger) (*others, error) {
	shared, err := redis.Open(s.Redis)
	if err != nil {
		return nil, err
	}
	db, err := store.New(s.Store)
	if err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	return &others{shared, db, salt.New(db, log, nil)}, nil
}

// reach asks both, so that the first requests are counted together. One that is away
// is no reason not to start; one that will never let us in is.
func (o *others) reach(ctx context.Context) error {
	if err := o.redis.Ping(ctx); credential.Rejected(err) {
		return fmt.Errorf("connecting to Redis: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, firstSalt)
	defer cancel()
	_, _ = o.salts.At(ctx, time.Now()) // which Run goes on to ask for
	return nil
}
