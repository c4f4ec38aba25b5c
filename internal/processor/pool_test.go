package processor

import (
	"context"
	"errors"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/engine/presence"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// blocking opens clients for blocking reads on the shared server.
func blocking(name string) redis.UniversalClient {
	o := srv.Options()
	o.ClientName, o.MaxRetries, o.ReadTimeout = name, -1, 15*time.Second
	return redis.NewClient(o)
}

func newPool(t *testing.T) *Pool {
	t.Helper()
	p, err := NewPool(PoolOptions{Client: srv.Client(t), Blocking: blocking, Version: "test"})
	require.NoError(t, err)
	return p
}

func newQueue(t *testing.T, prefix, name string) *engine.Queue {
	t.Helper()
	q, err := engine.NewQueue(engine.QueueOptions{Client: srv.Client(t), Prefix: prefix, Name: name})
	require.NoError(t, err)
	return q
}

// start runs a pool of the given workers until the test ends.
func start(t *testing.T, p *Pool, workers ...WorkerConfig) {
	t.Helper()
	for _, c := range workers {
		require.NoError(t, p.Add(c))
	}
	require.NoError(t, p.Start(t.Context()))
}

// stop ends a pool within a grace.
func stop(t *testing.T, p *Pool, grace time.Duration) []HandedBack {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	back, err := p.Stop(ctx)
	require.NoError(t, err)
	return back
}

func add(t *testing.T, q *engine.Queue, data any, o engine.JobOptions) string {
	t.Helper()
	j, err := q.Add(t.Context(), "n", data, o)
	require.NoError(t, err)
	return j.ID
}

func awaitState(t *testing.T, q *engine.Queue, id string, want keys.State) *engine.Job {
	t.Helper()
	eventually(t, func() bool {
		s, err := q.State(t.Context(), id)
		require.NoError(t, err)
		return s == want
	})
	j, err := q.Job(t.Context(), id)
	require.NoError(t, err)
	return j
}

func TestPoolRunsAndAnnouncesItsWorkers(t *testing.T) {
	p, prefix := newPool(t), srv.Prefix()
	a, b := newQueue(t, prefix, "a"), newQueue(t, prefix, "b")
	echo := func(_ context.Context, j *engine.Job) (any, error) { return j.Data, nil }
	pol := policy.Policy{Concurrency: 3}
	start(t, p, WorkerConfig{Queue: a, Handler: echo, Policy: pol}, WorkerConfig{Queue: b, Handler: echo, Name: "bee"})

	require.Equal(t, `{"x":1}`, string(awaitState(t, a, add(t, a, map[string]int{"x": 1}, engine.JobOptions{}), keys.Completed).ReturnValue))
	j := awaitState(t, b, add(t, b, nil, engine.JobOptions{}), keys.Completed)
	require.Equal(t, "bee", j.ProcessedBy)
	require.Zero(t, p.Running())
	require.Empty(t, p.Unhealthy())

	c := srv.Client(t)
	var workers []presence.Worker
	eventually(t, func() bool {
		var err error
		workers, err = presence.Read(t.Context(), c, a.Queue)
		require.NoError(t, err)
		return len(workers) == 1
	})
	w := workers[0]
	require.Equal(t, DefaultName(), w.Name)
	require.Equal(t, hostname(), w.Host)
	require.NotZero(t, w.Process)
	require.Equal(t, 3, w.Concurrency)
	require.Equal(t, "test", w.Version)
	require.Equal(t, PolicyHash(pol), w.Policy)

	require.Len(t, p.Workers(a.Queue), 1)
	p.Workers(a.Queue)[0].SetConcurrency(9)
	require.NoError(t, p.say(presence.Announce))
	workers, err := presence.Read(t.Context(), c, a.Queue)
	require.NoError(t, err)
	require.Equal(t, 9, workers[0].Concurrency)

	require.Empty(t, stop(t, p, 5*time.Second))
	for _, q := range []*engine.Queue{a, b} {
		workers, err := presence.Read(t.Context(), c, q.Queue)
		require.NoError(t, err)
		require.Empty(t, workers)
	}
	require.Len(t, p.Unhealthy(), 2)
}

func TestPoolStopWaitsForRunningJobs(t *testing.T) {
	p := newPool(t)
	q := newQueue(t, srv.Prefix(), "q")
	started := make(chan struct{})
	start(t, p, WorkerConfig{Queue: q, Handler: func(ctx context.Context, _ *engine.Job) (any, error) {
		close(started)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
			return "done", nil
		}
	}})
	id := add(t, q, nil, engine.JobOptions{})
	<-started
	require.Equal(t, 1, p.Running())
	require.Empty(t, stop(t, p, 10*time.Second))
	awaitState(t, q, id, keys.Completed)
}

func TestPoolHandsBackWhatTheGraceDoesNotCover(t *testing.T) {
	p, prefix := newPool(t), srv.Prefix()
	q, idle := newQueue(t, prefix, "q"), newQueue(t, prefix, "idle")
	started := make(chan struct{})
	returned := make(chan error, 1)
	start(t, p, WorkerConfig{Queue: idle, Handler: func(context.Context, *engine.Job) (any, error) { return nil, nil }},
		WorkerConfig{Queue: q, Handler: func(ctx context.Context, _ *engine.Job) (any, error) {
			close(started)
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond) // cleans up after itself
			returned <- context.Cause(ctx)
			return nil, ctx.Err()
		}})
	id := add(t, q, nil, engine.JobOptions{Attempts: 1})
	<-started
	require.Equal(t, []HandedBack{{Queue: q.Queue, IDs: []string{id}}}, stop(t, p, 100*time.Millisecond))
	require.ErrorIs(t, <-returned, engine.ErrStopping, "Stop waits until the handler is out")
	j := awaitState(t, q, id, keys.Waiting)
	require.Zero(t, j.AttemptsMade)
}

func TestPoolStopSaysThatAHandlerHangs(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	q := newQueue(t, srv.Prefix(), "q")
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	start(t, p, WorkerConfig{Queue: q, Handler: func(context.Context, *engine.Job) (any, error) {
		close(started)
		<-release
		return nil, nil
	}})
	add(t, q, nil, engine.JobOptions{})
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	back, err := p.Stop(ctx)
	require.Len(t, back, 1)
	require.ErrorContains(t, err, "have not returned")
}

func TestPoolInterruptsBeforeTheGraceEnds(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	q := newQueue(t, srv.Prefix(), "q")
	started := make(chan struct{})
	start(t, p, WorkerConfig{Queue: q, Handler: func(ctx context.Context, _ *engine.Job) (any, error) {
		close(started)
		select {
		case <-p.Interrupt():
			return "interrupted", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	id := add(t, q, nil, engine.JobOptions{})
	<-started
	begin := time.Now()
	require.Empty(t, stop(t, p, time.Second))
	require.GreaterOrEqual(t, time.Since(begin), 400*time.Millisecond)
	require.Equal(t, `"interrupted"`, string(awaitState(t, q, id, keys.Completed).ReturnValue))
}

func TestPoolStartFailsAsAWhole(t *testing.T) {
	p := newPool(t)
	q := newQueue(t, srv.Prefix(), "q")
	none := func(context.Context, *engine.Job) (any, error) { return nil, nil }
	require.NoError(t, p.Add(WorkerConfig{Queue: q, Handler: none}))
	require.NoError(t, p.Add(WorkerConfig{Queue: q, Handler: none}))
	require.NoError(t, p.members[1].worker.Start(t.Context()))
	defer func() { _, _ = p.members[1].worker.Stop(t.Context()) }()
	require.ErrorContains(t, p.Start(t.Context()), "start worker of q")
	require.False(t, p.members[0].worker.Healthy())
}

func TestPoolNamesWhatIsMissing(t *testing.T) {
	_, err := NewPool(PoolOptions{Blocking: blocking})
	require.ErrorContains(t, err, "client")
	_, err = NewPool(PoolOptions{Client: srv.Client(t)})
	require.ErrorContains(t, err, "blocking")
	p := newPool(t)
	require.ErrorContains(t, p.Add(WorkerConfig{}), "queue")
	q := newQueue(t, srv.Prefix(), "q")
	h := func(context.Context, *engine.Job) (any, error) { return nil, nil }
	require.ErrorIs(t, p.Add(WorkerConfig{Queue: q, Handler: h, LockRenew: time.Hour}), engine.ErrInvalid)
}

// Announcements that fail must keep neither the workers from working nor the pool from stopping.
func TestPoolWorksThoughItCannotAnnounce(t *testing.T) {
	down := redis.NewClient(&redis.Options{Network: "unix", Addr: "/nonexistent", MaxRetries: -1})
	defer func() { _ = down.Close() }()
	p, err := NewPool(PoolOptions{Client: down, Blocking: blocking})
	require.NoError(t, err)
	q := newQueue(t, srv.Prefix(), "q")
	start(t, p, WorkerConfig{Queue: q, Handler: func(context.Context, *engine.Job) (any, error) {
		return nil, errors.New("no")
	}})
	awaitState(t, q, add(t, q, nil, engine.JobOptions{}), keys.Failed)
	require.Empty(t, stop(t, p, 5*time.Second))
}
