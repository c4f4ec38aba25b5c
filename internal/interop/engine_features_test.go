package interop

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"bullpen/internal/engine"
)

// node is a flow as producers write it.
type node struct {
	Name, QueueName, Prefix string
	Data, Opts              json.RawMessage
	Children                []node
}

// addFlow adds a tree of jobs.
func addFlow(ctx context.Context, c call) (any, error) {
	var root node
	if err := json.Unmarshal(c.Flow, &root); err != nil {
		return nil, err
	}
	tree, err := c.flowNode(ctx, root)
	if err != nil {
		return nil, err
	}
	producer, err := engine.NewFlowProducer(engine.FlowProducerOptions{
		Client: c.client, Prefix: c.Prefix, LegacyPause: c.legacyPause, Clock: func() time.Time { return c.now },
	})
	if err != nil {
		return nil, err
	}
	flow, err := producer.Add(ctx, tree)
	if err != nil {
		return nil, err
	}
	return flow.Job.ID, nil
}

func (c call) flowNode(ctx context.Context, n node) (engine.FlowNode, error) {
	o, err := c.options(ctx, n.Opts)
	if err != nil {
		return engine.FlowNode{}, err
	}
	tree := engine.FlowNode{Queue: n.QueueName, Prefix: n.Prefix, Name: n.Name, Data: n.Data, Options: o}
	for _, child := range n.Children {
		below, err := c.flowNode(ctx, child)
		if err != nil {
			return engine.FlowNode{}, err
		}
		tree.Children = append(tree.Children, below)
	}
	return tree, nil
}

// rule is a schedule as producers write it; what it does not name is passed on.
type rule struct {
	Every, Offset, StartDate, EndDate float64
	Pattern, TZ, HashSeed             string
	Immediately                       bool
	Limit                             *int64
}

func (r rule) repeat(extra map[string]json.RawMessage) engine.Repeat {
	for _, known := range []string{
		"every", "offset", "startDate", "endDate", "pattern", "tz", "hashSeed", "immediately", "limit",
	} {
		delete(extra, known)
	}
	return engine.Repeat{
		Every: ms(r.Every), Offset: ms(r.Offset), StartDate: dateOf(r.StartDate), EndDate: dateOf(r.EndDate),
		Pattern: r.Pattern, TZ: r.TZ, HashSeed: r.HashSeed, Immediately: r.Immediately, Limit: r.Limit, Extra: extra,
	}
}

func dateOf(v float64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(v))
}

func upsertScheduler(ctx context.Context, c call) (any, error) {
	var r rule
	var extra map[string]json.RawMessage
	var t struct {
		Name       string
		Data, Opts json.RawMessage
	}
	for text, into := range map[*json.RawMessage][]any{&c.Repeat: {&r, &extra}, &c.Template: {&t}} {
		for _, v := range into {
			if err := json.Unmarshal(orJSON(*text, "{}"), v); err != nil {
				return nil, err
			}
		}
	}
	o, err := c.options(ctx, t.Opts)
	if err != nil {
		return nil, err
	}
	var data any
	if len(t.Data) > 0 {
		data = t.Data
	}
	job, err := c.q.UpsertScheduler(ctx, c.Scheduler, r.repeat(maps.Clone(extra)), engine.JobTemplate{Name: t.Name, Data: data, Options: o})
	if err != nil || job == nil {
		return nil, err
	}
	return job.ID, nil
}

// schedulers lists what the driver lists, of what both have.
func schedulers(ctx context.Context, c call) (any, error) {
	all, _, err := c.q.Schedulers(ctx, 0, -1, false)
	if err != nil {
		return nil, err
	}
	found := []any{}
	for _, s := range all {
		found = append(found, map[string]any{"key": s.ID, "name": s.Name, "next": s.Next.UnixMilli(), "iterationCount": s.Iterations})
	}
	return found, nil
}
