package testredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startTimeout bounds how long a server may take to answer after its process was started.
const startTimeout = 10 * time.Second

// errNoBinary tells how to get what is missing.
var errNoBinary = errors.New("redis-server is not installed; install it with: apt-get install -y redis-server")

// Server is a redis-server child process. Start, Main and Open make one.
type Server struct {
	// Socket is the path of the unix socket the server listens on; it stays the same over Restart.
	Socket string

	dir      string
	extra    []string // arguments of redis-server
	cmd      *exec.Cmd
	exited   chan struct{} // closed when the present process is gone
	prefixes atomic.Int64
}

// Start runs a server for one test and ends it in the test's cleanup. A missing binary fails the test. extra are further
// arguments of redis-server, such as "--cluster-enabled", "yes".
func Start(t testing.TB, extra ...string) *Server {
	t.Helper()
	s, err := Open(extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Open starts a server that the caller ends with Close. Tests use Start or Main.
func Open(extra ...string) (*Server, error) {
	// Not t.TempDir: the name of a test can push a socket's path over the system's limit of about 100 bytes.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, fmt.Errorf("make directory for redis-server: %w", err)
	}
	s := &Server{dir: dir, Socket: filepath.Join(dir, "s"), extra: extra}
	if err := s.start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close kills the server and removes its data.
func (s *Server) Close() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

// Kill ends the server with SIGKILL and waits until it is gone. What it had answered is in the append-only file.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}

// Restart kills the server, if it runs, and starts it again on the same socket with the data it had.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// PID is the process id of the running server, for tests that stop and continue it.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Client returns a client of the server that is closed in the test's cleanup.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Options returns fresh options of a client of the server, for tests that need a client of their own making.
func (s *Server) Options() *redis.Options {
	return &redis.Options{Network: "unix", Addr: s.Socket}
}

// Prefix returns a key prefix nobody else has got from this server, so that tests can share it and run in parallel.
func (s *Server) Prefix() string { return fmt.Sprintf("t%d", s.prefixes.Add(1)) }

// start runs the process and returns when it answers, its data loaded.
func (s *Server) start() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return errNoBinary
	}
	cmd := exec.Command(path, append([]string{
		"--port", "0", "--unixsocket", s.Socket, "--unixsocketperm", "700", "--dir", s.dir,
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction",
		"--logfile", filepath.Join(s.dir, "log"), "--daemonize", "no",
	}, s.extra...)...)
	cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	exited := make(chan struct{})
	go func() {
		// The kernel ends the child with the thread that started it, so that thread must last as long.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	s.cmd, s.exited = cmd, exited
	if err := s.awaitReady(); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		s.Kill()
		return fmt.Errorf("%w; its log:\n%s", err, log)
	}
	return nil
}

// awaitReady waits until the server answers PING without the LOADING error.
func (s *Server) awaitReady() error {
	deadline := time.Now().Add(startTimeout)
	// The client waits 100 ms after a refused dial, so the socket is tried first.
	for !dials(s.Socket) {
		select {
		case <-s.exited:
			return errors.New("redis-server exited at once")
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return errors.New("redis-server does not listen")
		}
	}
	c := redis.NewClient(s.Options())
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	for {
		err := c.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("redis-server does not answer: %w", err)
		}
	}
}

func dials(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
