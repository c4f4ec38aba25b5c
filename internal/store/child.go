package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Times of a private server.
const (
	stopTimeout  = 10 * time.Second // from SIGTERM to SIGKILL
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// steadyRun is how long a server must have run for its next exit to count as the first.
	steadyRun = time.Minute
)

// maxSocketPath keeps the socket's path under the system's limit of 108 bytes.
const maxSocketPath = 99

// child is a private server process that is started again when it exits.
type child struct {
	binary, dir, socket string
	socketDir           string // made for the socket alone; empty when it lies in dir
	lock                *os.File
	log                 *slog.Logger
	stop                chan struct{} // closed by close
	stopOnce            sync.Once
	done                chan struct{} // closed when the supervisor has ended

	mu    sync.Mutex
	cmd   *exec.Cmd // nil while none runs
	down  error     // why none runs
	ready bool      // it has answered once
}

// startChild starts a private server in dir and returns once it answers. However much there is to load, only ctx
// bounds the wait.
func startChild(ctx context.Context, binary, dir string, log *slog.Logger) (*child, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	c := &child{binary: binary, dir: dir, log: log, stop: make(chan struct{}), done: make(chan struct{})}
	if c.lock, err = lockDir(ctx, dir); err != nil {
		return nil, err
	}
	if err := c.placeSocket(); err != nil {
		return nil, errors.Join(err, c.lock.Close())
	}
	if err := writeOwner(c.lock, c.socket); err != nil {
		return nil, errors.Join(err, c.lock.Close())
	}
	go c.supervise()
	if err := c.awaitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s in %s: %w", filepath.Base(binary), dir, err), c.close())
	}
	return c, nil
}

// placeSocket puts the socket beside the data, or into a folder of its own where that path would be too long.
func (c *child) placeSocket() error {
	c.socket = filepath.Join(c.dir, "redis.sock")
	if len(c.socket) <= maxSocketPath {
		return nil
	}
	dir, err := os.MkdirTemp("", "bullpen")
	if err != nil {
		return fmt.Errorf("make a folder for the socket: %w", err)
	}
	c.socketDir, c.socket = dir, filepath.Join(dir, "redis.sock")
	if len(c.socket) > maxSocketPath {
		return errors.Join(fmt.Errorf("socket path %s is too long: set TMPDIR or -data to a shorter one", c.socket), os.Remove(dir))
	}
	return nil
}

// supervise runs the server until close, again and again, with growing pauses. One that never answered is given up.
func (c *child) supervise() {
	defer close(c.done)
	// The kernel ends the child together with the thread that started it, so this thread must last as long. It is
	// never unlocked: the runtime ends it with the goroutine.
	runtime.LockOSThread()
	backoff := firstBackoff
	for {
		started := time.Now()
		err := c.runOnce()
		if c.stopping() || !c.wasReady() {
			return
		}
		if time.Since(started) > steadyRun {
			backoff = firstBackoff
		}
		c.log.Error("store down: the private server exited and is started again", "err", err, "backoff", backoff)
		select {
		case <-c.stop:
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// runOnce starts the server and returns when it has exited.
func (c *child) runOnce() error {
	_ = os.Remove(c.socket) // left behind by a server that was killed
	out := &childLog{log: c.log}
	cmd := exec.Command(c.binary, "--port", "0", "--unixsocket", c.socket, "--unixsocketperm", "700",
		"--dir", c.dir, "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
		"--maxmemory-policy", "noeviction", "--daemonize", "no", "--logfile", "")
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	// The child holds the lock too, so that nobody opens the data before it is gone, even if this process dies.
	cmd.ExtraFiles = []*os.File{c.lock}
	err := c.start(cmd)
	if err == nil {
		err = cmd.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		if last := out.last(); last != "" {
			err = fmt.Errorf("%w (%s)", err, last)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd, c.down = nil, fmt.Errorf("%s: %w", filepath.Base(c.binary), err)
	return err
}

// start starts cmd unless close came first.
func (c *child) start(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping() {
		return errors.New("stopped")
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd, c.down = cmd, nil
	return nil
}

func (c *child) stopping() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// awaitReady waits until the server answers with its data loaded. A server that exits first is given up.
func (c *child) awaitReady(ctx context.Context) error {
	t, err := parseURL(socketURL(c.socket))
	if err != nil {
		return err
	}
	client := t.client(func(o *redis.UniversalOptions) { o.ContextTimeoutEnabled = true })
	defer func() { _ = client.Close() }()
	for {
		if err := c.err(); err != nil {
			return err
		}
		// A client whose dial was refused waits before the next one, so the socket is looked for first.
		if _, err := os.Stat(c.socket); err == nil && client.Ping(ctx).Err() == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.ready = true
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *child) wasReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// err says why no server runs; nil while one does.
func (c *child) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

// close ends the server with SIGTERM, which lets it write its data, and waits for it.
func (c *child) close() error {
	c.stopOnce.Do(func() {
		c.mu.Lock()
		close(c.stop)
		c.mu.Unlock()
	})
	c.signal(syscall.SIGTERM)
	var err error
	select {
	case <-c.done:
	case <-time.After(stopTimeout):
		c.signal(syscall.SIGKILL)
		<-c.done
		err = fmt.Errorf("%s did not stop within %s and was killed", filepath.Base(c.binary), stopTimeout)
	}
	if c.socketDir != "" {
		err = errors.Join(err, os.RemoveAll(c.socketDir))
	}
	return errors.Join(err, unlockDir(c.lock))
}

func (c *child) signal(s os.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd != nil {
		_ = c.cmd.Process.Signal(s) // it may be gone already
	}
}

// childLog passes on what the server prints and remembers the last line.
type childLog struct {
	log  *slog.Logger
	rest []byte

	mu   sync.Mutex
	line string
}

func (w *childLog) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.rest = rest
		w.print(strings.TrimSpace(string(line)))
	}
}

func (w *childLog) print(line string) {
	if line == "" {
		return
	}
	w.mu.Lock()
	w.line = line
	w.mu.Unlock()
	w.log.Debug("private server", "line", line)
}

func (w *childLog) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.line
}
