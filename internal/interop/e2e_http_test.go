package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine/policy"
	"bullpen/internal/processor"

	"github.com/stretchr/testify/require"
)

// nodeJobs are the kinds of the thousand jobs that Node adds for the HTTP worker, in turn.
var nodeJobs = []plan{
	{name: "ok", data: `{"n":1}`, want: "completed", made: 1, runs: 1},
	{name: "ok", data: `{"nested":{"a":[1,{"b":null}],"empty":[]}}`, opts: `{"lifo":true}`, want: "completed", made: 1, runs: 1},
	{name: "ok", data: `{"ключ":"значение 🐂","<&>":"\u2028\\\""}`, opts: `{"delay":300}`, want: "completed", made: 1, runs: 1},
	{name: "ok", data: `"text"`, opts: `{"priority":3}`, want: "completed", made: 1, runs: 1},
	{name: "ok", data: `null`, opts: `{"jobId":"order-$i"}`, want: "completed", made: 1, runs: 1},
	{name: "ok", data: `[1.5,-2,1e21]`, opts: `{"priority":1,"delay":100,"jobId":"a:b:$i"}`, want: "completed", made: 1, runs: 1},
	{name: "flaky", data: `{"failures":1}`, opts: `{"attempts":2}`, want: "completed", made: 2, runs: 2},
	{name: "flaky", data: `{"failures":2}`, opts: `{"attempts":3,"backoff":50}`, want: "completed", made: 3, runs: 3},
	{name: "flaky", data: `{"failures":2}`, opts: `{"attempts":3,"backoff":{"type":"exponential","delay":20}}`, want: "completed", made: 3, runs: 3},
	{name: "flaky", data: `{"failures":1}`, opts: `{"attempts":2,"priority":2,"backoff":{"type":"fixed","delay":60,"jitter":0.5}}`, want: "completed", made: 2, runs: 2},
	{name: "flaky", data: `{"failures":1}`, opts: `{"attempts":2,"backoff":{"type":"by-cause"}}`, want: "completed", made: 2, runs: 2},
	{name: "fail", data: `{}`, want: "failed", made: 1, runs: 1, why: "no luck"},
	{name: "fail", data: `{}`, opts: `{"attempts":3}`, want: "failed", made: 3, runs: 3, why: "no luck"},
	{name: "gone", data: `{}`, opts: `{"attempts":5,"backoff":1000}`, want: "failed", made: 1, runs: 1, why: "404 Not Found"},
	{name: "later", data: `{}`, opts: `{"attempts":2,"backoff":60000}`, want: "completed", made: 2, runs: 2},
}

// TestHTTPWorkerRunsNodeJobs has Node add a thousand jobs of every kind and Bullpen's HTTP worker run them.
func TestHTTPWorkerRunsNodeJobs(t *testing.T) {
	const total = 1000
	w := newWorld(t)
	server := newHookServer(t)
	by := map[string]plan{}
	var jobs []map[string]any
	add := func(p plan) {
		jobs = append(jobs, p.jobOf(len(jobs)))
	}
	large := plan{name: "ok", data: `{"large":"` + strings.Repeat("0123456789abcdef", 1<<16) + `"}`, want: "completed", made: 1, runs: 1}
	add(large)
	limited := plan{name: "limited", data: `{}`, want: "completed", made: 1, runs: 2}
	plans := []plan{large}
	for len(jobs) < total {
		p := nodeJobs[len(jobs)%len(nodeJobs)]
		if len(jobs)%250 == 249 {
			p = limited
		}
		add(p)
		plans = append(plans, p)
	}
	w.ask(reference, "listen", struct{}{}, nil)
	var ids []string
	w.ask(reference, "addBulk", map[string]any{"jobs": jobs}, &ids)
	require.Len(t, ids, total)
	for i, id := range ids {
		by[id] = plans[i]
	}
	require.Len(t, by, total, "ids are not unique")

	w.startHTTP(server.URL)
	w.awaitFinished(total)
	w.sound()
	require.Empty(t, server.tally.doubles, "jobs that ran twice at a time")
	seen := w.examine(ids)
	completed := 0
	for id, p := range by {
		got := seen[id]
		require.Equal(t, p.want, got.State, "state of job %s (%s)", id, p.opts)
		require.Equal(t, p.made, got.AttemptsMade, "attempts of job %s (%s)", id, p.opts)
		require.Equal(t, p.runs, got.AttemptsStarted, "starts of job %s (%s)", id, p.opts)
		require.Equal(t, p.runs, server.tally.runs[id], "requests for job %s", id)
		require.True(t, got.Finished)
		if p.want == "completed" {
			completed++
			require.JSONEq(t, fmt.Sprintf(`{"did":%q,"bytes":%d}`, p.name, server.size(id)), string(got.ReturnValue))
			require.Equal(t, got.Data, server.size(id), "bytes of data of job %s", id)
		} else {
			require.Equal(t, p.why, got.FailedReason)
			require.Equal(t, p.made, got.Traces)
		}
	}
	require.Equal(t, completed, w.counts()["completed"])
	w.requireHeard(by)
}

// requireHeard compares what Node's QueueEvents heard with what happened.
func (w *world) requireHeard(by map[string]plan) {
	w.t.Helper()
	var heard map[string]map[string]int
	w.await("all events heard", func() bool {
		heard = nil
		w.ask(reference, "heard", struct{}{}, &heard)
		return len(heard["completed"])+len(heard["failed"]) == len(by)
	})
	var errs []string
	w.ask(reference, "workerErrors", struct{}{}, &errs)
	require.Empty(w.t, errs)
	for id, p := range by {
		require.Equal(w.t, 1, heard["added"][id], "added events of job %s", id)
		require.Equal(w.t, 1, heard[p.want][id], "%s events of job %s", p.want, id)
		require.Equal(w.t, p.runs, heard["active"][id], "active events of job %s", id)
	}
	w.ask(reference, "unlisten", struct{}{}, nil)
}

// startHTTP runs two HTTP workers with a policy.
func (w *world) startHTTP(url string) {
	w.t.Helper()
	p := policy.Policy{
		Concurrency: 10,
		// The backoff is for jobs of a type BullMQ does not know; "later" is decided by the answer.
		Backoff: policy.Backoff{Type: policy.Fixed, Delay: 40 * time.Millisecond},
	}
	handler, err := processor.HTTP(processor.HTTPOptions{Queue: w.q.Queue, URL: url, Policy: p, Timeout: 20 * time.Second})
	require.NoError(w.t, err)
	for _, name := range []string{"http-1", "http-2"} {
		w.start(processor.WorkerOptions(processor.WorkerConfig{Queue: w.q, Policy: p, Handler: handler, Name: name}))
	}
}

// hookServer answers as the job's name asks and remembers what it was sent.
type hookServer struct {
	*httptest.Server
	tally *tally
	mu    sync.Mutex
	sizes map[string]int
}

func newHookServer(t *testing.T) *hookServer {
	h := &hookServer{tally: newTally(), sizes: map[string]int{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// size is how many bytes of data came with a job.
func (h *hookServer) size(id string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sizes[id]
}

func (h *hookServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var job struct {
		ID, Name string
		Attempt  int
		Data     json.RawMessage
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &job)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	run, end := h.tally.begin(job.ID)
	defer end()
	h.mu.Lock()
	h.sizes[job.ID] = len([]rune(string(job.Data))) + strings.Count(string(job.Data), "🐂") // as JavaScript counts
	h.mu.Unlock()
	var flaky struct{ Failures int }
	_ = json.Unmarshal(job.Data, &flaky)
	switch {
	case job.Name == "fail", job.Name == "flaky" && job.Attempt <= flaky.Failures:
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(rw, `{"error":"no luck"}`)
	case job.Name == "gone":
		rw.WriteHeader(http.StatusNotFound)
	case job.Name == "later" && job.Attempt == 1:
		rw.Header().Set("Retry-After", "0.1")
		rw.WriteHeader(http.StatusServiceUnavailable)
	case job.Name == "limited" && run == 1:
		rw.Header().Set("Retry-After", "0.2")
		rw.WriteHeader(http.StatusTooManyRequests)
	default:
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"did":%q,"bytes":%d}`, job.Name, h.size(job.ID))
	}
}
