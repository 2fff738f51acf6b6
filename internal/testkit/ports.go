package testkit

import (
	"net"
	"strconv"
	"testing"
)

// FreePort is ReservePort for tests.
func FreePort(tb testing.TB) int {
	tb.Helper()
	port, err := ReservePort()
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

// FreeAddr returns a loopback address, host:port, that a server can bind.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(FreePort(tb)))
}
