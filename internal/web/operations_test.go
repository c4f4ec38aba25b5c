package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bullpen/internal/audit"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/operation"
	"bullpen/internal/web/operation/book"

	"github.com/stretchr/testify/require"
)

// replicas are two servers on one Redis.
func replicas(t *testing.T) (a, b *bench) {
	t.Helper()
	a = newBench(t, withBook(t))
	b = newBench(t, withBook(t), func(o *Options) { o.Prefix = a.o.Prefix })
	b.queue = a.queue
	b.monitor.publish(a.monitor.Snapshot())
	require.NoError(t, a.client.Del(t.Context(), keys.Operations).Err())
	return a, b
}

func withBook(t *testing.T) func(*Options) {
	return func(o *Options) { o.Operations = book.New(redisServer.Client(t), false) }
}

// stuck starts an operation that does one job, refuses one and then waits for its end.
func (b *bench) stuck() int64 {
	b.t.Helper()
	call := &Call{Action: &Action{Name: "retry"}, Who: Identity{Name: "ada", Role: Admin}, Queue: b.queue.Queue, Path: "/queues/email/retry", Values: url.Values{"all": {"1"}, "confirm": {"yes"}}}
	spec, stepped := b.spec(call, "failed jobs"), make(chan struct{})
	spec.Prepare = func(context.Context) (int64, error) { return 9, nil }
	once := false
	spec.Step = func(ctx context.Context, _ int) (operation.Batch, error) {
		if !once {
			once = true
			close(stepped)
			return operation.Batch{Done: 1, Refused: []operation.Refusal{{ID: "8", Reason: "is locked"}}}, nil
		}
		<-ctx.Done()
		return operation.Batch{}, ctx.Err()
	}
	_, err := b.begin(b.t.Context(), call, spec)
	require.NoError(b.t, err)
	<-stepped
	id := b.ops.List()[0].ID
	require.Eventually(b.t, func() bool { return b.ops.Get(id).Status().Done == 1 }, 10*time.Second, time.Millisecond)
	return id
}

func TestOperationsAreKnownToAllReplicas(t *testing.T) {
	a, b := replicas(t)
	id := a.stuck()
	at := operationPath(operation.Status{ID: id})
	require.Eventually(t, func() bool {
		return strings.Contains(b.get(at).body, "2 of 9") || strings.Contains(b.get(at).body, "Retrying 9")
	}, 10*time.Second, 50*time.Millisecond)
	has(t, b.get("/operations").body, "Retry failed jobs")
	has(t, b.get("/api/v1"+at).body, `"state": "running"`)

	res := b.call("/api/v1"+at+"/cancel", "{}")
	require.Equal(t, http.StatusOK, res.status, res.body)
	<-a.ops.Get(id).Over()
	require.Equal(t, operation.Cancelled, a.ops.Get(id).Status().State)
	e := a.audit.take()
	require.Equal(t, audit.Cancelled, e[0].Outcome)
	require.Equal(t, "ada", e[0].Who)
	require.Equal(t, int64(1), e[0].Done)
	require.Equal(t, "Retried 1 of 9 failed jobs of email. 1\u00a0job was left alone. Is locked: 1.", e[0].Message)
	require.Equal(t, http.StatusConflict, b.call("/api/v1"+at+"/cancel", "{}").status)
}

func TestOperationsOfAProcessThatIsGone(t *testing.T) {
	a, b := replicas(t)
	lost := operation.Status{
		ID: 41, Verb: "retry", Queue: a.queue.Qualified(), Subject: "failed jobs", Who: "ada", State: operation.Running, Started: time.Now(), Matched: 9, Done: 4,
		Refused: 1, Reasons: []operation.Reason{{Text: "is <b>locked</b>", Count: 1, Sample: []string{"7"}}}, Every: time.Second, Again: &operation.Again{Path: "/queues/email/retry", Values: url.Values{"all": {"1"}, "state": {"failed"}}},
	}
	_, err := book.New(a.client, false).Write(t.Context(), lost, 0, []operation.Refusal{{ID: "7", Reason: "is <b>locked</b>"}})
	require.NoError(t, err)
	require.NoError(t, a.client.Del(t.Context(), keys.Operation(41)).Err())
	page := b.get("/operations/41").body
	has(t, page, "Interrupted at 5 of 9.")
	has(t, page, `<a href="/operations/41/refusals">All 1 as JSON lines</a>`)
	require.JSONEq(t, `{"id":"7","reason":"is <b>locked</b>"}`, b.get("/operations/41/refusals").body)
	has(t, b.get("/api/v1/operations/41/refusals").body, `"id": "7"`)
	has(t, page, "Start again…")
	has(t, page, `<input type="hidden" name="state" value="failed">`)
	has(t, a.get("/operations").body, "interrupted")
	entries := append(a.audit.take(), b.audit.take()...)
	require.Len(t, entries, 1, "one of them records it")
	require.Equal(t, audit.Interrupted, entries[0].Outcome)
	require.Equal(t, http.StatusNotFound, b.get("/operations/7").status)
	require.NoError(t, a.client.Del(t.Context(), keys.Refusals(41)).Err()) // as after a week
	has(t, b.get("/operations/41/refusals").body, "were kept for a week")
}

func TestOperationsSurviveARestart(t *testing.T) {
	a, b := replicas(t)
	id := a.stuck()
	a.ops.Close()
	page := b.get(operationPath(operation.Status{ID: id})).body
	has(t, page, "Interrupted at 2 of 9.")
	require.JSONEq(t, `{"id":"8","reason":"is locked"}`, b.get(operationPath(operation.Status{ID: id})+"/refusals").body, "which ones it refused is known to others")
	has(t, page, "shut down")
	require.Equal(t, audit.Interrupted, a.audit.take()[0].Outcome)
}

func TestTheEndOfAnOperationIsInTheActivity(t *testing.T) {
	b := withActivity(t, withBook(t))
	b.fail(2)
	res := b.call("/api/v1/queues/email/retry", `{"all":true,"confirm":"yes"}`)
	require.Equal(t, http.StatusAccepted, res.status, res.body)
	<-b.ops.Get(b.ops.List()[0].ID).Over()
	page := b.get("/activity").body
	require.Less(t, strings.Index(page, "Retried 2 failed jobs of email."), strings.Index(page, "Started."), "newest first")
	has(t, b.get("/activity?result=started").body, "Started.")
	hasNot(t, b.get("/activity?result=started").body, "Retried 2")
}
