package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"bullpen/internal/engine/scripts"
)

// JobSpec is one job of AddBulk.
type JobSpec struct {
	Name    string
	Data    any // encoded as JSON; json.RawMessage is stored byte for byte
	Options JobOptions
}

// Add adds one job and returns it. data is encoded as JSON; a json.RawMessage is stored byte for byte, nil as {}.
//
// An id that exists, and a deduplication id that is held, make no new job: the returned one has Existing set
// (lifecycle 8.1.1, features 3). A *FieldError says what was refused before anything was written. After a broken
// connection the job may have been added; only an id of the caller's own makes it safe to repeat the call.
func (q *Queue) Add(ctx context.Context, name string, data any, o JobOptions) (j *Job, err error) {
	ctx, span := q.span(ctx, SpanProducer, "add", q.Name+"."+name, slog.String(attrJobName, name))
	defer func() { span.End(err) }()
	n, err := q.prepare(JobSpec{name, data, q.carry(ctx, o, !q.traced())}, false)
	if err != nil {
		return nil, fmt.Errorf("add job to %s: %w", q.Name, err)
	}
	jobs, err := q.add(ctx, []scripts.NewJob{n})
	if err != nil {
		return nil, fmt.Errorf("add job to %s: %w", q.Name, err)
	}
	span.SetAttributes(slog.String(attrJobID, jobs[0].ID))
	return jobs[0], nil
}

// AddBulk adds many jobs in as few round trips as possible; the result has the order of specs. Nothing is written when
// one of them is refused. A job whose parent does not exist, or that belongs to another living parent, is nil in the
// result and part of the error; the others are added.
func (q *Queue) AddBulk(ctx context.Context, specs []JobSpec) (jobs []*Job, err error) {
	ctx, span := q.span(ctx, SpanProducer, "addBulk", q.Name, slog.Int(attrBulkCount, len(specs)))
	defer func() { span.End(err) }()
	if q.traced() {
		span.SetAttributes(nameList(specs))
	}
	prepared := make([]scripts.NewJob, len(specs))
	for i, spec := range specs {
		spec.Options = q.carry(ctx, spec.Options, true)
		n, err := q.prepare(spec, true)
		if err != nil {
			return nil, fmt.Errorf("add jobs to %s: job %d: %w", q.Name, i, err)
		}
		prepared[i] = n
	}
	jobs, err = q.add(ctx, prepared)
	if err != nil {
		return jobs, fmt.Errorf("add jobs to %s: %w", q.Name, err)
	}
	return jobs, nil
}

// prepare validates a job and encodes it.
func (q *Queue) prepare(spec JobSpec, bulk bool) (scripts.NewJob, error) {
	o := spec.Options.Over(q.defaults)
	o.Delay = o.Delay.Truncate(time.Millisecond)
	if err := o.validate(bulk); err != nil {
		return scripts.NewJob{}, err
	}
	data, err := encodeData(spec.Data)
	if err != nil {
		return scripts.NewJob{}, err
	}
	if err := o.checkSize(spec.Name, data); err != nil {
		return scripts.NewJob{}, err
	}
	n := scripts.NewJob{
		ID: o.ID, Name: spec.Name, Data: string(data), Opts: string(o.encode()),
		Timestamp: o.Timestamp, Delay: o.Delay, Priority: int64(o.Priority), LIFO: o.LIFO,
	}
	if n.Timestamp.IsZero() {
		n.Timestamp = q.clock()
	}
	if o.Parent != nil {
		n.Parent = &scripts.Parent{Key: o.Parent.Key(), JSON: o.parentField()}
	}
	if d := o.Deduplication; d != nil {
		n.Dedup = &scripts.Dedup{
			ID: d.ID, TTL: d.TTL, Extend: d.Extend, Replace: d.Replace, Reschedule: d.Reschedule,
			KeepLastIfActive: d.KeepLastIfActive,
		}
	}
	return n, nil
}

// add stores prepared jobs and tells what became of each.
func (q *Queue) add(ctx context.Context, prepared []scripts.NewJob) ([]*Job, error) {
	added, err := q.runner.AddJobs(ctx, q.target, q.clock(), prepared)
	jobs := make([]*Job, len(prepared))
	refused := []error{err}
	if err == nil {
		q.declare(ctx)
	}
	for i, a := range added {
		switch {
		case a.Code < 0:
			parent := ""
			if p := prepared[i].Parent; p != nil {
				parent = p.Key
			}
			refused = append(refused, codeError(a.Code, prepared[i].ID, "addJob", "", parent))
		case a.Stored:
			jobs[i] = q.stored(a.ID, prepared[i])
		default:
			jobs[i] = &Job{ID: a.ID, Existing: true, queue: q}
		}
	}
	return jobs, errors.Join(refused...)
}

// stored is the job as it has just been written.
func (q *Queue) stored(id string, n scripts.NewJob) *Job {
	fields := map[string]string{
		"name": n.Name, "data": n.Data, "opts": n.Opts,
		"timestamp": strconv.FormatInt(n.Timestamp.UnixMilli(), 10),
		"delay":     strconv.FormatInt(n.Delay.Milliseconds(), 10),
		"priority":  strconv.FormatInt(n.Priority, 10),
	}
	if n.Parent != nil {
		fields["parentKey"], fields["parent"] = n.Parent.Key, n.Parent.JSON
	}
	if n.Dedup != nil {
		fields["deid"] = n.Dedup.ID
	}
	return decodeJob(q, id, fields)
}
