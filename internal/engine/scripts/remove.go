package scripts

import (
	"context"
	"time"

	"bullpen/internal/engine/keys"
)

// Remove deletes jobs wherever they are, with all that belongs to them (lifecycle 8.16) and, if children, with the jobs
// below them (features 2.9). A job that does not exist is OK. Codes: SchedulerOwned, Locked.
func (r *Runner) Remove(ctx context.Context, t Target, ids []string, children bool) ([]Code, error) {
	return r.eachChunk(ctx, "removeJobs", t, ids, rootsPerScript(children), children, "")
}

// RemoveFrom is Remove for jobs in one state. Codes: WrongState, also for one that does not exist, and those of Remove.
func (r *Runner) RemoveFrom(ctx context.Context, t Target, from keys.State, ids []string, children bool) ([]Code, error) {
	return r.eachChunk(ctx, "removeJobs", t, ids, rootsPerScript(children), children, string(from))
}

// rootsPerScript is small for jobs that go with those below them, of which there may be many.
func rootsPerScript(children bool) int {
	if children {
		return 20
	}
	return idsPerScript
}

// Drain deletes the waiting and prioritized jobs, and the delayed ones if asked; current iterations of schedulers stay
// (lifecycle 8.17).
func (r *Runner) Drain(ctx context.Context, t Target, delayed bool) error {
	for {
		removed, err := r.write(ctx, "drainQueue", t, args(delayed, idsPerScript))
		if err != nil || integer(removed) == 0 {
			return err
		}
	}
}

// DrainJobs is Drain for given jobs of one state (Waiting, Delayed, Prioritized). Codes: WrongState, also for one that does
// not exist, SchedulerOwned.
func (r *Runner) DrainJobs(ctx context.Context, t Target, from keys.State, ids []string) ([]Code, error) {
	return r.eachChunk(ctx, "drainJobs", t, ids, idsPerScript, string(from))
}

// Clean deletes up to limit jobs of a state that are older than before and returns their ids, oldest first
// (lifecycle 8.18). limit 0 means all; then, and for large limits, it runs as several scripts. Active jobs are deleted
// only if they have no lock.
func (r *Runner) Clean(ctx context.Context, t Target, s keys.State, before time.Time, limit int) ([]string, error) {
	var gone []string
	for _, key := range cleanKeys(s) {
		for offset := int64(0); offset >= 0 && (limit == 0 || len(gone) < limit); {
			n := idsPerScript
			if limit > 0 {
				n = min(n, limit-len(gone))
			}
			reply, err := r.write(ctx, "cleanJobs", t, args(key, before, n, offset))
			if err != nil {
				return gone, err
			}
			l := list(reply)
			if len(l) == 0 {
				return gone, badReply("cleanJobs", reply)
			}
			gone = append(gone, texts(l[1:])...)
			offset = integer(l[0])
		}
	}
	return gone, nil
}

// cleanKeys names the lists or the set that hold the jobs of a state, those next to run first. An unknown state has
// none.
func cleanKeys(s keys.State) []string {
	switch s {
	case keys.Waiting:
		return []string{"paused", "wait"}
	case keys.Active, keys.Delayed, keys.Prioritized, keys.Completed, keys.Failed, keys.WaitingChildren:
		return []string{string(s)}
	}
	return nil
}

// Obliterate deletes a paused queue with everything in it (lifecycle 8.19), in several scripts. Codes: NotPaused,
// HasActive unless forced.
func (r *Runner) Obliterate(ctx context.Context, t Target, force bool) (Code, error) {
	for {
		_, more, c, err := r.ObliterateSome(ctx, t, force, idsPerScript)
		if err != nil || !more {
			return c, err
		}
	}
}

// ObliterateSome is one script of Obliterate: it deletes at most n jobs, and with the last of them the queue. more says
// that something is left.
func (r *Runner) ObliterateSome(ctx context.Context, t Target, force bool, n int) (deleted int64, more bool, c Code, err error) {
	reply, err := r.write(ctx, "obliterateQueue", t, args(force, n))
	if err != nil {
		return 0, false, OK, err
	}
	l := list(reply)
	if len(l) != 2 {
		return 0, false, OK, badReply("obliterateQueue", reply)
	}
	if c = Code(integer(l[0])); c > OK {
		more, c = true, OK
	}
	return integer(l[1]), more, c, nil
}

// RemoveOrphans deletes, of the ids given, those of jobs that are in no state, at most limit of them, and returns these
// (lifecycle 8.22).
func (r *Runner) RemoveOrphans(ctx context.Context, t Target, ids []string, limit int) ([]string, error) {
	reply, err := r.write(ctx, "removeOrphans", t, args(limit).texts(ids))
	return texts(list(reply)), err
}
