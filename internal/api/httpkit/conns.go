package httpkit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/admission"
)

// Conns bounds the connections of a host. The zero value has the defaults.
type Conns struct {
	// Max is how many there may be at the same time, beside those on which a live stream
	// goes on: whoever serves such streams bounds how many there are. 0 is unlimited.
	Max int
	// MaxPerAddr is how many one address may have; 0 is unlimited. A /64 of IPv6
	// is one address, and trusted proxies are not counted: they speak for many.
	MaxPerAddr int

	// Header is how long the header, and what of the body comes with it, may take
	// once its first bytes are there.
	Header time.Duration
	// Body is how long a body may take whatever its size, and the longest time in
	// which nothing of it arrives. Beyond that it has to arrive at BodyRate bytes a
	// second.
	Body     time.Duration
	BodyRate int
	// Arrival is the longest time that a body may take, however fast it comes.
	Arrival time.Duration
	// Idle is how long a connection may wait for a request. It has to be longer than a
	// load balancer keeps a connection that it does not use, else some requests are sent
	// while the connection is being closed: nginx keeps one for 60 s, Traefik and other
	// programs in Go for 90 s. It says nothing of how long a request may take to arrive.
	Idle time.Duration
	// Write is how long a client may leave a response unread.
	Write time.Duration
}

func (c Conns) orDefaults() Conns {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{
		{&c.Header, 10 * time.Second},
		{&c.Body, 10 * time.Second},
		{&c.Arrival, 75 * time.Second},
		{&c.Idle, 100 * time.Second},
		{&c.Write, 30 * time.Second},
	} {
		if *d.to == 0 {
			*d.to = d.value
		}
	}
	if c.BodyRate == 0 {
		c.BodyRate = 4 << 10
	}
	return c
}

// ipv6Site is how many bits of an IPv6 address are one address here.
const ipv6Site = 64

// siteOf returns whose connection it is.
func siteOf(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return siteOfAddr(plain(tcp.AddrPort().Addr()))
}

// siteOfAddr returns the address that stands for all those which one caller has.
func siteOfAddr(addr netip.Addr) netip.Addr {
	if addr.Is6() {
		if site, err := addr.Prefix(ipv6Site); err == nil {
			return site.Addr()
		}
	}
	return addr
}

// acceptPause is how long the listener waits when the process is out of files.
const acceptPause = 20 * time.Millisecond

// exhausted reports an error of Accept that goes away, which fasthttp would end
// the server for.
func exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Turning away.
const (
	// turnTime bounds the response to a connection that is turned away.
	turnTime = time.Second
	// turnsAtOnce bounds how many of them are read until their end, so that the
	// response is seen; others get it too and may see a reset before they read it.
	turnsAtOnce = 256
	turnBytes   = 64 << 10
)

// errConnections is what a connection too many is told.
var (
	errConnections = errors.New("too many connections")
	errInFlight    = fmt.Errorf("%w: too many requests at once", admission.ErrRejected)
)

// turnAway answers a connection that may not be served and closes it. It must not
// hold up the one who accepts.
func (l *listener) turnAway(c net.Conn, why rejection) {
	l.kit.metrics.reject(why)
	select {
	case l.turning <- struct{}{}:
		go func() {
			defer func() { <-l.turning }()
			l.kit.writeRejection(c, true)
		}()
	default:
		l.kit.writeRejection(c, false)
	}
}

// writeRejection writes a whole response, as a handler's would look, and closes. It
// fits into what the system holds for a new connection, so nobody waits for the
// client, except to linger.
func (k *kit) writeRejection(c net.Conn, linger bool) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(turnTime)) != nil {
		return
	}
	id := appendUUID(nil)
	f := resolve(&apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: admission.RetryAfter(), Err: errConnections})
	body := errorBody(k.cfg.Host, f, id)
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
		"X-Request-Id: %s\r\nRetry-After: %s\r\n%sConnection: close\r\n\r\n",
		f.status, http.StatusText(f.status), len(body), id, strconv.Itoa(f.retryAfterSeconds()), k.turnedCors())
	if _, err := c.Write(append([]byte(head), body...)); err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok && linger && tcp.CloseWrite() == nil {
		io.Copy(io.Discard, io.LimitReader(tcp, turnBytes)) //nolint:errcheck // how it ends does not matter
	}
}
