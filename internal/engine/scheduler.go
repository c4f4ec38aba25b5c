package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"bullpen/internal/engine/scripts"
)

// JobTemplate is what a scheduler's jobs are made of.
type JobTemplate struct {
	// Name of the jobs; default the scheduler's id.
	Name string
	// Data is encoded as in Queue.Add.
	Data any
	// Options of the jobs. ID, Delay, Timestamp and Parent follow from the firing and are refused here. A deduplication
	// id is stored with the jobs but never claimed (features 1.9).
	Options JobOptions
}

// UpsertScheduler creates a scheduler or replaces the one of that id, together with its next job, which is returned
// (features 1.2, 1.3). A job of it that has not been taken is replaced; one that runs is left alone. The number of
// firings and, unless a new one is given, the offset of an interval go on.
//
// The job is nil, and nothing was changed, if there is nothing left to fire: the limit is 0, or no firing lies before
// the end date. ErrLegacyScheduler refuses the id of a repeatable job of an older version; ErrSlotTaken says that the
// next firing's job exists and runs or has ended.
func (q *Queue) UpsertScheduler(ctx context.Context, id string, r Repeat, t JobTemplate) (j *Job, err error) {
	ctx, span := q.span(ctx, SpanProducer, "add", q.Name+"."+cmp.Or(t.Name, id), slog.String(attrScheduler, id))
	defer func() { span.End(err) }()
	if j, err = q.upsertScheduler(ctx, id, r, t); err != nil {
		return nil, fmt.Errorf("upsert scheduler %s of %s: %w", id, q.Name, err)
	}
	if j != nil {
		span.SetAttributes(slog.String(attrJobID, j.ID))
	}
	return j, nil
}

func (q *Queue) upsertScheduler(ctx context.Context, id string, r Repeat, t JobTemplate) (*Job, error) {
	now := q.clock()
	if id == "" {
		return nil, invalid("id", "a scheduler needs an id")
	}
	r = r.withDefaults(q.Name, id)
	if err := r.validate(now); err != nil {
		return nil, err
	}
	s, err := q.schedule(id, r, t)
	if err != nil {
		return nil, err
	}
	if fires, err := q.firstFiring(&s, r, now); err != nil || !fires {
		return nil, err
	}
	if err := q.refuseLegacy(ctx, id); err != nil {
		return nil, err
	}
	s.Job.Opts = q.iterationOptions(ctx, r, s, now)
	jobID, delay, code, err := q.runner.UpsertScheduler(ctx, q.target, now, s)
	if err != nil {
		return nil, err
	}
	if err := codeError(code, id, "addJobScheduler", "", ""); err != nil || jobID == "" {
		return nil, err
	}
	q.declare(ctx)
	return q.iteration(jobID, s, now, delay), nil
}

// schedule is what a scheduler stores, without its next firing.
func (q *Queue) schedule(id string, r Repeat, t JobTemplate) (scripts.Schedule, error) {
	o, err := t.options(q.defaults)
	if err != nil {
		return scripts.Schedule{}, err
	}
	data, err := encodeData(t.Data)
	if err != nil {
		return scripts.Schedule{}, err
	}
	if err := o.checkSize(t.Name, data); err != nil {
		return scripts.Schedule{}, err
	}
	if t.Name == "" {
		t.Name = id
	}
	s := scripts.Schedule{
		ID: id, Every: r.Every, Start: r.StartDate, End: r.EndDate,
		Job: scripts.Iteration{
			Name: t.Name, Data: string(data), Opts: string(o.encodeTemplate()), Priority: int64(o.Priority), LIFO: o.LIFO,
		},
	}
	if o.Deduplication != nil {
		s.Job.DedupID = o.Deduplication.ID
	}
	if r.Every != 0 && r.Offset != 0 {
		s.Offset = &r.Offset
	}
	s.Record = record(r, s.Job)
	return s, nil
}

// options are those of a template over the queue's, without what follows from the firing.
func (t JobTemplate) options(defaults JobOptions) (JobOptions, error) {
	o := t.Options
	switch {
	case o.ID != "":
		return o, invalid("jobId", "the ids of a scheduler's jobs follow from their times")
	case o.Delay != 0 || o.Given&GivenDelay != 0:
		return o, invalid("delay", "the delays of a scheduler's jobs follow from their times")
	case !o.Timestamp.IsZero():
		return o, invalid("timestamp", "the times of a scheduler's jobs follow from the schedule")
	case o.Parent != nil || o.OnFailure != "":
		return o, invalid("parent", "a scheduler's jobs have no parent")
	}
	for _, name := range iterationMembers {
		if _, ok := o.Extra[name]; ok {
			return o, invalid(name, "belongs to the schedule, not to the job")
		}
	}
	defaults.ID, defaults.Delay, defaults.Timestamp, defaults.Parent, defaults.OnFailure = "", 0, time.Time{}, nil, ""
	defaults.Given &^= GivenDelay
	o = o.Over(defaults)
	return o, o.validate(true)
}

// record is the hash of a scheduler, fields and values alternating (features 1.1).
func record(r Repeat, j scripts.Iteration) []string {
	fields := []string{"name", j.Name}
	put := func(name, value, absent string) {
		if value != absent {
			fields = append(fields, name, value)
		}
	}
	put("tz", r.TZ, "")
	put("pattern", r.Pattern, "")
	put("every", string(inMillis(r.Every)), "0")
	put("data", j.Data, "{}")
	put("opts", j.Opts, "{}")
	if r.Limit != nil {
		put("limit", strconv.FormatInt(*r.Limit, 10), "")
	}
	if !r.StartDate.IsZero() {
		put("startDate", strconv.FormatInt(r.StartDate.UnixMilli(), 10), "")
	}
	if !r.EndDate.IsZero() {
		put("endDate", strconv.FormatInt(r.EndDate.UnixMilli(), 10), "")
	}
	return fields
}

// firstFiring finds out when a new scheduler fires first; false if it never does. Intervals leave that to the script.
func (q *Queue) firstFiring(s *scripts.Schedule, r Repeat, now time.Time) (bool, error) {
	if !r.allows(1) {
		return false, nil
	}
	if r.Every != 0 {
		return true, nil
	}
	next, ok, err := r.next(now)
	if err != nil {
		return false, err
	}
	if r.Immediately {
		next, ok = now, true
	}
	s.Next = next
	return ok, nil
}

// iterationMembers are the options of a scheduler's job that follow from the firing (features 1.2).
var iterationMembers = []string{"repeat", "repeatJobKey", "jobId", "delay", "timestamp", "prevMillis"}

// iterationOptions are the options of a new scheduler's first job: those of its template and what follows from the
// firing. Redis adds jobId and delay.
func (q *Queue) iterationOptions(ctx context.Context, r Repeat, s scripts.Schedule, now time.Time) string {
	var j object
	j.members(s.Job.Opts)
	j.trace(ctx, q)
	j.firing(r.encode(1), s.ID, s.Next, now)
	return string(j.json())
}

// trace adds the trace metadata of the context a firing is added in, unless the template has its own: it belongs to the
// job, not to the scheduler (features 7.1).
func (j *object) trace(ctx context.Context, q *Queue) {
	if !j.seen["tm"] && !j.seen["omc"] {
		if metadata := q.telemetry.Inject(ctx); metadata != "" {
			j.text("tm", metadata)
		}
	}
}

// members adds those of an object of our own making.
func (j *object) members(text string) {
	list, _ := objectMembers([]byte(text))
	for _, m := range list {
		j.put(m.name, m.value)
	}
}

// firing adds the members that follow from a firing; next is zero for intervals.
func (j *object) firing(repeat json.RawMessage, scheduler string, next, now time.Time) {
	j.put("repeat", repeat)
	j.text("repeatJobKey", scheduler)
	j.number("timestamp", now.UnixMilli())
	if !next.IsZero() {
		j.number("prevMillis", next.UnixMilli())
	}
}

// iteration is a scheduler's job as it has just been written.
func (q *Queue) iteration(id string, s scripts.Schedule, now time.Time, delay time.Duration) *Job {
	var j object
	j.members(s.Job.Opts)
	j.text("jobId", id)
	j.put("delay", inMillis(delay))
	fields := map[string]string{
		"name": s.Job.Name, "data": s.Job.Data, "opts": string(j.json()), "rjk": s.ID,
		"timestamp": strconv.FormatInt(now.UnixMilli(), 10), "delay": strconv.FormatInt(delay.Milliseconds(), 10),
		"priority": strconv.FormatInt(s.Job.Priority, 10),
	}
	if s.Job.DedupID != "" {
		fields["deid"] = s.Job.DedupID
	}
	return decodeJob(q, id, fields)
}

// RemoveScheduler deletes a scheduler and its job if that is delayed, and reports whether there was one. A job that
// waits or runs becomes an ordinary one that no other follows. ErrLegacyScheduler refuses repeatable jobs of an older
// version, which are not ours to delete (features 1.9).
func (q *Queue) RemoveScheduler(ctx context.Context, id string) (bool, error) {
	err := q.refuseLegacy(ctx, id)
	if err == nil {
		var removed bool
		if removed, err = q.runner.RemoveScheduler(ctx, q.target, id); err == nil {
			return removed, nil
		}
	}
	return false, fmt.Errorf("remove scheduler %s of %s: %w", id, q.Name, err)
}

// refuseLegacy refuses an id that an older version made of a repeatable job, if there is such a job. Other ids of old
// versions have records that BullMQ 6 takes for schedulers; they can be replaced and removed.
func (q *Queue) refuseLegacy(ctx context.Context, id string) error {
	if !legacyShape(id) && !bullShape(id) {
		return nil
	}
	s, err := q.runner.Scheduler(ctx, q.target, id)
	if err != nil || s == nil || originOf(id, s.Record) == OriginBullMQ {
		return err
	}
	return ErrLegacyScheduler
}
