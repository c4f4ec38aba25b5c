package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
)

func TestManualFetch(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	w := newWorker(t, q, nothing, nil)
	ids := addMany(t, q, 2, JobOptions{Attempts: 2})

	j, err := w.NextJob(t.Context())
	if err != nil || j == nil || j.ID != ids[0] {
		t.Fatalf("NextJob = %v, %v", j, err)
	}
	if err := j.ExtendLock(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if left := q.client.PTTL(t.Context(), q.Lock(j.ID)).Val(); left < 50*time.Minute {
		t.Errorf("lock lasts %s", left)
	}
	if err := w.FinishJob(t.Context(), j, "done", nil); err != nil {
		t.Fatal(err)
	}
	if got := string(read(t, q, j.ID).ReturnValue); got != `"done"` {
		t.Errorf("return value = %s", got)
	}
	if err := w.FinishJob(t.Context(), j, nil, nil); !errors.Is(err, ErrLockMissing) {
		t.Errorf("second end = %v", err)
	}
	if err := j.ExtendLock(t.Context(), time.Hour); !errors.Is(err, ErrLockMismatch) {
		t.Errorf("extending a lock that is gone = %v", err)
	}

	j, _ = w.NextJob(t.Context())
	if err := w.FinishJob(t.Context(), j, nil, errors.New("once")); err != nil {
		t.Fatal(err)
	}
	if s := state(t, q, j.ID); s != keys.Waiting {
		t.Errorf("after a failed attempt: %s", s)
	}
}

func TestRunOnce(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var got string
	w := newWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		got = j.ID
		return nil, nil
	}, nil)
	if j, err := w.RunOnce(t.Context()); j != nil || err != nil {
		t.Fatalf("RunOnce of an empty queue = %v, %v", j, err)
	}
	ids := addMany(t, q, 2, JobOptions{})
	if j, err := w.RunOnce(t.Context()); err != nil || j.ID != ids[0] || got != ids[0] {
		t.Fatalf("RunOnce = %v, %v; the handler got %q", j, err, got)
	}
	if s := state(t, q, ids[0]); s != keys.Completed {
		t.Errorf("job is %s", s)
	}
	if s := state(t, q, ids[1]); s != keys.Waiting {
		t.Errorf("the other job is %s", s)
	}
}

func TestRunOnceSaysThatTheJobWasLost(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	w := newWorker(t, q, func(ctx context.Context, j *Job) (any, error) {
		return nil, q.client.Del(ctx, q.Lock(j.ID)).Err()
	}, nil)
	j := add(t, q, "a", nil, JobOptions{})
	_, err := w.RunOnce(t.Context())
	var code *CodeError
	if !errors.As(err, &code) || code.Code != -2 {
		t.Fatalf("RunOnce = %v", err)
	}
	if s := state(t, q, j.ID); s != keys.Active {
		t.Errorf("job is %s", s)
	}
}
