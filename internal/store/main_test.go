package store

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var shared *testredis.Server

func TestMain(m *testing.M) {
	LogTo(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(testredis.Main(m, &shared))
}

const patience = 20 * time.Second

// eventually waits until check succeeds.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s: %v", what, err)
		time.Sleep(10 * time.Millisecond)
	}
}

// open opens a store that is closed in the test's cleanup.
func open(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// requireUsable proves that both kinds of clients work.
func requireUsable(t *testing.T, s *Store, key string) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, s.Client().Set(ctx, key, "v", 0).Err())
	require.Equal(t, "v", s.Client().Get(ctx, key).Val())
	blocking := s.Blocking("name")
	defer func() { require.NoError(t, blocking.Close()) }()
	popped := make(chan error, 1)
	go func() {
		_, err := blocking.BZPopMin(ctx, 8*time.Second, key+":z").Result()
		popped <- err
	}()
	require.NoError(t, s.Client().ZAdd(ctx, key+":z", redis.Z{Member: "m"}).Err())
	require.NoError(t, <-popped)
}

// freePort returns a loopback port nobody listens on now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().(*net.TCPAddr).Port
}

// server runs a redis-server with the given configuration lines, in a folder of its own, until the test ends.
func server(t *testing.T, args []string, lines ...string) *os.Process {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	require.NoError(t, err, "install it with: apt-get install -y redis-server")
	dir := t.TempDir()
	file := filepath.Join(dir, "redis.conf")
	var text string
	for _, line := range append(lines, "dir "+dir, "bind 127.0.0.1", `save ""`, "logfile "+filepath.Join(dir, "log")) {
		text += line + "\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	cmd := exec.Command(binary, append([]string{file}, args...)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("log of %v:\n%s", lines, log)
		}
	})
	return cmd.Process
}

// direct returns a plain client of a loopback port, once it answers.
func direct(t *testing.T, port int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr(port), DialerRetries: 1})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	eventually(t, "server answers", func() error { return c.Ping(context.Background()).Err() })
	return c
}

func addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
