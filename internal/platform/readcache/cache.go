// Package readcache keeps results of reads of the metadata store at hand.
//
// It promises that a result is read again once it is older than Config.Fresh,
// so a change is seen after that time at the latest; that many callers who need
// one result cause one read; and that while the store fails, results up to
// Config.Stale old are served at once instead of an error. "There is no such
// thing" is a result too, and is never served stale.
//
// Whoever tells it of changes, by Drop, may say so with Trust: then results are
// read again only once they are older than Config.Trusted. A result whose
// reading was under way when it was dropped is not kept.
//
// It does not promise to remember: entries are dropped under pressure, and every
// result can be had from the store again. Memory is bounded by
// Config.MaxEntries, and so is what callers of unknown things can ask of the
// store: Config.MaxLoads reads at a time.
package readcache

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// Key is what a result is looked up by: a name, or a hash.
type Key interface {
	string | [32]byte
}

// Config bounds a cache. A zero field means the default.
type Config struct {
	Name        string        // label of the metrics, such as "keys"
	Fresh       time.Duration // age at which a result is read again; 5 s
	Trusted     time.Duration // the same while Trust holds, between Fresh and Stale; 30 s
	Stale       time.Duration // age up to which it is served while reads fail; 10 min
	LoadTimeout time.Duration // longest wait for one read; 2 s
	MaxEntries  int64         // 100,000
	// MaxLoads is the most reads of unknown things at a time, so that a flood of
	// them leaves room for what is known; 8. Others wait, up to MaxWaiting of them.
	MaxLoads int
}

// Times of a failing store, not worth a setting.
const (
	retryPause   = time.Second // between two reads of one entry, and of an open breaker
	breakerTrips = 3           // reads failed one after the other
	// MaxWaiting is how many unknown things may wait to be read.
	MaxWaiting = 1024
	// maxEnds is how many calls of End are told apart.
	maxEnds = 1024
)

// Cache looks results up. It is safe for concurrent use. Results are shared by
// all callers, who must not change what they point to.
type Cache[K Key, V any] struct {
	cfg      Config
	load     func(context.Context, K) (V, error)
	notFound func(error) bool

	seed    maphash.Seed
	entries *ristretto.Cache[uint64, *entry[K, V]]
	reads   *Reads[V]
	metrics metrics

	reliance atomic.Pointer[reliance]
	ends     atomic.Pointer[[]end[V]] // those that may still concern a result; replaced under mu

	// mu keeps a result that was dropped while it was read from being kept.
	mu       sync.Mutex
	underWay map[K]*underWay[V]
}

// underWay is what happens to a key while it is read.
type underWay[V any] struct {
	reads int
	drops []func(V) bool // what is current after each; nil: nothing that is being read
}

// current reports whether a result that was read meanwhile is.
func (u *underWay[V]) current(a *result[V]) bool {
	for _, is := range u.drops {
		if is == nil || a.absent != nil || !is(a.value) {
			return false
		}
	}
	return true
}

// end says that results from before a moment are wrong where of is true.
type end[V any] struct {
	at time.Time
	of func(V) bool
}

// reliance is how far results may be relied on.
type reliance struct {
	until time.Time // changes are told until then
	since time.Time // results from before it are read again
}

// entry is the place of one key. Its result is replaced in place, so an entry
// that is read often stays known even when ristretto drops writes.
type entry[K Key, V any] struct {
	key     K
	result  atomic.Pointer[result[V]]
	reading atomic.Bool // a read in the background is under way
	dropped atomic.Bool // its result is wrong, and stands in for nothing
}

// result is what the store said, and since when it has not said anything.
type result[V any] struct {
	value    V
	absent   error     // the store's "not found"; nil when there is a value
	readAt   time.Time // when the read began
	failedAt time.Time // when the last read after it failed; zero when none did
}

// countersPerEntry is how many keys, for each entry that fits, a cache counts the uses
// of, to tell which of two is worth keeping. ristretto proposes ten, which take 4 MB of
// a cache of 100,000 entries however few it holds; four take 1.5 MB.
const countersPerEntry = 4

// New returns a cache in front of load, whose errors for which notFound is true
// are answers. load must honour its context. Metrics of caches with different
// names share one registry; reg may be nil.
func New[K Key, V any](
	cfg Config, load func(context.Context, K) (V, error), notFound func(error) bool, reg prometheus.Registerer,
) *Cache[K, V] {
	cfg = cfg.withDefaults()
	c := &Cache[K, V]{
		cfg: cfg, load: load, notFound: notFound,
		seed: maphash.MakeSeed(), reads: NewReads[V](cfg, notFound, reg), underWay: map[K]*underWay[V]{},
	}
	c.metrics = c.reads.metrics
	c.reliance.Store(&reliance{})
	c.ends.Store(&[]end[V]{})
	var err error
	c.entries, err = ristretto.NewCache(&ristretto.Config[uint64, *entry[K, V]]{
		NumCounters: countersPerEntry * cfg.MaxEntries, MaxCost: cfg.MaxEntries, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) //nolint:forbidigo // only for a figure out of range, which withDefaults excludes
	}
	return c
}

func (cfg Config) withDefaults() Config {
	if cfg.Fresh <= 0 {
		cfg.Fresh = 5 * time.Second
	}
	if cfg.Trusted <= 0 {
		cfg.Trusted = 30 * time.Second
	}
	if cfg.Stale <= 0 {
		cfg.Stale = 10 * time.Minute
	}
	cfg.Trusted = max(cfg.Fresh, min(cfg.Trusted, cfg.Stale))
	if cfg.LoadTimeout <= 0 {
		cfg.LoadTimeout = 2 * time.Second
	}
	if cfg.MaxEntries <= 0 {
		cfg.MaxEntries = 100_000
	}
	if cfg.MaxLoads <= 0 {
		cfg.MaxLoads = 8
	}
	return cfg
}

// Close ends the cache's goroutines. Get must not be called after it.
func (c *Cache[K, V]) Close() { c.entries.Close() }

// Get returns the result for k: a value, or the store's own error when there is
// none. Any other error means that the store cannot be asked and no result
// young enough is known. now is the caller's reading of the clock, which it often
// needs itself; ages are those of that moment. A string k may alias memory that
// the caller reuses after Get has returned.
func (c *Cache[K, V]) Get(ctx context.Context, k K, now time.Time) (V, error) {
	e := c.find(k)
	if v, ok, err := c.recall(ctx, e, now); ok {
		return v, err
	}
	c.metrics.misses.Inc()
	return c.read(ctx, k, e)
}

// Recall is Get where it need not wait for the store; ok is false where it had to.
func (c *Cache[K, V]) Recall(ctx context.Context, k K, now time.Time) (v V, ok bool, err error) {
	return c.recall(ctx, c.find(k), now)
}

func (c *Cache[K, V]) recall(ctx context.Context, e *entry[K, V], now time.Time) (v V, ok bool, err error) {
	if e == nil {
		return v, false, nil
	}
	a := e.result.Load()
	if age, life := now.Sub(a.readAt), c.life(a, now); age < life {
		// The second half of its life: read ahead, so that callers of a busy key
		// never wait.
		if age >= life/2 && a.mayRetry(now) {
			c.readBehind(ctx, e)
		}
		v, err = c.hit(a)
		return v, true, err
	}
	if c.servable(e, a, now) && !a.failedAt.IsZero() && now.Sub(a.failedAt) < c.cfg.Fresh {
		// The store failed a moment ago: do not wait for it again.
		if a.mayRetry(now) {
			c.readBehind(ctx, e)
		}
		c.metrics.stale.Inc()
		return a.value, true, nil
	}
	return v, false, nil
}

// Peek returns the value of k that is remembered, however old it is; ok is false where
// there is none. It asks nobody: it is for what can do without a result, and matters
// little when it is wrong.
func (c *Cache[K, V]) Peek(k K) (v V, ok bool) {
	e := c.find(k)
	if e == nil || e.dropped.Load() {
		return v, false
	}
	a := e.result.Load()
	return a.value, a.absent == nil
}

// life is the age at which a result is read again.
func (c *Cache[K, V]) life(a *result[V], now time.Time) time.Duration {
	switch r := c.reliance.Load(); {
	case a.readAt.Before(r.since):
		return 0
	case a.absent == nil && now.Before(r.until):
		return c.cfg.Trusted
	}
	return c.cfg.Fresh
}

// DropUnless forgets what is known about k, but leaves a value for which current is true,
// also one that is being read: it was read after the change. A nil current is true of none. A
// result being read meanwhile is given to those who wait for it and is not kept; what is read of
// other keys is.
func (c *Cache[K, V]) DropUnless(k K, current func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u := c.underWay[k]; u != nil {
		u.drops = append(u.drops, current)
	}
	c.reads.Forget(flightName(k))
	// An entry that was just made may still be on its way in: an old result would be
	// seen for a moment once it arrives, and a current one be taken for none.
	c.entries.Wait()
	if e := c.find(k); e != nil {
		if a := e.result.Load(); current != nil && a.absent == nil && current(a.value) {
			return
		}
		e.dropped.Store(true)
	}
	c.entries.Del(maphash.Comparable(c.seed, k))
}

// Forget has every result read again before it is used, and ends Trust. Results
// still stand in while reads fail.
func (c *Cache[K, V]) Forget() { c.reliance.Store(&reliance{since: time.Now()}) }

// End is Forget where the results for which of is true are wrong: they stand in for
// nothing. It is for many answers at once, whose keys nobody knows.
func (c *Cache[K, V]) End(of func(V) bool) {
	c.mu.Lock()
	now, kept := time.Now(), []end[V]{}
	for _, e := range *c.ends.Load() {
		if now.Sub(e.at) < c.cfg.Stale {
			kept = append(kept, e)
		}
	}
	if len(kept) >= maxEnds { // no more of what is known may stand in
		kept, of = kept[:0], func(V) bool { return true }
	}
	kept = append(kept, end[V]{now, of})
	c.ends.Store(&kept)
	c.mu.Unlock()
	c.Forget()
}

// ended reports whether End was said of a result.
func (c *Cache[K, V]) ended(a *result[V]) bool {
	return slices.ContainsFunc(*c.ends.Load(), func(e end[V]) bool { return !a.readAt.After(e.at) && e.of(a.value) })
}

// Trust says that until then Drop is called for whatever changes, so that results
// are relied on for Config.Trusted. What does not exist is asked for as often as
// without it: nobody may know the name of a thing before it is made.
func (c *Cache[K, V]) Trust(until time.Time) {
	for {
		old := c.reliance.Load()
		if c.reliance.CompareAndSwap(old, &reliance{until: until, since: old.since}) {
			return
		}
	}
}

func (c *Cache[K, V]) hit(a *result[V]) (V, error) {
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
func (a *result[V]) mayRetry(now time.Time) bool {
	return a.failedAt.IsZero() || now.Sub(a.failedAt) >= retryPause
}

// servable reports whether the result may stand in for a failed read.
func (c *Cache[K, V]) servable(e *entry[K, V], a *result[V], now time.Time) bool {
	return a.absent == nil && !e.dropped.Load() && now.Sub(a.readAt) < c.cfg.Stale && !c.ended(a)
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
