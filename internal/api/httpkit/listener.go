package httpkit

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// listener closes once, knows the connections that it accepted and turns away
// those that are too many.
type listener struct {
	net.Listener
	kit  *kit
	once sync.Once
	err  error

	turning chan struct{} // one for each connection that is being turned away

	mu       sync.Mutex
	conns    map[*guardedConn]struct{}
	sites    map[netip.Addr]int // connections of each address
	live     int                // connections on which a live stream goes on
	lively   map[netip.Addr]int // of those, each address's
	made     time.Time          // when makeRoom last looked
	stopping bool
}

// roomPause is how often at most a connection is closed in favour of another one, so
// that to look for it never takes much of a processor.
const roomPause = 2 * time.Millisecond

func newListener(l net.Listener, k *kit) *listener {
	return &listener{
		Listener: l, kit: k, conns: map[*guardedConn]struct{}{}, sites: map[netip.Addr]int{}, lively: map[netip.Addr]int{},
		turning: make(chan struct{}, turnsAtOnce),
	}
}

// Accept returns the next connection that may be served.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if !exhausted(err) {
				return nil, err
			}
			l.kit.log.LogAttrs(context.Background(), slog.LevelError, "accepting connections failed, retrying",
				slog.Any("error", err))
			<-time.After(acceptPause)
			continue
		}
		g, why := l.add(c)
		if g != nil {
			return g, nil
		}
		l.turnAway(c, why)
	}
}

// add takes a connection in, unless there are too many.
func (l *listener) add(c net.Conn) (*guardedConn, rejection) {
	most := &l.kit.cfg.Conns
	g := &guardedConn{Conn: c, listener: l, limits: most, site: siteOf(c)}
	first := time.Now().Add(most.Idle)
	g.idle.Store(first.UnixNano())
	if most.MaxPerAddr == 0 || l.kit.cfg.Proxies.trusts(g.site) {
		g.site = netip.Addr{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if most.Max > 0 && len(l.conns)-l.live >= most.Max && !l.makeRoom(g.site) {
		return nil, tooMany
	}
	if g.site.IsValid() {
		if l.sites[g.site] >= most.MaxPerAddr {
			return nil, tooManyFrom
		}
		l.sites[g.site]++
	}
	l.conns[g] = struct{}{}
	l.kit.connections.Add(1)
	g.deadline(first) //nolint:errcheck // a connection that cannot take a deadline is closed already
	if l.stopping {
		g.hurry() //nolint:errcheck // see above
	}
	return g, 0
}

// makeRoom closes, for a connection of an address, one of the address that has most: the
// one that has been without a request for longest, else the one whose body has been
// arriving for longest, which costs its client the beginning of a request. It does so only
// where the other address goes on having more, so that neither a few that keep their
// connections idle nor some hundreds that never end their requests keep all others out.
// What trusted proxies have is counted for nobody, and stays. The lock is held.
func (l *listener) makeRoom(site netip.Addr) bool {
	now := time.Now()
	if now.Sub(l.made) < l.kit.roomPause {
		return false
	}
	l.made = now
	var biggest netip.Addr
	for s := range l.sites {
		if l.counted(s) > l.counted(biggest) {
			biggest = s
		}
	}
	if l.counted(biggest) <= l.counted(site)+1 {
		return false
	}
	gives := l.longest(biggest, func(c *guardedConn) int64 { return c.idle.Load() })
	if gives == nil {
		gives = l.longest(biggest, func(c *guardedConn) int64 { return c.arrives.Load() })
	}
	if gives == nil {
		return false
	}
	l.forget(gives)
	l.kit.metrics.reject(madeRoom)
	gives.Conn.Close() // fasthttp's read tells it, or that of the body
	return true
}

// counted is how many connections an address has of those that Conns.Max bounds. The lock is
// held.
func (l *listener) counted(site netip.Addr) int { return l.sites[site] - l.lively[site] }

// longest returns the connection of an address with the earliest time; nil where all have
// none, which is 0. The lock is held.
func (l *listener) longest(site netip.Addr, since func(*guardedConn) int64) (longest *guardedConn) {
	var first int64
	for c := range l.conns {
		if c.site != site {
			continue
		}
		if at := since(c); at > 0 && (longest == nil || at < first) {
			longest, first = c, at
		}
	}
	return longest
}

// lives says whether a live stream goes on on a connection, which is none of those that
// Conns.Max bounds for as long. There may be more than it bounds for a while where many
// streams end at once, and no new ones until they are fewer.
func (l *listener) lives(c *guardedConn, live bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.conns[c]; !known || c.live == live {
		return
	}
	c.live = live
	l.count(c, live)
}

// count counts a connection as one on which a live stream goes on, or not any more. The lock
// is held.
func (l *listener) count(c *guardedConn, live bool) {
	more := 1
	if !live {
		more = -1
	}
	l.live += more
	if !c.site.IsValid() {
		return
	}
	if l.lively[c.site] += more; l.lively[c.site] == 0 {
		delete(l.lively, c.site)
	}
}

// remove forgets a connection, once.
func (l *listener) remove(c *guardedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(c)
}

// forget is remove; the lock is held.
func (l *listener) forget(c *guardedConn) {
	if _, known := l.conns[c]; !known {
		return
	}
	delete(l.conns, c)
	l.kit.connections.Add(-1)
	if c.live {
		l.count(c, false)
	}
	if !c.site.IsValid() {
		return
	}
	if l.sites[c.site]--; l.sites[c.site] == 0 {
		delete(l.sites, c.site)
	}
}

// Close closes the listener; fasthttp and a stop both do.
func (l *listener) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

// open returns how many of the connections are not closed.
func (l *listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// hurry has every connection read no longer than kit.lastCall from now on.
func (l *listener) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = true
	for c := range l.conns {
		c.hurry() //nolint:errcheck // a connection that cannot take a deadline is closed already
	}
}

// closeUnused closes the connections on which nothing ever arrived, such as
// those that browsers open ahead: fasthttp would wait for them.
func (l *listener) closeUnused() {
	l.mu.Lock()
	var unused []*guardedConn
	for c := range l.conns {
		if !c.used.Load() {
			unused = append(unused, c)
		}
	}
	l.mu.Unlock()
	for _, c := range unused {
		c.Close() //nolint:errcheck // there is nothing to lose on it
	}
}
