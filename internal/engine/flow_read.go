package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
)

// FlowLimits bound what is read of a flow; the zero value of a field means its default.
type FlowLimits struct {
	// Depth is how many levels of jobs are read, the root included; default 10.
	Depth int
	// Children is how many children of each kind are read per job; default 20.
	Children int
	// Jobs is how many jobs are read in all; default 200.
	Jobs int
}

// flowLooks is how many pending children a read of a flow may look at for failed ones and parents among them.
const flowLooks = 2000

func (l FlowLimits) withDefaults() scripts.FlowLimits {
	inherit(&l.Depth, 10, false)
	inherit(&l.Children, 20, false)
	inherit(&l.Jobs, 200, false)
	return scripts.FlowLimits{Levels: l.Depth, PerKind: l.Children, Jobs: l.Jobs, Looks: flowLooks}
}

// FlowItem is one job of a flow as pages show it: without its payload.
type FlowItem struct {
	Queue keys.Queue
	Row
	State keys.State
	// Kind is how its parent sees the job; "" for the root.
	Kind ChildKind
	// Counts is how many children the job has; those that are read are in Children, pending and failed ones first.
	Counts   DependencyCounts
	Children []*FlowItem
	// Blocking marks the path from the root to what holds it up: the job that only a person can move, or else the one that
	// is furthest from its end.
	Blocking bool
}

// Hidden is how many children were left out because of the limits.
func (i *FlowItem) Hidden() int64 { return max(i.Counts.All()-int64(len(i.Children)), 0) }

// FlowView reads a job and the jobs below it, in one step and without payloads. Where the limits do not allow all, jobs
// that are waited for come before those that have ended. ErrJobNotFound if the job does not exist.
func (q *Queue) FlowView(ctx context.Context, id string, l FlowLimits) (*FlowItem, error) {
	nodes, err := q.runner.Flow(ctx, q.target, id, l.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("read flow of job %s: %w", id, err)
	}
	items := make([]*FlowItem, len(nodes))
	for i, n := range nodes {
		items[i] = &FlowItem{
			Queue: n.Queue, Row: decodeRows([]scripts.Row{n.Row})[0], State: n.State, Kind: ChildKind(n.Kind),
			Counts: DependencyCounts{Processed: n.Processed, Unprocessed: n.Unprocessed, Ignored: n.Ignored, Failed: n.Failed},
		}
		if n.Parent >= 0 {
			parent := items[n.Parent]
			parent.Children = append(parent.Children, items[i])
		}
	}
	if len(items) == 0 || items[0].Missing && items[0].State == keys.Unknown {
		return nil, fmt.Errorf("job %s: %w", id, ErrJobNotFound)
	}
	items[0].markBlocking()
	return items[0], nil
}

// markBlocking marks what holds up a job that waits for children.
func (i *FlowItem) markBlocking() {
	for i.State == keys.WaitingChildren {
		i.Blocking = true
		pending := slices.DeleteFunc(slices.Clone(i.Children), func(c *FlowItem) bool { return c.Kind != ChildUnprocessed })
		if len(pending) == 0 {
			return
		}
		i = slices.MinFunc(pending, func(a, b *FlowItem) int { return cmp.Compare(a.nearness(), b.nearness()) })
		i.Blocking = true
	}
}

// nearness says how near to its end a pending job is: 0 if it does not end by itself.
func (i *FlowItem) nearness() int {
	switch i.State {
	case keys.Failed, keys.Unknown, keys.Completed: // which nobody will tell the parent of any more
		return 0
	case keys.WaitingChildren:
		nearest := 5
		for _, c := range i.Children {
			if c.Kind == ChildUnprocessed {
				nearest = min(nearest, c.nearness())
			}
		}
		return min(nearest, 1)
	case keys.Delayed:
		return 2
	case keys.Prioritized, keys.Waiting:
		return 3
	}
	return 4
}

// Flow reads a job and the jobs below it whole. Children whose hashes are gone are left out (features 2.8).
func (q *Queue) Flow(ctx context.Context, id string, l FlowLimits) (*Flow, error) {
	root, err := q.FlowView(ctx, id, l)
	if err != nil {
		return nil, err
	}
	r := flowReader{q: q, jobs: map[*FlowItem]*redis.MapStringStringCmd{}}
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		r.ask(ctx, p, root)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read flow of job %s: %w", id, err)
	}
	flow := r.flow(root)
	if flow == nil {
		return nil, fmt.Errorf("job %s: %w", id, ErrJobNotFound)
	}
	return flow, nil
}

// flowReader reads the jobs of a view.
type flowReader struct {
	q    *Queue
	jobs map[*FlowItem]*redis.MapStringStringCmd
}

func (r flowReader) ask(ctx context.Context, p redis.Pipeliner, i *FlowItem) {
	if !i.Missing {
		r.jobs[i] = p.HGetAll(ctx, i.Queue.Job(i.ID))
	}
	for _, c := range i.Children {
		r.ask(ctx, p, c)
	}
}

func (r flowReader) flow(i *FlowItem) *Flow {
	hash, ok := r.jobs[i]
	if !ok || len(hash.Val()) == 0 {
		return nil
	}
	f := &Flow{Job: decodeJob(r.q.sibling(i.Queue), i.ID, hash.Val())}
	for _, c := range i.Children {
		if below := r.flow(c); below != nil {
			f.Children = append(f.Children, below)
		}
	}
	return f
}

// sibling is another queue on the same Redis, with the same settings but no default options.
func (q *Queue) sibling(id keys.Queue) *Queue {
	s := &Queue{
		Queue: id, client: q.client, runner: q.runner, target: q.target, clock: q.clock, telemetry: q.telemetry,
		skipMetas: q.skipMetas,
	}
	s.target.Queue = id
	return s
}

// rootLevels bounds the way up from a job to the root of its flow.
const rootLevels = 100

// FlowRoot finds the root of the flow a job belongs to: itself if it has no parent that exists.
func (q *Queue) FlowRoot(ctx context.Context, id string) (keys.Queue, string, error) {
	at, seen := q, map[string]bool{}
	for range rootLevels {
		fields, err := at.client.HMGet(ctx, at.Queue.Job(id), "parentKey", "parent").Result()
		if err != nil {
			return keys.Queue{}, "", fmt.Errorf("look for parent of job %s: %w", id, err)
		}
		key, _ := fields[0].(string)
		field, _ := fields[1].(string)
		parent, parentID, ok := parentOf(key, field)
		if !ok || seen[key] {
			break
		}
		seen[key] = true
		up := at.sibling(parent)
		if _, err := up.Field(ctx, parentID, "name"); errors.Is(err, ErrJobNotFound) {
			break
		} else if err != nil {
			return keys.Queue{}, "", err
		}
		at, id = up, parentID
	}
	return at.Queue, id, nil
}

// parentOf reads the fields parentKey and parent. The field parent knows where the id begins, also if it has colons.
func parentOf(key, field string) (q keys.Queue, id string, ok bool) {
	q, id, ok = keys.SplitJobKey(key)
	members, err := objectMembers([]byte(field))
	if err != nil {
		return q, id, ok
	}
	var queueKey, own string
	for _, m := range members {
		switch m.name {
		case "id":
			own, _ = jsonText(m.value)
		case "queueKey":
			queueKey, _ = jsonText(m.value)
		}
	}
	named, _, valid := keys.SplitJobKey(queueKey + ":")
	if !valid || own == "" || key != "" && named.Job(own) != key {
		return q, id, ok
	}
	return named, own, true
}
