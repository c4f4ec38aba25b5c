package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bullpen/internal/engine/scripts"
)

// Job is one job as read from Redis, or as given to a Handler. It is a copy: it does not change when the job does.
type Job struct {
	ID              string
	Name            string
	Data            json.RawMessage // as stored
	Opts            JobOptions
	RawOpts         json.RawMessage // as stored, short names
	Timestamp       time.Time
	Delay           time.Duration
	Priority        int64
	ProcessedOn     time.Time // zero when absent
	FinishedOn      time.Time // zero when absent
	AttemptsMade    int
	AttemptsStarted int
	StalledCount    int
	Progress        json.RawMessage // nil when absent
	ReturnValue     json.RawMessage // nil when absent
	FailedReason    string
	Stacktrace      []string // oldest first
	ProcessedBy     string
	ParentKey       string
	Parent          json.RawMessage
	SchedulerID     string
	DeduplicationID string
	DeferredFailure string
	// Fields is the whole hash as Redis holds it, for fields the engine does not know.
	Fields map[string]string
	// Existing is set on a job returned by Add when its id, or its deduplication id, was taken: nothing was stored, ID
	// names the job that stands for the call, and no other field is set.
	Existing bool

	queue *Queue
	token string // lock token, "" unless the job was taken
	fault error  // what keeps the job from being run, see Fault
}

// decodeJob reads a job's hash. It takes whatever the hash holds: nonsense in a number reads as 0, in a text as it is.
func decodeJob(q *Queue, id string, fields map[string]string) *Job {
	j := &Job{
		ID: id, Fields: fields, queue: q,
		Name:            fields["name"],
		Data:            json.RawMessage(fields["data"]),
		RawOpts:         json.RawMessage(fields["opts"]),
		Timestamp:       fieldTime(fields["timestamp"]),
		Delay:           millis(field(fields["delay"])),
		Priority:        fieldInt(fields["priority"]),
		ProcessedOn:     fieldTime(fields["processedOn"]),
		FinishedOn:      fieldTime(fields["finishedOn"]),
		AttemptsMade:    attemptsMade(fields),
		AttemptsStarted: int(fieldInt(fields["ats"])),
		StalledCount:    int(fieldInt(first(fields, "stc", "stalledCounter"))),
		Progress:        optional(fields, "progress"),
		ReturnValue:     optional(fields, "returnvalue"),
		FailedReason:    fields["failedReason"],
		Stacktrace:      decodeStacktrace(fields["stacktrace"]),
		ProcessedBy:     fields["pb"],
		ParentKey:       fields["parentKey"],
		Parent:          optional(fields, "parent"),
		SchedulerID:     fields["rjk"],
		DeduplicationID: fields["deid"],
		DeferredFailure: fields["defa"],
	}
	if len(j.Data) == 0 {
		j.Data = json.RawMessage("{}")
	}
	j.Opts, j.fault = decodeOptions(j.RawOpts)
	switch {
	case isGone(fields):
		j.fault = errors.New("the job's hash was deleted")
	case !json.Valid(j.Data):
		j.fault = errors.Join(j.fault, errors.New("data is not valid JSON"))
	}
	return j
}

// attemptsMade adds what very old versions counted in a field of their own to what has been counted since. BullMQ looks
// at the old field alone, which nobody increments any more, and so retries such a job for ever.
func attemptsMade(fields map[string]string) int {
	return int(max(fieldInt(fields["attemptsMade"]), 0) + max(fieldInt(fields["atm"]), 0))
}

// isGone recognises the hash that a worker's activation left where the job's own had been deleted.
func isGone(fields map[string]string) bool {
	for _, base := range []string{"name", "data", "opts", "timestamp"} {
		if _, ok := fields[base]; ok {
			return false
		}
	}
	return true
}

// first returns the first of the named fields that is there; older versions used other names (lifecycle 2).
func first(fields map[string]string, names ...string) string {
	for _, name := range names {
		if v, ok := fields[name]; ok {
			return v
		}
	}
	return ""
}

func optional(fields map[string]string, name string) json.RawMessage {
	if v, ok := fields[name]; ok {
		return json.RawMessage(v)
	}
	return nil
}

// decodeStacktrace reads a JSON array of texts; anything else is empty, and so is the {} that Redis' Lua makes of [].
func decodeStacktrace(text string) []string {
	var traces []string
	if text == "" || json.Unmarshal([]byte(text), &traces) != nil {
		return nil
	}
	return traces
}

// Fault says what in the stored job keeps it from being run: options or data that are not valid JSON, or a hash that
// was deleted while the job was listed. It is nil for a sound job. A worker fails such a job with this reason.
func (j *Job) Fault() error { return j.fault }

// AttemptsAllowed is the total number of attempts the job may make, at least 1.
func (j *Job) AttemptsAllowed() int { return max(j.Opts.Attempts, 1) }

// PublicOptions returns the job's options as a JSON object with BullMQ's public names; values are as stored, unknown
// options are kept, and options that are not an object give {}.
func (j *Job) PublicOptions() json.RawMessage {
	public, err := publicOptions(j.RawOpts)
	if err != nil {
		return json.RawMessage("{}")
	}
	return public
}

// Queue returns the queue the job was read from.
func (j *Job) Queue() *Queue { return j.queue }

// Key returns the full key of the job's hash, by which other queues name it.
func (j *Job) Key() string { return j.queue.Queue.Job(j.ID) }

// codeError turns a refusal into the error BullMQ's users see (lifecycle 10). command is BullMQ's name of the script,
// state the state the job should have been in, parent the key of its parent.
func codeError(code scripts.Code, id, command, state, parent string) error {
	if code >= 0 {
		return nil
	}
	e := &CodeError{Code: int(code), JobID: id}
	switch code {
	case scripts.JobMissing:
		e.cause, e.Message = ErrJobNotFound, fmt.Sprintf("Missing key for job %s. %s", id, command)
	case scripts.LockMissing:
		e.cause, e.Message = ErrLockMissing, fmt.Sprintf("Missing lock for job %s. %s", id, command)
	case scripts.WrongState:
		e.cause, e.Message = ErrWrongState, fmt.Sprintf("Job %s is not in the %s state. %s", id, state, command)
	case scripts.PendingChildren:
		e.cause, e.Message = ErrPendingChildren, fmt.Sprintf("Job %s has pending dependencies. %s", id, command)
	case scripts.ParentMissing:
		e.cause, e.Message = ErrParentNotFound, fmt.Sprintf("Missing key for parent job %s. %s", parent, command)
	case scripts.LockMismatch:
		e.cause, e.Message = ErrLockMismatch, fmt.Sprintf("Lock mismatch for job %s. Cmd %s from %s", id, command, state)
	case scripts.ParentReplaced:
		e.cause, e.Message = ErrParentReplaced, fmt.Sprintf("The parent job %s cannot be replaced. %s", parent, command)
	case scripts.SchedulerOwned:
		e.cause = ErrSchedulerOwned
		e.Message = fmt.Sprintf("Job %s belongs to a job scheduler and cannot be removed directly. %s", id, command)
	case scripts.FailedChildren:
		e.cause = ErrFailedChildren
		e.Message = fmt.Sprintf("Cannot complete job %s because it has at least one failed child. %s", id, command)
	case scripts.SchedulerConflict:
		e.cause = ErrSlotTaken
		e.Message = fmt.Sprintf("Cannot create job scheduler iteration - job ID already exists. %s", command)
	case scripts.SchedulerBusy:
		e.cause = ErrSlotTaken
		e.Message = fmt.Sprintf("Cannot create job scheduler iteration - current and next time slots already have jobs. %s", command)
	case scripts.Locked:
		e.cause = ErrLocked
		e.Message = fmt.Sprintf("Job %s could not be removed because it is locked by another worker", id)
	case scripts.Broken:
		e.cause = ErrDamaged
		e.Message = fmt.Sprintf("A key of job %s holds what BullMQ never writes there. %s", id, command)
	default:
		e.Message = fmt.Sprintf("Unknown code %d error for %s. %s", code, id, command)
	}
	return e
}

// firstLine cuts a text to its first line and at most limit bytes of valid UTF-8.
func firstLine(text string, limit int) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.ToValidUTF8(text, "")
}
