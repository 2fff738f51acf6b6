//go:build nolibrary || (!linux && !darwin)

package chserver

import "errors"

// errNoLibrary is why this build cannot load the library. Loading one takes a C
// library at run time, even without cgo, so the programs that run on an empty
// base, as in the image, are built with the tag nolibrary.
var errNoLibrary = errors.New("this build contains no ClickHouse; set MILLRACE_CLICKHOUSE_ADDR to a server of your " +
	"own, or put a clickhouse binary on PATH")

func relayLibrary(string, string, string, []string) error { return errNoLibrary }

func serveLibrary(string, []string) error { return errNoLibrary }
