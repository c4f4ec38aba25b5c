//go:build !linux

package store

import "syscall"

// childAttributes give the child a process group of its own, so that an interrupt of the terminal does not reach it.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
