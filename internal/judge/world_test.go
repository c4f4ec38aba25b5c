package judge

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// clientName tells our own connection from the program's.
const clientName = "judge"

// patience bounds every wait.
const patience = 15 * time.Minute

// world is a Redis with something in it, and the program that looks at it.
type world struct {
	t      *testing.T
	srv    *testredis.Server
	client *redis.Client
	http   *http.Client
	url    string // without a slash at the end
	pid    int
}

// newWorld starts a redis-server, as the tests do: on a unix socket, with an append-only file. It never rewrites that
// file, because the fork would stand in the figures of whatever happens to run then.
func newWorld(t *testing.T) *world {
	t.Helper()
	srv := testredis.Start(t, "--auto-aof-rewrite-percentage", "0")
	o := srv.Options()
	o.ClientName = clientName
	w := &world{t: t, srv: srv, client: redis.NewClient(o), http: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}}
	t.Cleanup(func() {
		w.http.CloseIdleConnections()
		_ = w.client.Close()
	})
	return w
}

// start runs the program, waits until it knows n queues and returns how long that took.
func (w *world) start(n int) time.Duration {
	w.t.Helper()
	began := time.Now()
	p := testbullpen.Start(w.t, testbullpen.Options{Path: binary, Args: []string{
		"-redis", "unix://" + w.srv.Socket, "-listen", "127.0.0.1:0", "-log-level", "warn",
	}})
	w.t.Cleanup(func() { require.Zero(w.t, p.Terminate(), p.Said()) })
	w.url, w.pid = strings.TrimSuffix(p.URL, "/"), p.PID()
	w.until("all queues are read", func() bool {
		_, body := w.get("/metrics")
		exported := regexp.MustCompile(`(?m)^bullpen_queues(_dropped)?(\{.*\})? (\d+)$`).FindAllStringSubmatch(string(body), -1)
		sum := 0
		for _, m := range exported {
			k, err := strconv.Atoi(m[3])
			require.NoError(w.t, err)
			sum += k
		}
		return sum == n
	})
	return time.Since(began)
}

// until waits for a condition.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		require.False(w.t, time.Now().After(deadline), "still not so: %s", what)
	}
}

// send sends a request as a browser does and returns the answer as it was transferred.
func (w *world) send(method, path, form string) (status int, header http.Header, body []byte) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(form))
	require.NoError(w.t, err)
	r.Header.Set("Accept-Encoding", "gzip")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", w.url)
	}
	res, err := w.http.Do(r)
	require.NoError(w.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err = io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res.StatusCode, res.Header, body
}

// get returns the size of an answer as transferred, and the answer.
func (w *world) get(path string) (transferred int, body []byte) {
	w.t.Helper()
	status, header, body := w.send(http.MethodGet, path, "")
	require.Equal(w.t, http.StatusOK, status, "%s: %s", path, body)
	transferred = len(body)
	if header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(strings.NewReader(string(body)))
		require.NoError(w.t, err)
		body, err = io.ReadAll(z)
		require.NoError(w.t, err)
	}
	return transferred, body
}

// latencies are sorted times.
type latencies []time.Duration

// at is the time that a share of the requests did not exceed.
func (l latencies) at(share float64) time.Duration { return l[int(share*float64(len(l)-1))] }

// time asks for a page again and again, one request after the other, from the request to the last byte.
func (w *world) time(path string, requests int) latencies {
	w.t.Helper()
	w.get(path) // whatever the first one pays for, the others do not
	l := make(latencies, requests)
	for i := range l {
		began := time.Now()
		status, _, _ := w.send(http.MethodGet, path, "")
		l[i] = time.Since(began)
		require.Equal(w.t, http.StatusOK, status, path)
	}
	slices.Sort(l)
	return l
}

// info is a number that Redis tells of itself.
func (w *world) info(section, name string) float64 {
	w.t.Helper()
	text, err := w.client.Info(w.t.Context(), section).Result()
	require.NoError(w.t, err)
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			require.NoError(w.t, err)
			return n
		}
	}
	w.t.Fatalf("INFO has no %s", name)
	return 0
}

// connections counts the program's connections to Redis.
func (w *world) connections() int {
	w.t.Helper()
	list, err := w.client.ClientList(w.t.Context()).Result()
	require.NoError(w.t, err)
	return strings.Count(list, "\n") - strings.Count(list, "name="+clientName)
}

// status is a number of the program's from /proc: "VmRSS", "VmHWM" in KB.
func (w *world) status(name string) int {
	w.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.pid))
	require.NoError(w.t, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			require.NoError(w.t, err)
			return n
		}
	}
	w.t.Fatalf("no %s", name)
	return 0
}

// cpu is the processor time the program has used.
func (w *world) cpu() time.Duration {
	w.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.pid))
	require.NoError(w.t, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest) // from the third field on
	user, err := strconv.Atoi(fields[11])
	require.NoError(w.t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(w.t, err)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 on every Linux
}

// seed runs a Lua script for each range of at most chunk of the numbers from 1 to n.
func (w *world) seed(n, chunk int, script string, args ...any) {
	w.t.Helper()
	s := redis.NewScript(script)
	for from := 1; from <= n; from += chunk {
		all := append([]any{from, min(from+chunk-1, n), time.Now().UnixMilli()}, args...)
		if err := s.Run(w.t.Context(), w.client, nil, all...).Err(); !errors.Is(err, redis.Nil) {
			require.NoError(w.t, err)
		}
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}
