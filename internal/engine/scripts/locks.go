package scripts

import (
	"context"
	"time"
)

// ExtendLocks renews locks (lifecycle 8.10) and returns the ids whose lock is gone or belongs to another token.
func (r *Runner) ExtendLocks(ctx context.Context, t Target, locks []Lock, d time.Duration) (lost []string, err error) {
	reply, err := r.write(ctx, "extendLocks", t, args(d).locks(locks))
	if err != nil {
		return nil, err
	}
	return texts(reply), nil
}

// ReleaseLock drops a lock and reports whether it was held by the token. The job stays active.
func (r *Runner) ReleaseLock(ctx context.Context, t Target, l Lock) (bool, error) {
	reply, err := r.write(ctx, "releaseLock", t, args(l.ID, l.Token))
	return integer(reply) == 1, err
}

// StalledCheck recovers jobs that were active without a lock at the last check too, and marks those active now
// (lifecycle 8.11). Between workers it runs at most once per interval. It returns the recovered ids.
func (r *Runner) StalledCheck(ctx context.Context, t Target, now time.Time, maxStalled int, interval time.Duration) ([]string, error) {
	reply, err := r.write(ctx, "checkStalled", t, args(now, maxStalled, interval))
	if err != nil {
		return nil, err
	}
	return texts(reply), nil
}
