//go:build !linux

package testredis

import "syscall"

// childAttributes keeps an interrupt of the terminal from reaching the server before the test is done with it.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
