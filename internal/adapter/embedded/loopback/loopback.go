// Package loopback checks the addresses that the embedded servers listen on.
//
// The embedded servers know no passwords, so an address that another machine
// could reach is rejected, whatever the setting says. An address that another
// program holds is reported in one sentence that names the address and the
// setting that changes it.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// ErrInUse is in the chain of Free's error when another program holds the
// address.
var ErrInUse = errors.New("address in use")

// poll is how often Free asks again.
const poll = 50 * time.Millisecond

// Resolve turns host:port into an address of this machine's loopback interface,
// such as 127.0.0.1:9092. Port 0 becomes a port that is free now. setting names
// the setting in errors.
func Resolve(ctx context.Context, addr, setting string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%s: %q must be host:port", setting, addr)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf(
			"%s: %q must be a loopback address such as 127.0.0.1:%s, because the embedded servers have no passwords",
			setting, addr, port)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%s: %q must be a port from 0 to 65535", setting, port)
	} else if n != 0 {
		return net.JoinHostPort(host, port), nil
	}
	addr, err = reserve(ctx, host)
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return addr, nil
}

// reserve returns an address with a port that is free and stays so: a connection
// that the port's own side closed first leaves it in TIME_WAIT for about a
// minute, in which the kernel gives it to nobody who asks for just any port,
// while a server may bind it by number.
func reserve(ctx context.Context, host string) (string, error) {
	l, err := listen(ctx, net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer l.Close()
	addr := l.Addr().String()
	var d net.Dialer
	client, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		return "", err
	}
	if err := server.Close(); err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, client) // until the server's end has arrived
	return addr, err
}

// Free waits up to the given time for nobody to listen on addr. It returns an
// error with ErrInUse in its chain when somebody still does.
func Free(ctx context.Context, addr, setting string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		l, err := listen(ctx, addr)
		if err == nil {
			return l.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("listening on %s: %w", addr, err)
		}
		if !time.Now().Before(deadline) {
			return &inUseError{addr: addr, setting: setting}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", addr, ctx.Err())
		case <-time.After(poll):
		}
	}
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", addr)
}

type inUseError struct{ addr, setting string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("%s is in use by another program; stop it or set %s to another address", e.addr, e.setting)
}

// Is tells errors.Is.
func (e *inUseError) Is(target error) bool { return target == ErrInUse }
