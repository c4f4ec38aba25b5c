package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/presence"
	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// fleet is a queue "hooks" and the servers that share its configuration.
type fleet struct {
	t      *testing.T
	redis  *testredis.Server
	client *redis.Client
	queue  *engine.Queue
	config string // path of the file
}

// newFleet writes a configuration for one queue under a prefix of its own; no server runs yet. url is where its worker
// posts jobs, settings are further lines of the file.
func newFleet(t *testing.T, url, policy string, settings ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, redis: redisServer, client: redisServer.Client(t)}
	var err error
	f.queue, err = engine.NewQueue(engine.QueueOptions{Client: f.client, Prefix: redisServer.Prefix(), Name: "hooks"})
	require.NoError(t, err)
	lines := append([]string{
		"listen: 127.0.0.1:0", fmt.Sprintf("redis: {url: \"unix://%s\", prefix: %s}", f.redis.Socket, f.queue.Prefix),
		fmt.Sprintf("queues: {hooks: {policy: {%s}, worker: {http: {url: %q}}}}", policy, url),
	}, settings...)
	f.config = filepath.Join(t.TempDir(), "bullpen.yaml")
	require.NoError(t, os.WriteFile(f.config, []byte(strings.Join(lines, "\n")), 0o600))
	return f
}

// server is a running program.
type server struct {
	*testbullpen.Process
	t *testing.T
}

// start starts a server and waits until its workers run. The test's end kills it.
func (f *fleet) start() *server {
	f.t.Helper()
	s := &server{testbullpen.Start(f.t, testbullpen.Options{Path: binary, Args: []string{"-config", f.config}}), f.t}
	eventually(f.t, "the server is ready", s.Ready)
	return s
}

// starts starts n servers.
func (f *fleet) starts(n int) (all []*server) {
	f.t.Helper()
	for range n {
		all = append(all, f.start())
	}
	return all
}

// get returns a page.
func (s *server) get(path string) string {
	s.t.Helper()
	status, body := s.Get(path)
	require.Equal(s.t, http.StatusOK, status, body)
	return body
}

// post asks the API for an act on the queue and expects that it is done.
func (s *server) post(act, body string) {
	s.t.Helper()
	status, answer := s.Post("api/v1/queues/hooks/"+act, body)
	require.Equal(s.t, http.StatusOK, status, answer)
}

// name is what jobs show as "processed by" when this server ran them.
func (s *server) name() string {
	host, err := os.Hostname()
	require.NoError(s.t, err)
	return host + ":" + strconv.Itoa(s.PID())
}

// add adds n jobs.
func (f *fleet) add(n int, o engine.JobOptions) []string {
	f.t.Helper()
	specs := make([]engine.JobSpec, n)
	for i := range specs {
		specs[i] = engine.JobSpec{Name: "hook", Data: i, Options: o}
	}
	jobs, err := f.queue.AddBulk(f.t.Context(), specs)
	require.NoError(f.t, err)
	ids := make([]string, n)
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
}

func (f *fleet) count(s keys.State) int64 {
	f.t.Helper()
	counts, err := f.queue.Counts(context.Background())
	require.NoError(f.t, err)
	return counts[s]
}

func (f *fleet) await(s keys.State, n int) {
	f.t.Helper()
	eventually(f.t, fmt.Sprintf("%d jobs are %s", n, s), func() bool { return f.count(s) == int64(n) })
}

// jobs reads jobs whole.
func (f *fleet) jobs(ids []string) []*engine.Job {
	f.t.Helper()
	jobs, err := f.queue.Jobs(f.t.Context(), ids)
	require.NoError(f.t, err)
	return jobs
}

// requireShared checks that each server ran some of the jobs.
func (f *fleet) requireShared(ids []string, servers ...*server) {
	f.t.Helper()
	by := map[string]int{}
	for _, j := range f.jobs(ids) {
		by[j.ProcessedBy]++
	}
	for _, s := range servers {
		require.NotZero(f.t, by[s.name()], "%s ran nothing: %v", s.name(), by)
	}
}

// startTimes are the times at which jobs were started, by Redis's own clock, in order.
func (f *fleet) startTimes() (times []int64) {
	f.t.Helper()
	entries, err := f.client.XRange(f.t.Context(), f.queue.Events(), "-", "+").Result()
	require.NoError(f.t, err)
	for _, e := range entries {
		if e.Values["event"] == "active" {
			ms, _, _ := strings.Cut(e.ID, "-")
			n, err := strconv.ParseInt(ms, 10, 64)
			require.NoError(f.t, err)
			times = append(times, n)
		}
	}
	slices.Sort(times)
	return times
}

// windows groups starts as the limiter does: a window opens with the first start after the last one has ended. The ids of
// events, which tell the times, and the expiry of the limiter's key are rounded apart by up to a millisecond.
func windows(starts []int64, length time.Duration) (opened []int64, counts []int) {
	for _, at := range starts {
		if len(opened) == 0 || at >= opened[len(opened)-1]+length.Milliseconds()-1 {
			opened, counts = append(opened, at), append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	return opened, counts
}

// requireLimited checks that no window had more starts than it may, and that while there was work the windows followed
// each other and were filled: the median is within 10 % of what the limiter allows, so that a pause of this machine does
// not count.
func requireLimited(t *testing.T, starts []int64, most int, length time.Duration) {
	t.Helper()
	opened, counts := windows(starts, length)
	require.Greater(t, len(opened), 4)
	for i, n := range counts {
		require.LessOrEqual(t, n, most, "starts in window %d of %v", i, counts)
	}
	var rates []float64
	for i := 1; i < len(opened); i++ {
		rates = append(rates, float64(counts[i-1])/(float64(opened[i]-opened[i-1])/1000))
	}
	slices.Sort(rates)
	allowed, median := float64(most)/length.Seconds(), rates[len(rates)/2]
	t.Logf("%d starts in %d windows of %s, at most %d in one; median %.2f/s of %.2f/s allowed", len(starts), len(opened), length, slices.Max(counts), median, allowed)
	require.GreaterOrEqual(t, median, 0.9*allowed)
	require.LessOrEqual(t, median, 1.01*allowed)
}

// announced are the workers that are there, by name.
func (f *fleet) announced() map[string]presence.Worker {
	f.t.Helper()
	workers, err := presence.Read(context.Background(), f.client, f.queue.Queue)
	require.NoError(f.t, err)
	out := map[string]presence.Worker{}
	for _, w := range workers {
		out[w.Name] = w
	}
	return out
}
