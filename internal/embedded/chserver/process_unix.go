//go:build linux || darwin

package chserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// detach gives the child a process group of its own, so that a Ctrl-C at the
// terminal reaches only us and we stop it in its turn.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// tryLock takes an exclusive lock or returns errLocked.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	if err != nil {
		return fmt.Errorf("locking the file: %w", err)
	}
	return nil
}
