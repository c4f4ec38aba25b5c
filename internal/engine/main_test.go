package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// srv is the server most tests share, each under a prefix of its own.
var srv *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &srv)) }

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// eventually waits until ok, asked again and again, says so.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not so after %s", what, patience)
		}
	}
}

// newQueue returns a queue of its own on the shared server.
func newQueue(t testing.TB) *Queue {
	t.Helper()
	return queueOn(t, srv.Client(t), srv.Prefix())
}

func queueOn(t testing.TB, c redis.UniversalClient, prefix string) *Queue {
	t.Helper()
	q, err := NewQueue(QueueOptions{Client: c, Prefix: prefix, Name: "q"})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// blockingOn makes the blocking clients of workers on a server.
func blockingOn(o *redis.Options) func(string) redis.UniversalClient {
	return func(name string) redis.UniversalClient {
		own := *o
		own.ClientName, own.MaxRetries = name, -1
		return redis.NewClient(&own)
	}
}

// newWorker returns a worker that has not started, on the shared server unless edit says otherwise.
func newWorker(t testing.TB, q *Queue, h Handler, edit func(*WorkerOptions)) *Worker {
	t.Helper()
	o := WorkerOptions{
		Queue: q, Handler: h, Blocking: blockingOn(srv.Options()), Name: "w", DrainDelay: time.Second,
		Logger: testLogger(t),
	}
	if edit != nil {
		edit(&o)
	}
	w, err := NewWorker(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// startWorker starts a worker that is stopped in the test's cleanup.
func startWorker(t testing.TB, q *Queue, h Handler, edit func(*WorkerOptions)) *Worker {
	t.Helper()
	w := newWorker(t, q, h, edit)
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, _ = w.Stop(ctx)
	})
	return w
}

func add(t testing.TB, q *Queue, name string, data any, o JobOptions) *Job {
	t.Helper()
	j, err := q.Add(t.Context(), name, data, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func addMany(t testing.TB, q *Queue, n int, o JobOptions) []string {
	t.Helper()
	specs := make([]JobSpec, n)
	for i := range specs {
		specs[i] = JobSpec{Name: "job", Data: i, Options: o}
	}
	jobs, err := q.AddBulk(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, n)
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
}

func read(t testing.TB, q *Queue, id string) *Job {
	t.Helper()
	j, err := q.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func state(t testing.TB, q *Queue, id string) keys.State {
	t.Helper()
	s, err := q.State(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitState waits until a job is in a state.
func awaitState(t testing.TB, q *Queue, id string, want keys.State) {
	t.Helper()
	eventually(t, fmt.Sprintf("job %s is %s", id, want), func() bool { return state(t, q, id) == want })
}

func counts(t testing.TB, q *Queue) map[keys.State]int64 {
	t.Helper()
	c, err := q.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// awaitCount waits until a state has n jobs.
func awaitCount(t testing.TB, q *Queue, s keys.State, n int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d jobs are %s", n, s), func() bool { return counts(t, q)[s] == n })
}

// runs counts what a handler was called for.
type runs struct {
	mu sync.Mutex
	by map[string]int
}

func (r *runs) add(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]int{}
	}
	r.by[id]++
	return r.by[id]
}

func (r *runs) of(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[id]
}

// events reads the names of all events of a job, in order.
func events(t testing.TB, q *Queue, id string) []string {
	t.Helper()
	entries, err := q.client.XRange(t.Context(), q.Events(), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Values["jobId"] == id {
			names = append(names, e.Values["event"].(string))
		}
	}
	return names
}
