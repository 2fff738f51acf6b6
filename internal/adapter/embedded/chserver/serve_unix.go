//go:build linux || darwin

package chserver

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// binaryStopWait leaves our parent, which waits for stopWait, the time to see the
// end.
const binaryStopWait = stopWait - 3*time.Second

// serveBinary runs a clickhouse binary until standard input has ended.
func serveBinary(args []string) error {
	// The server inherits the lock, so the folder is taken until it has ended
	// even when this process is killed.
	lock := os.NewFile(3, "lock")
	defer lock.Close()
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // what the settings or PATH name; ended below
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{lock}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", args[0], err)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the pipe
		asked <- syscall.SIGTERM
	}()
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // what it has to say it writes itself
	}()
	select {
	case <-exited:
		return errSaid
	case <-asked:
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	t := time.NewTimer(binaryStopWait)
	defer t.Stop()
	select {
	case <-exited:
	case <-t.C:
		_ = cmd.Process.Kill() // it may have ended in this moment
		<-exited
	}
	return nil
}
