package web

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// commandCount counts what a client asks of Redis, each command of a pipeline.
type commandCount struct{ n atomic.Int64 }

func (c *commandCount) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *commandCount) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.n.Add(1); return next(ctx, cmd) }
}

func (c *commandCount) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.n.Add(int64(len(cmds))); return next(ctx, cmds) }
}

// TestLiveJobPagesAreReadWhenSomethingMoved: an open page of a job costs Redis nothing while nothing happens to it.
func TestLiveJobPagesAreReadWhenSomethingMoved(t *testing.T) {
	b := newBench(t)
	asked := &commandCount{}
	b.client.AddHook(asked)
	id := b.ended(b.queue, keys.Failed, 1, "send", "boom", `{}`)[0]
	b.recount()
	topic, err := b.topicAt("/queues/email/jobs/"+id, Identity{Role: Admin})
	require.NoError(t, err)
	draw := func() (map[string]string, int64) {
		before := asked.n.Load()
		drawn := b.drawTopic(t.Context(), topic, b.monitor.Snapshot())
		return drawn, asked.n.Load() - before
	}
	first, n := draw()
	require.Positive(t, n)
	has(t, first["head"], "boom")
	again, n := draw()
	require.Zero(t, n, "nothing has happened in the queue")
	require.Equal(t, first["steps"], again["steps"])

	b.add(1, engine.JobOptions{})
	b.recount()
	_, n = draw()
	require.EqualValues(t, 1, n, "something has, so the record is read, and that is as it was")
	require.NoError(t, b.client.HSet(t.Context(), b.queue.JobKey(id), "failedReason", "bang").Err())
	b.add(1, engine.JobOptions{})
	b.recount()
	moved, n := draw()
	require.Greater(t, n, int64(1))
	has(t, moved["head"], "bang")
	b.touch()
	_, n = draw()
	require.Greater(t, n, int64(1), "somebody acted here")
}

// TestLiveLogsOfARunningJob: rows come at once although nothing else moves, and also where only so many are kept.
func TestLiveLogsOfARunningJob(t *testing.T) {
	b := newBench(t)
	id := b.add(1, engine.JobOptions{})[0]
	ctx := t.Context()
	require.NoError(t, b.client.LMove(ctx, b.queue.Key("wait"), b.queue.Key("active"), "right", "left").Err())
	logs := b.queue.JobKey(id) + ":logs"
	require.NoError(t, b.client.RPush(ctx, logs, "row one").Err())
	b.recount()
	topic, err := b.topicAt("/queues/email/jobs/"+id, Identity{Role: Admin})
	require.NoError(t, err)
	draw := func() map[string]string { return b.drawTopic(ctx, topic, b.monitor.Snapshot()) }
	has(t, draw()["logs"], "row one")
	require.NoError(t, b.client.LSet(ctx, logs, 0, "row two").Err())
	has(t, draw()["logs"], "row two")
	require.NoError(t, b.client.HSet(ctx, b.queue.JobKey(id), "progress", "42").Err())
	has(t, draw()["payloads"], "42")
	require.NoError(t, b.client.LMove(ctx, b.queue.Key("active"), b.queue.Key("wait"), "right", "left").Err())
	has(t, draw()["head"], "Ready to run")
}
