//go:build (linux || darwin) && !nolibrary

package chserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/loopback"
)

// relay stands before one listener of the library, where there is no terminal, and
// tells it of a client that reset its connection as of one that closed it: the library
// would end (see shelter). Every client that is killed, or closes with a response
// unread, resets.
type relay struct {
	listener net.Listener
	inner    string   // what the library is to listen on
	greeter  *greeter // nil lets every client in
}

// newRelay listens on addr and picks the port, on the same host, that the library
// is to listen on.
func newRelay(ctx context.Context, addr string) (*relay, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("reading the address of ClickHouse: %w", err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for ClickHouse: %w", err)
	}
	inner, err := loopback.Resolve(ctx, net.JoinHostPort(host, "0"), addr)
	if err != nil {
		l.Close()
		return nil, err
	}
	return &relay{listener: l, inner: inner}, nil
}

// acceptPause is how long accepting rests when it fails, such as for want of file
// descriptors.
const acceptPause = 50 * time.Millisecond

// run passes connections on until the listener is closed.
func (r *relay) run() {
	for {
		client, err := r.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			<-time.After(acceptPause)
		default:
			go r.pass(client)
		}
	}
}

// pass carries one connection until both ends are done. A client that comes while
// the library does not listen is closed, as if it were rejected.
func (r *relay) pass(client net.Conn) {
	defer client.Close()
	var said []byte
	if r.greeter != nil {
		var err error
		if said, err = r.greeter.admit(client); err != nil {
			return
		}
	}
	var d net.Dialer
	conn, err := d.Dial("tcp", r.inner)
	if err != nil {
		return
	}
	defer conn.Close()
	server := conn.(*net.TCPConn)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if _, err := server.Write(said); err == nil {
			_, _ = io.Copy(server, client) // a reset ends it as a close does
		}
		_ = server.CloseWrite()
	}()
	if _, err := io.Copy(client, server); err != nil {
		// The client is gone. What the library still writes is read to its end:
		// closing with it unread would be the reset that this is here to spare it.
		_, _ = io.Copy(io.Discard, server)
	}
	client.Close() // wakes the other direction
	<-asked
}
