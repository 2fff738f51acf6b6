// Package lookup keeps answers of the metadata store at hand.
//
// It promises that an answer is read again once it is older than Config.Fresh,
// so a change is seen after that time at the latest; that many callers who need
// one answer cause one read; and that while the store fails, answers up to
// Config.Stale old are served at once instead of an error. "There is no such
// thing" is an answer too, and is never served stale.
//
// It does not promise to remember: entries are dropped under pressure, and every
// answer can be had from the store again. Memory is bounded by
// Config.MaxEntries.
package lookup

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"
)

// Key is what an answer is looked up by: a name, or a hash.
type Key interface {
	string | [32]byte
}

// Config bounds a cache. A zero field means the default.
type Config struct {
	Name        string        // label of the metrics, such as "keys"
	Fresh       time.Duration // age at which an answer is read again; 5 s
	Stale       time.Duration // age up to which it is served while reads fail; 10 min
	LoadTimeout time.Duration // longest wait for one read; 2 s
	MaxEntries  int64         // 100,000
}

// Times of a failing store, not worth a setting.
const (
	retryPause   = time.Second // between two reads of one entry, and of an open breaker
	breakerTrips = 3           // reads failed one after the other
)

// Cache looks answers up. It is safe for concurrent use. Answers are shared by
// all callers, who must not change what they point to.
type Cache[K Key, V any] struct {
	cfg      Config
	load     func(context.Context, K) (V, error)
	notFound func(error) bool

	seed    maphash.Seed
	entries *ristretto.Cache[uint64, *entry[K, V]]
	flights singleflight.Group
	breaker *gobreaker.CircuitBreaker[V]
	drops   atomic.Uint64 // calls of Drop, so that a read under way is not kept
	metrics metrics
}

// entry is the place of one key. Its answer is replaced in place, so an entry
// that is read often stays known even when ristretto drops writes.
type entry[K Key, V any] struct {
	key     K
	answer  atomic.Pointer[answer[V]]
	reading atomic.Bool // a read in the background is under way
}

// answer is what the store said, and since when it has not said anything.
type answer[V any] struct {
	value    V
	absent   error     // the store's "not found"; nil when there is a value
	readAt   time.Time // when the read began
	failedAt time.Time // when the last read after it failed; zero when none did
}

// New returns a cache in front of load, whose errors for which notFound is true
// are answers. load must honour its context. Metrics of caches with different
// names share one registry; reg may be nil.
func New[K Key, V any](cfg Config, load func(context.Context, K) (V, error), notFound func(error) bool, reg prometheus.Registerer) *Cache[K, V] {
	cfg = cfg.withDefaults()
	c := &Cache[K, V]{
		cfg: cfg, load: load, notFound: notFound,
		seed: maphash.MakeSeed(), metrics: newMetrics(reg, cfg.Name),
	}
	var err error
	c.entries, err = ristretto.NewCache(&ristretto.Config[uint64, *entry[K, V]]{
		NumCounters: 10 * cfg.MaxEntries, MaxCost: cfg.MaxEntries, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) //nolint:forbidigo // only for a figure out of range, which withDefaults excludes
	}
	c.breaker = gobreaker.NewCircuitBreaker[V](gobreaker.Settings{
		Name: cfg.Name, Timeout: retryPause,
		ReadyToTrip:  func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerTrips },
		IsSuccessful: func(err error) bool { return err == nil || notFound(err) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			c.metrics.breaker(to != gobreaker.StateClosed)
		},
	})
	return c
}

func (cfg Config) withDefaults() Config {
	if cfg.Fresh <= 0 {
		cfg.Fresh = 5 * time.Second
	}
	if cfg.Stale <= 0 {
		cfg.Stale = 10 * time.Minute
	}
	if cfg.LoadTimeout <= 0 {
		cfg.LoadTimeout = 2 * time.Second
	}
	if cfg.MaxEntries <= 0 {
		cfg.MaxEntries = 100_000
	}
	return cfg
}

// Close ends the cache's goroutines. Get must not be called after it.
func (c *Cache[K, V]) Close() { c.entries.Close() }

// Get returns the answer for k: a value, or the store's own error when there is
// none. Any other error means that the store cannot be asked and no answer
// young enough is known. now is the caller's reading of the clock, which it often
// needs itself; ages are those of that moment. A string k may alias memory that
// the caller reuses after Get has returned.
func (c *Cache[K, V]) Get(ctx context.Context, k K, now time.Time) (V, error) {
	e := c.find(k)
	if e == nil {
		c.metrics.misses.Inc()
		return c.read(ctx, k, nil)
	}
	a := e.answer.Load()
	if age := now.Sub(a.readAt); age < c.cfg.Fresh {
		// The second half of its life: read ahead, so that callers of a busy key
		// never wait.
		if age >= c.cfg.Fresh/2 && a.mayRetry(now) {
			c.readBehind(ctx, e)
		}
		return c.hit(a)
	}
	if a.absent == nil && c.servable(a, now) && !a.failedAt.IsZero() && now.Sub(a.failedAt) < c.cfg.Fresh {
		// The store failed a moment ago: do not wait for it again.
		if a.mayRetry(now) {
			c.readBehind(ctx, e)
		}
		c.metrics.stale.Inc()
		return a.value, nil
	}
	c.metrics.misses.Inc()
	return c.read(ctx, k, e)
}

// Drop forgets what is known about k. An answer being read meanwhile is given to
// those who wait for it and is not kept.
func (c *Cache[K, V]) Drop(k K) {
	c.drops.Add(1)
	c.flights.Forget(flightName(k))
	c.entries.Del(maphash.Comparable(c.seed, k))
}

func (c *Cache[K, V]) hit(a *answer[V]) (V, error) {
	if a.absent != nil {
		c.metrics.negative.Inc()
		return a.value, a.absent
	}
	c.metrics.hits.Inc()
	return a.value, nil
}

// find returns the entry of k. Entries are kept under a 64-bit hash, so the key
// is compared.
func (c *Cache[K, V]) find(k K) *entry[K, V] {
	e, ok := c.entries.Get(maphash.Comparable(c.seed, k))
	if !ok || e.key != k {
		return nil
	}
	return e
}

// mayRetry reports whether a read may be tried again after a failed one.
func (a *answer[V]) mayRetry(now time.Time) bool {
	return a.failedAt.IsZero() || now.Sub(a.failedAt) >= retryPause
}

// servable reports whether the answer may stand in for a failed read.
func (c *Cache[K, V]) servable(a *answer[V], now time.Time) bool {
	return a.absent == nil && now.Sub(a.readAt) < c.cfg.Stale
}

// owned returns k in memory that nobody else changes.
func owned[K Key](k K) K {
	s, ok := any(k).(string)
	if !ok {
		return k
	}
	k, _ = any(strings.Clone(s)).(K)
	return k
}

// flightName names the read of k among those under way.
func flightName[K Key](k K) string {
	switch k := any(k).(type) {
	case string:
		return k
	case [32]byte:
		return string(k[:])
	default:
		return fmt.Sprint(k) // not reached: Key lists two types
	}
}
