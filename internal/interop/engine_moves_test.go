package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/scripts"
)

func takeMany(ctx context.Context, c call) (any, error) {
	ids := []string{}
	for range c.Count {
		got, err := c.take(ctx)
		if err != nil {
			return nil, err
		}
		ids = append(ids, *got.ID)
	}
	return ids, nil
}

func moveToDelayed(ctx context.Context, c call) (any, error) {
	d := scripts.DelayedJob{Lock: c.lock(), Delay: max(ms(c.Delay), 0), SkipAttempt: true}
	codes, _, err := c.runner.MoveToDelayed(ctx, c.target(), c.now, []scripts.DelayedJob{d}, nil)
	if err != nil {
		return nil, err
	}
	_, err = c.ended(ctx, codes[0], nil)
	return nil, err
}

func moveToWait(ctx context.Context, c call) (any, error) {
	codes, limited, err := c.runner.MoveToWait(ctx, c.target(), []scripts.Lock{c.lock()})
	if err != nil {
		return nil, err
	}
	_, err = c.ended(ctx, codes[0], nil)
	return limited > 0, err
}

func moveToWaitingChildren(ctx context.Context, c call) (any, error) {
	code, err := c.runner.MoveToWaitingChildren(ctx, c.target(), c.now, c.lock(), "")
	if err != nil || code == scripts.NotMoved {
		return false, err
	}
	_, err = c.ended(ctx, code, nil)
	return true, err
}

func extendLock(ctx context.Context, c call) (any, error) {
	lost, err := c.runner.ExtendLocks(ctx, c.target(), []scripts.Lock{c.lock()}, c.lockTime())
	return 1 - len(lost), err
}

func extendLocks(ctx context.Context, c call) (any, error) {
	var ids []string
	if err := json.Unmarshal(c.Jobs, &ids); err != nil {
		return nil, err
	}
	locks := make([]scripts.Lock, len(ids))
	for i, id := range ids {
		locks[i] = scripts.Lock{ID: id, Token: c.Tokens[i]}
	}
	lost, err := c.runner.ExtendLocks(ctx, c.target(), locks, c.lockTime())
	return list(lost), err
}

func (c call) lockTime() time.Duration {
	if c.Duration > 0 {
		return ms(c.Duration)
	}
	return 30 * time.Second
}

func stalled(ctx context.Context, c call) (any, error) {
	most := 1
	if c.Worker.MaxStalledCount != nil {
		most = *c.Worker.MaxStalledCount
	}
	ids, err := c.runner.StalledCheck(ctx, c.target(), c.now, most, 30*time.Second)
	return list(ids), err
}

// node is a flow as producers write it.
type node struct {
	Name, QueueName string
	Data, Opts      json.RawMessage
	Children        []node
}

// addFlow stores a tree from the root down.
func addFlow(ctx context.Context, c call) (any, error) {
	var root node
	if err := json.Unmarshal(c.Flow, &root); err != nil {
		return nil, err
	}
	return c.addNode(ctx, root, engine.JobOptions{})
}

// addNode adds a node under the parent that own names, then its children. Leaves go through the queue; the engine has
// no producer of parents yet, so they go through the transition.
func (c call) addNode(ctx context.Context, n node, own engine.JobOptions) (string, error) {
	o, err := c.options(ctx, n.Opts)
	if err != nil {
		return "", err
	}
	o.Parent = own.Parent
	c.Queue = n.QueueName
	if c.q, err = c.queue(ctx); err != nil {
		return "", err
	}
	if len(n.Children) == 0 {
		job, err := c.q.Add(ctx, n.Name, n.Data, o)
		if err != nil {
			return "", err
		}
		return job.ID, nil
	}
	if err := c.addParent(ctx, n, o); err != nil {
		return "", err
	}
	for _, child := range n.Children {
		parent := &engine.ParentRef{ID: o.ID, Queue: c.q.Qualified()}
		if _, err := c.addNode(ctx, child, engine.JobOptions{Parent: parent}); err != nil {
			return "", err
		}
	}
	return o.ID, nil
}

func (c call) addParent(ctx context.Context, n node, o engine.JobOptions) error {
	stored, parent := map[string]any{"attempts": o.Attempts, "jobId": o.ID}, (*scripts.Parent)(nil)
	if o.Priority > 0 {
		stored["priority"] = o.Priority
	}
	if o.Delay > 0 {
		stored["delay"] = o.Delay.Milliseconds()
	}
	if p := o.Parent; p != nil {
		stored["parent"] = map[string]string{"id": p.ID, "queue": p.Queue}
		flag := ""
		if short, ok := failureFlags[o.OnFailure]; ok {
			stored[short], flag = true, fmt.Sprintf(",%q:true", short)
		}
		parent = &scripts.Parent{Key: p.Key(), JSON: fmt.Sprintf(`{"id":%q,"queueKey":%q%s}`, p.ID, p.Queue, flag)}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	_, err = c.runner.AddJobs(ctx, c.target(), c.now, []scripts.NewJob{{
		ID: o.ID, Name: n.Name, Data: string(orJSON(n.Data, "{}")), Opts: string(text), Timestamp: c.now,
		Delay: o.Delay, Priority: int64(o.Priority), WaitChildren: true, Parent: parent,
	}})
	return err
}

// failureFlags are the stored names of what a child's failure does to its parent.
var failureFlags = map[string]string{
	engine.FailParentOnFailure: "fpof", engine.ContinueParentOnFailure: "cpof",
	engine.IgnoreDependencyOnFailure: "idof", engine.RemoveDependencyOnFailure: "rdof",
}
