package processor

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/stretchr/testify/require"
)

// Real workers on a real Redis: what the handlers decide must become of the job what the design says.

func runHTTP(t *testing.T, p policy.Policy, o HTTPOptions) *engine.Queue {
	t.Helper()
	pool := newPool(t)
	q := newQueue(t, srv.Prefix(), "hooks")
	o.Queue, o.Policy = q.Queue, p
	start(t, pool, WorkerConfig{Queue: q, Policy: p, Handler: worker(t, o)})
	t.Cleanup(func() { stop(t, pool, 5*time.Second) })
	return q
}

func TestRunHTTPKeepsEveryByteOfDataAndResult(t *testing.T) {
	url, last := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{ "n": 12345678901234567890, "a":1,"a":2 }`)
	})
	q := runHTTP(t, policy.Policy{}, HTTPOptions{URL: url})
	const data = `{ "f": 1.10, "big": 98765432109876543210, "a":1,"a":2, "u": "\u00e9<é>" }`
	id := add(t, q, json.RawMessage(data), engine.JobOptions{KeepLogs: 5, Attempts: 3})
	j := awaitState(t, q, id, keys.Completed)
	require.Equal(t, `{ "n": 12345678901234567890, "a":1,"a":2 }`, string(j.ReturnValue))
	body := string(last().body)
	require.Contains(t, body, `"data":`+data+`,"opts":{`)
	require.Contains(t, body, `"keepLogs":5`)
	require.Contains(t, body, `"attempt":1,"attempts":3,"attemptsStarted":1`)
}

func TestRunHTTPRetriesAndRecordsWhy(t *testing.T) {
	var calls atomic.Int32
	url, last := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, `{"error":"upstream down"}`)
		}
	})
	q := runHTTP(t, policy.Policy{}, HTTPOptions{URL: url})
	id := add(t, q, nil, engine.JobOptions{Attempts: 3, Backoff: &engine.Backoff{Type: "fixed", Delay: 10 * time.Millisecond}})
	j := awaitState(t, q, id, keys.Completed)
	require.Equal(t, 3, j.AttemptsMade)
	require.Equal(t, "upstream down", j.FailedReason)
	require.Len(t, j.Stacktrace, 2)
	require.Contains(t, j.Stacktrace[0], "Error: upstream down\n    at POST 127.0.0.1:")
	require.Contains(t, j.Stacktrace[0], ": 502 Bad Gateway\n\n{\"error\"")
	for n := range 3 {
		h := last().header
		require.Equal(t, string(number(int64(n+1))), h.Get("Bullpen-Attempt"))
		require.Equal(t, q.Qualified()+":"+id, h.Get("Idempotency-Key"))
	}
}

func TestRunHTTPUnrecoverableAndDeadLetter(t *testing.T) {
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	q := runHTTP(t, policy.Policy{DeadLetter: "dead"}, HTTPOptions{URL: url})
	j := awaitState(t, q, add(t, q, nil, engine.JobOptions{Attempts: 5}), keys.Failed)
	require.Equal(t, 1, j.AttemptsMade)
	require.Equal(t, "404 Not Found", j.FailedReason)
	dead := newQueue(t, q.Prefix, "dead")
	ids, err := dead.IDs(t.Context(), keys.Waiting, 0, 10, time.Time{})
	require.NoError(t, err)
	require.Len(t, ids, 1)
	require.True(t, strings.HasPrefix(ids[0], "hooks."+j.ID+"."))
}

func TestRunHTTP429StopsTheQueueAndCostsNoAttempt(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "0.4")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	q := runHTTP(t, policy.Policy{}, HTTPOptions{URL: url})
	begin := time.Now()
	j := awaitState(t, q, add(t, q, nil, engine.JobOptions{}), keys.Completed)
	require.GreaterOrEqual(t, time.Since(begin), 380*time.Millisecond)
	require.Equal(t, 1, j.AttemptsMade)
	require.Equal(t, 2, j.AttemptsStarted)
	require.Empty(t, j.FailedReason)
}

func TestRunHTTPRetryAfterBeatsTheBackoff(t *testing.T) {
	var calls atomic.Int32
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "0.2")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	q := runHTTP(t, policy.Policy{Backoff: policy.Backoff{Max: 10 * time.Millisecond}}, HTTPOptions{URL: url})
	begin := time.Now()
	id := add(t, q, nil, engine.JobOptions{Attempts: 2, Backoff: &engine.Backoff{Type: "fixed", Delay: time.Hour}})
	require.Equal(t, 2, awaitState(t, q, id, keys.Completed).AttemptsMade)
	require.GreaterOrEqual(t, time.Since(begin), 190*time.Millisecond)
}

// A job with NestJS's custom backoff gets the policy's as its strategy, and without one fails with a reason.
func TestRunHTTPCustomBackoff(t *testing.T) {
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	custom := engine.JobOptions{Attempts: 2, Backoff: &engine.Backoff{Type: "custom"}}

	q := runHTTP(t, policy.Policy{Backoff: policy.Backoff{Type: policy.Fixed, Delay: 10 * time.Millisecond}}, HTTPOptions{URL: url})
	require.Equal(t, 2, awaitState(t, q, add(t, q, nil, custom), keys.Failed).AttemptsMade)

	q = runHTTP(t, policy.Policy{}, HTTPOptions{URL: url})
	j := awaitState(t, q, add(t, q, nil, custom), keys.Failed)
	require.Equal(t, 1, j.AttemptsMade)
	require.Contains(t, j.FailedReason, "custom")
}

func TestRunHTTPShutdownHandsBackAndIsNoFailure(t *testing.T) {
	pool := newPool(t)
	q := newQueue(t, srv.Prefix(), "hooks")
	arrived := make(chan struct{}, 1)
	url, _ := recorded(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	start(t, pool, WorkerConfig{Queue: q, Handler: worker(t, HTTPOptions{URL: url, Queue: q.Queue})})
	id := add(t, q, nil, engine.JobOptions{})
	<-arrived
	require.Equal(t, []HandedBack{{Queue: q.Queue, IDs: []string{id}}}, stop(t, pool, 100*time.Millisecond))
	j := awaitState(t, q, id, keys.Waiting)
	require.Zero(t, j.AttemptsMade)
	require.Empty(t, j.FailedReason)
}

func runCommand(t *testing.T, script string, p policy.Policy) (*engine.Queue, *Pool) {
	t.Helper()
	pool := newPool(t)
	q := newQueue(t, srv.Prefix(), "scripts")
	h, err := Command(CommandOptions{
		Queue: q.Queue, Argv: []string{"sh", "-c", script}, Policy: p, Interrupt: pool.Interrupt(),
	})
	require.NoError(t, err)
	start(t, pool, WorkerConfig{Queue: q, Policy: p, Handler: h})
	return q, pool
}

func TestRunCommandReportsAndCompletes(t *testing.T) {
	q, pool := runCommand(t, `read -r job; echo '{"progress":50}'; echo hello; echo careful >&2; echo "{\"result\":$job}"`, policy.Policy{})
	defer stop(t, pool, 5*time.Second)
	id := add(t, q, json.RawMessage("{\n\"n\": 12345678901234567890}"), engine.JobOptions{})
	j := awaitState(t, q, id, keys.Completed)
	require.Contains(t, string(j.ReturnValue), `"data":{ "n": 12345678901234567890}`)
	require.Equal(t, "50", string(j.Progress))
	rows, _, err := q.Logs(t.Context(), id, 0, -1, true)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"hello", "careful"}, rows)
}

func TestRunCommandDelayAndRateLimitCostNoAttempt(t *testing.T) {
	seen := t.TempDir() + "/seen"
	q, pool := runCommand(t, `printf x >> `+seen+`; case $(wc -c < `+seen+`) in
		1) echo '{"delay_ms":50}'; exit 75;;
		2) echo '{"rate_limit_ms":50}'; exit 75;;
		*) echo broken >&2; exit 65;; esac`, policy.Policy{})
	defer stop(t, pool, 5*time.Second)
	j := awaitState(t, q, add(t, q, nil, engine.JobOptions{Attempts: 5}), keys.Failed)
	require.Equal(t, 1, j.AttemptsMade)
	require.Equal(t, 3, j.AttemptsStarted)
	require.Equal(t, "broken", j.FailedReason)
}

func TestRunCommandFailureAndTrace(t *testing.T) {
	q, pool := runCommand(t, `echo "disk full on /var" >&2; exit 1`, policy.Policy{})
	defer stop(t, pool, 5*time.Second)
	j := awaitState(t, q, add(t, q, nil, engine.JobOptions{Attempts: 2}), keys.Failed)
	require.Equal(t, "disk full on /var", j.FailedReason)
	require.Len(t, j.Stacktrace, 2)
	require.Equal(t, "Error: disk full on /var\n    at sh: exit code 1\n\ndisk full on /var", j.Stacktrace[1])
}

func TestRunCommandShutdown(t *testing.T) {
	t.Parallel()
	// Without a handler for the signal the job goes back; with one it may finish.
	q, pool := runCommand(t, `echo '{"progress":1}'; sleep 60`, policy.Policy{})
	id := add(t, q, nil, engine.JobOptions{})
	awaitProgress(t, q, id)
	require.Equal(t, []HandedBack{{Queue: q.Queue, IDs: []string{id}}}, stop(t, pool, 400*time.Millisecond))
	require.Zero(t, awaitState(t, q, id, keys.Waiting).AttemptsMade)

	q, pool = runCommand(t, `trap 'echo "{\"result\":\"saved\"}"; exit 0' TERM; echo '{"progress":1}'; sleep 60 & wait`, policy.Policy{})
	id = add(t, q, nil, engine.JobOptions{})
	awaitProgress(t, q, id)
	require.Empty(t, stop(t, pool, time.Second))
	require.Equal(t, `"saved"`, string(awaitState(t, q, id, keys.Completed).ReturnValue))
}

func awaitProgress(t *testing.T, q *engine.Queue, id string) {
	t.Helper()
	eventually(t, func() bool {
		j, err := q.Job(t.Context(), id)
		require.NoError(t, err)
		return len(j.Progress) > 0
	})
}
