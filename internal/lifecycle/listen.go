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
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("address %s is in use: stop the program that listens there or set %s to another", addr, setting)
	}
	// The library's text repeats the address; its cause is what is news.
	if sys, ok := errors.AsType[*os.SyscallError](err); ok {
		err = sys.Err
	}
	return nil, fmt.Errorf("address %s cannot be listened on (%w): set %s to another", addr, err, setting)
}
