package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// FlowProducerOptions configure NewFlowProducer.
type FlowProducerOptions struct {
	// Client talks to the Redis that holds all queues of the flows. Required. It stays the caller's to close. In a Redis
	// Cluster the queues of a flow need one hash tag in common.
	Client redis.UniversalClient
	// Prefix is the key prefix of nodes that do not say; default "bull".
	Prefix string
	// Defaults are merged under the options of jobs, by the name of their queue.
	Defaults map[string]JobOptions
	// LegacyPause and Clock are as in QueueOptions.
	LegacyPause bool
	Clock       func() time.Time
	// Telemetry traces what is added; default none.
	Telemetry Telemetry
}

// FlowProducer adds trees of jobs: parents wait for the jobs below them (features 2). It is safe for concurrent use and
// holds no connection of its own.
type FlowProducer struct{ o FlowProducerOptions }

// NewFlowProducer validates o. It does not touch Redis.
func NewFlowProducer(o FlowProducerOptions) (*FlowProducer, error) {
	if o.Client == nil {
		return nil, errors.New("flow producer: the client is missing")
	}
	if o.Prefix == "" {
		o.Prefix = keys.DefaultPrefix
	}
	if o.Telemetry == nil {
		o.Telemetry = silent{}
	}
	return &FlowProducer{o}, nil
}

// FlowNode is one job of a tree that is to be added.
type FlowNode struct {
	// Queue is the name of the job's queue; required. Prefix is its key prefix, default the producer's.
	Queue, Prefix string
	Name          string
	// Data is encoded as in Queue.Add.
	Data any
	// Options of the job. Without an ID it gets a random one. OnFailure says what its failure does to the job above it.
	// Parent is for the root only: a job that exists already and waits for the tree. Jobs with Children cannot have
	// Deduplication.
	Options JobOptions
	// Children are the jobs this one waits for.
	Children []FlowNode
}

// Flow is a job with the jobs it waits for.
type Flow struct {
	Job *Job
	// Children are in the order they were given.
	Children []*Flow
	// Err says why the job was not added although the rest was: ErrParentReplaced if it exists and has another living
	// parent. Job is nil then.
	Err error
}

// Add adds a tree of jobs in one step, from the root down; children exist together with their parents or not at all
// (features 2.2). A *FieldError says what was refused before anything was written. Jobs whose ids exist are not changed
// but become children of the tree: Existing is set. If one of the tree cannot be attached (see Flow.Err), the rest is
// added all the same and the error tells.
func (p *FlowProducer) Add(ctx context.Context, root FlowNode) (f *Flow, err error) {
	ctx, span := startSpan(ctx, p.o.Telemetry, SpanProducer, "addFlow", root.Queue, root.Queue, slog.String(attrFlow, root.Name))
	defer func() { span.End(err) }()
	flows, err := p.add(ctx, []FlowNode{root})
	if len(flows) == 0 {
		return nil, err
	}
	return flows[0], err
}

// AddBulk adds several trees in one step; the result has the order of roots.
func (p *FlowProducer) AddBulk(ctx context.Context, roots []FlowNode) (flows []*Flow, err error) {
	names := make([]string, len(roots))
	for i, root := range roots {
		names[i] = root.Name
	}
	ctx, span := startSpan(ctx, p.o.Telemetry, SpanProducer, "addBulkFlows", "", "", slog.Int(attrBulkCount, len(roots)),
		slog.String(attrBulkNames, strings.Join(names, ",")))
	defer func() { span.End(err) }()
	return p.add(ctx, roots)
}

func (p *FlowProducer) add(ctx context.Context, roots []FlowNode) ([]*Flow, error) {
	plan := flowPlan{producer: p, queues: map[keys.Queue]*Queue{}}
	flows := make([]*Flow, len(roots))
	for i, root := range roots {
		flows[i] = &Flow{}
		plan.todo = append(plan.todo, planned{node: root, flow: flows[i], parent: root.Options.Parent})
	}
	if err := plan.prepare(ctx); err != nil {
		return nil, fmt.Errorf("add flow: %w", err)
	}
	if len(plan.jobs) == 0 {
		return nil, nil
	}
	if err := plan.store(ctx); err != nil {
		return nil, fmt.Errorf("add flow: %w", err)
	}
	return flows, plan.outcome()
}

// flowPlan lists the jobs of some trees, those nearer to the roots first.
type flowPlan struct {
	producer *FlowProducer
	queues   map[keys.Queue]*Queue
	todo     []planned
	jobs     []scripts.FlowJob // of todo, in its order
}

// planned is a node with its place in the result.
type planned struct {
	node   FlowNode
	flow   *Flow
	parent *ParentRef
	queue  *Queue
}

// prepare validates and encodes every node, one level of the trees after the other, as BullMQ adds them.
func (f *flowPlan) prepare(ctx context.Context) error {
	for i := 0; i < len(f.todo); i++ {
		p := &f.todo[i]
		job, err := f.encode(ctx, p)
		if err != nil {
			return fmt.Errorf("job %q of queue %q: %w", p.node.Name, p.node.Queue, err)
		}
		f.jobs = append(f.jobs, scripts.FlowJob{Queue: p.queue.Queue, NewJob: job})
		self := &ParentRef{ID: job.ID, Queue: p.queue.Qualified()}
		flow, children := p.flow, p.node.Children // p moves when todo grows
		for _, child := range children {
			below := &Flow{}
			flow.Children = append(flow.Children, below)
			f.todo = append(f.todo, planned{node: child, flow: below, parent: self})
		}
	}
	return nil
}

func (f *flowPlan) encode(ctx context.Context, p *planned) (job scripts.NewJob, err error) {
	if p.queue, err = f.queue(p.node); err != nil {
		return scripts.NewJob{}, err
	}
	ctx, span := p.queue.span(ctx, SpanProducer, "addNode", p.node.Queue, slog.String(attrJobName, p.node.Name))
	defer func() {
		span.SetAttributes(slog.String(attrJobID, job.ID))
		span.End(err)
	}()
	o := p.node.Options
	o.Parent = p.parent
	if len(p.node.Children) > 0 && (o.Deduplication != nil || p.queue.defaults.Deduplication != nil) {
		return scripts.NewJob{}, invalid("deduplication", "Deduplication options cannot be used on flow nodes with children")
	}
	job, err = p.queue.prepare(JobSpec{p.node.Name, p.node.Data, p.queue.carry(ctx, o, true)}, true)
	if job.ID == "" {
		job.ID = uuid.NewString()
	}
	job.WaitChildren = len(p.node.Children) > 0
	return job, err
}

// queue returns the queue of a node.
func (f *flowPlan) queue(n FlowNode) (*Queue, error) {
	o := f.producer.o
	id := keys.Queue{Prefix: n.Prefix, Name: n.Queue}
	if id.Prefix == "" {
		id.Prefix = o.Prefix
	}
	if q, ok := f.queues[id]; ok {
		return q, nil
	}
	defaults := o.Defaults[n.Queue]
	defaults.ID, defaults.Parent = "", nil // of one job, not of all
	q, err := NewQueue(QueueOptions{
		Client: o.Client, Prefix: id.Prefix, Name: id.Name, Defaults: defaults, LegacyPause: o.LegacyPause, Clock: o.Clock,
		Telemetry: o.Telemetry,
	})
	f.queues[id] = q
	return q, err
}

// store sends all jobs in one script.
func (f *flowPlan) store(ctx context.Context) error {
	first := f.todo[0].queue
	added, err := first.runner.AddFlow(ctx, first.target, first.clock(), f.jobs)
	if err != nil {
		return err
	}
	for i, a := range added {
		p, job := f.todo[i], f.jobs[i].NewJob
		switch {
		case a.Code < 0:
			p.flow.Err = codeError(a.Code, job.ID, "addJob", "", job.Parent.Key)
		case a.Stored:
			p.flow.Job = p.queue.stored(a.ID, job)
		default:
			p.flow.Job = &Job{ID: a.ID, Existing: true, queue: p.queue}
		}
	}
	return nil
}

// outcome joins what kept jobs from being attached.
func (f *flowPlan) outcome() error {
	var errs []error
	for _, p := range f.todo {
		if p.flow.Err != nil {
			errs = append(errs, p.flow.Err)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("add flow: %w", errors.Join(errs...))
	}
	return nil
}
