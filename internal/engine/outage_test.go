package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
)

// busy runs jobs while something is done to Redis, and checks that each ran exactly once.
func busy(t *testing.T, server *testredis.Server, disturb func(t *testing.T, c *redis.Client, done func() bool)) {
	t.Helper()
	const jobs = 300
	client := server.Client(t)
	q := queueOn(t, client, "bull")
	ids := addMany(t, q, jobs, JobOptions{})
	var ran runs
	var finished atomic.Int64
	logs := &logLines{}
	for i := range 2 {
		w := newWorker(t, queueOn(t, server.Client(t), "bull"), func(_ context.Context, j *Job) (any, error) {
			ran.add(j.ID)
			time.Sleep(2 * time.Millisecond)
			return nil, nil
		}, func(o *WorkerOptions) {
			o.Blocking, o.Concurrency, o.Name = blockingOn(server.Options()), 5, fmt.Sprint(i)
			o.Observer = observed{finished: func(Outcome) { finished.Add(1) }}
			o.Logger = logs.logger()
		})
		run(t, w)
	}
	eventually(t, "work has begun", func() bool { return finished.Load() > 20 })
	disturb(t, client, func() bool { return finished.Load() >= jobs })
	awaitCount(t, q, keys.Completed, jobs)
	for _, id := range ids {
		if n := ran.of(id); n != 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
	if n := logs.count("level=WARN"); n > 20 {
		t.Errorf("%d warnings were logged", n)
	}
	if n := logs.count("could not be finished"); n > 0 {
		t.Errorf("%d jobs could not be finished", n)
	}
}

func TestRedisRestarts(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	// With everysec Redis may answer before it has written, and then a kill takes back what a worker was told.
	if err := server.Client(t).ConfigSet(t.Context(), "appendfsync", "always").Err(); err != nil {
		t.Fatal(err)
	}
	busy(t, server, func(t *testing.T, _ *redis.Client, _ func() bool) { server.Restart(t) })
}

func TestScriptFlush(t *testing.T) {
	t.Parallel()
	busy(t, testredis.Start(t), func(t *testing.T, c *redis.Client, done func() bool) {
		eventually(t, "all jobs have finished", func() bool {
			if err := c.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			return done()
		})
	})
}

func TestClientKill(t *testing.T) {
	t.Parallel()
	busy(t, testredis.Start(t), func(t *testing.T, c *redis.Client, _ func() bool) {
		for range 10 {
			if err := c.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond) // lets work go on in between; nothing depends on how much
		}
	})
}

// TestRedisIsAway checks that a worker without Redis is quiet, unhealthy, and back at work soon after.
func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	q := queueOn(t, server.Client(t), "bull")
	logs := &logLines{}
	w := newWorker(t, q, nothing, func(o *WorkerOptions) {
		o.Blocking, o.DrainDelay, o.Logger = blockingOn(server.Options()), 100*time.Millisecond, logs.logger()
	})
	run(t, w)
	eventually(t, "the worker is healthy", w.Healthy)
	server.Kill()
	eventually(t, "the worker is unhealthy", func() bool { return !w.Healthy() })
	time.Sleep(1500 * time.Millisecond) // the time in which log lines are counted
	if n := logs.count("level="); n > 5 {
		t.Errorf("%d lines were logged while Redis was away", n)
	}
	server.Restart(t)
	j := add(t, q, "x", nil, JobOptions{})
	awaitState(t, q, j.ID, keys.Completed)
	eventually(t, "the worker is healthy again", w.Healthy)
}

// TestRedisCannotWrite has Redis refuse writes while jobs end: out of memory, and as a replica. Nothing is lost and
// nothing runs twice once it takes writes again.
func TestRedisCannotWrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		setting          string
		refuse, takeBack string
	}{
		{"out of memory", "maxmemory", "1", "0"},
		{"not enough replicas", "min-replicas-to-write", "1", "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := testredis.Start(t)
			client := server.Client(t)
			q := queueOn(t, client, "bull")
			ends := map[string]error{
				"completes": nil, "retries": errors.New("boom"), "retries later": RetryAfter(time.Millisecond, errors.New("boom")),
				"delays": DelayJob(time.Millisecond), "limits": RateLimit(time.Millisecond),
			}
			ids := map[string]string{}
			for name := range ends {
				ids[name] = add(t, q, name, nil, JobOptions{Attempts: 2}).ID
			}
			var ran runs
			outcomes := make(chan Outcome, 100)
			release := make(chan struct{})
			w := newWorker(t, q, func(_ context.Context, j *Job) (any, error) {
				if ran.add(j.ID) > 1 {
					return nil, nil
				}
				<-release
				return nil, ends[j.Name]
			}, func(o *WorkerOptions) {
				o.Blocking, o.Concurrency = blockingOn(server.Options()), len(ends)
				o.Observer = observed{finished: func(o Outcome) { outcomes <- o }}
			})
			run(t, w)
			eventually(t, "all jobs run", func() bool { return w.Running() == len(ends) })
			if err := client.ConfigSet(t.Context(), tt.setting, tt.refuse).Err(); err != nil {
				t.Fatal(err)
			}
			close(release)
			eventually(t, "the worker notices", func() bool { return !w.Healthy() && w.Running() == 0 })
			if err := client.ConfigSet(t.Context(), tt.setting, tt.takeBack).Err(); err != nil {
				t.Fatal(err)
			}
			awaitCount(t, q, keys.Completed, int64(len(ends)))
			for range 2*len(ends) - 1 {
				if o := <-outcomes; o == OutcomeLost || o == OutcomeFailed {
					t.Errorf("outcome %s", o)
				}
			}
			for name, id := range ids {
				want := 2
				if name == "completes" {
					want = 1
				}
				if n := ran.of(id); n != want {
					t.Errorf("job that %s ran %d times, want %d", name, n, want)
				}
			}
		})
	}
}

// TestOutOfMemoryIsAllOrNothing tries every transition that takes a job from one place to another while Redis is out of
// memory. Redis refuses a script or lets it finish, by what it writes first: none may stop half-way.
func TestOutOfMemoryIsAllOrNothing(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	client := server.Client(t)
	ctx := t.Context()
	tests := []struct {
		name  string
		state keys.State
		act   func(q *Queue, w *Worker, j *Job) error
	}{
		{"promote", keys.Delayed, func(q *Queue, _ *Worker, j *Job) error { return q.PromoteJob(ctx, j.ID) }},
		{"promote when due", keys.Delayed, func(q *Queue, w *Worker, _ *Job) error {
			q.clock = func() time.Time { return time.Now().Add(2 * time.Hour) }
			_, err := w.NextJob(ctx)
			return err
		}},
		{"change delay", keys.Delayed, func(q *Queue, _ *Worker, j *Job) error { return q.ChangeDelay(ctx, j.ID, time.Minute) }},
		{"change priority", keys.Waiting, func(q *Queue, _ *Worker, j *Job) error { return q.ChangePriority(ctx, j.ID, 3, false) }},
		{"take", keys.Waiting, func(_ *Queue, w *Worker, _ *Job) error {
			_, err := w.NextJob(ctx)
			return err
		}},
		{"complete", keys.Active, func(_ *Queue, w *Worker, j *Job) error { return w.FinishJob(ctx, j, nil, nil) }},
		{"fail", keys.Active, func(_ *Queue, w *Worker, j *Job) error { return w.FinishJob(ctx, j, nil, Unrecoverable(io.EOF)) }},
		{"retry at once", keys.Active, func(_ *Queue, w *Worker, j *Job) error { return w.FinishJob(ctx, j, nil, io.EOF) }},
		{"retry later", keys.Active, func(_ *Queue, w *Worker, j *Job) error {
			return w.FinishJob(ctx, j, nil, RetryAfter(time.Hour, io.EOF))
		}},
		{"delay", keys.Active, func(_ *Queue, w *Worker, j *Job) error { return w.FinishJob(ctx, j, nil, DelayJob(time.Hour)) }},
		{"give back", keys.Active, func(_ *Queue, _ *Worker, j *Job) error { return j.MoveToWait(ctx) }},
		{"retry a finished job", keys.Failed, func(q *Queue, _ *Worker, j *Job) error { return q.RetryJob(ctx, keys.Failed, j.ID, false) }},
		{"recover a stalled job", keys.Active, func(q *Queue, w *Worker, j *Job) error {
			q.client.Del(ctx, q.Lock(j.ID))
			q.client.SAdd(ctx, q.Stalled(), j.ID)
			return w.checkStalls(ctx)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := queueOn(t, client, server.Prefix())
			w := newWorker(t, q, nothing, nil)
			options := JobOptions{Attempts: 2}
			if tt.state == keys.Delayed {
				options.Delay = time.Hour
			}
			j := add(t, q, "x", nil, options)
			if tt.state == keys.Active || tt.state == keys.Failed {
				var err error
				if j, err = w.NextJob(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if tt.state == keys.Failed {
				if err := w.FinishJob(ctx, j, nil, Unrecoverable(io.EOF)); err != nil {
					t.Fatal(err)
				}
			}
			if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
				t.Fatal(err)
			}
			err := tt.act(q, w, j)
			if err := client.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
				t.Fatal(err)
			}
			after := state(t, q, j.ID)
			switch {
			case err == nil && (after == tt.state || after == keys.Unknown):
				t.Errorf("no error, but the job is %s", after)
			case err != nil && (after != tt.state || !strings.Contains(err.Error(), "OOM")):
				t.Errorf("%v, but the job is %s", err, after)
			}
			if locked := client.Exists(ctx, q.Lock(j.ID)).Val() == 1; locked != (after == keys.Active) && !strings.Contains(tt.name, "stalled") {
				t.Errorf("the job is %s, its lock exists: %t", after, locked)
			}
		})
	}
}

// TestHalfOpenConnections checks that connections on which nothing arrives any more do not stop a worker.
func TestHalfOpenConnections(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	p := newProxy(t, srv)
	o := p.options()
	o.ReadTimeout = 200 * time.Millisecond
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	w := newWorker(t, queueOn(t, client, q.Prefix), nothing, func(w *WorkerOptions) {
		w.Blocking, w.DrainDelay = blockingOn(p.options()), 100*time.Millisecond
	})
	run(t, w)
	eventually(t, "the worker is healthy", w.Healthy)
	p.freeze()
	eventually(t, "the worker notices", func() bool { return !w.Healthy() })
	j := add(t, q, "x", nil, JobOptions{})
	p.thaw()
	awaitState(t, q, j.ID, keys.Completed)
}

func TestBlockingConnectionHangs(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	p := newProxy(t, srv)
	var opened atomic.Int64
	startWorker(t, q, nothing, func(o *WorkerOptions) {
		blocking := blockingOn(p.options())
		o.DrainDelay = 100 * time.Millisecond
		o.Blocking = func(name string) redis.UniversalClient { opened.Add(1); return blocking(name) }
	})
	eventually(t, "the worker waits", func() bool { return opened.Load() == 1 })
	p.freeze()
	j := add(t, q, "x", nil, JobOptions{})
	awaitState(t, q, j.ID, keys.Completed) // by its poll
	eventually(t, "the watchdog opens another connection", func() bool { return opened.Load() > 1 })
}
