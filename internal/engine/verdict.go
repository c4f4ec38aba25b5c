package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"bullpen/internal/engine/policy"
	"bullpen/internal/engine/scripts"
)

// longestRetryAfter bounds the delays that a failing handler asks for.
const longestRetryAfter = 24 * time.Hour

// kind is the transition that ends an attempt.
type kind int

const (
	complete kind = iota
	fail          // for good
	retry         // at once
	delay         // later
	giveBack      // to the front of waiting, no attempt consumed
	moved         // by the handler itself
)

// command is BullMQ's name of the transition, for error texts.
func (k kind) command() string {
	switch k {
	case retry:
		return "retryJob"
	case delay:
		return "moveToDelayed"
	case giveBack:
		return "moveJobFromActiveToWait"
	}
	return "moveToFinished"
}

// verdict is what is to become of an attempt.
type verdict struct {
	kind    kind
	outcome Outcome
	// result is the return value as JSON, or the reason of a failure.
	result string
	// stacktrace is the whole field after a failed attempt, JSON.
	stacktrace string
	// trace is the trace metadata of a failed attempt's end, "" for none.
	trace string
	delay time.Duration
	// skipAttempt says that the run does not count as an attempt.
	skipAttempt bool
	// limit, if positive, stops the whole queue that long.
	limit time.Duration
}

// rules are the parts of a worker's options that decide about verdicts.
type rules struct {
	maxStarted int
	backoff    func(attemptsMade int, kind string, err error, j *Job) time.Duration
	maxBackoff time.Duration
}

// judge decides about an attempt of j that returned result and err (lifecycle 8.6.2, 8.8).
func (r rules) judge(j *Job, result json.RawMessage, err error) verdict {
	var limited *RateLimitError
	var postponed *DelayError
	switch {
	case err == nil:
		return verdict{kind: complete, outcome: OutcomeCompleted, result: string(result)}
	case errors.Is(err, ErrMoved):
		return verdict{kind: moved, outcome: OutcomeDelayed}
	case errors.As(err, &limited):
		return verdict{kind: giveBack, outcome: OutcomeRateLimited, limit: max(limited.Delay, time.Millisecond)}
	case errors.As(err, &postponed):
		d := max(postponed.Delay, 0).Truncate(time.Millisecond)
		return verdict{kind: delay, outcome: OutcomeDelayed, delay: d, skipAttempt: true}
	}
	return r.failure(j, err)
}

// failure decides between another attempt and the end.
func (r rules) failure(j *Job, err error) verdict {
	v := verdict{kind: fail, outcome: OutcomeFailed}
	if r.mayRetry(j, err) {
		wait, again, strategy := r.backoffFor(j, err)
		switch {
		case strategy != nil:
			err = strategy
		case again && wait != 0: // a negative one is over at once, by way of delayed like any other
			v = verdict{kind: delay, outcome: OutcomeRetried, delay: wait}
		case again:
			v = verdict{kind: retry, outcome: OutcomeRetried}
		}
	}
	v.result = strings.ToValidUTF8(err.Error(), "\uFFFD")
	v.stacktrace = appendTrace(j, err)
	return v
}

func (r rules) mayRetry(j *Job, err error) bool {
	var final *UnrecoverableError
	switch {
	case errors.As(err, &final), errors.Is(err, ErrFailedChildren):
		return false
	case r.maxStarted > 0 && r.maxStarted <= j.AttemptsStarted:
		return false
	}
	return j.AttemptsMade+1 < j.Opts.Attempts
}

// backoffFor returns the wait before the next attempt. again is false when the custom strategy gave the job up; an
// error means that there is no strategy to ask.
func (r rules) backoffFor(j *Job, err error) (wait time.Duration, again bool, strategy error) {
	var exact *RetryAfterError
	if errors.As(err, &exact) {
		return min(max(exact.Delay, 0), longestRetryAfter), true, nil
	}
	b := j.Opts.Backoff
	if b == nil {
		return 0, true, nil
	}
	made := j.AttemptsMade + 1
	computed := b.policy(r.maxBackoff)
	switch b.Type {
	case policy.Fixed, policy.Exponential:
		return computed.After(made, rand.Float64()), true, nil
	}
	if r.backoff == nil {
		return 0, false, fmt.Errorf("unknown backoff strategy %q, and the worker has no policy for such jobs; the attempt failed with: %w", b.Type, err)
	}
	wait = r.backoff(made, b.Type, err, j)
	return computed.Cap(wait), wait != GiveUp, nil
}

// appendTrace adds the trace of err to those the job has and keeps the newest stackTraceLimit (lifecycle 8.6.2).
func appendTrace(j *Job, err error) string {
	traces := append(j.Stacktrace[:len(j.Stacktrace):len(j.Stacktrace)], traceOf(err))
	if limit := j.Opts.StackTraceLimit; limit != nil && *limit >= 0 && len(traces) > *limit {
		traces = traces[len(traces)-*limit:]
	}
	text, _ := encodeJSON(traces) // texts always encode
	return string(text)
}

// traceOf is the entry of a job's stacktrace for err.
func traceOf(err error) string {
	var tracer Stacktracer
	if errors.As(err, &tracer) {
		if text := tracer.Stacktrace(); text != "" {
			return strings.ToValidUTF8(text, "\uFFFD")
		}
	}
	name := "Error: "
	if final := (*UnrecoverableError)(nil); errors.As(err, &final) {
		name = "UnrecoverableError: "
	}
	return name + strings.ToValidUTF8(err.Error(), "\uFFFD")
}

// updates are the hash fields that a failed attempt writes (lifecycle P14).
func (v verdict) updates() []string {
	if v.stacktrace == "" {
		return nil
	}
	fields := []string{"failedReason", v.result, "stacktrace", v.stacktrace}
	if v.trace != "" {
		fields = append(fields, "tm", v.trace)
	}
	return fields
}

// keep is the retention of a finished job: its own option beats the worker's (lifecycle 8.6.3).
func (v verdict) keep(j *Job, completed, failed *Keep) scripts.Keep {
	own, workers := j.Opts.KeepCompleted, completed
	if v.kind == fail {
		own, workers = j.Opts.KeepFailed, failed
	}
	switch {
	case own != nil:
		return scripts.Keep(*own)
	case workers != nil:
		return scripts.Keep(*workers)
	}
	return scripts.Keep{}
}

// interrupted turns the failure of a handler whose context was cancelled by the worker into handing the job back.
func (v verdict) interrupted(cause error) verdict {
	failed := v.kind == fail || v.kind == retry || (v.kind == delay && !v.skipAttempt)
	switch {
	case failed && errors.Is(cause, ErrStopping):
		return verdict{kind: giveBack, outcome: OutcomeHandedBack}
	case failed && errors.Is(cause, ErrLockLost):
		return verdict{kind: giveBack, outcome: OutcomeLost}
	}
	return v
}
