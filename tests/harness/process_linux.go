package harness

import "syscall"

// dieWithTest makes the kernel end a daemon when the test binary is killed.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
