//go:build !linux

package main

import "syscall"

// dieWithParent has no kernel to ask here: a kill -9 of this process leaves the
// servers to whoever did it.
func dieWithParent(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true}
}
