package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// bullpen is a running program with key prefix and configuration of its own.
type bullpen struct {
	*testbullpen.Process
	t      *testing.T
	redis  *testredis.Server
	prefix string
	client *redis.Client
}

// serve starts the program on the package's Redis; queues is the part of the configuration under "queues:".
func serve(t *testing.T, queues string, flags ...string) *bullpen {
	t.Helper()
	return serveOn(t, redisServer, queues, flags...)
}

// serveOn starts the program on a Redis. It ends with the test, by SIGTERM and with exit code 0.
func serveOn(t *testing.T, srv *testredis.Server, queues string, flags ...string) *bullpen {
	t.Helper()
	b := &bullpen{t: t, redis: srv, prefix: srv.Prefix(), client: srv.Client(t)}
	dir := t.TempDir()
	file := filepath.Join(dir, "bullpen.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nredis: {url: \"unix://%s\", prefix: %s}\n%s", srv.Socket, b.prefix, queues)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	b.run(dir, append([]string{"-config", file}, flags...)...)
	t.Cleanup(b.stop)
	return b
}

// run starts the program in a folder and waits for its address.
func (b *bullpen) run(dir string, args ...string) {
	b.t.Helper()
	b.Process = testbullpen.Start(b.t, testbullpen.Options{Path: binary, Args: args, Dir: dir})
}

// stop ends the program the way an operator does and expects that it ends well.
func (b *bullpen) stop() {
	b.t.Helper()
	if code := b.Terminate(); code != 0 {
		b.t.Errorf("the program ended with %d", code)
	}
}

// tab opens the dashboard's address in the browser.
func (b *bullpen) tab(l look) *tab { b.t.Helper(); return chrome.tab(b.t, b.URL, l) }

// queue is the engine's view of a queue, for adding jobs and looking at what became of them.
func (b *bullpen) queue(name string) *queue {
	b.t.Helper()
	return b.queueFor(b.t, name)
}

// queueFor is queue for a test that shares the program.
func (b *bullpen) queueFor(t *testing.T, name string) *queue {
	t.Helper()
	q, err := engine.NewQueue(engine.QueueOptions{Client: b.client, Prefix: b.prefix, Name: name})
	require.NoError(t, err)
	return &queue{q, t, b.redis}
}

type queue struct {
	*engine.Queue
	t     *testing.T
	redis *testredis.Server
}

// add adds a job and returns its id.
func (q *queue) add(name string, data any, o engine.JobOptions) string {
	q.t.Helper()
	j, err := q.Add(q.t.Context(), name, data, o)
	require.NoError(q.t, err)
	return j.ID
}

// addMany adds n jobs named "send" and returns their ids.
func (q *queue) addMany(n int, o engine.JobOptions) []string {
	q.t.Helper()
	ids := make([]string, 0, n)
	for len(ids) < n {
		specs := make([]engine.JobSpec, min(n-len(ids), 1000))
		for i := range specs {
			specs[i] = engine.JobSpec{Name: "send", Data: map[string]int{"n": len(ids) + i}, Options: o}
		}
		jobs, err := q.AddBulk(q.t.Context(), specs)
		require.NoError(q.t, err)
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// work runs every waiting job in this process until none is left; handler decides how each ends.
func (q *queue) work(handler engine.Handler) {
	q.t.Helper()
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: q.Queue, Concurrency: 200, Handler: handler,
		Blocking: q.blocking,
	})
	require.NoError(q.t, err)
	require.NoError(q.t, w.Start(q.t.Context()))
	q.holds(keys.Waiting, 0)
	q.holds(keys.Active, 0)
	_, err = w.Stop(q.t.Context())
	require.NoError(q.t, err)
}

// blocking makes the client of a worker's blocking reads.
func (q *queue) blocking(name string) redis.UniversalClient {
	o := q.redis.Options()
	o.ClientName, o.MaxRetries, o.ReadTimeout = name, -1, 20*time.Second
	return redis.NewClient(o)
}

// failAll lets every waiting job fail.
func (q *queue) failAll(reason string) {
	q.t.Helper()
	q.work(func(context.Context, *engine.Job) (any, error) { return nil, engine.Unrecoverable(errors.New(reason)) })
}

// completeAll lets every waiting job complete.
func (q *queue) completeAll() {
	q.t.Helper()
	q.work(func(context.Context, *engine.Job) (any, error) { return "done", nil })
}

func (q *queue) count(st keys.State) int64 {
	q.t.Helper()
	counts, err := q.Counts(q.t.Context())
	require.NoError(q.t, err)
	return counts[st]
}

// holds waits until the queue has n jobs in a state.
func (q *queue) holds(st keys.State, n int64) {
	q.t.Helper()
	require.Eventually(q.t, func() bool { return q.count(st) == n }, patience, 10*time.Millisecond, "%s %s is not %d", q.Name, st, n)
}

// state waits until a job is in a state.
func (q *queue) state(id string, want keys.State) {
	q.t.Helper()
	var is keys.State
	require.Eventually(q.t, func() bool {
		var err error
		is, err = q.State(q.t.Context(), id)
		return err == nil && is == want
	}, patience, 10*time.Millisecond, "job %s is not %s", id, want)
}

func (q *queue) paused() bool {
	q.t.Helper()
	is, err := q.IsPaused(q.t.Context())
	require.NoError(q.t, err)
	return is
}

// endpoint is the other end of an HTTP worker; its answer can change while the program runs.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
}

func newEndpoint(t *testing.T, answer http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{answer: answer}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		answer := e.answer
		e.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

// set changes the answer.
func (e *endpoint) set(answer http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

// refuse answers with a status that fails a job for good.
func refuse(reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = fmt.Fprintf(w, `{"error":%q}`, reason)
	}
}

// accept completes a job.
func accept(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
