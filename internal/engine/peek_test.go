package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

func TestPeekCutsPayloads(t *testing.T) {
	ctx := context.Background()
	client := testredis.Start(t).Client(t)
	q, err := engine.NewQueue(engine.QueueOptions{Client: client, Name: "peek"})
	require.NoError(t, err)
	big := map[string]string{"x": strings.Repeat("é", 1<<20)}
	job, err := q.Add(ctx, "report", big, engine.JobOptions{Delay: time.Hour})
	require.NoError(t, err)
	_, err = job.Log(ctx, "one")
	require.NoError(t, err)

	p, err := q.Peek(ctx, job.ID, 100, true)
	require.NoError(t, err)
	require.Equal(t, keys.Delayed, p.State)
	require.Len(t, p.Data, 100)
	require.EqualValues(t, 2<<20+8, p.Sizes["data"])
	require.NoError(t, p.Fault(), "a cut text is not judged")
	require.EqualValues(t, 1, p.Logs)
	require.WithinDuration(t, time.Now().Add(time.Hour), p.Due, time.Minute)
	require.Negative(t, p.Locked)
	p, err = q.Peek(ctx, job.ID, 100, false)
	require.NoError(t, err)
	require.Empty(t, p.Fields["data"], "a long payload is left out")
	require.EqualValues(t, 2<<20+8, p.Sizes["data"])
	require.NoError(t, p.Fault())

	for _, id := range []string{"nothing", "meta", "wait"} {
		_, err = q.Peek(ctx, id, 100, true)
		require.ErrorIs(t, err, engine.ErrJobNotFound, id)
	}
	client.Del(ctx, q.Queue.Job(job.ID))
	p, err = q.Peek(ctx, job.ID, 100, true)
	require.NoError(t, err, "a listed job without a hash is still shown")
	require.Empty(t, p.Fields)
}

func TestJobEventsAreBounded(t *testing.T) {
	ctx := context.Background()
	client := testredis.Start(t).Client(t)
	q, err := engine.NewQueue(engine.QueueOptions{Client: client, Name: "events"})
	require.NoError(t, err)
	start := time.Now().Add(-time.Second)
	first, err := q.Add(ctx, "a", nil, engine.JobOptions{})
	require.NoError(t, err)
	specs := make([]engine.JobSpec, 700)
	for i := range specs {
		specs[i].Name = "other"
	}
	_, err = q.AddBulk(ctx, specs)
	require.NoError(t, err)
	_, _, err = q.Remove(ctx, []string{first.ID}, false)
	require.NoError(t, err)

	names := func(budget int) (out []string, whole bool) {
		got, err := q.JobEvents(ctx, first.ID, start, time.Now().Add(time.Second), budget)
		require.NoError(t, err)
		for _, e := range got.Events {
			out = append(out, e.Name)
		}
		return out, got.Whole
	}
	got, whole := names(10_000)
	require.Equal(t, []string{"added", "waiting", "removed"}, got)
	require.True(t, whole)
	got, whole = names(600)
	require.Equal(t, []string{"added", "waiting"}, got)
	require.False(t, whole)
}
