//go:build !linux

package testkit

import (
	"fmt"
	"net"
	"strconv"
)

// ReservePort returns a loopback TCP port that the kernel hands to nobody else
// for about a minute, and that a server can bind by number at once.
//
// Closing a listener and passing its number on would be a race with every other
// process. A connection that the port's own side closed first leaves the port in
// TIME_WAIT instead: it is skipped when the kernel looks for a free one, while a
// server that sets SO_REUSEADDR, as all of ours do, may bind it.
func ReservePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("reserving a port: %w", err)
	}
	defer l.Close()
	addr := l.Addr().String()
	client, err := net.Dial("tcp4", addr)
	if err != nil {
		return 0, fmt.Errorf("reserving port %s: %w", addr, err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		return 0, fmt.Errorf("reserving port %s: %w", addr, err)
	}
	server.Close()
	// The client's end must be closed after the server's for the server's to be
	// the one that waits; reading until the end makes sure.
	client.Read(make([]byte, 1))
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
