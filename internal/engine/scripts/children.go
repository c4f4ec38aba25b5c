package scripts

import (
	"context"
	"time"
)

// MoveToWaitingChildren makes an active job wait for its children (features 2.7), or for one of them if child, a full
// job key, is not "". NotMoved means there is nothing to wait for. Codes: JobMissing, LockMissing, WrongState,
// LockMismatch, FailedChildren.
func (r *Runner) MoveToWaitingChildren(ctx context.Context, t Target, now time.Time, l Lock, child string) (Code, error) {
	return r.code(ctx, "moveToWaitingChildren", t, args(now, l.ID, l.Token, child))
}

// RemoveChildDependency takes a pending child from its parent, which is released if it was the last one
// (features 2.9). NotMoved means the child was not pending. Codes: JobMissing, ParentMissing.
func (r *Runner) RemoveChildDependency(ctx context.Context, t Target, id, parentKey string) (Code, error) {
	return r.code(ctx, "removeChildDependency", t, args(id, parentKey))
}

// RemoveUnprocessedChildren deletes the children of a job that have not run; locked and failed ones stay
// (features 2.9).
func (r *Runner) RemoveUnprocessedChildren(ctx context.Context, t Target, id string) error {
	_, err := r.write(ctx, "removeUnprocessedChildren", t, args(id))
	return err
}

// RemoveDedupKey frees a deduplication id, only if jobID owns it unless jobID is "" (features 3.3). It reports whether
// there was a key to delete.
func (r *Runner) RemoveDedupKey(ctx context.Context, t Target, dedupID, jobID string) (bool, error) {
	reply, err := r.write(ctx, "removeDedupKey", t, args(dedupID, jobID))
	return integer(reply) == 1, err
}
