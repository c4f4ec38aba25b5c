package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"bullpen/internal/engine/scripts"
)

// attempt is one job a worker has taken, until Redis knows how it ended. Only the loop touches it.
type attempt struct {
	job     *Job
	cancel  context.CancelCauseFunc
	started time.Time
	renewed time.Time // when the lock was last known to be extended
	run     time.Duration
	lost    bool // Redis said that the lock is gone
	// unstarted says that the handler was never called: the job came when the worker was stopping.
	unstarted bool

	verdict verdict
	// unsure says that the transition was sent and its reply did not come.
	unsure bool
	// refused counts how often Redis answered the transition with an error of its own.
	refused int
	fault   error // why Redis would not take the end of the attempt
	span    *attemptSpan
}

func (a *attempt) lock() scripts.Lock { return scripts.Lock{ID: a.job.ID, Token: a.job.token} }

// result is what came of running an attempt's handler.
type result struct {
	attempt *attempt
	verdict verdict
	run     time.Duration
}

// errTooManyStarts fails a job that its worker's MaxStarted keeps from being run again (lifecycle 11.4).
var errTooManyStarts = errors.New("job started more than allowable limit")

// errGoexit fails the attempt of a handler that ended its goroutine (runtime.Goexit) instead of returning.
var errGoexit = errors.New("handler ended its goroutine without returning")

// perform runs one attempt of j and decides about it. It never panics, and returns even if the handler ends its
// goroutine.
func (w *Worker) perform(ctx context.Context, j *Job) verdict {
	value, err := w.handle(ctx, j)
	return w.rules().guarded(j, value, err).interrupted(context.Cause(ctx))
}

// handle calls the handler unless the job is to fail without it, and encodes what it returned.
func (w *Worker) handle(ctx context.Context, j *Job) (value json.RawMessage, err error) {
	switch {
	case j.DeferredFailure != "":
		return nil, Unrecoverable(errors.New(j.DeferredFailure))
	case w.o.MaxStarted > 0 && w.o.MaxStarted < j.AttemptsStarted:
		return nil, Unrecoverable(errTooManyStarts)
	case j.fault != nil:
		return nil, Unrecoverable(fmt.Errorf("job cannot be run: %w", j.fault))
	}
	defer recoverTo(&err)
	v, err := w.o.Handler(ctx, j)
	if err != nil {
		return nil, err
	}
	return encodeValue(v, "return value", "null")
}

// guarded is judge with a custom strategy that may panic.
func (r rules) guarded(j *Job, value json.RawMessage, err error) (v verdict) {
	var panicked error
	defer func() {
		if panicked != nil {
			v = r.failure(j, Unrecoverable(panicked))
		}
	}()
	defer recoverTo(&panicked)
	return r.judge(j, value, err)
}

// panicError is a panic of a handler as the failure of its attempt.
type panicError struct {
	value any
	trace string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Stacktrace is the place of the panic, as file and line.
func (e *panicError) Stacktrace() string { return e.trace }

// recoverTo turns a panic into an error. It is to be deferred itself.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		e := &panicError{value: v}
		e.trace = e.Error() + frames()
		*err = e
	}
}

// frames lists where the panic that is being recovered came from, innermost first.
func frames() string {
	const most = 32
	pcs := make([]uintptr, most)
	stack := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var b strings.Builder
	for {
		f, more := stack.Next()
		// The runtime's own frames lie between the recovery and the place of the panic.
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "\n    at %s (%s:%d)", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
