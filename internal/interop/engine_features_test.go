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
	return onlyAny(addTrees(ctx, c, append(append(json.RawMessage("["), c.Flow...), ']')))
}

// addFlows adds trees of jobs in one step.
func addFlows(ctx context.Context, c call) (any, error) { return anyOf(addTrees(ctx, c, c.Flows)) }

func onlyAny(ids []string, err error) (any, error) { return only(ids), err }

func anyOf(ids []string, err error) (any, error) { return ids, err }

// addTrees returns the ids of the roots. Like BullMQ it says nothing of jobs below them that could not be attached.
func addTrees(ctx context.Context, c call, text json.RawMessage) (ids []string, err error) {
	var roots []node
	if err := json.Unmarshal(text, &roots); err != nil {
		return nil, err
	}
	trees := make([]engine.FlowNode, len(roots))
	for i, root := range roots {
		if trees[i], err = c.flowNode(ctx, root); err != nil {
			return nil, err
		}
	}
	producer, err := c.flowProducer(ctx)
	if err != nil {
		return nil, err
	}
	flows, err := producer.AddBulk(ctx, trees)
	if len(flows) == 0 {
		return nil, err
	}
	for i, flow := range flows {
		switch {
		case flow.Err == nil:
			ids = append(ids, flow.Job.ID)
		case len(flows) == 1:
			return nil, flow.Err
		default:
			ids = append(ids, trees[i].Options.ID)
		}
	}
	return ids, nil
}

func (c call) flowProducer(ctx context.Context) (*engine.FlowProducer, error) {
	var o struct {
		QueuesOptions map[string]struct{ DefaultJobOptions json.RawMessage }
	}
	if err := json.Unmarshal(orJSON(c.FlowOpts, "{}"), &o); err != nil {
		return nil, err
	}
	defaults := map[string]engine.JobOptions{}
	for queue, of := range o.QueuesOptions {
		var err error
		if defaults[queue], err = c.options(ctx, of.DefaultJobOptions); err != nil {
			return nil, err
		}
	}
	return engine.NewFlowProducer(engine.FlowProducerOptions{
		Client: c.client, Prefix: c.Prefix, Defaults: defaults, LegacyPause: c.legacyPause,
		Clock: func() time.Time { return c.now },
	})
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

// schedulerPage lists schedulers with all that the driver says of them.
func schedulerPage(ctx context.Context, c call) (any, error) {
	end := int64(-1)
	if c.End != nil {
		end = *c.End
	}
	all, _, err := c.q.Schedulers(ctx, int64(c.Start), end, c.Asc)
	views := []any{}
	for _, s := range all {
		views = append(views, schedulerView(s))
	}
	return views, err
}

func oneScheduler(ctx context.Context, c call) (any, error) {
	s, err := c.q.Scheduler(ctx, c.Scheduler)
	if err != nil || s == nil {
		return nil, err
	}
	return schedulerView(*s), nil
}

func schedulerView(s engine.Scheduler) any {
	v := map[string]any{"key": s.ID, "name": s.Name, "next": s.Next.UnixMilli()}
	put := func(name string, value any, given bool) {
		if given {
			v[name] = value
		}
	}
	put("iterationCount", s.Iterations, s.Iterations > 0)
	put("pattern", s.Repeat.Pattern, s.Repeat.Pattern != "")
	put("tz", s.Repeat.TZ, s.Repeat.TZ != "")
	put("every", s.Repeat.Every.Milliseconds(), s.Repeat.Every > 0)
	put("limit", s.Repeat.Limit, s.Repeat.Limit != nil)
	put("startDate", s.Repeat.StartDate.UnixMilli(), !s.Repeat.StartDate.IsZero())
	put("endDate", s.Repeat.EndDate.UnixMilli(), !s.Repeat.EndDate.IsZero())
	put("offset", json.RawMessage(s.Fields["offset"]), s.Fields["offset"] != "")
	template := map[string]any{}
	if s.Data != nil {
		template["data"] = s.Data
	}
	if s.RawOptions != nil {
		template["opts"] = s.PublicOptions()
	}
	put("template", template, len(template) > 0)
	return v
}
