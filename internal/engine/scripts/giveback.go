package scripts

import (
	"context"
	"time"
)

// DelayedJob is one active job that is to run again later.
type DelayedJob struct {
	Lock
	Delay time.Duration
	// SkipAttempt is set when the run does not count as an attempt: the job was moved by its handler.
	SkipAttempt bool
	Updates     []string // as in FinishedJob
}

// MoveToDelayed puts active jobs into delayed (lifecycle 8.7) and takes next ones in the same step if next is given.
// Codes: JobMissing, LockMissing, WrongState, LockMismatch.
func (r *Runner) MoveToDelayed(ctx context.Context, t Target, now time.Time, jobs []DelayedJob, next *FetchOptions) ([]Code, *Fetched, error) {
	a := args(now, len(jobs))
	for _, j := range jobs {
		a.add(j.ID, j.Token, j.Delay, j.SkipAttempt).texts(j.Updates)
	}
	reply, err := r.write(ctx, "moveToDelayed", t, a.taker(next))
	return codesAndFetched(reply, next, err)
}

// RetriedJob is one active job whose failed attempt is repeated at once.
type RetriedJob struct {
	Lock
	LIFO    bool     // the job's option: it returns to the taking end
	Updates []string // as in FinishedJob
}

// RetryJobs puts active jobs back behind the waiting ones and counts the attempt (lifecycle 8.7.1). Codes: JobMissing,
// LockMissing, WrongState, LockMismatch.
func (r *Runner) RetryJobs(ctx context.Context, t Target, now time.Time, jobs []RetriedJob) ([]Code, error) {
	a := args(now, len(jobs))
	for _, j := range jobs {
		a.add(j.ID, j.Token, j.LIFO).texts(j.Updates)
	}
	reply, err := r.write(ctx, "retryJobs", t, a)
	if err != nil {
		return nil, err
	}
	return codes(reply), nil
}

// MoveToWait puts active jobs back in front of the waiting ones, or of their priority, without counting an attempt
// (lifecycle 8.9), and returns how long the queue stays rate limited. Codes: JobMissing, LockMissing, LockMismatch; a
// job that is not active is no error.
func (r *Runner) MoveToWait(ctx context.Context, t Target, jobs []Lock) (out []Code, limitedFor time.Duration, err error) {
	reply, err := r.write(ctx, "moveToWait", t, args().locks(jobs))
	if err != nil {
		return nil, 0, err
	}
	parts := list(reply)
	if len(parts) != 2 {
		return nil, 0, badReply("moveToWait", reply)
	}
	return codes(parts[1]), time.Duration(integer(parts[0])) * time.Millisecond, nil
}

// locks appends jobs and the tokens that hold them.
func (a *arguments) locks(jobs []Lock) *arguments {
	a.add(len(jobs))
	for _, j := range jobs {
		a.add(j.ID, j.Token)
	}
	return a
}
