//go:build !linux

package harness

import "syscall"

// dieWithTest has no kernel to ask here.
func dieWithTest() *syscall.SysProcAttr { return nil }
