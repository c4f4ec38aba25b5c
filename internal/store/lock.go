package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockDir takes the data directory for this process; closing the file, or the end of every process that holds it,
// gives it back. When the process that took it is dead, its server may still be writing: then it is waited for.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "bullpen.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, writeOwner(f)
		}
		owner := readOwner(f)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock data directory %s: %w", dir, err), f.Close())
		}
		if owner > 0 && alive(owner) {
			return nil, errors.Join(fmt.Errorf("data directory %s is in use by another Bullpen (process %d): "+
				"give this one a -data of its own, or name a Redis that both use with -redis", dir, owner), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("data directory %s is still in use by the server of a Bullpen that died: %w",
				dir, context.Cause(ctx)), f.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("lock data directory: %w", err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return fmt.Errorf("lock data directory: %w", err)
	}
	return nil
}

func readOwner(f *os.File) int {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 20))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// alive reports whether a process exists.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
