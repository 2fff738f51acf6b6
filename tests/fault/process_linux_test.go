package fault

import "syscall"

// dieWithTest makes the kernel end a child when the test binary is killed.
func dieWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
