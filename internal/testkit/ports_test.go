package testkit

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestAReservedPortIsForWhoeverKnowsItsNumber(t *testing.T) {
	t.Parallel()
	addr := FreeAddr(t)
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("before anybody listens: %v, %v", conn, err)
	}
	for range 2 { // as a server that is started again
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
	}
	// To who does not set SO_REUSEADDR it is taken, as to the kernel that looks for a free one.
	fresh := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET,
				syscall.SO_REUSEADDR, 0)
		}), err)
	}}
	if ln, err := fresh.Listen(t.Context(), "tcp", addr); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the port is handed out: %v, %v", ln, err)
	}
}
