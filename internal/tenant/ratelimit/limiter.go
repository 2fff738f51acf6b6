package ratelimit

import (
	"context"
	"hash/maphash"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/config"
)

// Request is what the limiter needs to know of a request.
type Request struct {
	Who    Identity
	Family Family
	// Custom is a key's own limit over all routes of both hosts; zero for none.
	Custom Limit
}

// Deps are the parts a Limiter needs.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil for none
	// Shared settles requests together with other processes; nil when there are
	// none.
	Shared Shared
	// Salt returns what addresses are hashed with before Shared is told of them, the
	// same for all processes that share. Required with Shared. While it is empty,
	// clients are counted by this process alone.
	Salt func() []byte
	// LeaseFor is longer than any request takes: after it, Shared takes one for
	// lost. 0 means a minute.
	LeaseFor time.Duration
}

// Limiter counts requests. It is safe for concurrent use; a nil Limiter admits
// everything.
type Limiter struct {
	off        bool
	limits     [families][2]Limit // for clients, and for callers with a credential
	slots      int
	ipv6Prefix int
	shared     *sharing // nil when there is nobody to share with
	metrics    *metrics

	start  time.Time
	seed   maphash.Seed
	shards [shards]shard
}

const shards = 64

// New returns a limiter.
func New(cfg config.Limits, deps Deps) *Limiter {
	l := &Limiter{
		off: !cfg.Enabled, slots: cfg.Concurrency, ipv6Prefix: cfg.IPv6Prefix,
		start: time.Now(), seed: maphash.MakeSeed(),
	}
	for f, row := range &Families {
		l.limits[f] = [2]Limit{{row.anonymous(&cfg), cfg.Window}, {row.known(&cfg), cfg.Window}}
	}
	for i := range l.shards {
		l.shards[i].init(cfg.Memory / shards)
	}
	l.metrics = newMetrics(deps.Metrics)
	if deps.Shared != nil {
		l.shared = newSharing(deps, l.metrics)
	}
	return l
}

// Lease is the slot of an admitted request among those under way. The zero
// Lease holds none.
type Lease struct {
	limiter *Limiter
	account *account
	shard   *shard
	shared  string // its name among all processes; empty when they were not asked
}

// Release gives the slot back. It is called once, when the request is answered.
func (r Lease) Release(ctx context.Context) {
	if r.account == nil {
		return
	}
	r.shard.mu.Lock()
	r.account.inFlight--
	r.shard.mu.Unlock()
	if r.shared != "" {
		r.limiter.shared.release(ctx, r.account.who, r.shared)
	}
}

// Admit counts a request and returns its lease, or a RateLimited error with the
// limit that stood against it, after which nothing was counted. ctx bounds the
// wait for other processes. ID may alias memory that is reused after the call.
func (l *Limiter) Admit(ctx context.Context, r Request) (Lease, error) {
	if l == nil || l.off {
		return Lease{}, nil
	}
	r = l.plain(r)
	var lease Lease
	var rejected *Rejection
	if l.shared != nil {
		lease, rejected = l.admitShared(ctx, r)
	} else {
		lease, rejected = l.admit(r, settle)
	}
	if rejected != nil {
		l.metrics.reject(r.Family, rejected)
		return Lease{}, rejected.apiError()
	}
	return lease, nil
}

// Check returns the RateLimited error with which a request would be rejected, as far as
// this process knows, and counts nothing.
func (l *Limiter) Check(r Request) error {
	if l == nil || l.off {
		return nil
	}
	if _, rejected := l.admit(l.plain(r), look); rejected != nil {
		l.metrics.reject(r.Family, rejected)
		return rejected.apiError()
	}
	return nil
}

// plain is a request with nothing in it that tells one caller apart from itself.
func (l *Limiter) plain(r Request) Request {
	if r.Who.Kind == Client {
		r.Who.Addr = network(r.Who.Addr, l.ipv6Prefix)
	} else {
		r.Who.Addr = netip.Addr{}
	}
	return r
}

// mode is what to do with a request.
type mode uint8

const (
	settle mode = iota // decide, and count it if it is admitted
	look               // decide and count nothing
	note               // count it: others have admitted it
)

// admit decides in memory.
func (l *Limiter) admit(r Request, m mode) (Lease, *Rejection) {
	s := l.shardOf(r.Who)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := l.now() // behind the lock, so that admissions are noted in their order
	a, c := l.claim(s, r, now)
	if m != note {
		if rejected := a.reject(&c, now); rejected != nil || m == look {
			return Lease{}, rejected
		}
	}
	s.bytes += a.take(&c, now)
	if c.slots == 0 {
		return Lease{}, nil
	}
	return Lease{limiter: l, account: a, shard: s}, nil
}

// claim finds or makes the account of a request and what it is counted against.
// The shard is locked.
func (l *Limiter) claim(s *shard, r Request, now int64) (*account, claim) {
	a := s.find(r.Who, now)
	if a == nil {
		r.Who.ID = strings.Clone(r.Who.ID)
		l.metrics.forgot(s.sweep(now), 0) // before there is one that has nothing yet
		a = s.open(r.Who, now)
		l.metrics.accounts.Inc()
	}
	c, bytes := a.claim(r.Family, l.limit(r), r.Custom, l.slotsOf(r.Who))
	if s.bytes += bytes; s.bytes > s.room {
		l.metrics.forgot(0, s.trim(a))
	}
	return a, c
}

// block has a window reject until a time.
func (l *Limiter) block(r Request, window int, until int64) {
	s := l.shardOf(r.Who)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, c := l.claim(s, r, l.now())
	c.windows[window].blocked = until
}

func (l *Limiter) shardOf(who Identity) *shard {
	return &l.shards[maphash.Comparable(l.seed, who)%shards]
}

// now is the time of the limiter's clock, which no step of the machine's changes.
func (l *Limiter) now() int64 { return int64(time.Since(l.start)) }

// limit is the figure of the request's family for its kind of caller.
func (l *Limiter) limit(r Request) Limit {
	known := 0
	if r.Who.Kind != Client {
		known = 1
	}
	return l.limits[r.Family][known]
}

// slotsOf is how many requests of a caller may be under way; 0 for any number.
func (l *Limiter) slotsOf(who Identity) int {
	if who.Kind == Key {
		return l.slots
	}
	return 0
}
