package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	p := start(t, testbullpen.Environ(t), "-store", "memory", "-base-path", "ops/queues")
	require.Regexp(t, `^bullpen \S+: in-process store for a first look: nothing survives a restart \(.*\); dashboard at http://127\.0\.0\.1:\d+/ops/queues/\n$`, p.Banner)
	p.awaitReady(http.StatusOK)
	for path, want := range map[string]int{"": 200, "healthz": 200, "metrics": 200, "nowhere": 404} {
		code, body := p.Get(path)
		require.Equal(t, want, code, body)
	}
	p.terminate()
}

func TestChildStore(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := start(t, testbullpen.Environ(t), "-data", data)
	require.Contains(t, p.Banner, "as a private child, data in "+data+": jobs survive restarts")
	p.awaitReady(http.StatusOK)
	added := run(t, testbullpen.Environ(t), "", "add", "emails", "hello", "-data", data)
	require.Equal(t, exitFine, added.code, added.err)
	checked := run(t, testbullpen.Environ(t), "", "check", "-data", data, "-sample", "100ms")
	require.Equal(t, exitFine, checked.code, checked.out+checked.err)

	second := run(t, testbullpen.Environ(t), "", "-data", data, "-listen", "127.0.0.1:0")
	require.Equal(t, exitFailed, second.code)
	require.Contains(t, second.err, "is in use by another Bullpen (process "+strconv.Itoa(p.PID())+")")
	p.terminate()

	// Killed without a chance to tidy up: the next start finds everything.
	p = start(t, testbullpen.Environ(t), "-data", data)
	p.awaitReady(http.StatusOK)
	p.Signal(syscall.SIGKILL)
	p.Exit()
	p = start(t, testbullpen.Environ(t), "-data", data)
	eventually(t, func() (bool, string) {
		code, body := p.Get("queues/emails")
		return code == http.StatusOK && strings.Contains(body, "hello"), body
	})
	p.terminate()
}

// TestRedisThatComesLater starts before its Redis and catches up.
func TestRedisThatComesLater(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	srv.Kill()
	out := filepath.Join(t.TempDir(), "ran")
	p := start(t, testbullpen.Environ(t), "-config", file(t, fmt.Sprintf(`
redis: {url: "unix://%s"}
queues:
  jobs:
    policy: {timeout: 5s, global_concurrency: 7}
    worker: {command: {argv: [/bin/sh, -c, "cat > %s"]}}
`, srv.Socket, out)))
	require.Contains(t, p.Banner, "which does not answer yet")
	code, body := p.Get("readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "redis does not answer")
	code, _ = p.Get("")
	require.Equal(t, http.StatusOK, code, "the dashboard says so, it does not hide")
	srv.Restart(t)
	p.awaitReady(http.StatusOK)
	added := run(t, testbullpen.Environ(t), "", "add", "jobs", "hello", `{"n":1}`, "-redis", "unix://"+srv.Socket)
	require.Equal(t, exitFine, added.code, added.err)
	eventually(t, func() (bool, string) {
		content, err := os.ReadFile(out)
		return strings.Contains(string(content), `"data":{"n":1}`), fmt.Sprint(string(content), err)
	})
	require.Equal(t, "7", srv.Client(t).HGet(t.Context(), "bull:jobs:meta", "concurrency").Val())

	srv.Kill()
	p.awaitReady(http.StatusServiceUnavailable)
	srv.Restart(t)
	p.awaitReady(http.StatusOK)
	p.terminate()
}

func TestDemo(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	p := start(t, testbullpen.Environ(t), "-demo", "-redis", "unix://"+srv.Socket)
	p.awaitReady(http.StatusOK)
	eventually(t, func() (bool, string) {
		n := c.ZCard(t.Context(), "bullpen-demo:emails:completed").Val()
		return n > 0, "nothing completed"
	})
	all, err := c.Keys(t.Context(), "bull:*").Result()
	require.NoError(t, err)
	require.Empty(t, all, "the demo stays out of the way of real queues")
	eventually(t, func() (bool, string) {
		_, body := p.Get("metrics")
		return strings.Contains(body, "\nbullpen_worker_concurrency{") &&
			strings.Contains(body, "\nbullmq_queue_jobs{"), body
	})
	p.terminate()
	active, err := activeJobs(t, c, "bullpen-demo")
	require.NoError(t, err)
	require.Zero(t, active, "nothing is left behind in mid-run")
}

func activeJobs(t *testing.T, c *redis.Client, prefix string) (n int64, err error) {
	t.Helper()
	lists, err := c.Keys(t.Context(), prefix+":*:active").Result()
	for _, list := range lists {
		n += c.LLen(t.Context(), list).Val()
	}
	return n, err
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	p := start(t, testbullpen.Environ(t), "-read-only", "-redis", "unix://"+srv.Socket)
	p.awaitReady(http.StatusOK)
	code, _ := p.Get("")
	require.Equal(t, http.StatusOK, code)
	p.terminate()
	require.Zero(t, srv.Client(t).DBSize(t.Context()).Val(), "it wrote nothing")
}

func TestMetricsToken(t *testing.T) {
	t.Parallel()
	p := start(t, testbullpen.Environ(t), "-store", "memory", "-config", file(t, "metrics: {token: s3cret}"))
	code, _ := p.Get("metrics")
	require.Equal(t, http.StatusUnauthorized, code)
	request, err := http.NewRequest(http.MethodGet, p.URL+"metrics", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer s3cret")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	p.terminate()
}
