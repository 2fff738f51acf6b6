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
)

// listener closes once and wraps what it accepts.
type listener struct {
	net.Listener
	once sync.Once
	err  error
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guardedConn{Conn: c}, nil
}

// Close closes the listener; fasthttp and a stop both do.
func (l *listener) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
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
	lingers     atomic.Bool
	read, write time.Time // deadlines in force; fasthttp sets them from one goroutine
}

// SetReadDeadline sets the deadline of reads, up to deadlineStep too early.
func (c *guardedConn) SetReadDeadline(t time.Time) error {
	if inForce(c.read, t) {
		return nil
	}
	c.read = t
	return c.Conn.SetReadDeadline(t)
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
	if c.lingers.CompareAndSwap(true, false) {
		if tcp, ok := c.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil &&
			tcp.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			// What comes now is thrown away, and how it ends does not matter.
			io.Copy(io.Discard, io.LimitReader(tcp, lingerBytes)) //nolint:errcheck // see above
		}
	}
	return c.Conn.Close()
}
