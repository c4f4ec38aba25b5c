package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
)

func TestLiftedLimitIsNoticedByLooking(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	if err := q.RateLimit(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	w := startWorker(t, q, func(context.Context, *Job) (any, error) { return nil, nil }, nil)
	j := add(t, q, "n", nil, JobOptions{})
	if left, err := q.ManualRateLimit(t.Context()); err != nil || left < 59*time.Minute {
		t.Fatalf("the limit lasts %s, %v", left, err)
	}
	eventually(t, "the worker has met the limit", func() bool { return w.Healthy() })
	if s := state(t, q, j.ID); s != keys.Waiting {
		t.Fatalf("the job of a limited queue is %s", s)
	}
	if err := q.RemoveRateLimit(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	w.Look()
	awaitState(t, q, j.ID, keys.Completed)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s, as if the worker had slept on", took)
	}
	if left, err := q.ManualRateLimit(t.Context()); err != nil || left != 0 {
		t.Errorf("the limit lasts %s, %v", left, err)
	}
}

func TestNewLimiterDoesNotWaitForTheOldWindow(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	w := startWorker(t, q, func(context.Context, *Job) (any, error) { return nil, nil }, func(o *WorkerOptions) {
		o.Concurrency, o.Limiter = 5, &Limiter{Max: 1, Duration: time.Hour}
	})
	addMany(t, q, 20, JobOptions{})
	awaitCount(t, q, keys.Completed, 1)
	if err := q.ShortenRateLimitWindow(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := w.SetLimiter(&Limiter{Max: 10, Duration: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	awaitCount(t, q, keys.Completed, 20)
}

func TestShortenedWindow(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		value    any
		left     time.Duration
		most     time.Duration
		shortens bool
	}{
		"longer":  {3, time.Hour, time.Second, true},
		"shorter": {3, time.Minute, time.Hour, false},
		"by hand": {int64(manualLimit), time.Hour, time.Second, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t)
			if err := q.client.Set(t.Context(), q.Limiter(), tt.value, tt.left).Err(); err != nil {
				t.Fatal(err)
			}
			if err := q.ShortenRateLimitWindow(t.Context(), tt.most); err != nil {
				t.Fatal(err)
			}
			left := q.client.PTTL(t.Context(), q.Limiter()).Val()
			if shortened := left <= tt.most && left > 0; shortened != (tt.shortens || tt.left <= tt.most) {
				t.Errorf("%s are left", left)
			}
		})
	}
}

func TestBackoffAndKeepChangeWhileRunning(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	w := startWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		if j.Name == "fail" {
			return nil, errors.New("boom")
		}
		return nil, nil
	}, nil)
	custom := JobOptions{Attempts: 2, Backoff: &Backoff{Type: "custom"}}
	first := add(t, q, "fail", nil, custom)
	awaitState(t, q, first.ID, keys.Failed) // there is no strategy

	w.SetBackoff(func(int, string, error, *Job) time.Duration { return 3 * time.Hour }, time.Hour)
	second := add(t, q, "fail", nil, custom)
	awaitState(t, q, second.ID, keys.Delayed)
	if due, err := q.Due(t.Context(), second.ID); err != nil || time.Until(due) > time.Hour {
		t.Errorf("due %v, %v; want it cut to an hour", due, err)
	}

	none := int64(0)
	w.SetKeep(&Keep{Count: &none}, &Keep{Count: &none})
	third, fourth := add(t, q, "fail", nil, JobOptions{}), add(t, q, "fine", nil, JobOptions{})
	for _, j := range []*Job{third, fourth} {
		eventually(t, "the job is not kept", func() bool {
			_, err := q.Job(t.Context(), j.ID)
			return errors.Is(err, ErrJobNotFound)
		})
	}
}

// TestChangesRace changes everything while jobs run; the race detector watches.
func TestChangesRace(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	w := startWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		if j.AttemptsMade == 0 {
			return nil, errors.New("boom")
		}
		return nil, nil
	}, func(o *WorkerOptions) { o.Concurrency = 4 })
	addMany(t, q, 300, JobOptions{Attempts: 2, Backoff: &Backoff{Type: "custom"}})
	var changes sync.WaitGroup
	for i := range 4 {
		changes.Go(func() {
			for n := range 50 {
				w.SetConcurrency(1 + (i+n)%8)
				w.SetBackoff(func(int, string, error, *Job) time.Duration { return 0 }, time.Second)
				w.SetKeep(nil, nil)
				if err := w.SetLimiter(&Limiter{Max: 1000, Duration: time.Duration(1+n) * time.Millisecond}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	changes.Wait()
	eventually(t, "all jobs have ended", func() bool {
		c := counts(t, q)
		return c[keys.Completed]+c[keys.Failed] == 300
	})
}
