package clickhousetest

import (
	"io"
	"math"
	"net"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/platform/config"
)

// Proxy passes connections on to a server, and can cut them.
type Proxy struct {
	net.Listener
	mu     sync.Mutex
	server string
	conns  []net.Conn
	flows  chan struct{} // closed by Resume; nil while bytes are passed on
	held   int           // how many connections pass nothing on meanwhile, from the first
}

// NewProxy returns a Proxy before a server, which listens until the test ends.
func NewProxy(t *testing.T, server string) *Proxy {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Listener: ln, server: server}
	t.Cleanup(func() {
		ln.Close()
		p.Resume()
		p.Cut()
	})
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			to, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Target())
			if err != nil {
				from.Close()
				continue
			}
			p.mu.Lock()
			number := p.made()
			p.conns = append(p.conns, from, to)
			p.mu.Unlock()
			go io.Copy(to, gated{from, p, number})
			go io.Copy(from, gated{to, p, number})
		}
	}()
	return p
}

// made is how many connections were made since the last cut; the lock is held.
func (p *Proxy) made() int { return len(p.conns) / 2 }

// gated is what is read of a connection, which a proxy that is held holds back.
type gated struct {
	io.Reader

	p      *Proxy
	number int
}

// Read implements io.Reader.
func (g gated) Read(b []byte) (int, error) {
	n, err := g.Reader.Read(b)
	g.p.mu.Lock()
	flows, held := g.p.flows, g.p.held
	g.p.mu.Unlock()
	if flows != nil && g.number < held {
		<-flows
	}
	return n, err
}

// Stall has the proxy accept connections and pass nothing on, like a server whose
// process is stopped, until Resume.
func (p *Proxy) Stall() { p.hold(math.MaxInt) }

// Silence is Stall of the connections that there are, like a server at work on what it
// does not tell of.
func (p *Proxy) Silence() {
	p.mu.Lock()
	held := p.made()
	p.mu.Unlock()
	p.hold(held)
}

func (p *Proxy) hold(held int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flows, p.held = make(chan struct{}), held
}

// Resume passes on what was held back.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flows != nil {
		close(p.flows)
		p.flows = nil
	}
}

// Target is the server that new connections lead to.
func (p *Proxy) Target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server
}

// Point has new connections lead to another server.
func (p *Proxy) Point(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// Cut ends the connections that there are.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// Kill ends an address in the middle of whatever passes through it.
func (p *Proxy) Kill() {
	p.Close()
	p.Cut()
}

// Connections is how many connections were made since the last cut.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made()
}

// TwoWays returns settings with two addresses that lead to one server, and what
// stands behind each of them.
func TwoWays(t *testing.T, cfg config.ClickHouse) (config.ClickHouse, map[string]*Proxy) {
	t.Helper()
	behind := map[string]*Proxy{}
	server := cfg.Addr[0]
	cfg.Addr = nil
	for range 2 {
		p := NewProxy(t, server)
		cfg.Addr = append(cfg.Addr, p.Addr().String())
		behind[p.Addr().String()] = p
	}
	return cfg, behind
}
