package scripts

import (
	"context"
	"slices"
	"time"

	"bullpen/internal/engine/keys"
)

// Promote makes delayed jobs ready now (lifecycle 8.12); many trims the events as promoting all does (lifecycle 6).
// Codes: WrongState, JobMissing.
func (r *Runner) Promote(ctx context.Context, t Target, ids []string, many bool) ([]Code, error) {
	return r.eachChunk(ctx, "promoteJobs", t, ids, idsPerScript, many)
}

// ChangeDelay makes a delayed job due d from now (lifecycle 8.13). Codes: JobMissing, WrongState.
func (r *Runner) ChangeDelay(ctx context.Context, t Target, now time.Time, id string, d time.Duration) (Code, error) {
	return r.code(ctx, "changeDelay", t, args(now, id, d))
}

// ChangePriority gives a job another priority and, if it waits, another place (lifecycle 8.14): behind its new peers,
// or in front of them with lifo. Code: JobMissing.
func (r *Runner) ChangePriority(ctx context.Context, t Target, id string, priority int64, lifo bool) (Code, error) {
	return r.code(ctx, "changePriority", t, args(id, priority, lifo))
}

// Reprocess puts finished jobs back to waiting or prioritized (lifecycle 8.20) and re-attaches them to their parents;
// from is Completed or Failed. resetAttempts sets the counters of attempts to zero. A job's lifo option is honoured.
// Codes: JobMissing, WrongState.
func (r *Runner) Reprocess(ctx context.Context, t Target, from keys.State, ids []string, resetAttempts bool) ([]Code, error) {
	return r.eachChunk(ctx, "reprocessJobs", t, ids, idsPerScript, string(from), resetAttempts)
}

// idsPerScript is how many jobs a script is given at once when their number is up to the caller: Redis does nothing
// else while a script runs.
const idsPerScript = 1000

// eachChunk runs a script on size ids at a time, with the same leading values for each chunk, and returns a code per id.
// On an error the codes of the chunks that ran are returned with it.
func (r *Runner) eachChunk(ctx context.Context, name string, t Target, ids []string, size int, leading ...any) ([]Code, error) {
	out := make([]Code, 0, len(ids))
	for chunk := range slices.Chunk(ids, size) {
		reply, err := r.write(ctx, name, t, args(leading...).texts(chunk))
		if err != nil {
			return out, err
		}
		out = append(out, codes(reply)...)
	}
	return out, nil
}

// code runs a script that answers with one code.
func (r *Runner) code(ctx context.Context, name string, t Target, a *arguments) (Code, error) {
	reply, err := r.write(ctx, name, t, a)
	return Code(integer(reply)), err
}
