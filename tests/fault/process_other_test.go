//go:build !linux

package fault

import "syscall"

// dieWithTest changes nothing: a child ends when its input does.
func dieWithTest() *syscall.SysProcAttr { return nil }
