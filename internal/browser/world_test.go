package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// world is a program with queues in which there is something to see on every page: every state, every kind of failure,
// long names, logs, progress, a missing record, a paused queue, operations that ended.
func world(t *testing.T, flags ...string) *bullpen {
	t.Helper()
	b := serve(t, fmt.Sprintf(`queues:
  orders: {policy: {attempts: 3, concurrency: 4, limiter: {max: 50, duration: 1s}, dead_letter: orders-dead-letter}}
  hooks: {policy: {attempts: 1, dead_letter: hooks-dead-letter}, worker: {http: {url: %q}}}
`, newEndpoint(t, refuse("no such hook")).URL), flags...)
	b.queue("hooks").addMany(2, engine.JobOptions{})
	q := b.queue("orders")
	q.addMany(12, engine.JobOptions{Attempts: 1})
	q.add("a-name-that-is-much-longer-than-names-of-jobs-are-in-practice-and-has-no-place-to-break", map[string]any{
		"note": strings.Repeat("long", 60), "list": []int{1, 2, 3}, "token": "secret", "nested": map[string]any{"a": nil, "b": true},
	}, engine.JobOptions{ID: "an-id.that_is-long-0123456789abcdef0123456789abcdef", Attempts: 2})
	q.work(failInManyWays)
	q.addMany(12, engine.JobOptions{})
	q.work(succeedWithNoise)
	q.hold(q.addMany(3, engine.JobOptions{}))
	q.addMany(4, engine.JobOptions{})
	q.addMany(3, engine.JobOptions{Priority: 2})
	q.addMany(4, engine.JobOptions{Delay: 26 * time.Hour})
	q.orphans()
	q.schedulers()
	q.flow(30)

	held := b.queue("a-queue.with-a-name-that-takes-more-room-than-there-is-on-a-telephone")
	held.addMany(3, engine.JobOptions{})
	require.NoError(t, held.Pause(t.Context()))
	b.post("/queues/"+held.Name+"/drain", map[string]any{"confirm": "yes"})
	held.addMany(3, engine.JobOptions{})
	b.queue("hooks-dead-letter").holds(keys.Waiting, 2)
	return b
}

func failInManyWays(ctx context.Context, j *engine.Job) (any, error) {
	for i := range 30 {
		if _, err := j.Log(ctx, fmt.Sprintf("row %d of what happened to %s before it failed", i, j.ID)); err != nil {
			return nil, err
		}
	}
	switch j.ID[len(j.ID)-1] % 3 {
	case 0:
		return nil, engine.Unrecoverable(errors.New("410 Gone: the endpoint was removed by its owner"))
	case 1:
		return nil, errors.New("connect ECONNREFUSED 203.0.113.24:443")
	}
	return nil, errors.New(strings.Repeat("a message that does not end ", 30) + "\n    at somewhere.js:1:2\n    at node:internal/else:3:4")
}

func succeedWithNoise(ctx context.Context, j *engine.Job) (any, error) {
	if err := j.UpdateProgress(ctx, map[string]int{"percent": 100}); err != nil {
		return nil, err
	}
	return map[string]any{"messageId": "<" + j.ID + "@mail.example>", "accepted": []string{"ada@example.com"}}, nil
}

// hold takes n jobs and keeps them active.
func (q *queue) hold(ids []string) {
	q.t.Helper()
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: q.Queue, LockDuration: time.Hour, Blocking: q.blocking,
		Handler: func(context.Context, *engine.Job) (any, error) { return nil, nil },
	})
	require.NoError(q.t, err)
	for range ids {
		j, err := w.NextJob(q.t.Context())
		require.NoError(q.t, err)
		require.NotNil(q.t, j)
	}
}

// orphans adds a job that waits for a child, and the id of a failed job whose record is gone.
func (q *queue) orphans() {
	q.t.Helper()
	ctx, c, now := q.t.Context(), q.redis.Client(q.t), float64(time.Now().UnixMilli())
	require.NoError(q.t, c.HSet(ctx, q.JobKey("parent-1"), "name", "assemble", "data", "{}", "opts", "{}", "timestamp", now).Err())
	require.NoError(q.t, c.SAdd(ctx, q.JobKey("parent-1")+":dependencies", q.JobKey("77")).Err())
	require.NoError(q.t, c.ZAdd(ctx, q.JobKey("waiting-children"), redis.Z{Score: now, Member: "parent-1"}).Err())
	require.NoError(q.t, c.ZAdd(ctx, q.JobKey("failed"), redis.Z{Score: now, Member: "evicted"}).Err())
}

// post does an act through the API and returns its answer.
func (b *bullpen) post(path string, body any) string {
	b.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(b.t, err)
	var answer string
	require.Eventually(b.t, func() bool { // the collector may not know the queue yet
		r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, strings.TrimSuffix(b.URL, "/")+"/api/v1"+path, strings.NewReader(string(text)))
		require.NoError(b.t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", strings.TrimSuffix(b.URL, "/"))
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(r)
		require.NoError(b.t, err)
		defer func() { _ = res.Body.Close() }()
		got, err := io.ReadAll(res.Body)
		require.NoError(b.t, err)
		answer = string(got)
		return res.StatusCode < 300
	}, patience, 100*time.Millisecond, "%s", &answer)
	return answer
}
