package admission

import (
	"hash/maphash"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// largeBytes is the size from which a claim is large: it waits for memory and
	// leaves some to the others.
	largeBytes = 64 << 10
	// holderCount is the number of accounts. Two callers may share one; it costs
	// them nothing unless one of them holds much.
	holderCount = 4096
	// siteShare and groupShare say how many times what is free a website and an
	// organization may hold.
	siteShare, groupShare = 1, 4
	// littlePart is the part of the requests below which an owner holds little.
	littlePart = 8
	// leastLimit is how many requests the queue time never keeps out, so that there is
	// something by which one sees that things go better.
	leastLimit = 32
	// one is a request in a count, beside the bytes that it holds.
	one = 1 << 40
)

// bytesOf and requestsOf take a count apart.
func bytesOf(n int64) int64    { return n & (one - 1) }
func requestsOf(n int64) int64 { return n >> 40 }

// Config holds a Gate's bounds.
type Config struct {
	// Host is the label host of the metrics.
	Host string
	// Memory is the budget in bytes.
	Memory int64
	// QueueTime is how long what is let in may wait; 0 does not look at it.
	QueueTime time.Duration
}

// Deps are what a Gate works with; all may be nil but Metrics.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Outside tells the bytes that are held without a claim, such as those that
	// were given up and are not free yet.
	Outside func() int64
}

// account counts what a caller, or some, hold: bytes, and requests in units of one.
type account = atomic.Int64

// Gate lets requests in. It is safe for concurrent use.
type Gate struct {
	memory  int64
	target  time.Duration
	log     *slog.Logger
	outside func() int64
	metrics *metrics
	seed    maphash.Seed

	used  account             // by all claims
	parts [kinds]atomic.Int64 // bytes of it, by kind
	limit atomic.Int64        // requests at work, while they wait too long; else unlimited
	extra atomic.Int64        // requests at work that were admitted beyond the limit
	pause atomic.Int64        // of a rejection, in nanoseconds
	// Since the last look: requests that were finished, and rejections.
	done, turned atomic.Int64

	owners, groups [holderCount]account
	queue          queue

	waiting atomic.Int64 // claims in line
	mu      sync.Mutex
	line    []*waiter
}

// New returns a Gate. Without Run it does not look at the queue time.
func New(cfg Config, deps Deps) *Gate {
	g := &Gate{
		memory: cfg.Memory, target: cfg.QueueTime,
		log: deps.Log, outside: deps.Outside, seed: maphash.MakeSeed(),
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.outside == nil {
		g.outside = func() int64 { return 0 }
	}
	g.limit.Store(unlimited)
	g.metrics = newMetrics(prometheus.WrapRegistererWith(prometheus.Labels{"host": cfg.Host}, deps.Metrics), g)
	return g
}

// unlimited is the limit of requests while none of them waits too long.
const unlimited = math.MaxInt32

// Used returns the bytes on which there are claims.
func (g *Gate) Used() int64 { return bytesOf(g.used.Load()) }

// requests returns how many are at work.
func (g *Gate) requests() int64 { return requestsOf(g.used.Load()) }

// of returns the account of a caller; nil for an empty name.
func (g *Gate) of(accounts *[holderCount]account, name string) *account {
	if name == "" {
		return nil
	}
	return &accounts[maphash.String(g.seed, name)%holderCount]
}

// Reason says why a claim is rejected.
type Reason uint8

// The reasons.
const (
	admitted Reason = iota
	Memory
	Share
	Queue
	reasons // how many
)

// String returns the reason as it stands in metrics.
func (r Reason) String() string {
	return [reasons]string{"", "memory", "share", "queue"}[r]
}

// take charges n bytes for a claim, or says why not.
func (g *Gate) take(c *Claim, n int64) Reason {
	delta, request := n, c.kind == Work && c.bytes == 0
	if request {
		delta += one
	}
	before := g.used.Add(delta) - delta
	why := g.judge(c, n, before)
	if why != admitted {
		g.used.Add(-delta)
		return why
	}
	if request && requestsOf(before) >= g.limit.Load() {
		c.extra = true
		g.extra.Add(1)
	}
	c.charge(n, delta)
	return admitted
}

// charge puts bytes to the accounts of a claim but for the gate's own.
func (c *Claim) charge(n, delta int64) {
	c.gate.parts[c.kind].Add(n)
	if c.owner != nil {
		c.owner.Add(delta)
	}
	if c.group != nil {
		c.group.Add(delta)
	}
	c.bytes += n
}

// judge decides about n more bytes where so much is held before.
func (g *Gate) judge(c *Claim, n, before int64) Reason {
	room := g.memory - g.outside()
	freeBytes := room - bytesOf(before)
	limit := g.limit.Load()
	freeRequests := limit - requestsOf(before)
	forShares := freeBytes
	ofKind := g.memory/2 - g.parts[c.kind].Load()
	if c.kind != Work { // or one caller could have all that bodies may take
		forShares = min(freeBytes, ofKind)
	}
	if c.holdsLittle(max(limit, requestsOf(before))) {
		// The requests of a caller that made the queue do not keep the others out, also those
		// admitted before there was a limit: only what was admitted beyond the limit counts.
		freeRequests = max(freeRequests, 0) + limit - g.extra.Load()
	}
	switch {
	case freeRequests <= 0 && c.kind == Work && c.bytes == 0:
		return Queue
	case n > freeBytes-g.reserved(n), c.kind != Work && n > ofKind:
		return Memory
	case beyond(c.owner, n, siteShare*forShares, siteShare*freeRequests),
		beyond(c.group, n, groupShare*forShares, groupShare*freeRequests):
		return Share
	}
	return admitted
}

// holdsLittle reports whether the claim's owner has hardly any of so many requests.
func (c *Claim) holdsLittle(of int64) bool {
	return c.owner != nil && littlePart*requestsOf(c.owner.Load()) < of
}

// reserved is what a claim of n bytes has to leave.
func (g *Gate) reserved(n int64) int64 {
	if n >= largeBytes {
		return g.memory / 8
	}
	return 0
}

// beyond reports whether n more bytes, or one request more, are too much for
// somebody who holds some already.
func beyond(of *account, n, bytes, requests int64) bool {
	if of == nil {
		return false
	}
	held := of.Load()
	return held > 0 && (bytesOf(held)+n > bytes || requestsOf(held) >= requests)
}

// release takes n bytes off a claim.
func (g *Gate) release(c *Claim, n int64) {
	if n == 0 {
		return
	}
	delta := n
	if c.kind == Work && n == c.bytes {
		delta += one
		if c.extra {
			c.extra = false
			g.extra.Add(-1)
		}
	}
	c.charge(-n, -delta)
	g.used.Add(-delta)
	if g.waiting.Load() > 0 {
		g.callUp()
	}
}
