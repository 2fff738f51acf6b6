package main

import "syscall"

// dieWithParent makes the kernel end a child when this process is killed, so
// that no server is left behind.
func dieWithParent(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
