package httpkit

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// lingerTime and lingerBytes bound the reading after a connection's last
	// answer.
	lingerTime  = 2 * time.Second
	lingerBytes = drainBytes
	// deadlineStep is how much earlier than asked for a deadline may strike.
	deadlineStep = time.Second
	// lastCall is how long a request that has begun to arrive may still take
	// once a stop has begun.
	lastCall = 10 * time.Second
)

// listener closes once and knows the connections that it accepted.
type listener struct {
	net.Listener
	once sync.Once
	err  error

	mu       sync.Mutex
	conns    map[*guardedConn]struct{}
	stopping bool
}

func newListener(l net.Listener) *listener {
	return &listener{Listener: l, conns: map[*guardedConn]struct{}{}}
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guardedConn{Conn: c, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[g] = struct{}{}
	if l.stopping {
		err = g.hurry()
	}
	return g, err
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

// hurry has every connection read no longer than lastCall from now on.
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

// guardedConn is what fasthttp sees of a connection.
//
// It spares fasthttp's three deadlines per request: one that lies at most
// deadlineStep before the one asked for is left as it is.
//
// And it may be closed while its client still sends: a plain close would then
// reset the connection and take the answer along.
type guardedConn struct {
	net.Conn
	listener *listener
	used     atomic.Bool // something was read
	hurried  atomic.Bool // read deadlines are what hurry set
	lingers  atomic.Bool

	read, write time.Time // deadlines in force; only fasthttp's goroutine sets them
}

// Read reads from the connection.
func (c *guardedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.used.Load() {
		c.used.Store(true)
	}
	return n, err
}

// SetReadDeadline sets the deadline of reads, up to deadlineStep too early, and
// not beyond that of a stop.
func (c *guardedConn) SetReadDeadline(t time.Time) error {
	if c.hurried.Load() || inForce(c.read, t) {
		return nil
	}
	c.read = t
	err := c.Conn.SetReadDeadline(t)
	if err == nil && c.hurried.Load() { // meanwhile
		err = c.hurry()
	}
	return err
}

func (c *guardedConn) hurry() error {
	c.hurried.Store(true)
	return c.Conn.SetReadDeadline(time.Now().Add(lastCall))
}

// SetWriteDeadline sets the deadline of writes, up to deadlineStep too early.
func (c *guardedConn) SetWriteDeadline(t time.Time) error {
	if inForce(c.write, t) {
		return nil
	}
	c.write = t
	return c.Conn.SetWriteDeadline(t)
}

// inForce reports whether the deadline have will do for want.
func inForce(have, want time.Time) bool {
	early := want.Sub(have)
	return !have.IsZero() && 0 <= early && early < deadlineStep
}

// Close closes the connection; when it lingers, only after the client has seen
// the end of the answer.
func (c *guardedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	if c.lingers.CompareAndSwap(true, false) {
		if tcp, ok := c.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil &&
			tcp.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			// What comes now is thrown away, and how it ends does not matter.
			io.Copy(io.Discard, io.LimitReader(tcp, lingerBytes)) //nolint:errcheck // see above
		}
	}
	return c.Conn.Close()
}
