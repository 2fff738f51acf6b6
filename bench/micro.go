package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/testkit"
)

// loopKey measures how often a second one core finds out whom a cached key stands
// for.
func loopKey(ctx context.Context, j job, say func(result) error) error {
	p := newParts()
	defer p.access.Close()
	secret, from := []byte(benchKey), auth.From{Addr: netip.MustParseAddr("192.0.2.1")}
	return j.repeat(say, func() error {
		_, err := p.access.Key(ctx, secret, from)
		return err
	})
}

// loopLimit measures how often a second one core admits a request of one of many
// keys and takes its place back, in memory.
func loopLimit(ctx context.Context, j job, say func(result) error) error {
	const callers = 10_000
	t := telemetry.Discard()
	limiter := ratelimit.New(testkit.WideLimits(), ratelimit.Deps{Log: t.Log, Metrics: t.Registry})
	requests := make([]ratelimit.Request, callers)
	for i := range requests {
		requests[i] = ratelimit.Request{
			Family: ratelimit.Track, Who: ratelimit.Identity{Kind: ratelimit.Key, ID: fmt.Sprint("key_", i)},
		}
	}
	next := 0
	return j.repeat(say, func() error {
		lease, err := limiter.Admit(ctx, requests[next%callers])
		if err == nil {
			lease.Release(ctx)
		}
		next++
		return err
	})
}

// repeat does one thing over and over for the job's time.
func (j job) repeat(say func(result) error, do func() error) error {
	const between = 1000 // looks at the clock
	done, begin, cpu := 0, time.Now(), cpuTime()
	for time.Since(begin) < j.For {
		for range between {
			if err := do(); err != nil {
				return err
			}
		}
		done += between
	}
	return say(measured(done, begin, cpu))
}
