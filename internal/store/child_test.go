package store

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pid of the running server; 0 while none runs.
func (c *child) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return 0
	}
	return c.cmd.Process.Pid
}

func TestChildKeepsItsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, Options{DataDir: dir})
	require.Equal(t, KindChild, s.Kind())
	require.Regexp(t, `^Redis [\d.]+ as a private child, data in `+dir+`: jobs survive restarts and crashes`, s.Describe())
	requireUsable(t, s, "k")
	config := s.Client().ConfigGet(t.Context(), "*").Val()
	for name, want := range map[string]string{
		"port": "0", "appendonly": "yes", "appendfsync": "everysec", "save": "", "maxmemory-policy": "noeviction",
		"unixsocketperm": "700",
	} {
		require.Equal(t, want, config[name], name)
	}
	first := s.child.pid()
	require.NoError(t, s.Close())
	require.ErrorIs(t, syscall.Kill(first, 0), syscall.ESRCH, "the server is gone")

	again := open(t, Options{DataDir: dir, Fallback: Child})
	require.Equal(t, "v", again.Client().Get(t.Context(), "k").Val())
}

// TestChildInAnyFolder proves that the folder's name is not read as a part of an address.
func TestChildInAnyFolder(t *testing.T) {
	t.Parallel()
	s := open(t, Options{DataDir: filepath.Join(t.TempDir(), "a #1?%20@b"), Fallback: Child})
	requireUsable(t, s, "k")
}

func TestChildIsStartedAgain(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	s := open(t, Options{DataDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	ctx := t.Context()
	require.NoError(t, s.Client().Set(ctx, "k", "v", 0).Err())
	eventually(t, "synced", func() error {
		if info := s.Client().Info(ctx, "persistence").Val(); !strings.Contains(info, "aof_pending_bio_fsync:0") {
			return errors.New(info)
		}
		return nil
	})
	for range 3 {
		killed := s.child.pid()
		require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
		eventually(t, "another server answers", func() error {
			if pid := s.child.pid(); pid == 0 || pid == killed {
				return errors.New("still down")
			}
			return errors.Join(s.Err(), s.Client().Ping(ctx).Err())
		})
		require.Equal(t, "v", s.Client().Get(ctx, "k").Val())
	}
	require.Contains(t, log.String(), `msg="store down`)
	require.Contains(t, log.String(), "signal: killed")
}

func TestChildDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "redis-server")
	real, err := exec.LookPath("redis-server")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(real, binary))
	c, err := startChild(t.Context(), binary, dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, os.Remove(binary)) // so that it cannot come back
	require.NoError(t, syscall.Kill(c.pid(), syscall.SIGKILL))
	eventually(t, "says that it is down", func() error {
		if err := c.err(); err == nil || !strings.Contains(err.Error(), "no such file") {
			return errors.New("not down")
		}
		return nil
	})
	require.NoError(t, os.Symlink(real, binary))
	eventually(t, "is up again", c.err)
	require.NoError(t, c.close())
}

func TestChildThatCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	aof := filepath.Join(dir, "appendonlydir")
	require.NoError(t, os.Mkdir(aof, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(aof, "appendonly.aof.manifest"), []byte("rubbish\n"), 0o600))
	_, err := Open(t.Context(), Options{DataDir: dir})
	require.ErrorContains(t, err, "start redis-server in "+dir)
	require.ErrorContains(t, err, "AOF manifest", "what the server said")

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(t.Context(), Options{DataDir: file})
	require.ErrorContains(t, err, "data directory: mkdir "+file)
	_, err = Open(t.Context(), Options{})
	require.ErrorContains(t, err, "needs a data directory")
}

func TestDataDirInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := open(t, Options{DataDir: dir})
	_, err := Open(t.Context(), Options{DataDir: dir})
	require.ErrorContains(t, err, "data directory "+dir+" is in use by another Bullpen (process "+strconv.Itoa(os.Getpid())+")")

	beside, err := Open(t.Context(), Options{DataDir: dir, Attach: true})
	require.NoError(t, err)
	requireUsable(t, beside, "k")
	require.Equal(t, owner.Describe(), beside.Describe())
	require.NoError(t, beside.Close())
	require.Equal(t, "v", owner.Client().Get(t.Context(), "k").Val(), "the owner's server goes on")
}

// TestDataDirOfADeadOwner waits for the server that a dead process left behind.
func TestDataDirOfADeadOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	held, err := lockDir(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(held.Name(), []byte(strconv.Itoa(dead.Process.Pid)), 0o600))

	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = lockDir(short, dir)
	require.ErrorContains(t, err, "still in use by the server of a Bullpen that died")

	time.AfterFunc(50*time.Millisecond, func() { _ = held.Close() })
	got, err := lockDir(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, got.Close())
}

// TestDataDirGivenBack waits for a copy of the lock that outlives its owner's, and does not take it for a living owner.
func TestDataDirGivenBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held, err := lockDir(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, writeOwner(held, "x"))
	fd, err := syscall.Dup(int(held.Fd()))
	require.NoError(t, err)
	require.NoError(t, unlockDir(held))

	time.AfterFunc(50*time.Millisecond, func() { _ = syscall.Close(fd) })
	got, err := lockDir(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, unlockDir(got))
}

func TestLongDataDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	s := open(t, Options{DataDir: dir})
	requireUsable(t, s, "k")
	require.Less(t, len(s.child.socket), 100)
	require.NoError(t, s.Close())
	require.NoFileExists(t, s.child.socketDir)
}

func TestNoServerOnPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Open(t.Context(), Options{DataDir: t.TempDir(), Fallback: Child})
	require.ErrorContains(t, err, "neither redis-server nor valkey-server is on PATH")
	s := open(t, Options{DataDir: t.TempDir()})
	require.Equal(t, KindMemory, s.Kind())
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
