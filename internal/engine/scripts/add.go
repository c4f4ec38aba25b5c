package scripts

import (
	"context"
	"time"
)

// NewJob is one job to add. Texts are stored as they are: data and options must be valid JSON.
type NewJob struct {
	ID        string // "" = the queue's next number
	Name      string
	Data      string    // JSON
	Opts      string    // JSON object with short names (lifecycle 3)
	Timestamp time.Time // creation time; delays count from it
	Delay     time.Duration
	Priority  int64
	LIFO      bool
	// WaitChildren puts the job into waiting-children: it is the parent of jobs added after it.
	WaitChildren bool
	Parent       *Parent
	Dedup        *Dedup
	SchedulerID  string // rjk
}

// Parent links a new job to its parent.
type Parent struct {
	Key  string // full key of the parent's hash
	JSON string // the field parent: {"id","queueKey"} and at most one failure flag (features 2.1)
}

// Dedup is the deduplication option of a new job (features 3).
type Dedup struct {
	ID               string
	TTL              time.Duration // 0 = none
	Extend           bool
	Replace          bool
	Reschedule       bool
	KeepLastIfActive bool
}

// Added is the outcome of adding one job.
type Added struct {
	Code Code
	// ID is the job that now stands for the call: the new one, or the existing one it was a duplicate of.
	ID string
	// Stored is false when an existing id or a deduplication id kept the job from being stored.
	Stored bool
}

// AddJobs adds jobs in order (lifecycle 8.1). Codes: ParentMissing, ParentReplaced. Large calls run as several scripts;
// on an error the outcomes of those that ran are returned with it.
func (r *Runner) AddJobs(ctx context.Context, t Target, now time.Time, jobs []NewJob) ([]Added, error) {
	out := make([]Added, 0, len(jobs))
	for len(jobs) > 0 {
		n := addChunk(jobs)
		a := args(now, n)
		for _, j := range jobs[:n] {
			a.newJob(j)
		}
		reply, err := r.write(ctx, "addJobs", t, a)
		if err != nil {
			return out, err
		}
		out = append(out, added(reply)...)
		jobs = jobs[n:]
	}
	return out, nil
}

// Redis does nothing else while a script runs, so large calls are cut: at most this many jobs, and a new script once so
// many bytes have gathered.
const (
	addMaxJobs  = 500
	addMaxBytes = 4 << 20
)

// addChunk returns how many of jobs go into the next script, at least one.
func addChunk(jobs []NewJob) int {
	size := 0
	for i, j := range jobs {
		size += len(j.Data) + len(j.Opts)
		if i+1 == addMaxJobs || size >= addMaxBytes {
			return i + 1
		}
	}
	return len(jobs)
}

// newJob appends a job as addJobs.lua describes it.
func (a *arguments) newJob(j NewJob) {
	parent := Parent{}
	if j.Parent != nil {
		parent = *j.Parent
	}
	a.add(j.ID, j.Name, j.Data, j.Opts, j.Timestamp, j.Delay, j.Priority, j.LIFO, j.WaitChildren)
	a.add(parent.Key, parent.JSON, j.SchedulerID)
	if j.Dedup == nil {
		a.add("")
		return
	}
	d := j.Dedup
	a.add(d.ID, d.TTL, d.Extend, d.Replace, d.Reschedule, d.KeepLastIfActive)
}

// added reads the reply of addJobs.lua.
func added(reply any) []Added {
	l := list(reply)
	out := make([]Added, 0, len(l)/2)
	for i := 0; i+1 < len(l); i += 2 {
		one := Added{Stored: text(l[i+1]) == "1"}
		if code, refused := l[i].(int64); refused {
			one.Code = Code(code)
		} else {
			one.ID = text(l[i])
		}
		out = append(out, one)
	}
	return out
}
