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

// inUseError says that another Bullpen has the data directory.
type inUseError struct {
	dir    string
	pid    int
	socket string // of its server; empty while that is not known
}

func (e *inUseError) Error() string {
	return fmt.Sprintf("data directory %s is in use by another Bullpen (process %d): "+
		"give this one a -data of its own, or name a Redis that both use with -redis", e.dir, e.pid)
}

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
			return f, f.Truncate(0)
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock data directory %s: %w", dir, err), f.Close())
		}
		if pid, socket := readOwner(f); pid > 0 && alive(pid) {
			return nil, errors.Join(&inUseError{dir, pid, socket}, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("data directory %s is still in use by the server of a Bullpen that died: %w",
				dir, context.Cause(ctx)), f.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// unlockDir gives the data directory back. A process that is just being started may hold a copy of the lock for a moment
// longer; without an owner in the file the next one waits for it.
func unlockDir(f *os.File) error { return errors.Join(f.Truncate(0), f.Close()) }

// writeOwner says in the lock file who has the directory and where its server listens.
func writeOwner(f *os.File, socket string) error {
	if _, err := f.WriteAt(fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), socket), 0); err != nil {
		return fmt.Errorf("lock data directory: %w", err)
	}
	return nil
}

func readOwner(f *os.File) (pid int, socket string) {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	first, second, _ := strings.Cut(string(text), "\n")
	pid, _ = strconv.Atoi(first)
	return pid, strings.TrimSpace(second)
}

// alive reports whether a process exists.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
