package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bullpen/internal/engine/keys"
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
	return c.addNode(ctx, root, nil)
}

func (c call) addNode(ctx context.Context, n node, parent *scripts.Parent) (string, error) {
	var o struct {
		JobID string `json:"jobId"`
	}
	if err := json.Unmarshal(n.Opts, &o); err != nil {
		return "", err
	}
	queue := keys.Queue{Prefix: c.Prefix, Name: n.QueueName}
	opts := map[string]any{"attempts": 0, "jobId": o.JobID}
	if parent != nil {
		owner, id, _ := keys.SplitJobKey(parent.Key)
		opts["parent"] = map[string]string{"id": id, "queue": owner.Qualified()}
	}
	text, err := json.Marshal(opts)
	if err != nil {
		return "", err
	}
	added, err := c.runner.AddJobs(ctx, scripts.Target{Queue: queue}, c.now, []scripts.NewJob{{
		ID: o.JobID, Name: n.Name, Data: string(orJSON(n.Data, "{}")), Opts: string(text), Timestamp: c.now,
		WaitChildren: len(n.Children) > 0, Parent: parent,
	}})
	if err != nil {
		return "", err
	}
	own := scripts.Parent{
		Key:  queue.Job(o.JobID),
		JSON: fmt.Sprintf(`{"id":%q,"queueKey":%q}`, o.JobID, queue.Qualified()),
	}
	for _, child := range n.Children {
		if _, err := c.addNode(ctx, child, &own); err != nil {
			return "", err
		}
	}
	return added[0].ID, nil
}
