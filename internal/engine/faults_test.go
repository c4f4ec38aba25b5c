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

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// TestLostReply loses the reply of the very script that ends a job, after it ran. The job must end once, as decided,
// and the job taken in the same step must be found again.
func TestLostReply(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := []struct {
		name    string
		options JobOptions
		first   error // of the first run; later ones succeed
		state   keys.State
		runs    int
		made    int
		outcome []Outcome
	}{
		{"completed", JobOptions{}, nil, keys.Completed, 1, 1, []Outcome{OutcomeCompleted}},
		{"completed and removed", JobOptions{KeepCompleted: KeepCount(0)}, nil, keys.Unknown, 1, 0, []Outcome{OutcomeCompleted}},
		{"failed", JobOptions{}, boom, keys.Failed, 1, 1, []Outcome{OutcomeFailed}},
		{"retried", JobOptions{Attempts: 2}, boom, keys.Completed, 2, 2, []Outcome{OutcomeRetried, OutcomeCompleted}},
		{"retried later", JobOptions{Attempts: 2, Backoff: &Backoff{Type: "fixed", Delay: 20 * time.Millisecond}}, boom, keys.Completed, 2, 2, []Outcome{OutcomeRetried, OutcomeCompleted}},
		{"delayed", JobOptions{}, DelayJob(20 * time.Millisecond), keys.Completed, 2, 1, []Outcome{OutcomeDelayed, OutcomeCompleted}},
		{"rate limited", JobOptions{}, RateLimit(20 * time.Millisecond), keys.Completed, 2, 1, []Outcome{OutcomeRateLimited, OutcomeCompleted}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t)
			if err := q.runner.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			j := add(t, q, "breaks", nil, tt.options)
			rest := addMany(t, q, 5, JobOptions{})
			p := newProxy(t, srv)
			var ran runs
			outcomes := make(chan Outcome, 100)
			var w *Worker
			w = newWorker(t, queueOn(t, p.client(t), q.Prefix), func(_ context.Context, j *Job) (any, error) {
				if ran.add(j.ID) == 1 && j.Name == "breaks" {
					p.loseReply(j.token)
					return nil, tt.first
				}
				return nil, nil
			}, func(o *WorkerOptions) {
				o.Observer = observed{finished: func(o Outcome) { outcomes <- o }}
			})
			run(t, w)
			awaitState(t, q, j.ID, tt.state)
			for _, id := range rest {
				awaitState(t, q, id, keys.Completed)
				if n, stalls := ran.of(id), read(t, q, id).StalledCount; n != 1 || stalls != 0 {
					t.Errorf("job %s ran %d times and stalled %d times, want once and never", id, n, stalls)
				}
			}
			if p.lost() != 1 {
				t.Fatalf("%d replies were lost, want 1", p.lost())
			}
			if n := ran.of(j.ID); n != tt.runs {
				t.Errorf("ran %d times, want %d", n, tt.runs)
			}
			if tt.state != keys.Unknown {
				if got := read(t, q, j.ID); got.AttemptsMade != tt.made || got.StalledCount != 0 {
					t.Errorf("made %d, stalled %d; want %d, 0", got.AttemptsMade, got.StalledCount, tt.made)
				}
			}
			var got []Outcome
			for range len(tt.outcome) + len(rest) {
				if o := <-outcomes; o != OutcomeCompleted {
					got = append(got, o)
				}
			}
			want := tt.outcome
			if want[len(want)-1] == OutcomeCompleted {
				want = want[:len(want)-1]
			}
			if diff := cmp.Diff(append([]Outcome{}, want...), append([]Outcome{}, got...)); diff != "" {
				t.Errorf("outcomes other than completed (-want +got):\n%s", diff)
			}
		})
	}
}

// run starts a worker that is stopped in the test's cleanup.
func run(t testing.TB, w *Worker) {
	t.Helper()
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, _ = w.Stop(ctx)
	})
}

func TestLostReplyOfFetch(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	if err := q.runner.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids := addMany(t, q, 8, JobOptions{})
	p := newProxy(t, srv)
	var ran runs
	var most, now atomic.Int64
	w := newWorker(t, queueOn(t, p.client(t), q.Prefix), func(_ context.Context, j *Job) (any, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		ran.add(j.ID)
		return nil, nil
	}, func(o *WorkerOptions) { o.Concurrency = 3 })
	p.loseReply(w.id)
	run(t, w)
	awaitCount(t, q, keys.Completed, 8)
	if p.lost() != 1 {
		t.Fatalf("%d replies were lost, want 1", p.lost())
	}
	for _, id := range ids {
		if n, stalls := ran.of(id), read(t, q, id).StalledCount; n != 1 || stalls != 0 {
			t.Errorf("job %s ran %d times and stalled %d times", id, n, stalls)
		}
	}
	if most.Load() > 3 {
		t.Errorf("%d handlers ran at once, want at most 3", most.Load())
	}
}

// TestStopAfterLostReply stops a worker that does not know yet what its fetch took: it looks before it ends.
func TestStopAfterLostReply(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	if err := q.runner.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	addMany(t, q, 5, JobOptions{})
	p := newProxy(t, srv)
	w := newWorker(t, queueOn(t, p.client(t), q.Prefix), nothing, func(o *WorkerOptions) { o.Concurrency = 3 })
	p.loseReply(w.id)
	w.loop.depart(time.Now(), 0) // the first fetch is under way when the worker is told to stop
	w.loop.stop()
	run(t, w)
	handedBack, err := w.Stop(t.Context())
	if err != nil || len(handedBack) != 3 || p.lost() != 1 {
		t.Errorf("handed back %v, %v, %d replies lost", handedBack, err, p.lost())
	}
	if c := counts(t, q); c[keys.Waiting] != 5 || c[keys.Active] != 0 {
		t.Errorf("counts = %v", c)
	}
}

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

// brief are locks and checks short enough to watch them expire.
func brief(o *WorkerOptions) {
	o.LockDuration, o.StalledInterval, o.DrainDelay = 300*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond
}

// TestWorkerDies cuts a worker off in mid-job, as a SIGKILL or a lost network does: another runs the job, and what the
// first says later changes nothing.
func TestWorkerDies(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	p := newProxy(t, srv)
	var dying, heir *Worker
	started, cause := make(chan struct{}), make(chan error, 1)
	outcomes := make(chan Outcome, 1)
	dying = newWorker(t, queueOn(t, p.client(t), q.Prefix), func(ctx context.Context, _ *Job) (any, error) {
		close(started)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return "first", nil
	}, func(o *WorkerOptions) {
		brief(o)
		o.Name, o.Blocking = "dying", blockingOn(p.options())
		o.Observer = observed{finished: func(o Outcome) { outcomes <- o }}
	})
	run(t, dying)
	j := add(t, q, "x", nil, JobOptions{})
	<-started
	p.sever()
	heir = newWorker(t, q, func(context.Context, *Job) (any, error) { return "second", nil }, func(o *WorkerOptions) {
		brief(o)
		o.Name = "heir"
	})
	run(t, heir)
	awaitState(t, q, j.ID, keys.Completed)
	p.mend()
	if err := <-cause; !errors.Is(err, ErrLockLost) {
		t.Errorf("the first handler was cancelled with %v", err)
	}
	if o := <-outcomes; o != OutcomeLost {
		t.Errorf("the first attempt ended %s", o)
	}
	got := read(t, q, j.ID)
	if string(got.ReturnValue) != `"second"` || got.StalledCount != 1 || got.AttemptsMade != 1 || got.ProcessedBy != "heir" {
		t.Errorf("job = %s by %s, stalled %d, made %d", got.ReturnValue, got.ProcessedBy, got.StalledCount, got.AttemptsMade)
	}
	if diff := cmp.Diff([]string{"added", "waiting", "active", "waiting", "stalled", "active", "completed"}, events(t, q, j.ID)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestStalledOnceTooOften(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	j := add(t, q, "x", nil, JobOptions{Attempts: 3})
	abandon := newWorker(t, q, nothing, brief)
	for range 2 { // takes the job twice and never ends it
		eventually(t, "the job can be taken", func() bool {
			if err := abandon.checkStalls(ctx); err != nil {
				t.Fatal(err)
			}
			taken, err := abandon.NextJob(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return taken != nil
		})
	}
	startWorker(t, q, nothing, brief)
	awaitState(t, q, j.ID, keys.Failed)
	if got := read(t, q, j.ID); got.FailedReason != "job stalled more than allowable limit" || got.StalledCount != 2 || got.AttemptsMade != 1 {
		t.Errorf("reason %q, stalled %d, made %d", got.FailedReason, got.StalledCount, got.AttemptsMade)
	}
}

func TestLocksAreRenewed(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	release := make(chan struct{})
	startWorker(t, q, func(ctx context.Context, _ *Job) (any, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil, context.Cause(ctx)
	}, func(o *WorkerOptions) {
		brief(o)
		o.Concurrency = 3
	})
	ids := addMany(t, q, 3, JobOptions{})
	awaitCount(t, q, keys.Active, 3)
	time.Sleep(3 * 300 * time.Millisecond) // several lifetimes of a lock
	close(release)
	awaitCount(t, q, keys.Completed, 3)
	for _, id := range ids {
		if got := read(t, q, id); got.StalledCount != 0 || got.AttemptsStarted != 1 {
			t.Errorf("job %s stalled %d times and started %d times", id, got.StalledCount, got.AttemptsStarted)
		}
	}
}

func TestStolenLockCancelsTheHandler(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	cause := make(chan error, 1)
	lost := make(chan int, 1)
	startWorker(t, q, func(ctx context.Context, _ *Job) (any, error) {
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, ctx.Err()
	}, func(o *WorkerOptions) {
		o.LockDuration, o.Observer = 300*time.Millisecond, observed{lost: func(n int) { lost <- n }}
	})
	j := add(t, q, "x", nil, JobOptions{Attempts: 3})
	awaitState(t, q, j.ID, keys.Active)
	q.client.Set(t.Context(), q.Lock(j.ID), "somebody else", time.Minute)
	if err := <-cause; !errors.Is(err, ErrLockLost) {
		t.Errorf("cause = %v", err)
	}
	if n := <-lost; n != 1 {
		t.Errorf("%d locks lost, want 1", n)
	}
	if got := read(t, q, j.ID); got.AttemptsMade != 0 || state(t, q, j.ID) != keys.Active {
		t.Errorf("job of another was touched: %+v", got)
	}
}
