//go:build (linux || darwin) && !nolibrary

package chserver

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// errNoLibrary is why this build cannot load the library; nil when it can.
var errNoLibrary error

// relayLibrary is serveLibrary behind relays that listen at addr and, over HTTP, at
// http.
func relayLibrary(path, addr, http string, args []string) error {
	native, err := newRelay(context.Background(), addr)
	if err != nil {
		return err
	}
	web, err := newRelay(context.Background(), http)
	if err != nil {
		return err
	}
	native.greeter = newGreeter(web.inner)
	host, port, err := net.SplitHostPort(native.inner)
	if err != nil {
		return fmt.Errorf("reading the address of the library: %w", err)
	}
	_, httpPort, err := net.SplitHostPort(web.inner)
	if err != nil {
		return fmt.Errorf("reading the address of the library: %w", err)
	}
	go native.run()
	go web.run()
	return serveLibrary(path, append(args, listenAt(host, port, httpPort)...))
}

// serveLibrary runs clickhouse-local out of the library with its arguments, the first
// of which is its name; it returns when standard input has ended.
func serveLibrary(path string, args []string) error {
	runtime.LockOSThread()
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("loading %s: %w", path, err)
	}
	symbol, err := purego.Dlsym(handle, "chdb_query_cmdline")
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	var query func(argc int32, argv **byte) unsafe.Pointer
	purego.RegisterFunc(&query, symbol)

	argv := make([]*byte, 0, len(args)+1)
	for _, arg := range args {
		argv = append(argv, &append([]byte(arg), 0)[0])
	}
	argv = append(argv, nil)
	query(int32(len(args)), &argv[0])
	runtime.KeepAlive(argv)
	return nil
}
