package scripts

import (
	"context"
	"time"

	"bullpen/internal/engine/keys"
)

// Promote makes delayed jobs ready now (lifecycle 8.12). Codes: WrongState, JobMissing.
func (r *Runner) Promote(ctx context.Context, t Target, ids []string) ([]Code, error) { panic("stub") }

// ChangeDelay makes a delayed job due d from now (lifecycle 8.13). Codes: JobMissing, WrongState.
func (r *Runner) ChangeDelay(ctx context.Context, t Target, now time.Time, id string, d time.Duration) (Code, error) {
	panic("stub")
}

// ChangePriority gives a job another priority and, if it waits, another place (lifecycle 8.14): behind its new peers,
// or in front of them with lifo. Code: JobMissing.
func (r *Runner) ChangePriority(ctx context.Context, t Target, id string, priority int64, lifo bool) (Code, error) {
	panic("stub")
}

// Reprocess puts finished jobs back to waiting or prioritized (lifecycle 8.20) and re-attaches them to their parents;
// from is Completed or Failed. resetAttempts sets the counters of attempts to zero. A job's lifo option is honoured.
// Codes: JobMissing, WrongState.
func (r *Runner) Reprocess(ctx context.Context, t Target, from keys.State, ids []string, resetAttempts bool) ([]Code, error) {
	panic("stub")
}
