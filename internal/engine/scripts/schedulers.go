package scripts

import (
	"context"
	"time"
)

// Iteration is the job a scheduler produces. Its id, delay and creation time follow from the firing.
type Iteration struct {
	Name string
	Data string // JSON
	// Opts is a JSON object with short names and at least one member, without jobId and delay, which are added.
	Opts     string
	Priority int64
	LIFO     bool
	DedupID  string // stored, but not claimed (features 1.9)
}

// Schedule is a job scheduler as it is upserted. Either Every or Next is set.
type Schedule struct {
	ID     string
	Every  time.Duration // of an interval scheduler
	Next   time.Time     // of a scheduler with a pattern: its next firing
	Offset *time.Duration
	Start  time.Time // zero = none
	End    time.Time // zero = none; an interval never fires later
	// Record holds fields and values of the scheduler's hash, alternating, without offset and ic (features 1.1).
	Record []string
	Job    Iteration
}

// UpsertScheduler creates or replaces a scheduler and its next job (features 1.3), and returns that job's id and delay. No
// id and no code means that an interval's next slot lies behind the end: nothing was changed. Codes: SchedulerConflict,
// SchedulerBusy.
func (r *Runner) UpsertScheduler(ctx context.Context, t Target, now time.Time, s Schedule) (jobID string, delay time.Duration, c Code, err error) {
	a := args(now, s.ID, optionalMillis(s.Every), optionalTime(s.Next))
	if s.Offset == nil {
		a.add("")
	} else {
		a.add(*s.Offset)
	}
	a.add(optionalTime(s.Start), optionalTime(s.End)).texts(s.Record).iteration(s.Job)
	reply, err := r.write(ctx, "upsertScheduler", t, a)
	if err != nil {
		return "", 0, OK, err
	}
	l := list(reply)
	if len(l) != 2 {
		return "", 0, Code(integer(reply)), nil
	}
	return text(l[0]), time.Duration(integer(l[1])) * time.Millisecond, OK, nil
}

// Firing is what a worker knows of a scheduler's job it has taken.
type Firing struct {
	SchedulerID string
	JobID       string
	Next        time.Time     // of a scheduler with a pattern: its next firing
	Every       time.Duration // of the job's options, for records that lack it; 0 = none
	Offset      time.Duration // likewise
	End         time.Time     // zero = none
	// Job is the next job. Name and data are used only where the scheduler's record has none.
	Job Iteration
}

// NextIteration adds the next job of a scheduler after the current one was taken (features 1.5). It returns "" if
// nothing was to be added.
func (r *Runner) NextIteration(ctx context.Context, t Target, now time.Time, f Firing) (jobID string, err error) {
	a := args(now, f.SchedulerID, f.JobID, optionalTime(f.Next), optionalMillis(f.Every), optionalMillis(f.Offset),
		optionalTime(f.End))
	reply, err := r.write(ctx, "nextIteration", t, a.iteration(f.Job))
	return text(reply), err
}

// RemoveScheduler deletes a scheduler and its delayed job (features 1.9), and reports whether there was one.
func (r *Runner) RemoveScheduler(ctx context.Context, t Target, id string) (bool, error) {
	reply, err := r.write(ctx, "removeScheduler", t, args(id))
	return integer(reply) == 1, err
}

// Scheduler is a job scheduler as it is stored. A record without the field ic comes from an older version and is not
// ours to change (features 1.10).
type Scheduler struct {
	ID     string
	Next   time.Time
	Record map[string]string
	// JobOpts are the options of the job of that iteration, JSON; "" if there is no such job or it has ended.
	JobOpts string
}

// Schedulers lists schedulers start..end (inclusive, 0-based) by the time of their current iteration, and counts all.
func (r *Runner) Schedulers(ctx context.Context, t Target, start, end int64, asc bool) (all []Scheduler, total int64, err error) {
	return r.schedulers(ctx, t, args("", start, end, asc))
}

// Scheduler reads one scheduler, nil if there is none.
func (r *Runner) Scheduler(ctx context.Context, t Target, id string) (*Scheduler, error) {
	found, _, err := r.schedulers(ctx, t, args(id, 0, 0, false))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (r *Runner) schedulers(ctx context.Context, t Target, a *arguments) (all []Scheduler, total int64, err error) {
	reply, err := r.read(ctx, "getSchedulers", t, a)
	if err != nil {
		return nil, 0, err
	}
	l := list(reply)
	if len(l) == 0 {
		return nil, 0, badReply("getSchedulers", reply)
	}
	for i := 1; i+3 < len(l); i += 4 {
		all = append(all, Scheduler{
			ID: text(l[i]), Next: time.UnixMilli(integer(l[i+1])), Record: pairs(l[i+2]), JobOpts: text(l[i+3]),
		})
	}
	return all, integer(l[0]), nil
}

// iteration appends the job a scheduler produces.
func (a *arguments) iteration(j Iteration) *arguments {
	return a.add(j.Name, j.Data, j.Opts, j.Priority, j.LIFO, j.DedupID)
}

// optionalMillis is a duration in milliseconds, "" for zero.
func optionalMillis(d time.Duration) any {
	if d == 0 {
		return ""
	}
	return d
}

// optionalTime is a time in milliseconds, "" for the zero time.
func optionalTime(t time.Time) any {
	if t.IsZero() {
		return ""
	}
	return t
}
