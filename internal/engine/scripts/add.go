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
	panic("stub")
}
