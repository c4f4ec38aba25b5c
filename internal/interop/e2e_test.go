package interop

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// patience bounds every wait of the end-to-end tests.
const patience = 90 * time.Second

// world is one Redis with real clients of both kinds on it, all in real time.
type world struct {
	*lane
	t      *testing.T
	client *redis.Client
	q      *engine.Queue
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{lane: newLane(t, true), t: t}
	w.client = clientOf(t, w.server, 0)
	var err error
	w.q, err = engine.NewQueue(engine.QueueOptions{Client: w.client, Name: "q"})
	require.NoError(t, err)
	return w
}

// ask has a side of the Node process do a step and decodes the answer.
func (w *world) ask(side, op string, a any, answer any) {
	w.t.Helper()
	text, err := json.Marshal(a)
	require.NoError(w.t, err)
	raw, err := w.node.call(request{Side: side, Op: op, Args: text})
	require.NoError(w.t, err, "%s %s", side, op)
	if answer != nil {
		require.NoError(w.t, json.Unmarshal(raw, answer), "%s", raw)
	}
}

// blocking makes the clients of the engine's workers.
func (w *world) blocking(name string) redis.UniversalClient {
	o := w.server.Options()
	o.ClientName, o.MaxRetries = name, -1
	return redis.NewClient(o)
}

// start runs an engine worker until stop is called or the test ends.
func (w *world) start(o engine.WorkerOptions) (stop func()) {
	w.t.Helper()
	o.Queue, o.Blocking = w.q, w.blocking
	worker, err := engine.NewWorker(o)
	require.NoError(w.t, err)
	require.NoError(w.t, worker.Start(w.t.Context()))
	var once sync.Once
	stop = func() {
		once.Do(func() {
			left, err := worker.Stop(w.t.Context())
			if err != nil || len(left) > 0 {
				w.t.Errorf("worker was stopped with %v, %v", left, err)
			}
		})
	}
	w.t.Cleanup(stop)
	return stop
}

// await asks until ok says yes.
func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			d, _ := takeDump(w.t.Context(), w.client)
			w.t.Fatalf("%s: not within %s; broken: %v; counts: %v", what, patience, broken(d, "bull:q:"), w.counts())
		}
	}
}

// counts are the reference's getJobCounts.
func (w *world) counts() map[string]int {
	w.t.Helper()
	var c map[string]int
	w.ask(reference, "counts", struct{}{}, &c)
	return c
}

func (w *world) awaitFinished(n int) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d jobs finished", n), func() bool {
		c := w.counts()
		return c["completed"]+c["failed"] == n
	})
}

// sound requires what must always be true of the queue.
func (w *world) sound() {
	w.t.Helper()
	d, err := takeDump(w.t.Context(), w.client)
	require.NoError(w.t, err)
	require.Empty(w.t, broken(d, "bull:q:"), "broken")
}

// standing is a job as its Node producer sees it.
type standing struct {
	ID, State, FailedReason       string
	AttemptsMade, AttemptsStarted int
	ReturnValue                   json.RawMessage
	Traces, Data                  int
	Finished                      bool
}

func (w *world) examine(ids []string) map[string]standing {
	w.t.Helper()
	var list []*standing
	w.ask(reference, "examine", map[string]any{"jobs": ids}, &list)
	by := map[string]standing{}
	for i, s := range list {
		require.NotNil(w.t, s, "job %s is not there", ids[i])
		by[s.ID] = *s
	}
	return by
}

// tally counts runs by job and notices two at a time.
type tally struct {
	mu      sync.Mutex
	runs    map[string]int
	now     map[string]bool
	doubles []string
}

func newTally() *tally { return &tally{runs: map[string]int{}, now: map[string]bool{}} }

// begin notes the start of a run and returns which one it is; end must be called after it.
func (y *tally) begin(id string) (n int, end func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.now[id] {
		y.doubles = append(y.doubles, id)
	}
	y.now[id] = true
	y.runs[id]++
	return y.runs[id], func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		delete(y.now, id)
	}
}

// running counts the runs that have begun and not ended.
func (y *tally) running() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.now)
}

// plan is one kind of job of the end-to-end tests.
type plan struct {
	name string          // what the worker is asked to do
	data string          // JSON
	opts string          // JSON, public names; $i is the job's number
	want string          // state in the end
	made int             // attempts made
	runs int             // runs, rate-limited ones included
	why  string          // failure reason
	give json.RawMessage // return value, nil = not looked at
}

// jobOf is the i-th job of a plan as the driver adds it.
func (p plan) jobOf(i int) map[string]any {
	opts := strings.ReplaceAll(p.opts, "$i", fmt.Sprint(i))
	return map[string]any{"name": p.name, "data": json.RawMessage(p.data), "opts": json.RawMessage(or(opts, "{}"))}
}
