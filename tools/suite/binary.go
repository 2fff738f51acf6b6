package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// runBinary is the argument with which go test starts this program as the runner of a test binary.
const runBinary = "run-binary"

// execBinary replaces this process with a test binary that logs the files it opens to a file of
// the folder. args are the folder, the binary, and the binary's arguments.
func execBinary(args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") })
	// A test builds programs without cgo, and its collector runs as in production.
	env = append(env, "CGO_ENABLED=0")
	if err := syscall.Exec(args[1], append(args[1:], "-test.testlogfile="+logOf(args[0], dir)), env); err != nil {
		return fmt.Errorf("running %s: %w", args[1], err)
	}
	return nil
}

// logOf is the log of the package in dir.
func logOf(folder, dir string) string { return filepath.Join(folder, url.PathEscape(dir)+".opened") }
