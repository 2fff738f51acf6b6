// Package linkcache is what a host of short links remembers of them: all of them, up to a
// bound; and the directory of domains and blocks, whole.
//
// It promises that a link that is held is answered without asking the metadata store and
// without an allocation; that a change is followed within a second while changes are heard
// of, and within 6 s otherwise, by one look at a counter in the store; that what was read
// before a change never outlives it; that what changed is read again at once, whether or not
// somebody asks for it; and that while the store is away what is held answers for a day.
// Then, and for what is not held, the answer is that nobody knows, never that there is no
// such link. What does not exist is not remembered: each time it is asked for the store is,
// and how often somebody may do that is for the host to say. The directory that was read
// last responses until the next one is read, for a day at most, and nobody waits for it.
//
// It does not say whether a link may be followed now, and counts no clicks.
package linkcache

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"

	"github.com/millrace/millrace/internal/platform/readcache"
	"github.com/millrace/millrace/internal/resource/link"
)

// Config bounds a cache.
type Config struct {
	// Entries is the most links that are held; 1,000,000 where it is 0. Beyond it those
	// that were made first and were not asked for lately give way.
	Entries int
}

// Store is where links are.
type Store interface {
	// ServingLinks returns up to limit links, the newest first, of those made before the
	// one with the given id unless that is empty.
	ServingLinks(ctx context.Context, before string, limit int) ([]link.Served, error)
	// ServingLink returns the link of a key, or link.ErrNotFound.
	ServingLink(ctx context.Context, key string) (*link.Served, error)
	// LinkDirectory returns the domains that serve, and what is blocked.
	LinkDirectory(ctx context.Context) (*link.Directory, error)
	LinkCursor(ctx context.Context) (link.Cursor, error)
	// LinkChanges returns up to limit changes after a cursor, and the cursor behind them,
	// or link.ErrChangesLost. It misses none that was visible when it was called.
	LinkChanges(ctx context.Context, after link.Cursor, limit int) ([]link.Change, link.Cursor, error)
}

// Deps are the parts of a cache; all but Now are required.
type Deps struct {
	Store   Store
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil means time.Now
}

// For how long what is held is relied on since it was last known to be right.
const (
	currentFor = 6 * time.Second // later, the store is away
	staleFor   = 24 * time.Hour
)

const (
	defaultEntries = 1_000_000
	// maxKeyBytes is more than any key of a link has.
	maxKeyBytes = 512
)

// Cache remembers links. It is safe for concurrent use, but for Run, which is to be called
// once.
type Cache struct {
	entriesMax, bytesMax int64
	deps                 Deps
	metrics              *metrics
	seed                 maphash.Seed
	shards               [shards]shard
	names                *names        // numbers are given under mu
	held, bytes          atomic.Int64  // links, and what they take
	hand                 atomic.Uint32 // the shard that gave way last
	life                 atomic.Uint32 // links of an earlier one may be wrong: see renew

	born  time.Time
	right atomic.Int64 // age of the cache, up to which all that is held is right; never before it was filled

	breaker *gobreaker.CircuitBreaker[*link.Served]
	slots   chan struct{} // one for each read of a link
	wake    chan struct{} // says that changes may have been missed

	cursor    link.Cursor // of Run
	directory directory
	changed   *readcache.Again[link.Change] // links to be read again, by slug key

	mu      sync.Mutex
	flights map[string]*flight // reads under way, by slug key
	page    *page              // what changes while a page of links is read; nil between pages
	filled  bool
	problem error     // why it is not filled
	doubts  int64     // times that changes may have been missed
	settled int64     // as many of them are settled
	trusted time.Time // changes are told until then
	looked  time.Time // when changes were last looked for
	failing bool      // the last look failed, which was logged
}

const never = int64(-1) << 62

var errNotFilled = errors.New("short links are not loaded yet")

// New returns a cache that holds nothing before Run.
func New(cfg Config, deps Deps) *Cache {
	if cfg.Entries <= 0 {
		cfg.Entries = defaultEntries
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	c := &Cache{
		entriesMax: int64(cfg.Entries), bytesMax: max(minBytes, bytesPerEntry*int64(cfg.Entries)),
		deps: deps, seed: maphash.MakeSeed(), names: newNames(), born: deps.Now(),
		slots: make(chan struct{}, maxLoads), wake: make(chan struct{}, 1), flights: map[string]*flight{},
		problem:   errNotFilled,
		directory: directory{wake: make(chan struct{}, 1)}, changed: readcache.NewAgain[link.Change](maxChanged),
	}
	for i := range c.shards {
		c.shards[i].init(c)
	}
	c.right.Store(never)
	c.metrics = newMetrics(deps.Metrics, c)
	c.breaker = newBreaker(c.metrics)
	return c
}

// Ready returns why links are not all read yet; nil once they were.
func (c *Cache) Ready(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.filled {
		return nil
	}
	return c.problem
}

// Find tells of the link of a key, as link.KeyOn says it. It returns link.ErrNotFound, or a
// ServiceUnavailable error when the store cannot be asked and the link is not held. What it
// tells shares memory with the cache: it is not to be changed, and may be kept. now is the
// caller's reading of the clock, which it often needs itself.
func (c *Cache) Find(ctx context.Context, key []byte, now time.Time, to *link.Served) error {
	if len(key) == 0 || len(key) > maxKeyBytes {
		return link.ErrNotFound
	}
	age := c.ageAt(now)
	held, current := c.look(key, to)
	if held && current && age < staleFor {
		c.metrics.found(age)
		return nil
	}
	c.metrics.misses.Inc()
	return c.read(ctx, string(key), held && age < staleFor, to)
}

func (c *Cache) age() time.Duration { return c.ageAt(c.deps.Now()) }

// ageAt is how long before a time all that is held was right.
func (c *Cache) ageAt(now time.Time) time.Duration {
	right := c.right.Load()
	if right == never {
		return 1<<63 - 1
	}
	return now.Sub(c.born) - time.Duration(right)
}

func (c *Cache) shard(hash uint64) *shard { return &c.shards[hash%shards] }

// look reports whether the link of a slug key is held, and whether it is of this life.
func (c *Cache) look(key []byte, to *link.Served) (held, current bool) {
	hash := maphash.Bytes(c.seed, key)
	return c.shard(hash).look(hash, key, to)
}

// keep holds a link. Those that give way for it are of other shards, one after the other.
// The caller has mu.
func (c *Cache) keep(l *link.Served, first bool) {
	hash := maphash.String(c.seed, l.SlugKey)
	c.shard(hash).keep(hash, l, first)
	for n := 0; n < shards && (c.held.Load() > c.entriesMax || c.bytes.Load() > c.bytesMax); {
		if c.shards[c.hand.Add(1)%shards].giveWay() {
			c.metrics.evicted.Inc()
			n = 0
			continue
		}
		n++
	}
}
