package scripts

import (
	"context"

	"bullpen/internal/engine/keys"
)

// States tells in which state each job is, keys.Unknown if in none (lifecycle 9).
func (r *Runner) States(ctx context.Context, t Target, ids []string) ([]keys.State, error) {
	reply, err := r.read(ctx, "getStates", t, args().texts(ids))
	if err != nil {
		return nil, err
	}
	out := make([]keys.State, 0, len(ids))
	for _, s := range texts(reply) {
		out = append(out, keys.State(s))
	}
	return out, nil
}

// Finished tells how a job ended and gives its return value (JSON) or failure reason; s is keys.Unknown while it has
// not ended. Code: JobMissing.
func (r *Runner) Finished(ctx context.Context, t Target, id string) (s keys.State, result string, c Code, err error) {
	reply, err := r.read(ctx, "getFinished", t, args(id))
	if err != nil {
		return "", "", OK, err
	}
	l := texts(reply)
	switch {
	case len(l) != 2:
		return keys.Unknown, "", Code(integer(reply)), nil
	case l[0] == "":
		return keys.Unknown, "", OK, nil
	}
	return keys.State(l[0]), l[1], OK, nil
}

// Counts is how many jobs are in each state; the list of BullMQ 5.x for paused queues counts as waiting.
func (r *Runner) Counts(ctx context.Context, t Target) (map[keys.State]int64, error) {
	reply, err := r.read(ctx, "countJobs", t, args())
	if err != nil {
		return nil, err
	}
	out := make(map[keys.State]int64, len(countedStates))
	for i, n := range list(reply) {
		out[countedStates[i]] = integer(n)
	}
	return out, nil
}

// countedStates is the order in which countJobs.lua answers.
var countedStates = [...]keys.State{
	keys.Waiting, keys.Prioritized, keys.Active, keys.Delayed, keys.WaitingChildren, keys.Completed, keys.Failed,
}
