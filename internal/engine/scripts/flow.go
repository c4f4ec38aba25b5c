package scripts

import (
	"context"
	"time"

	"bullpen/internal/engine/keys"
)

// FlowJob is one job of a tree, in a queue of its own choice.
type FlowJob struct {
	Queue keys.Queue
	NewJob
}

// AddFlow adds trees of jobs in one step (features 2.2): parents come before their children, have WaitChildren set and
// an id, and their children name them in Parent. A parent whose children have all completed before is released at once.
// t says how waiting jobs of paused queues are kept, and its queue routes the call. Codes as of AddJobs.
func (r *Runner) AddFlow(ctx context.Context, t Target, now time.Time, jobs []FlowJob) ([]Added, error) {
	a := args(now, len(jobs))
	for _, j := range jobs {
		a.add(j.Queue.Base())
		a.newJob(j.NewJob)
	}
	reply, err := r.write(ctx, "addFlow", t, a)
	if err != nil {
		return nil, err
	}
	return added(reply), nil
}
