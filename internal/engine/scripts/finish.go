package scripts

import (
	"context"
	"time"
)

// FinishedJob is one active job that ends, completed or failed for good.
type FinishedJob struct {
	Lock
	Failed bool
	// Result is the return value as JSON, or the failure reason as it is.
	Result string
	// Updates are fields and values to write, alternating: stacktrace, tm (lifecycle P14).
	Updates []string
	Keep    Keep
	// Attempts is the total allowed by the job's options; it decides about the retries-exhausted event.
	Attempts int
}

// FinishOptions hold for all jobs of a Finish.
type FinishOptions struct {
	// MetricsPoints is how many minutes of BullMQ's metrics are kept (features 4); 0 = none are written.
	MetricsPoints int
	// DeadLetter is the queue, under the same prefix, that gets a copy of each job that fails; "" = none. Name, data
	// and stack traces are the job's, the id is "<queue>.<id>.<finishedOn>", and the option deadLetter tells where it
	// came from: {queue, id, reason, attemptsMade, failedAt, opts}.
	DeadLetter string
	// Next, if given, takes jobs in the same step.
	Next *FetchOptions
}

// Finish ends active jobs (lifecycle 8.6), with the bookkeeping of parents, deduplication and metrics. Codes:
// JobMissing, LockMissing, WrongState, PendingChildren, LockMismatch, FailedChildren. The result of o.Next is nil
// without it.
func (r *Runner) Finish(ctx context.Context, t Target, now time.Time, jobs []FinishedJob, o FinishOptions) ([]Code, *Fetched, error) {
	a := args(now, t.Name, o.DeadLetter, o.MetricsPoints, len(jobs))
	for _, j := range jobs {
		a.add(j.ID, j.Token, j.Failed, j.Result, j.Attempts).keep(j.Keep).texts(j.Updates)
	}
	reply, err := r.write(ctx, "finishJobs", t, a.taker(o.Next))
	return codesAndFetched(reply, o.Next, err)
}

// codesAndFetched reads the reply of a transition that also takes next jobs.
func codesAndFetched(reply any, next *FetchOptions, err error) ([]Code, *Fetched, error) {
	if err != nil {
		return nil, nil, err
	}
	parts := list(reply)
	if len(parts) != 2 {
		return nil, nil, badReply("of a transition", reply)
	}
	if next == nil {
		return codes(parts[0]), nil, nil
	}
	return codes(parts[0]), fetched(parts[1]), nil
}
