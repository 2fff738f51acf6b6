//go:build !linux && !darwin

package chserver

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

var errPlatform = fmt.Errorf("the embedded ClickHouse does not run on %s; set MILLRACE_CLICKHOUSE_ADDR to a server of your own", runtime.GOOS)

func detach(*exec.Cmd) {}

func serveLibrary(string, []string) error { return errPlatform }

func serveBinary([]string) error { return errors.ErrUnsupported }
