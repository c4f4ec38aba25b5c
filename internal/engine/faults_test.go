package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
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
			w := newWorker(t, queueOn(t, p.client(t), q.Prefix), func(_ context.Context, j *Job) (any, error) {
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

// TestLostReplyOfADamagedJob loses the reply about a job whose hash is a text by then. It cannot be read to tell what
// became of it, and must not hold up the others.
func TestLostReplyOfADamagedJob(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	if err := q.runner.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	damaged := add(t, q, "breaks", nil, JobOptions{})
	rest := addMany(t, q, 5, JobOptions{})
	p := newProxy(t, srv)
	outcomes := make(chan Outcome, 100)
	w := newWorker(t, queueOn(t, p.client(t), q.Prefix), func(ctx context.Context, j *Job) (any, error) {
		if j.Name == "breaks" {
			key := q.JobKey(j.ID)
			if err := errors.Join(q.client.Del(ctx, key).Err(), q.client.Set(ctx, key, "text", 0).Err()); err != nil {
				t.Error(err)
			}
			p.loseReply(j.token)
		}
		return nil, nil
	}, func(o *WorkerOptions) {
		o.Observer = observed{finished: func(o Outcome) { outcomes <- o }}
	})
	run(t, w)
	for _, id := range rest {
		awaitState(t, q, id, keys.Completed)
	}
	got := map[Outcome]int{}
	for range 1 + len(rest) {
		got[<-outcomes]++
	}
	if p.lost() != 1 || got[OutcomeLost] != 1 || got[OutcomeCompleted] != len(rest) {
		t.Errorf("%d replies were lost and the outcomes are %v, of job %s too", p.lost(), got, damaged.ID)
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
		if slices.Contains(ids[:3], j.ID) {
			time.Sleep(1100 * time.Millisecond) // the worker searches again once a second, and must know what it has
		}
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
	if err != nil || len(handedBack) != 0 || p.lost() != 1 {
		t.Errorf("handed back in mid-run %v, %v, %d replies lost", handedBack, err, p.lost())
	}
	if c := counts(t, q); c[keys.Waiting] != 5 || c[keys.Active] != 0 {
		t.Errorf("counts = %v", c)
	}
}

// brief are locks and checks short enough to watch a lock expire that nobody renews.
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
		o.StalledInterval, o.DrainDelay, o.Name = 100*time.Millisecond, 50*time.Millisecond, "heir"
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
	startWorker(t, q, nothing, func(o *WorkerOptions) { o.StalledInterval = 100 * time.Millisecond })
	awaitState(t, q, j.ID, keys.Failed)
	if got := read(t, q, j.ID); got.FailedReason != "job stalled more than allowable limit" || got.StalledCount != 2 || got.AttemptsMade != 1 {
		t.Errorf("reason %q, stalled %d, made %d", got.FailedReason, got.StalledCount, got.AttemptsMade)
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
