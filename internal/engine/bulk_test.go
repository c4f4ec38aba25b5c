package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
)

func TestRetryFiveThousand(t *testing.T) {
	t.Parallel()
	const n = 5000
	q := newQueue(t)
	ctx := t.Context()
	ids := addMany(t, q, n, JobOptions{})
	w := startWorker(t, q, func(context.Context, *Job) (any, error) { return nil, errors.New("boom") }, func(o *WorkerOptions) { o.Concurrency = 50 })
	awaitCount(t, q, keys.Failed, n)
	if _, err := w.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	failed, err := q.IDs(ctx, keys.Failed, 0, n, time.Now())
	if err != nil || len(failed) != n {
		t.Fatalf("%d failed ids, %v", len(failed), err)
	}
	done, refused, err := q.Retry(ctx, keys.Failed, append(failed, "nowhere", ids[0]), false)
	if err != nil || len(done) != n || len(refused) != 2 {
		t.Fatalf("retried %d, refused %v, %v", len(done), refused, err)
	}
	if !errors.Is(refused[0].Err, ErrJobNotFound) || refused[0].ID != "nowhere" || !errors.Is(refused[1].Err, ErrWrongState) {
		t.Errorf("refusals = %v", refused)
	}
	if got, want := refused[1].Err.Error(), fmt.Sprintf("Job %s is not in the failed state. reprocessJob", ids[0]); got != want {
		t.Errorf("refusal = %q, want %q", got, want)
	}
	if c := counts(t, q); c[keys.Waiting] != n || c[keys.Failed] != 0 {
		t.Errorf("counts = %v", c)
	}
	startWorker(t, q, nothing, func(o *WorkerOptions) { o.Concurrency = 50 })
	awaitCount(t, q, keys.Completed, n)
}

func TestBulkActs(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	late := addMany(t, q, 3, JobOptions{Delay: time.Hour})
	ready := add(t, q, "ready", nil, JobOptions{})
	done, refused, err := q.Promote(ctx, []string{late[0], ready.ID})
	if err != nil || !slices.Equal(done, late[:1]) || len(refused) != 1 || !errors.Is(refused[0].Err, ErrWrongState) {
		t.Errorf("promote = %v, %v, %v", done, refused, err)
	}
	if err := q.PromoteJob(ctx, ready.ID); err == nil || err.Error() != fmt.Sprintf("Job %s is not in the delayed state. promote", ready.ID) {
		t.Errorf("promote a waiting job = %v", err)
	}
	w := newWorker(t, q, nothing, nil)
	held, err := w.NextJob(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done, refused, err = q.Remove(ctx, []string{held.ID, late[1], "nowhere"}, true)
	if err != nil || len(done) != 2 || len(refused) != 1 || !errors.Is(refused[0].Err, ErrLocked) {
		t.Errorf("remove = %v, %v, %v", done, refused, err)
	}
	if err := q.RemoveJob(ctx, held.ID, false); err == nil || err.Error() != fmt.Sprintf("Job %s could not be removed because it is locked by another worker", held.ID) {
		t.Errorf("remove a running job = %v", err)
	}
	if _, _, err := q.Retry(ctx, keys.Waiting, []string{ready.ID}, false); !errors.Is(err, ErrInvalid) {
		t.Errorf("retry waiting jobs = %v", err)
	}
	if err := w.FinishJob(ctx, held, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := q.RetryJob(ctx, keys.Completed, held.ID, true); err != nil {
		t.Errorf("retry a completed job: %v", err)
	}
	if got := read(t, q, held.ID); got.AttemptsMade != 0 || got.AttemptsStarted != 0 {
		t.Errorf("counters were not reset: %+v", got)
	}
}

func TestCleanAndDrain(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	ids := addMany(t, q, 25, JobOptions{})
	addMany(t, q, 2, JobOptions{Delay: time.Hour})
	addMany(t, q, 2, JobOptions{Priority: 1})
	cleaned, err := q.Clean(ctx, keys.Waiting, 0, 5)
	slices.Reverse(cleaned)
	if err != nil || !slices.Equal(cleaned, ids[:5]) {
		t.Errorf("clean = %v, %v, want the oldest five", cleaned, err)
	}
	if cleaned, err := q.Clean(ctx, keys.Waiting, time.Hour, 0); err != nil || len(cleaned) != 0 {
		t.Errorf("clean of jobs older than an hour = %v, %v", cleaned, err)
	}
	if cleaned, err := q.Clean(ctx, keys.Waiting, 0, 0); err != nil || len(cleaned) != 20 {
		t.Errorf("clean all = %d, %v", len(cleaned), err)
	}
	if _, err := q.Clean(ctx, keys.Waiting, -1, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("negative grace = %v", err)
	}
	if err := q.Drain(ctx, false); err != nil {
		t.Fatal(err)
	}
	if c := counts(t, q); c[keys.Prioritized] != 0 || c[keys.Delayed] != 2 {
		t.Errorf("after drain: %v", c)
	}
	if err := q.Drain(ctx, true); err != nil {
		t.Fatal(err)
	}
	if c := counts(t, q); c[keys.Delayed] != 0 {
		t.Errorf("after drain with delayed: %v", c)
	}
}

func TestObliterate(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	addMany(t, q, 5, JobOptions{})
	w := newWorker(t, q, nothing, nil)
	if _, err := w.NextJob(ctx); err != nil {
		t.Fatal(err)
	}
	if err := q.Obliterate(ctx, false); !errors.Is(err, ErrActiveJobs) || err.Error() != "Cannot obliterate queue with active jobs" {
		t.Errorf("obliterate with an active job = %v", err)
	}
	if paused, _ := q.IsPaused(ctx); !paused {
		t.Error("the queue is not paused after the refusal")
	}
	if err := q.Obliterate(ctx, true); err != nil {
		t.Fatal(err)
	}
	if left, _ := q.client.Keys(ctx, q.Base()+"*").Result(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
