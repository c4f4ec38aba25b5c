package scripts

import (
	"context"
	"time"
)

// Limiter bounds the jobs started per window across all workers of a queue (lifecycle 4.2).
type Limiter struct {
	Max      int
	Duration time.Duration
}

// FetchOptions say who takes jobs and how many.
type FetchOptions struct {
	Token        string        // lock token of every job taken; "0" takes without a lock
	LockDuration time.Duration // until the lock expires
	Count        int           // at most this many jobs
	Worker       string        // stored as "processed by"; "" = none
	Limiter      *Limiter      // the worker's own, nil = none
}

// Fetched is what a fetch found.
type Fetched struct {
	Jobs []Job
	// LimitedFor is how long the queue stays rate limited, 0 if it is not. It can come with jobs, when the last of them
	// used up the window.
	LimitedFor time.Duration
	// NextDue is when the first delayed job becomes due; zero unless the fetch ran out of ready jobs. It is not in the
	// future if the fetch left off before it had promoted, or passed over, all it might have: then fetch again.
	NextDue time.Time
}

// Fetch takes up to o.Count jobs (lifecycle 8.5): it promotes delayed jobs that are due, then serves wait before
// prioritized, asking the limiter, the pause flag and the global concurrency before each job.
func (r *Runner) Fetch(ctx context.Context, t Target, now time.Time, o FetchOptions) (*Fetched, error) {
	reply, err := r.write(ctx, "fetchJobs", t, args(now).taker(&o))
	if err != nil {
		return nil, err
	}
	return fetched(reply), nil
}
