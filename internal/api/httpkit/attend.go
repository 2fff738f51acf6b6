package httpkit

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v2"
)

// lives says whether a live stream goes on. It may be called on nil.
func (c *guardedConn) lives(live bool) {
	if c != nil {
		c.listener.lives(c, live)
	}
}

// attend calls gone once when the client of a connection whose response goes on for long has
// left, until stop is called: a connection to which little is written would take its place
// for another minute otherwise. No client sends anything meanwhile; one that does is as good
// as gone. It may be called on nil.
func (c *guardedConn) attend(gone func()) (stop func()) {
	if c == nil {
		return func() {}
	}
	return c.await(func() bool {
		_, err := c.Conn.Read(make([]byte, 1))
		return !errors.Is(err, os.ErrDeadlineExceeded)
	}, gone)
}

// await calls gone if left returns true, until stop is called. left reads from the connection.
func (c *guardedConn) await(left func() bool, gone func()) (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if left() {
			gone()
		}
	}()
	return func() {
		c.Conn.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // fails for a closed connection only
		<-ended
		c.read = time.Time{}   // is not in force
		c.responds(time.Now()) //nolint:errcheck // see above
	}
}

// WhenGone calls gone when the client of a request closes its connection before stop is called. It
// takes nothing off the connection: a client that sends its next request early has not left. The
// handler calls stop before it returns.
func WhenGone(c *fiber.Ctx, gone func()) (stop func()) {
	conn, ok := c.Context().Conn().(*guardedConn)
	if !ok {
		return func() {}
	}
	socket, ok := conn.Conn.(syscall.Conn)
	if !ok {
		return func() {}
	}
	return conn.await(func() bool { return closed(socket) }, gone)
}

// Gone reports whether the client of a request has closed its connection. It takes nothing off the
// connection, and costs a system call.
func Gone(c *fiber.Ctx) (gone bool) {
	conn, ok := c.Context().Conn().(*guardedConn)
	if !ok {
		return false
	}
	socket, ok := conn.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = n <= 0 && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
	})
	return gone && err == nil
}

// closed waits until the other side of a socket closes it, and reports whether it did; false once
// there is something to read, and at the read deadline.
func closed(socket syscall.Conn) (closed bool) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Read(func(fd uintptr) (done bool) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
			return false
		}
		closed = n <= 0
		return true
	})
	return closed && err == nil
}
