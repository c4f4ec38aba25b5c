package testredis

import "syscall"

// childAttributes makes the kernel kill the server when the test binary dies, however it dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
