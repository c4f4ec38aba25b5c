package store

import "syscall"

// childAttributes give the child a process group of its own, so that an interrupt of the terminal does not reach it,
// and let the kernel stop it when this process dies, however it dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
