package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func follow(t testing.TB, q *Queue, edit func(*EventsOptions)) *QueueEvents {
	t.Helper()
	o := EventsOptions{Queue: q, Blocking: blockingOn(srv.Options()), Logger: testLogger(t)}
	if edit != nil {
		edit(&o)
	}
	e, err := NewQueueEvents(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	return e
}

func TestWaitUntilFinished(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	e := follow(t, q, nil)
	before := add(t, q, "early", nil, JobOptions{})
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		if j.Name == "fails" {
			return nil, errors.New("boom")
		}
		return j.Name, nil
	}, nil)
	awaitState(t, q, before.ID, keys.Completed)
	jobs := []struct {
		job    *Job
		want   string
		reason string
	}{
		{before, `"early"`, ""},
		{add(t, q, "works", nil, JobOptions{}), `"works"`, ""},
		{add(t, q, "fails", nil, JobOptions{}), "", "boom"},
	}
	for _, tt := range jobs {
		value, err := e.WaitUntilFinished(ctx, tt.job)
		var failed *JobFailedError
		switch {
		case tt.reason != "" && (!errors.As(err, &failed) || failed.Reason != tt.reason):
			t.Errorf("wait = %v, want failure %q", err, tt.reason)
		case tt.reason == "" && (err != nil || string(value) != tt.want):
			t.Errorf("wait = %s, %v, want %s", value, err, tt.want)
		}
	}
	if len(e.waiters) != 0 {
		t.Errorf("waiters are left: %v", e.waiters)
	}
}

// waiting reports whether somebody waits for a job.
func waiting(e *QueueEvents) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiters) > 0
}

func TestWaitForJobRemovedAtOnce(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	e := follow(t, q, nil)
	j := add(t, q, "x", nil, JobOptions{KeepCompleted: KeepCount(0)})
	value := make(chan string)
	go func() {
		v, err := e.WaitUntilFinished(t.Context(), j)
		value <- fmt.Sprint(string(v), err)
	}()
	eventually(t, "somebody waits", func() bool { return waiting(e) })
	startWorker(t, q, func(context.Context, *Job) (any, error) { return "result", nil }, nil)
	if got := <-value; got != `"result"<nil>` {
		t.Errorf("wait = %s", got)
	}
}

func TestWaitUntilFinishedGivesUp(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	e := follow(t, q, nil)
	j := add(t, q, "mail", nil, JobOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := e.WaitUntilFinished(ctx, j)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "Job wait mail timed out before finishing, no finish notification arrived after ") {
		t.Errorf("wait = %v", err)
	}
	if _, err := e.WaitUntilFinished(t.Context(), &Job{ID: "nowhere"}); !errors.Is(err, ErrJobNotFound) {
		t.Errorf("wait for a job that is not there = %v", err)
	}
	stopped := make(chan error)
	go func() {
		_, err := e.WaitUntilFinished(t.Context(), j)
		stopped <- err
	}()
	eventually(t, "somebody waits", func() bool { return waiting(e) })
	e.Stop()
	if err := <-stopped; err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("wait on a stopped reader = %v", err)
	}
}

// TestEventsSurvive checks that garbage in the stream and a broken connection lose no event.
func TestEventsSurvive(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	p := newProxy(t, srv)
	q.client.XAdd(ctx, &redis.XAddArgs{Stream: q.Events(), Values: []string{"event", "before"}})
	var mu sync.Mutex
	var names []string
	follow(t, q, func(o *EventsOptions) {
		o.Blocking = blockingOn(p.options())
		o.Handle = func(ev Event) {
			mu.Lock()
			defer mu.Unlock()
			names = append(names, ev.Name+" "+ev.JobID)
		}
	})
	seen := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(names) >= n
		}
	}
	emit := func(values ...string) {
		if err := q.client.XAdd(ctx, &redis.XAddArgs{Stream: q.Events(), Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	emit("event", "completed", "jobId", "1")
	emit("no", "event")
	emit("event", "progress", "jobId", "2", "data", "{garbage")
	eventually(t, "two events", seen(2))
	p.kill()
	emit("event", "mine")
	eventually(t, "three events", seen(3))
	if diff := cmp.Diff([]string{"completed 1", "progress 2", "mine "}, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestEventsFromThePast(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	add(t, q, "x", nil, JobOptions{})
	got := make(chan Event, 10)
	follow(t, q, func(o *EventsOptions) {
		o.After = "0"
		o.Handle = func(ev Event) { got <- ev }
	})
	if ev := <-got; ev.Name != "added" || ev.Fields["name"] != "x" || ev.JobID == "" || ev.ID == "" {
		t.Errorf("first event = %+v", ev)
	}
}
