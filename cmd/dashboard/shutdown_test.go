package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// handler is the other end of an HTTP worker: each request is announced and answered when release is closed.
type handler struct {
	*httptest.Server
	begun   chan http.Header
	release chan struct{}
}

func newHandler(t *testing.T) *handler {
	t.Helper()
	h := &handler{begun: make(chan http.Header, 100), release: make(chan struct{})}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.begun <- r.Header
		select {
		case <-h.release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// rig is a server whose HTTP worker runs a job right now.
type rig struct {
	*process
	handler *handler
	redis   *redis.Client
	header  http.Header // of the request
}

func newRig(t *testing.T, grace string, settings ...string) *rig {
	t.Helper()
	srv := testredis.Start(t)
	h := newHandler(t)
	lines := append([]string{
		"shutdown_grace: " + grace, "redis: {url: \"unix://" + srv.Socket + "\"}",
		"queues: {hooks: {policy: {concurrency: 2, stalled_interval: 500ms}, worker: {http: {url: \"" + h.URL + "\", secret: s3cret}}}}",
	}, settings...)
	r := &rig{handler: h, redis: srv.Client(t)}
	r.process = start(t, testbullpen.Environ(t), "-config", file(t, strings.Join(lines, "\n")))
	r.awaitReady(http.StatusOK)
	added := run(t, testbullpen.Environ(t), "", "add", "hooks", "paid", "-redis", "unix://"+srv.Socket)
	require.Equal(t, exitFine, added.code, added.err)
	select {
	case r.header = <-h.begun:
	case <-time.After(patience):
		t.Fatal("the worker sends nothing")
	}
	return r
}

// requireWaiting checks that job 1 waits as if it had never been taken.
func (r *rig) requireWaiting() {
	r.t.Helper()
	require.Equal(r.t, []string{"1"}, r.redis.LRange(r.t.Context(), "bull:hooks:wait", 0, -1).Val())
	require.Zero(r.t, r.redis.Exists(r.t.Context(), "bull:hooks:1:lock", "bull:hooks:active").Val())
	made, err := r.redis.HGet(r.t.Context(), "bull:hooks:1", "atm").Int()
	require.True(r.t, err == nil || err == redis.Nil, "%v", err)
	require.Zero(r.t, made, "no attempt was consumed")
}

func TestTerminateLetsJobsFinish(t *testing.T) {
	t.Parallel()
	r := newRig(t, "20s")
	require.Equal(t, "hooks:1", r.header.Get("Idempotency-Key"))
	require.NotEmpty(t, r.header.Get("Webhook-Signature"))
	r.Signal(syscall.SIGTERM)
	r.awaitReady(http.StatusServiceUnavailable)
	code, body := r.Get("readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "stopping")
	close(r.handler.release)
	require.Equal(t, exitFine, r.Exit())
	require.Equal(t, []string{"1"}, r.redis.ZRange(t.Context(), "bull:hooks:completed", 0, -1).Val())
}

func TestGraceEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "300ms")
	r.Signal(syscall.SIGTERM)
	require.Equal(t, exitFailed, r.Exit())
	require.Equal(t, "dashboard: jobs were handed back to waiting, unfinished: hooks: 1", r.LastLine())
	r.requireWaiting()
}

func TestSecondSignalSkipsTheGrace(t *testing.T) {
	t.Parallel()
	r := newRig(t, "1h")
	r.Signal(syscall.SIGINT)
	r.awaitReady(http.StatusServiceUnavailable)
	r.Signal(syscall.SIGINT)
	require.Equal(t, exitFailed, r.Exit())
	require.Contains(t, r.LastLine(), "hooks: 1")
	r.requireWaiting()
}

// TestKilledServerLosesNothing kills a server in mid-job; another one finishes the job.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "20s")
	r.Signal(syscall.SIGKILL)
	r.Exit()
	require.Equal(t, []string{"1"}, r.redis.LRange(t.Context(), "bull:hooks:active", 0, -1).Val())
	close(r.handler.release)
	// What the dead process would have renewed runs out.
	require.NoError(t, r.redis.PExpire(t.Context(), "bull:hooks:1:lock", time.Millisecond).Err())
	socket := r.redis.Options().Addr
	next := start(t, testbullpen.Environ(t), "-config", file(t, fmt.Sprintf(`
redis: {url: "unix://%s"}
queues: {hooks: {policy: {stalled_interval: 500ms}, worker: {http: {url: "%s"}}}}
`, socket, r.handler.URL)))
	eventually(t, func() (bool, string) {
		done := r.redis.ZRange(t.Context(), "bull:hooks:completed", 0, -1).Val()
		return len(done) == 1, fmt.Sprint(done)
	})
	next.terminate()
}

// TestSignalWhileStarting stops a server that waits for a data directory.
func TestSignalWhileStarting(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	lock, err := os.Create(filepath.Join(data, "bullpen.lock"))
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.Close()) }()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	var said bytes.Buffer
	cmd := exec.Command(binary, "-data", data, "-listen", "127.0.0.1:0")
	cmd.Env, cmd.Stderr = testbullpen.Environ(t), &said
	require.NoError(t, cmd.Start())
	eventually(t, func() (bool, string) { // it has got as far as the lock
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
		for _, fd := range files {
			if target, _ := os.Readlink(fd); target == lock.Name() {
				return true, ""
			}
		}
		return false, fmt.Sprint("the lock is not open ", err)
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitFailed, exit.ExitCode())
	require.Contains(t, said.String(), "terminated while starting")
}

// TestCallback lets a handler report progress while its attempt runs.
func TestCallback(t *testing.T) {
	t.Parallel()
	r := newRig(t, "20s", "public_url: http://bullpen.example")
	url := r.header.Get("Bullpen-Callback")
	path, ok := strings.CutPrefix(url, "http://bullpen.example/")
	require.True(t, ok, url)
	response, err := http.Post(r.URL+path, "application/json", strings.NewReader(`{"progress": 42, "log": "half way"}`))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNoContent, response.StatusCode)
	require.Equal(t, "42", r.redis.HGet(t.Context(), "bull:hooks:1", "progress").Val())
	require.Equal(t, []string{"half way"}, r.redis.LRange(t.Context(), "bull:hooks:1:logs", 0, -1).Val())
	close(r.handler.release)
	r.terminate()
}
