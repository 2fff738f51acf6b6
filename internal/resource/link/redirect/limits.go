package redirect

import (
	"hash/maphash"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// How much is allowed within any stretch of Window.
const (
	MaxPasswords = 5 // passwords of one link from one address, but for right ones
	// MaxLinkPasswords is as many from all addresses that did not send a right one lately.
	MaxLinkPasswords = 100
	MaxUnknown       = 60 // different slugs without a link from one address
	Window           = time.Minute
)

// recentFor is how long other visitors' wrong passwords do not count against an address that
// sent a link's right one.
const recentFor = 7 * 24 * time.Hour

// ipv6Bits is how much of an address of IPv6 is one visitor's.
const ipv6Bits = 64

// maxTries is how many addresses are remembered at least, if they are many. Beyond twice
// as many some are forgotten early: who has more of them is held back by none of this.
const maxTries = 8192

// tries counts what somebody does that is allowed a few times. It remembers each for
// Window and hashes only of both, in two generations: the older one is forgotten as a
// whole when the younger one is full or as old as Window.
type tries struct {
	most  int
	start time.Time
	seed  maphash.Seed
	// barred is until when there may be somebody who is rejected, so that nobody has to
	// wait for the lock while there is none.
	barred atomic.Int64

	mu           sync.Mutex
	young, old   map[uint64]*tried
	rejuvenation time.Duration
}

// tried is what one has done within Window, the latest last. Times are since start.
type tried struct {
	at     []time.Duration
	what   []uint64
	barred time.Duration // rejected until then
}

func newTries(most int, now time.Time) *tries {
	return &tries{most: most, start: now, seed: maphash.MakeSeed(), young: map[uint64]*tried{}}
}

// network stands for the visitors of one address, or of one network of IPv6.
func (t *tries) network(addr netip.Addr) uint64 { return t.networkOf("", addr) }

// networkOf does for what they do with one thing.
func (t *tries) networkOf(id string, addr netip.Addr) uint64 {
	if addr.Is6() && !addr.Is4In6() {
		p, _ := addr.Prefix(ipv6Bits) // there are as many bits
		addr = p.Addr()
	}
	return maphash.Comparable(t.seed, struct {
		id   string
		addr netip.Addr
	}{id, addr.Unmap()})
}

// text stands for what is done, and is never 0.
func (t *tries) text(s string) uint64 { return maphash.String(t.seed, s) | 1 }

// bytes does for a text in bytes.
func (t *tries) bytes(s []byte) uint64 { return maphash.Bytes(t.seed, s) | 1 }

// rejected returns a RateLimited error for one whose last try was rejected, until the next
// one is not.
func (t *tries) rejected(who uint64, now time.Time) error {
	at := now.Sub(t.start)
	if int64(at) >= t.barred.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.of(who, at, false); of != nil && of.barred > at {
		return t.tooMany(of.barred - at)
	}
	return nil
}

// take counts a try, or returns a RateLimited error when there were as many as there may
// be. The same again is not one more, unless what is 0.
func (t *tries) take(who, what uint64, now time.Time) error {
	at := now.Sub(t.start)
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of(who, at, true)
	of.forget(at)
	switch {
	case what != 0 && slices.Contains(of.what, what):
		return nil
	case len(of.at) >= t.most:
		of.barred = of.at[0] + Window
		t.barred.Store(max(t.barred.Load(), int64(of.barred)))
		return t.tooMany(of.barred - at)
	}
	of.at, of.what = append(of.at, at), append(of.what, what)
	return nil
}

// giveBack takes the latest try back.
func (t *tries) giveBack(who uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.young[who]
	if of == nil {
		of = t.old[who] // others came meanwhile
	}
	if of != nil && len(of.at) > 0 {
		of.at, of.what = of.at[:len(of.at)-1], of.what[:len(of.what)-1]
	}
}

// of returns what somebody has done, in the younger generation.
func (t *tries) of(who uint64, at time.Duration, create bool) *tried {
	if of := t.young[who]; of != nil {
		return of
	}
	of := t.old[who]
	if of == nil && !create {
		return nil
	}
	if of == nil {
		of = &tried{}
	}
	if len(t.young) >= maxTries || at-t.rejuvenation >= Window {
		t.young, t.old, t.rejuvenation = map[uint64]*tried{}, t.young, at
	}
	t.young[who] = of
	return of
}

// forget drops what was done before the window.
func (t *tried) forget(at time.Duration) {
	n := 0
	for n < len(t.at) && at-t.at[n] >= Window {
		n++
	}
	t.at, t.what = slices.Delete(t.at, 0, n), slices.Delete(t.what, 0, n)
}

func (t *tries) tooMany(wait time.Duration) error {
	return &apierr.Error{Code: apierr.RateLimited, RetryAfter: wait}
}
