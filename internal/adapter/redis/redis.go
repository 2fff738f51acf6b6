// Package redis settles requests for all processes that share a Redis or Valkey.
//
// It promises that one request costs one script call, which settles everything
// that the request needs at once, by the server's clock; that no call takes longer
// than config.Redis.Timeout and none is sent twice; and that what a process which
// dies leaves behind ends by itself. It keeps nothing for longer than a window or
// a lease: a server that loses its memory forgives what was counted, no more.
//
// It refuses to judge what to do while the server is away: that is package
// ratelimit's.
package redis

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

//go:embed settle.lua
var settleSource string

// prefix begins every key. The account stands in braces, so that a cluster keeps
// what belongs together on one server.
const prefix = "millrace:limits:{"

// Limits settles requests in Redis. It is safe for concurrent use.
type Limits struct {
	client  *redis.Client
	timeout time.Duration
	settle  *redis.Script
}

var _ ratelimit.Shared = (*Limits)(nil)

// Open returns limits in the Redis of the settings. It opens no connection.
func Open(cfg config.Redis) (*Limits, error) {
	quiet()
	opts, err := options(cfg)
	if err != nil {
		return nil, err
	}
	return &Limits{client: redis.NewClient(opts), timeout: cfg.Timeout, settle: redis.NewScript(settleSource)}, nil
}

// quiet has the library say nothing by itself: it has no logger but a global one,
// and every error comes back to the caller.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

// Printf drops the line.
func (silence) Printf(context.Context, string, ...any) {}

// Close closes the connections.
func (l *Limits) Close() error { return l.client.Close() }

// Settle implements ratelimit.Shared.
func (l *Limits) Settle(ctx context.Context, q ratelimit.Question) (ratelimit.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	keys := append(make([]string, 0, 3), slotsKey(q.Account))
	args := append(make([]any, 0, 7), q.Slots, q.Lease, q.LeaseFor.Microseconds())
	for _, w := range q.Windows {
		keys = append(keys, windowKey(q.Account, w))
		args = append(args, w.Requests, w.Window.Microseconds())
	}
	response, err := l.settle.Run(ctx, l.client, keys, args...).Int64Slice()
	if err != nil {
		return ratelimit.Verdict{}, fmt.Errorf("updating the counters in Redis: %w", explain(err))
	}
	if len(response) != 2 {
		return ratelimit.Verdict{}, errors.New("updating the counters in Redis: unexpected form of the response")
	}
	return ratelimit.Verdict{Rejected: int(response[0]), Wait: time.Duration(response[1]) * time.Microsecond}, nil
}

// Release implements ratelimit.Shared.
func (l *Limits) Release(ctx context.Context, account, lease string) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	if err := l.client.ZRem(ctx, slotsKey(account), lease).Err(); err != nil {
		return fmt.Errorf("releasing a slot in Redis: %w", err)
	}
	return nil
}

// Ping implements ratelimit.Shared: it settles a request of nobody, because a
// server may answer and yet take no writes.
func (l *Limits) Ping(ctx context.Context) error {
	_, err := l.Settle(ctx, ratelimit.Question{
		Account: "ping",
		Windows: []ratelimit.NamedLimit{{Name: "ping", Limit: ratelimit.Limit{Requests: 1, Window: time.Microsecond}}},
	})
	return err
}

func slotsKey(account string) string { return prefix + account + "}:places" }

// windowKey has the limit in it: a ring is as long as its limit, so that another
// limit is another ring.
func windowKey(account string, w ratelimit.NamedLimit) string {
	var b strings.Builder
	b.Grow(len(prefix) + len(account) + len(w.Name) + 32)
	b.WriteString(prefix)
	b.WriteString(account)
	b.WriteString("}:")
	b.WriteString(w.Name)
	b.WriteByte(':')
	b.WriteString(strconv.Itoa(w.Requests))
	b.WriteByte(':')
	b.WriteString(strconv.FormatInt(w.Window.Milliseconds(), 10))
	return b.String()
}
