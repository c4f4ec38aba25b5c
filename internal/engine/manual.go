package engine

import (
	"context"
	"fmt"
	"time"

	"bullpen/internal/engine/scripts"
)

// NextJob takes one job by hand, for callers that run jobs their own way; it is nil when there is none to take. The
// lock lasts the worker's LockDuration and is not renewed: ExtendLock does that. FinishJob ends the attempt
// (lifecycle 11.7). The worker need not be started.
func (w *Worker) NextJob(ctx context.Context) (*Job, error) {
	for {
		t := &trip{w: w, next: w.fetchOptions(int(w.manual.Add(-1)), 1)} // counted downwards, apart from the loop's
		t.run(ctx)
		switch {
		case t.err == nil && len(t.jobs) > 0:
			return t.jobs[0], nil
		case t.err != nil, t.nextDue.IsZero(), t.nextDue.After(w.q.clock()):
			return nil, t.err
		}
	}
}

// FinishJob ends the attempt of a job taken with NextJob as if a handler had returned result and failure. A *CodeError
// says that the job is no longer the caller's, and nothing was written.
func (w *Worker) FinishJob(ctx context.Context, j *Job, result any, failure error) error {
	value, err := encodeValue(result, "return value", "null")
	if failure == nil {
		failure = err
	}
	a := &attempt{job: j, started: time.Now(), cancel: func(error) {}, verdict: w.rules().guarded(j, value, failure)}
	return w.settle(ctx, a)
}

// RunOnce takes one job, runs the worker's handler for it and tells Redis how the attempt ended; the job is nil when
// there is none to take. It is what a started worker does for each job, in the caller's goroutine and without renewing
// the lock. An error with a job is that of FinishJob.
func (w *Worker) RunOnce(ctx context.Context) (*Job, error) {
	j, err := w.NextJob(ctx)
	if err != nil || j == nil {
		return nil, err
	}
	ctx, span := w.beginSpan(ctx, j)
	a := &attempt{job: j, started: time.Now(), cancel: func(error) {}, verdict: w.perform(ctx, j)}
	span.decide(j, &a.verdict)
	err = w.settle(ctx, a)
	span.finish(a)
	return j, err
}

// settle sends the verdict of an attempt, and the next one if that is not accepted.
func (w *Worker) settle(ctx context.Context, a *attempt) error {
	j := a.job
	for ending := []*attempt{a}; len(ending) > 0; {
		t := &trip{w: w, ending: ending}
		if t.run(ctx); t.err != nil {
			return fmt.Errorf("finish job %s: %w", j.ID, t.err)
		}
		ending = t.left
	}
	if a.fault != nil {
		return fmt.Errorf("finish job %s: %w", j.ID, a.fault)
	}
	return nil
}

// ExtendLock makes the lock of an active job last d from now. ErrLockMismatch says that it has expired or another
// worker holds it. A started worker does this for its jobs by itself.
func (j *Job) ExtendLock(ctx context.Context, d time.Duration) error {
	lost, err := j.queue.runner.ExtendLocks(ctx, j.queue.target, []scripts.Lock{{ID: j.ID, Token: j.token}}, d)
	if err != nil {
		return fmt.Errorf("extend lock of job %s: %w", j.ID, err)
	}
	if len(lost) > 0 {
		return codeError(scripts.LockMismatch, j.ID, "extendLock", "active", "")
	}
	return nil
}
