package httpkit

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

const (
	// lingerTime and lingerBytes bound the reading after a connection's last
	// response.
	lingerTime  = 2 * time.Second
	lingerBytes = drainBytes
	// deadlineParts is the part of Conns.Idle, and of Conns.Arrival, by which a deadline
	// may strike earlier than asked for: about a second, however long a connection may
	// be idle.
	deadlineParts = 64
	// bodyFraming is how many times the body limit may arrive of a body with what
	// frames it: chunks have extensions, which nobody reads.
	bodyFraming = 8
	// bodyParts is the part of Conns.Body by which that of a body may.
	bodyParts = 16
	// lastCall is how long a request that has begun to arrive may still take
	// once a stop has begun.
	lastCall = 10 * time.Second
	// longHeaderBytes is how much of a request is known when its header is too long:
	// fasthttp has given its buffer to somebody else by then.
	longHeaderBytes = 32
)

var errFraming = errors.New("the framing of the body takes too much")

// guardedConn is what fasthttp sees of a connection.
//
// It sets the deadlines that fasthttp would set three times a request, once: when the
// response is ready, for its writing and for the next request; and one that lies less than
// a step before the one asked for is left as it is.
//
// It ends a request that arrives too slowly: its header by a deadline from the
// second read on, since most requests come in one, and its body by a deadline that
// moves with what has arrived.
//
// And it may be closed while its client still sends: a plain close would then
// reset the connection and take the response along.
type guardedConn struct {
	net.Conn
	listener *listener
	limits   *Conns
	site     netip.Addr   // that it counts for; invalid for none
	used     atomic.Bool  // something was read
	idle     atomic.Int64 // until when it may be without a request, about, in Unix nanoseconds; 0 while one is served
	arrives  atomic.Int64 // since when a body is awaited, in Unix nanoseconds; 0 while none is
	hurried  atomic.Bool  // read deadlines are what hurry set
	severed  atomic.Bool  // nothing more is written
	lingers  atomic.Bool
	live     bool // a live stream goes on; the listener's lock guards it

	// Of fasthttp's goroutine only:

	read, write time.Time // deadlines in force
	phase       phase
	timed       bool      // the deadlines are those of the request that was read last
	began       time.Time // of the body: its first read
	arrived     int       // bytes of it
	expired     bool      // a read met its deadline
	pace        pace
	waited      time.Duration // for the client to read less than the floor
	taken       int           // bytes that it has read meanwhile

	// begins holds the first begun bytes of the request.
	begins [longHeaderBytes]byte
	begun  int
}

// phase is what is expected of a connection's client.
type phase uint8

const (
	firstBytesDue phase = iota // the first bytes of a request
	headerDue                  // more of its header; no deadline for it is set yet
	headerTimed                // more of its header, until a deadline
	bodyDue                    // its body
	responseDue                // nothing: it is our turn
)

// Read reads from the connection.
func (c *guardedConn) Read(p []byte) (int, error) {
	switch c.phase {
	case firstBytesDue:
		c.idle.Store(c.read.UnixNano())
	case headerDue, bodyDue:
		if err := c.press(); err != nil {
			return 0, err
		}
	case headerTimed, responseDue:
	}
	n, err := c.Conn.Read(p)
	if err != nil {
		c.tell(err)
		return n, err
	}
	switch {
	case n == 0:
	case c.phase <= headerTimed:
		c.headerCame(p[:n])
	case c.phase == bodyDue:
		if c.arrived += n; c.arrived > bodyFraming*c.listener.kit.cfg.BodyLimit {
			return 0, errFraming
		}
	}
	return n, nil
}

// headerCame notes that a part of a header has come.
func (c *guardedConn) headerCame(part []byte) {
	c.begun += copy(c.begins[c.begun:], part)
	if c.phase > firstBytesDue {
		return
	}
	c.phase, c.timed = headerDue, false
	if !c.used.Load() {
		c.used.Store(true)
	}
}

// pace is how long a client may take to read a response.
type pace uint8

const (
	wholeResponse pace = iota // all of it until one deadline
	eachWrite                 // floorRate bytes a second over Conns.Write
	live                      // each write until a deadline of its own
)

// floorRate is how fast a client must read a large response, in bytes a second.
const floorRate = 1 << 10

// Write writes to the connection. After a response the next request is awaited.
func (c *guardedConn) Write(p []byte) (n int, err error) {
	c.phase, c.begun = firstBytesDue, 0
	if c.pace == eachWrite {
		return c.writePaced(p)
	}
	if c.pace == live || !c.timed { // the latter: fasthttp's own responses, to what is no request or asks to go on
		if err := c.responds(time.Now()); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// writePaced writes in parts that the slowest client reads within Conns.Write. Only the time in which
// a write waits counts, so that a response that is made slowly is not the client's fault.
func (c *guardedConn) writePaced(p []byte) (n int, err error) {
	floor := int(floorRate * c.limits.Write / time.Second)
	for len(p) > 0 && err == nil {
		begun := time.Now()
		if err = c.responds(begun.Add(-c.waited)); err != nil {
			break
		}
		var written int
		written, err = c.Conn.Write(p[:min(len(p), floor)])
		n, p = n+written, p[written:]
		c.waited, c.taken = c.waited+time.Since(begun), c.taken+written
		if c.taken >= floor {
			c.waited, c.taken = 0, 0
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.severed.Load() {
		c.listener.kit.metrics.reject(slowReader)
	}
	return n, err
}

// responds sets the deadlines of writing a response from now on, and of the request after
// it. It may be called on nil.
func (c *guardedConn) responds(now time.Time) error {
	if c == nil {
		return nil
	}
	c.timed = true
	if err := c.SetWriteDeadline(now.Add(c.limits.Write)); err != nil {
		return err
	}
	return c.SetReadDeadline(now.Add(c.limits.Idle))
}

// serves says that a request has come. It may be called on nil.
func (c *guardedConn) serves() {
	if c != nil {
		c.idle.Store(0)
	}
}

// paces sets the pace of the response. It may be called on nil.
func (c *guardedConn) paces(p pace) {
	if c != nil {
		c.pace, c.waited, c.taken = p, 0, 0
	}
}

// sever ends writing, also a write that waits for the client. It may be called on
// nil and from anywhere.
func (c *guardedConn) sever() {
	if c != nil {
		c.severed.Store(true)
		//nolint:errcheck // a connection that cannot take a deadline is closed already
		c.Conn.SetWriteDeadline(time.Unix(1, 0))
	}
}

// retire has the connection closed where the next request would be read. It may be called
// on nil.
func (c *guardedConn) retire() {
	if c != nil {
		c.hurried.Store(true)
		//nolint:errcheck // a connection that cannot take a deadline is closed already
		c.Conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// press sets the deadline of the next read of a request that came in part.
func (c *guardedConn) press() error {
	now := time.Now()
	if c.phase == headerDue {
		c.phase = headerTimed
		return c.deadline(now.Add(c.limits.Header))
	}
	if c.began.IsZero() {
		c.began = now
	}
	until := c.began.Add(c.limits.Body + time.Duration(c.arrived)*time.Second/time.Duration(c.limits.BodyRate))
	// What came fast is no credit for a long silence.
	for _, last := range []time.Time{c.began.Add(c.limits.Arrival), now.Add(c.limits.Body)} {
		if until.After(last) {
			until = last
		}
	}
	if until.Sub(c.read).Abs() < c.limits.Body/bodyParts {
		return nil
	}
	return c.deadline(until)
}

// tell notes and counts a request that came too slowly.
func (c *guardedConn) tell(err error) {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	c.expired = true
	if c.hurried.Load() {
		return
	}
	switch c.phase {
	case headerTimed:
		c.listener.kit.metrics.reject(slowHeader)
	case bodyDue:
		c.listener.kit.metrics.reject(slowBody)
	case firstBytesDue, headerDue, responseDue:
	}
}

// bodyBegins and bodyEnds stand around the reading of a body that is wanted. Both
// may be called on nil, for a connection that is none of ours.
func (c *guardedConn) bodyBegins() {
	if c != nil {
		c.phase, c.arrived, c.began = bodyDue, 0, time.Time{}
		c.arrives.Store(time.Now().UnixNano())
	}
}

func (c *guardedConn) bodyEnds() {
	if c != nil {
		c.phase = responseDue
		c.arrives.Store(0)
	}
}

// SetReadDeadline sets the deadline of reads, up to a step too early, and
// not beyond that of a stop.
func (c *guardedConn) SetReadDeadline(t time.Time) error {
	if c.inForce(c.read, t) {
		return nil
	}
	return c.deadline(t)
}

// deadline sets the deadline of reads, unless a stop has set it.
func (c *guardedConn) deadline(t time.Time) error {
	if c.hurried.Load() {
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
	return c.Conn.SetReadDeadline(time.Now().Add(c.listener.kit.lastCall))
}

// SetWriteDeadline sets the deadline of writes, up to a step too early.
func (c *guardedConn) SetWriteDeadline(t time.Time) error {
	if c.inForce(c.write, t) {
		return nil
	}
	c.write = t
	err := c.Conn.SetWriteDeadline(t)
	if err == nil && c.severed.Load() { // meanwhile
		c.sever()
	}
	return err
}

// inForce reports whether the deadline have will do for want.
func (c *guardedConn) inForce(have, want time.Time) bool {
	early := want.Sub(have)
	return !have.IsZero() && 0 <= early && early < c.step()
}

func (c *guardedConn) step() time.Duration {
	return min(c.limits.Idle, c.limits.Arrival) / deadlineParts
}

// Close closes the connection; when it lingers, only after the client has seen
// the end of the response. Until then it is one of those that there may be.
func (c *guardedConn) Close() error {
	defer c.listener.remove(c)
	if c.lingers.CompareAndSwap(true, false) {
		if tcp, ok := c.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil &&
			tcp.SetReadDeadline(time.Now().Add(c.listener.kit.linger)) == nil {
			// What comes now is thrown away, and how it ends does not matter.
			io.Copy(io.Discard, io.LimitReader(tcp, lingerBytes)) //nolint:errcheck // see above
		}
	}
	return c.Conn.Close()
}
