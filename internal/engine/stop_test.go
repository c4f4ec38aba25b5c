package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/google/go-cmp/cmp"
)

func TestStopWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	release := make(chan struct{})
	w := startWorker(t, q, func(context.Context, *Job) (any, error) { <-release; return "done", nil }, func(o *WorkerOptions) { o.Concurrency = 2 })
	ids := addMany(t, q, 4, JobOptions{})
	eventually(t, "two jobs run", func() bool { return w.Running() == 2 })
	stopped := make(chan []string)
	go func() {
		handedBack, err := w.Stop(context.Background())
		if err != nil {
			t.Errorf("stop: %v", err)
		}
		stopped <- handedBack
	}()
	eventually(t, "the worker takes no more", func() bool { return w.loop.waker.isClosed() })
	close(release)
	if handedBack := <-stopped; len(handedBack) != 0 {
		t.Errorf("handed back %v", handedBack)
	}
	for i, id := range ids {
		want := keys.Waiting
		if i < 2 {
			want = keys.Completed
		}
		if s := state(t, q, id); s != want {
			t.Errorf("job %s is %s, want %s", id, s, want)
		}
	}
	if w.Healthy() || w.Running() != 0 {
		t.Error("a stopped worker counts as healthy or running")
	}
}

func TestStopHandsBack(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var cause atomic.Value
	stuck := make(chan struct{})
	defer close(stuck)
	w := startWorker(t, q, func(ctx context.Context, j *Job) (any, error) {
		switch j.Name {
		case "obeys":
			<-ctx.Done()
			cause.Store(context.Cause(ctx))
			return nil, ctx.Err()
		case "succeeds":
			<-ctx.Done()
			return "just in time", nil
		}
		<-stuck
		return nil, nil
	}, func(o *WorkerOptions) { o.Concurrency = 3 })
	obeys := add(t, q, "obeys", nil, JobOptions{Attempts: 1})
	succeeds := add(t, q, "succeeds", nil, JobOptions{Attempts: 1})
	ignores := add(t, q, "ignores", nil, JobOptions{Attempts: 1, Priority: 7})
	eventually(t, "three jobs run", func() bool { return w.Running() == 3 })
	next := add(t, q, "next", nil, JobOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no grace
	handedBack, err := w.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(handedBack)
	if diff := cmp.Diff([]string{obeys.ID, ignores.ID}, handedBack); diff != "" {
		t.Errorf("handed back (-want +got):\n%s", diff)
	}
	if !errors.Is(cause.Load().(error), ErrStopping) {
		t.Errorf("cause = %v", cause.Load())
	}
	want := map[string]keys.State{obeys.ID: keys.Waiting, succeeds.ID: keys.Completed, ignores.ID: keys.Prioritized, next.ID: keys.Waiting}
	for id, s := range want {
		if got := state(t, q, id); got != s {
			t.Errorf("job %s is %s, want %s", id, got, s)
		}
	}
	if got := read(t, q, obeys.ID); got.AttemptsMade != 0 || got.FailedReason != "" {
		t.Errorf("handing back cost an attempt: %+v", got)
	}
	if n, _ := q.client.Exists(t.Context(), q.Lock(obeys.ID), q.Lock(ignores.ID)).Result(); n != 0 {
		t.Errorf("%d locks are left", n)
	}
	// The job handed back runs next, before the one that was behind it.
	var order []string
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) { order = append(order, j.Name); return nil, nil }, nil)
	awaitCount(t, q, keys.Completed, 4)
	if diff := cmp.Diff([]string{"obeys", "next", "ignores"}, order); diff != "" {
		t.Errorf("order of the others (-want +got):\n%s", diff)
	}
}

func TestStopWithoutRedis(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	q := queueOn(t, server.Client(t), "bull")
	release := make(chan struct{})
	w := newWorker(t, q, func(context.Context, *Job) (any, error) { <-release; return nil, nil }, func(o *WorkerOptions) {
		o.Blocking = blockingOn(server.Options())
	})
	run(t, w)
	j := add(t, q, "x", nil, JobOptions{})
	eventually(t, "the job runs", func() bool { return w.Running() == 1 })
	server.Kill()
	close(release)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := w.Stop(ctx)
	if err == nil || !strings.HasSuffix(err.Error(), ": "+j.ID) {
		t.Errorf("stop = %v, want an error that names job %s", err, j.ID)
	}
}

func TestStopIsIdempotent(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	w := newWorker(t, q, nothing, nil)
	for range 2 {
		if _, err := w.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Start(t.Context()); err == nil {
		t.Error("a stopped worker was started")
	}
	w = startWorker(t, q, nothing, nil)
	if err := w.Start(t.Context()); err == nil {
		t.Error("a worker was started twice")
	}
	for range 2 {
		if _, err := w.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	w.SetConcurrency(3) // must not hang
	if w.Cancel("x", nil) {
		t.Error("a stopped worker cancelled a job")
	}
}

func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ids := addMany(t, q, 2000, JobOptions{})
	var ran runs
	for _, stopAfter := range []int{100, 500} {
		h := func(_ context.Context, j *Job) (any, error) { ran.add(j.ID); return nil, nil }
		w := startWorker(t, q, h, func(o *WorkerOptions) { o.Concurrency = 20 })
		eventually(t, "some jobs are done", func() bool { return counts(t, q)[keys.Completed] > int64(stopAfter) })
		if _, err := w.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		if c := counts(t, q); c[keys.Active] != 0 || c[keys.Completed]+c[keys.Waiting] != 2000 {
			t.Fatalf("after a stop: %v", c)
		}
	}
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) { ran.add(j.ID); return nil, nil }, func(o *WorkerOptions) { o.Concurrency = 20 })
	awaitCount(t, q, keys.Completed, 2000)
	for _, id := range ids {
		if n := ran.of(id); n != 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	enough := errors.New("that is enough")
	w := startWorker(t, q, func(ctx context.Context, _ *Job) (any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}, nil)
	j := add(t, q, "x", nil, JobOptions{})
	eventually(t, "the job runs", func() bool { return w.Running() == 1 })
	if w.Cancel("another", enough) {
		t.Error("a job that does not run was cancelled")
	}
	if !w.Cancel(j.ID, enough) {
		t.Error("the running job was not found")
	}
	awaitState(t, q, j.ID, keys.Failed)
	if got := read(t, q, j.ID); got.FailedReason != "that is enough" {
		t.Errorf("reason = %q", got.FailedReason)
	}
}
