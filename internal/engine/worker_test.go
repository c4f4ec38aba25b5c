package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
)

func nothing(context.Context, *Job) (any, error) { return nil, nil }

func TestWorkerCompletes(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		return map[string]json.RawMessage{"got": j.Data}, nil
	}, nil)
	j := add(t, q, "greet", json.RawMessage(`{"n": 1.10}`), JobOptions{})
	awaitState(t, q, j.ID, keys.Completed)
	done := read(t, q, j.ID)
	if got := string(done.ReturnValue); got != `{"got":{"n": 1.10}}` && got != `{"got":{"n":1.10}}` {
		t.Errorf("return value = %s", got)
	}
	if done.AttemptsMade != 1 || done.AttemptsStarted != 1 || done.ProcessedBy != "w" || done.FinishedOn.IsZero() {
		t.Errorf("finished job = %+v", done)
	}
	if diff := cmp.Diff([]string{"added", "waiting", "active", "completed"}, events(t, q, j.ID)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestReturnValues(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	values := map[string]any{
		"nil": nil, "bytes": json.RawMessage(`{"a": 1.10,"a":2}`), "empty": json.RawMessage(nil), "text": "a<b", "number": 1,
		"function": func() {}, "broken": json.RawMessage("{"), "infinite": math.Inf(1), "panics": panics{},
	}
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) { return values[j.Name], nil }, func(o *WorkerOptions) { o.Concurrency = 9 })
	want := map[string]string{"nil": "null", "bytes": `{"a": 1.10,"a":2}`, "empty": "null", "text": `"a<b"`, "number": "1"}
	for name := range values {
		j := add(t, q, name, nil, JobOptions{})
		if value, ok := want[name]; ok {
			awaitState(t, q, j.ID, keys.Completed)
			if got := string(read(t, q, j.ID).ReturnValue); got != value {
				t.Errorf("%s: return value = %s, want %s", name, got, value)
			}
			continue
		}
		awaitState(t, q, j.ID, keys.Failed)
		if reason := read(t, q, j.ID).FailedReason; !strings.Contains(reason, "return value") && !strings.Contains(reason, "panic: no JSON") {
			t.Errorf("%s: reason = %q", name, reason)
		}
	}
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no JSON") }

// failure is one job of TestFailures.
type failure struct {
	name    string
	options JobOptions
	err     error
	// what is then true of the job:
	state keys.State
	made  int
	runs  int
	wait  time.Duration // delay field of a delayed job
}

func TestFailures(t *testing.T) {
	t.Parallel()
	const later = time.Hour
	boom := errors.New("boom")
	fixed := func(kind string) *Backoff { return &Backoff{Type: kind, Delay: later} }
	tests := []failure{
		{"no attempts given", JobOptions{}, boom, keys.Failed, 1, 1, 0},
		{"one attempt", JobOptions{Attempts: 1}, boom, keys.Failed, 1, 1, 0},
		{"negative attempts", JobOptions{Attempts: -1}, boom, keys.Failed, 1, 1, 0},
		{"immediate retries", JobOptions{Attempts: 3}, boom, keys.Failed, 3, 3, 0},
		{"immediate retries by priority", JobOptions{Attempts: 3, Priority: 5}, boom, keys.Failed, 3, 3, 0},
		{"fixed", JobOptions{Attempts: 3, Backoff: fixed("fixed")}, boom, keys.Delayed, 1, 1, later},
		{"exponential", JobOptions{Attempts: 3, Backoff: fixed("exponential")}, boom, keys.Delayed, 1, 1, later},
		{"exponential without delay", JobOptions{Attempts: 3, Backoff: &Backoff{Type: "exponential"}}, boom, keys.Failed, 3, 3, 0},
		{"unrecoverable", JobOptions{Attempts: 3}, Unrecoverable(boom), keys.Failed, 1, 1, 0},
		{"unrecoverable inside", JobOptions{Attempts: 3}, fmt.Errorf("x: %w", Unrecoverable(boom)), keys.Failed, 1, 1, 0},
		{"retry after", JobOptions{Attempts: 3, Backoff: fixed("fixed")}, RetryAfter(90*time.Minute, boom), keys.Delayed, 1, 1, 90 * time.Minute},
		{"retry after, not capped by MaxBackoff", JobOptions{Attempts: 3}, RetryAfter(23*time.Hour, boom), keys.Delayed, 1, 1, 23 * time.Hour},
		{"retry after more than a day", JobOptions{Attempts: 3}, RetryAfter(48*time.Hour, boom), keys.Delayed, 1, 1, 24 * time.Hour},
		{"retry after nothing", JobOptions{Attempts: 2}, RetryAfter(-1, boom), keys.Failed, 2, 2, 0},
		{"retry after, no attempt left", JobOptions{}, RetryAfter(later, boom), keys.Failed, 1, 1, 0},
		{"capped", JobOptions{Attempts: 3, Backoff: &Backoff{Type: "fixed", Delay: 9 * time.Hour}}, boom, keys.Delayed, 1, 1, 2 * time.Hour},
		{"unknown type", JobOptions{Attempts: 3, Backoff: fixed("nosuch")}, boom, keys.Failed, 1, 1, 0},
		{"delayed by the handler", JobOptions{Attempts: 1}, DelayJob(later), keys.Delayed, 0, 1, later},
	}
	q := newQueue(t)
	byName := map[string]failure{}
	for _, tt := range tests {
		byName[tt.name] = tt
	}
	var ran runs
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		ran.add(j.ID)
		return "ignored", byName[j.Name].err
	}, func(o *WorkerOptions) { o.Concurrency, o.MaxBackoff = 3, 2*time.Hour })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := add(t, q, tt.name, nil, tt.options)
			awaitState(t, q, j.ID, tt.state)
			got := read(t, q, j.ID)
			if got.AttemptsMade != tt.made || ran.of(j.ID) != tt.runs || got.AttemptsStarted != tt.runs {
				t.Errorf("made %d, started %d, ran %d times; want %d, %d, %d", got.AttemptsMade, got.AttemptsStarted, ran.of(j.ID),
					tt.made, tt.runs, tt.runs)
			}
			if got.Delay != tt.wait {
				t.Errorf("delay = %s, want %s", got.Delay, tt.wait)
			}
			wantReason := "boom"
			if got.Opts.Backoff != nil && got.Opts.Backoff.Type == "nosuch" {
				wantReason = `unknown backoff strategy "nosuch", and the worker has no policy for such jobs; the attempt failed with: boom`
			}
			if tt.made == 0 {
				wantReason = ""
			}
			if !strings.HasSuffix(got.FailedReason, wantReason) || wantReason == "" && got.FailedReason != "" {
				t.Errorf("reason = %q, want %q", got.FailedReason, wantReason)
			}
			if len(got.Stacktrace) != tt.made {
				t.Errorf("%d stack traces, want one per attempt made, %d", len(got.Stacktrace), tt.made)
			}
		})
	}
}

func TestCustomBackoff(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	delays := map[string]time.Duration{"give up": GiveUp, "at once": 0, "in the past": -5 * time.Millisecond, "long ago": -time.Hour, "later": time.Hour, "capped": 48 * time.Hour}
	startWorker(t, q, func(context.Context, *Job) (any, error) { return nil, errors.New("boom") }, func(o *WorkerOptions) {
		o.MaxBackoff = 24 * time.Hour
		o.Backoff = func(made int, kind string, err error, j *Job) time.Duration {
			if made < 1 || kind != "custom" || err.Error() != "boom" {
				t.Errorf("strategy called with %d, %q, %v", made, kind, err)
			}
			if j.Name == "panics" {
				panic("no idea")
			}
			return delays[j.Name]
		}
	})
	tests := []struct {
		name   string
		state  keys.State
		made   int
		delay  time.Duration
		reason string
	}{
		{"give up", keys.Failed, 1, 0, "boom"},
		{"at once", keys.Failed, 3, 0, "boom"},
		{"in the past", keys.Failed, 3, 0, "boom"},
		{"long ago", keys.Failed, 3, 0, "boom"},
		{"later", keys.Delayed, 1, time.Hour, "boom"},
		{"capped", keys.Delayed, 1, 24 * time.Hour, "boom"},
		{"panics", keys.Failed, 1, 0, "panic: no idea"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := add(t, q, tt.name, nil, JobOptions{Attempts: 3, Backoff: &Backoff{Type: "custom"}})
			awaitState(t, q, j.ID, tt.state)
			got := read(t, q, j.ID)
			if got.AttemptsMade != tt.made || got.Delay != tt.delay || got.FailedReason != tt.reason {
				t.Errorf("made %d, delay %s, reason %q; want %d, %s, %q", got.AttemptsMade, got.Delay, got.FailedReason, tt.made, tt.delay, tt.reason)
			}
			if exhausted := strings.Contains(strings.Join(events(t, q, j.ID), " "), "retries-exhausted"); exhausted != (tt.made == 3) {
				t.Errorf("retries-exhausted event: %t", exhausted)
			}
		})
	}
}

func TestJitterStaysInRange(t *testing.T) {
	t.Parallel()
	j := decodeJob(nil, "1", map[string]string{"name": "", "opts": `{"attempts":2,"backoff":{"type":"fixed","delay":1000,"jitter":0.5}}`})
	seen := map[time.Duration]bool{}
	for range 200 {
		v := rules{}.judge(j, nil, errors.New("boom"))
		if v.kind != delay || v.delay < 500*time.Millisecond || v.delay >= time.Second {
			t.Fatalf("verdict %+v, want a delay between 0.5 and 1 s", v)
		}
		seen[v.delay] = true
	}
	if len(seen) < 20 {
		t.Errorf("only %d different delays in 200", len(seen))
	}
}

func TestPanicFailsTheAttempt(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		switch j.Name {
		case "panic":
			panic("at the disco")
		case "index":
			return []int{}[j.AttemptsMade], nil
		}
		runtime.Goexit()
		return nil, nil
	}, nil)
	for name, want := range map[string]string{
		"panic": "panic: at the disco", "index": "panic: runtime error: index out of range", "exit": "handler ended its goroutine",
	} {
		j := add(t, q, name, nil, JobOptions{})
		awaitState(t, q, j.ID, keys.Failed)
		got := read(t, q, j.ID)
		if !strings.HasPrefix(got.FailedReason, want) || len(got.Stacktrace) != 1 {
			t.Fatalf("%s: reason %q, traces %q", name, got.FailedReason, got.Stacktrace)
		}
		if name != "exit" && !strings.Contains(strings.Split(got.Stacktrace[0], "\n")[1], "worker_test.go:") {
			t.Errorf("%s: the first frame is not the place of the panic:\n%s", name, got.Stacktrace[0])
		}
	}
}

type traced struct{ error }

func (traced) Stacktrace() string { return "line 1\nline 2" }

func TestStackTraceLimit(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		if j.AttemptsMade == 1 {
			return nil, fmt.Errorf("wrapped: %w", traced{errors.New("inner")})
		}
		return nil, fmt.Errorf("attempt %d", j.AttemptsMade+1)
	}, nil)
	tests := []struct {
		limit *int
		want  []string
	}{
		{nil, []string{"Error: attempt 1", "line 1\nline 2", "Error: attempt 3"}},
		{ptr(2), []string{"line 1\nline 2", "Error: attempt 3"}},
		{ptr(0), nil},
	}
	for _, tt := range tests {
		j := add(t, q, "x", nil, JobOptions{Attempts: 3, StackTraceLimit: tt.limit})
		awaitState(t, q, j.ID, keys.Failed)
		got := read(t, q, j.ID)
		if diff := cmp.Diff(tt.want, got.Stacktrace); diff != "" && len(got.Stacktrace)+len(tt.want) > 0 {
			t.Errorf("traces (-want +got):\n%s", diff)
		}
		if stored := got.Fields["stacktrace"]; !json.Valid([]byte(stored)) || !strings.HasPrefix(stored, "[") {
			t.Errorf("stored traces %q are no JSON array", stored)
		}
	}
}

func TestDeferredFailureAndStarts(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var ran runs
	deferred := add(t, q, "deferred", nil, JobOptions{Attempts: 5})
	started := add(t, q, "started", nil, JobOptions{Attempts: 5})
	twice := add(t, q, "twice", nil, JobOptions{Attempts: 5})
	ctx := t.Context()
	q.client.HSet(ctx, q.JobKey(deferred.ID), "defa", "child x failed")
	q.client.HSet(ctx, q.JobKey(started.ID), "ats", 2)
	startWorker(t, q, func(_ context.Context, j *Job) (any, error) {
		ran.add(j.ID)
		return nil, errors.New("boom")
	}, func(o *WorkerOptions) { o.MaxStarted = 2 })
	tests := []struct {
		id, reason string
		runs, made int
	}{
		{deferred.ID, "child x failed", 0, 1},
		{started.ID, "job started more than allowable limit", 0, 1},
		{twice.ID, "boom", 2, 2},
	}
	for _, tt := range tests {
		awaitState(t, q, tt.id, keys.Failed)
		got := read(t, q, tt.id)
		if got.FailedReason != tt.reason || ran.of(tt.id) != tt.runs || got.AttemptsMade != tt.made || got.DeferredFailure != "" {
			t.Errorf("reason %q, %d runs, %d made, deferred %q; want %+v", got.FailedReason, ran.of(tt.id), got.AttemptsMade, got.DeferredFailure, tt)
		}
	}
}

func TestHandlerMovesItsJob(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var ran runs
	startWorker(t, q, func(ctx context.Context, j *Job) (any, error) {
		n := ran.add(j.ID)
		switch {
		case j.AttemptsMade != max(n-5, 0) || j.AttemptsStarted != n:
			t.Errorf("run %d starts with %d attempts made and %d started", n, j.AttemptsMade, j.AttemptsStarted)
		case n <= 2:
			return nil, DelayJob(10 * time.Millisecond)
		case n == 3:
			return nil, errors.Join(j.MoveToDelayed(ctx, 10*time.Millisecond), ErrMoved)
		case n == 4:
			return nil, errors.Join(j.MoveToWait(ctx), ErrMoved)
		}
		return nil, errors.New("boom")
	}, nil)
	j := add(t, q, "x", nil, JobOptions{Attempts: 2})
	awaitState(t, q, j.ID, keys.Failed)
	if got := read(t, q, j.ID); got.AttemptsMade != 2 || got.AttemptsStarted != 6 || ran.of(j.ID) != 6 {
		t.Errorf("made %d, started %d, ran %d; want 2, 6, 6", got.AttemptsMade, got.AttemptsStarted, ran.of(j.ID))
	}
}

func TestPoisonIsFailedNotLooped(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	poison := map[string]map[string]string{
		"job cannot be run: options are not a JSON object: invalid JSON": {"opts": "{"},
		"job cannot be run: data is not valid JSON":                      {"data": "{not json"},
		"": {"progress": "{", "atm": "x", "stacktrace": "[", "timestamp": "tomorrow", "priority": "high"},
		"job cannot be run: the job's hash was deleted": {"ats": "1", "processedOn": "5"},
	}
	ids := map[string]string{}
	for reason, fields := range poison {
		j := add(t, q, "x", nil, JobOptions{Attempts: 3})
		ids[reason] = j.ID
		if _, ok := fields["ats"]; ok {
			q.client.Del(ctx, q.JobKey(j.ID)) // and a worker of another client leaves this
		}
		for name, value := range fields {
			q.client.HSet(ctx, q.JobKey(j.ID), name, value)
		}
	}
	sound := add(t, q, "sound", nil, JobOptions{})
	startWorker(t, q, nothing, nil)
	awaitState(t, q, sound.ID, keys.Completed)
	for reason, id := range ids {
		if reason == "" {
			awaitState(t, q, id, keys.Completed)
			continue
		}
		awaitState(t, q, id, keys.Failed)
		if got := read(t, q, id).FailedReason; got != reason {
			t.Errorf("reason = %q, want %q", got, reason)
		}
	}
}

func TestUnfinishableJobHoldsUpNobody(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ids := addMany(t, q, 10, JobOptions{})
	// A list where finishing expects a set: Redis refuses the script for this job, each time.
	broken := ids[4]
	q.client.RPush(t.Context(), q.Dependencies(broken), "x")
	release := make(chan struct{})
	w := startWorker(t, q, func(context.Context, *Job) (any, error) { <-release; return nil, nil }, func(o *WorkerOptions) { o.Concurrency = 10 })
	eventually(t, "all jobs run at once", func() bool { return w.Running() == 10 })
	close(release)
	awaitCount(t, q, keys.Completed, 9)
	if s := state(t, q, broken); s == keys.Completed {
		t.Errorf("the broken job is %s", s)
	}
	eventually(t, "the broken job gives its slot back", func() bool { return w.Running() == 0 })
}
