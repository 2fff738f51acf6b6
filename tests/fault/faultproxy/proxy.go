package faultproxy

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

const (
	// silence after the last byte of a response means that it is complete; servers
	// that report progress do so more often.
	silence = 250 * time.Millisecond
	// chunkBytes is how much is forwarded at a time.
	chunkBytes = 32 << 10
)

// Proxy forwards connections to one server. Its methods are safe for concurrent
// use.
type Proxy struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	rule    Rule
	left    int           // strikes left; below 0: no limit
	strikes int           // of the present rule
	changed chan struct{} // closed when the rule changes
	onHit   func()
	links   map[*link]bool
	closed  bool
	all     sync.WaitGroup
}

// Start forwards a loopback address to the target until the test ends.
func Start(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p, err := Listen(target)
	if err != nil {
		tb.Fatalf("starting a proxy: %v", err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Listen is Start for a caller that calls Close itself.
func Listen(target string) (*Proxy, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, left: -1, changed: make(chan struct{}), links: map[*link]bool{}}
	p.all.Go(p.accept)
	return p, nil
}

// Addr is where clients connect, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set makes the rule that of all connections, open and new, and forgets the
// strikes of the one before.
func (p *Proxy) Set(r Rule) { p.SetFunc(r, nil) }

// SetFunc is Set with a function that is called at each strike, before the
// connection is touched; it must not call the proxy.
func (p *Proxy) SetFunc(r Rule, strike func()) {
	p.mu.Lock()
	p.rule, p.left, p.strikes, p.onHit = r, r.Times, 0, strike
	if r.Times == 0 {
		p.left = -1
	}
	p.turn()
	var cut []*link
	if r.Kind == Refuse {
		for l := range p.links {
			cut = append(cut, l)
		}
	}
	p.mu.Unlock()
	for _, l := range cut {
		l.reset()
	}
}

// Clear is Set with the rule that lets everything through.
func (p *Proxy) Clear() { p.Set(Rule{}) }

// Strikes returns how often the present rule struck: requests for those kinds
// that pick requests, connections for Reject, 0 for the others.
func (p *Proxy) Strikes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.strikes
}

// Cut resets all connections there are.
func (p *Proxy) Cut() {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.reset()
	}
}

// Close resets all connections and returns when nothing is left of them.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	p.Cut()
	p.all.Wait()
}

// turn wakes everybody who waits for another rule. The lock is held.
func (p *Proxy) turn() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// current returns the rule, and what is closed when it changes.
func (p *Proxy) current() (Rule, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rule, p.changed
}

// strike takes one of the strikes of a rule of the kind. It reports false when
// there is none left, or another rule meanwhile.
func (p *Proxy) strike(k Kind) bool {
	p.mu.Lock()
	if p.rule.Kind != k || p.left == 0 {
		p.mu.Unlock()
		return false
	}
	p.strikes++
	if p.left > 0 {
		if p.left--; p.left == 0 {
			p.rule = Rule{}
			p.turn()
		}
	}
	call := p.onHit
	p.mu.Unlock()
	if call != nil {
		call()
	}
	return true
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		client := c.(*net.TCPConn) //nolint:forcetypeassert // of a TCP listener
		if p.strike(Refuse) {
			client.SetLinger(0)
			client.Close()
			continue
		}
		p.all.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	s, err := net.Dial("tcp4", p.target)
	if err != nil {
		client.SetLinger(0)
		client.Close()
		return
	}
	server := s.(*net.TCPConn) //nolint:forcetypeassert // dialed as TCP
	l := &link{proxy: p, client: client, server: server, gone: make(chan struct{})}
	p.mu.Lock()
	closed := p.closed
	p.links[l] = true
	p.mu.Unlock()
	if closed {
		l.reset()
	}
	var both sync.WaitGroup
	both.Go(l.forwardRequests)
	both.Go(l.forwardResponses)
	both.Wait()
	l.end()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}
