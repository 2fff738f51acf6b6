//go:build linux || darwin

package chserver

import (
	"os/exec"
	"syscall"
)

// detach gives the child a process group of its own, so that a Ctrl-C at the
// terminal reaches only us and we stop it in its turn.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
