//go:build linux || darwin

package chserver

import (
	"os/exec"
	"syscall"
)

// detach gives the child a session of its own, so that a Ctrl-C at the terminal
// reaches only us and we stop it in its turn, and so that the library, which takes
// its standard input for a person's terminal, finds no other one to write to.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
