package testkit

import (
	"errors"
	"fmt"
	"syscall"
)

// ReservePort returns a loopback TCP port that the kernel hands to nobody else for as
// long as this process lives, and that a server can bind by number at once.
//
// Closing a listener and passing its number on would be a race with every other
// process. A socket that is bound and does not listen keeps its port instead: the
// kernel skips it when it looks for a free one, who connects to it is refused, and a
// server that sets SO_REUSEADDR, as all of ours do, may bind it and listen. The socket
// is closed with the process.
func ReservePort() (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("reserving a port: %w", err)
	}
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var addr syscall.Sockaddr
	if err == nil {
		addr, err = syscall.Getsockname(fd)
	}
	if v4, ok := addr.(*syscall.SockaddrInet4); ok {
		return v4.Port, nil
	}
	return 0, fmt.Errorf("reserving a port: %w", errors.Join(err, syscall.Close(fd)))
}
