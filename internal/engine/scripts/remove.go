package scripts

import (
	"context"
	"time"

	"bullpen/internal/engine/keys"
)

// Remove deletes jobs wherever they are, with all that belongs to them (lifecycle 8.16) and, if children, with the jobs
// below them (features 2.9). A job that does not exist is OK. Codes: SchedulerOwned, Locked.
func (r *Runner) Remove(ctx context.Context, t Target, ids []string, children bool) ([]Code, error) {
	panic("stub")
}

// Drain deletes the waiting and prioritized jobs, and the delayed ones if asked; current iterations of schedulers stay
// (lifecycle 8.17).
func (r *Runner) Drain(ctx context.Context, t Target, delayed bool) error { panic("stub") }

// Clean deletes up to limit jobs of a state that are older than before and returns their ids, oldest first
// (lifecycle 8.18). limit 0 means all; then, and for large limits, it runs as several scripts. Active jobs are deleted
// only if they have no lock.
func (r *Runner) Clean(ctx context.Context, t Target, s keys.State, before time.Time, limit int) ([]string, error) {
	panic("stub")
}

// Obliterate deletes a paused queue with everything in it (lifecycle 8.19), in several scripts. Codes: NotPaused,
// HasActive unless forced.
func (r *Runner) Obliterate(ctx context.Context, t Target, force bool) (Code, error) { panic("stub") }
