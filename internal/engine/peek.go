package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
)

// Peek is a job as a page shows it: with its state, and with payloads cut, so that it costs the same whatever they hold.
type Peek struct {
	*Job
	State keys.State
	// Locked is what is left of the lock of an active job, negative without one.
	Locked time.Duration
	// Due is when a delayed job becomes ready, the zero time in other states.
	Due time.Time
	// Logs is how many log rows are kept.
	Logs int64
	// Children by how they stand (features 2.8).
	Pending, Processed, Ignored, Unsuccessful int64
	// Sizes is the length of each stored field in bytes; a field longer than the limit was cut.
	Sizes map[string]int64
}

// Peek reads one job in one round trip, of each field at most limit bytes. Data and results that are longer are left out,
// unless long: then they are begun as well, for which Redis copies all of them. ErrJobNotFound if it has no hash and is in no
// state; a job that is listed without a hash has no Fields.
func (q *Queue) Peek(ctx context.Context, id string, limit int, long bool) (*Peek, error) {
	if keys.Reserved(id) {
		return nil, fmt.Errorf("job %s: %w", id, ErrJobNotFound)
	}
	found, err := q.runner.Peek(ctx, q.target, id, limit, long)
	if err != nil {
		return nil, fmt.Errorf("read job %s: %w", id, err)
	}
	if len(found.Fields) == 0 && found.State == keys.Unknown {
		return nil, fmt.Errorf("job %s: %w", id, ErrJobNotFound)
	}
	p := &Peek{
		Job: decodeJob(q, id, found.Fields), State: found.State, Locked: found.Locked, Logs: found.Logs, Sizes: found.Sizes,
		Pending: found.Pending, Processed: found.Processed, Ignored: found.Ignored, Unsuccessful: found.Unsuccessful,
	}
	if p.State == keys.Delayed {
		p.Due = dueTime(found.Score)
	}
	for _, size := range found.Sizes {
		if size > int64(limit) {
			p.fault = nil // a text that was cut says nothing about the whole
		}
	}
	return p, nil
}

// Field reads one field of a job's hash whole. ErrJobNotFound if the hash or the field is not there.
func (q *Queue) Field(ctx context.Context, id, name string) (string, error) {
	v, err := q.client.HMGet(ctx, q.Queue.Job(id), name).Result()
	if err != nil {
		return "", fmt.Errorf("read %s of job %s: %w", name, id, err)
	}
	text, ok := v[0].(string)
	if !ok || keys.Reserved(id) {
		return "", fmt.Errorf("%s of job %s: %w", name, id, ErrJobNotFound)
	}
	return text, nil
}

// JobEvent is something the event stream says about a job.
type JobEvent struct {
	At   time.Time
	Name string
	// Fields are the other fields, cut to 300 bytes each.
	Fields map[string]string
}

// JobEvents are the events of one job, oldest first.
type JobEvents struct {
	Events []JobEvent
	// Since is how far back the stream reaches; the zero time when it is empty.
	Since time.Time
	// Whole is false when the search ended before it had looked at every entry in question.
	Whole bool
}

// JobEvents searches at most budget entries of the queue's stream between two times for events of a job. The times are
// those of Redis, which stamps the entries.
func (q *Queue) JobEvents(ctx context.Context, id string, from, to time.Time, budget int) (*JobEvents, error) {
	events, oldest, whole, err := q.runner.JobEvents(ctx, q.target, id, from, to, budget)
	if err != nil {
		return nil, fmt.Errorf("read events of job %s: %w", id, err)
	}
	out := &JobEvents{Since: streamTime(oldest), Whole: whole}
	for _, e := range events {
		out.Events = append(out.Events, JobEvent{At: streamTime(e.ID), Name: e.Fields["event"], Fields: e.Fields})
	}
	return out, nil
}

func streamTime(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
