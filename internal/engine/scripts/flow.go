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

// FlowLimits bound what Flow reads.
type FlowLimits struct {
	Levels  int // of the tree, 1 = the job alone
	PerKind int // children per job and kind
	Jobs    int // in all
	Looks   int // pending children that may be looked at for failed ones
}

// FlowNode is one job of a tree as Flow reads it.
type FlowNode struct {
	// Parent is the place of the job's parent in the list, -1 for the first. Kind is how that one sees it: unprocessed,
	// failed, ignored or processed.
	Parent int
	Kind   string
	Queue  keys.Queue
	State  keys.State
	// Children by how they stand, whether they are in the list or not.
	Unprocessed, Failed, Ignored, Processed int64
	Row                                     Row
}

// Flow reads a job with the jobs below it, parents before their children (features 2.8). Jobs that are waited for come
// before those that have ended, where the limits do not allow all.
func (r *Runner) Flow(ctx context.Context, t Target, id string, l FlowLimits) ([]FlowNode, error) {
	reply, err := r.read(ctx, "getFlow", t, args(id, l.Levels, l.PerKind, l.Jobs, l.Looks))
	if err != nil {
		return nil, err
	}
	nodes := make([]FlowNode, 0, len(list(reply)))
	for _, item := range list(reply) {
		cells := list(item)
		if len(cells) != 6 {
			return nil, badReply("getFlow", item)
		}
		counts := append(list(cells[4]), 0, 0, 0, 0)
		q, _, _ := keys.SplitJobKey(text(cells[2]))
		nodes = append(nodes, FlowNode{
			Parent: int(integer(cells[0])) - 1, Kind: text(cells[1]), Queue: q, State: keys.State(text(cells[3])),
			Unprocessed: integer(counts[0]), Failed: integer(counts[1]), Ignored: integer(counts[2]), Processed: integer(counts[3]),
			Row: newRow(texts(cells[5])),
		})
	}
	return nodes, nil
}
