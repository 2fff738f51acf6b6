package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Listen opens a TCP listener. Its error is one sentence that names the address
// and the setting to change, such as "MILLRACE_INGEST_LISTEN".
func Listen(ctx context.Context, addr, setting string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err == nil {
		return ln, nil
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program; stop it or set %s to another address", addr, setting)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s; set %s to a port above 1023", addr, setting)
	}
	// The library's text repeats the address; its cause is what is news.
	if sys, ok := errors.AsType[*os.SyscallError](err); ok {
		err = sys.Err
	}
	return nil, fmt.Errorf("cannot listen on %s (%w); set %s to another address", addr, err, setting)
}
