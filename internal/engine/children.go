package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bullpen/internal/engine/scripts"
)

// ChildrenValues returns the results of the job's completed children by full job key (features 2.8).
func (j *Job) ChildrenValues(ctx context.Context) (map[string]json.RawMessage, error) {
	stored, err := j.queue.client.HGetAll(ctx, j.queue.Processed(j.ID)).Result()
	if err != nil {
		return nil, fmt.Errorf("read children of job %s: %w", j.ID, err)
	}
	return rawValues(stored), nil
}

// IgnoredFailures returns the reasons of children whose failure the job tolerates, by full job key (features 2.8).
func (j *Job) IgnoredFailures(ctx context.Context) (map[string]string, error) {
	reasons, err := j.queue.client.HGetAll(ctx, j.queue.Queue.IgnoredFailures(j.ID)).Result()
	if err != nil {
		return nil, fmt.Errorf("read children of job %s: %w", j.ID, err)
	}
	return reasons, nil
}

// MoveToWaitingChildren makes an active job wait until its children have finished, and reports whether it has any to
// wait for. If so, the handler returns ErrMoved at once; it is called again when they have finished (features 2.7).
// ErrFailedChildren if a child's failure has failed the job.
func (j *Job) MoveToWaitingChildren(ctx context.Context) (bool, error) {
	return j.waitForChildren(ctx, "")
}

// MoveToWaitingChild is MoveToWaitingChildren if one child, named by its full key, has not finished. The job waits for
// all of its children nevertheless.
func (j *Job) MoveToWaitingChild(ctx context.Context, key string) (bool, error) {
	return j.waitForChildren(ctx, key)
}

func (j *Job) waitForChildren(ctx context.Context, child string) (bool, error) {
	lock := scripts.Lock{ID: j.ID, Token: j.token}
	code, err := j.queue.runner.MoveToWaitingChildren(ctx, j.queue.target, j.queue.clock(), lock, child)
	if err != nil {
		return false, fmt.Errorf("move job %s to waiting-children: %w", j.ID, err)
	}
	if code == scripts.OK {
		j.queue.count(j, "waiting-children")
	}
	return code == scripts.OK, codeError(code, j.ID, "moveToWaitingChildren", "active", "")
}

// MoveToDelayed makes an active job run again in d, without consuming an attempt. The handler then returns ErrMoved; to
// return DelayJob(d) does both in one step.
func (j *Job) MoveToDelayed(ctx context.Context, d time.Duration) error {
	moved := []scripts.DelayedJob{{Lock: scripts.Lock{ID: j.ID, Token: j.token}, Delay: max(d, 0), SkipAttempt: true}}
	codes, _, err := j.queue.runner.MoveToDelayed(ctx, j.queue.target, j.queue.clock(), moved, nil)
	if err != nil {
		return fmt.Errorf("move job %s to delayed: %w", j.ID, err)
	}
	if codes[0] == scripts.OK {
		j.queue.count(j, "delayed")
	}
	return codeError(codes[0], j.ID, "moveToDelayed", "active", "")
}

// MoveToWait puts an active job back in front of the waiting ones, without consuming an attempt. The handler then
// returns ErrMoved.
func (j *Job) MoveToWait(ctx context.Context) error {
	codes, _, err := j.queue.runner.MoveToWait(ctx, j.queue.target, []scripts.Lock{{ID: j.ID, Token: j.token}})
	if err != nil {
		return fmt.Errorf("move job %s to waiting: %w", j.ID, err)
	}
	if codes[0] == scripts.OK {
		j.queue.count(j, "waiting")
	}
	return codeError(codes[0], j.ID, "moveJobFromActiveToWait", "active", "")
}
