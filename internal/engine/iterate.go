package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"bullpen/internal/engine/scripts"
)

// The next job of a scheduler is added when a worker has taken the current one, not when that ends (features 1.5). As
// long as Redis could not be told, no attempt of the worker is ended, so that the chain cannot break at that place: a
// job whose successor is missing is either active or, after a crash, found stalled and taken again.

// unplanned are the jobs of schedulers whose successors have to be added.
func unplanned(taken []*Job) []*Job {
	return slices.DeleteFunc(slices.Clone(taken), func(j *Job) bool { return j.SchedulerID == "" })
}

// plan adds the successors that are owed and keeps those that Redis could not be told about. A schedule that makes no
// sense, or that Redis refuses, ends there; the job itself runs all the same.
func (t *trip) plan(ctx context.Context) error {
	for len(t.owed) > 0 {
		j := t.owed[0]
		err := t.w.q.addSuccessor(ctx, j)
		var broken *scheduleError
		switch {
		case errors.As(err, &broken), isRefusal(err):
			t.w.log.Error("the next job of a scheduler could not be added; the schedule ends here", "job_id", j.ID,
				"scheduler", j.SchedulerID, "err", err)
		case err != nil:
			return fmt.Errorf("add next job of scheduler %s: %w", j.SchedulerID, err)
		}
		t.owed = t.owed[1:]
	}
	return nil
}

// scheduleError is a schedule that cannot be followed, whatever Redis says.
type scheduleError struct{ error }

func (e *scheduleError) Unwrap() error { return e.error }

// addSuccessor adds the job that follows j. It may be called again for the same job: then it does nothing.
func (q *Queue) addSuccessor(ctx context.Context, j *Job) (err error) {
	ctx, span := q.span(ctx, SpanProducer, "add", q.Name+"."+j.Name, slog.String(attrScheduler, j.SchedulerID))
	defer func() { span.End(err) }()
	if legacyShape(j.SchedulerID) {
		ours, err := q.client.HExists(ctx, q.Queue.Scheduler(j.SchedulerID), "ic").Result()
		if err != nil {
			return err
		}
		if !ours {
			return &scheduleError{ErrLegacyScheduler}
		}
	}
	now := q.clock()
	f, ok, err := j.successor(ctx, now)
	if err != nil {
		return &scheduleError{err}
	}
	if ok {
		_, err = q.runner.NextIteration(ctx, q.target, now, f)
	}
	return err
}

// successor is the firing after that of j, as the options of j want it; false if there is none (features 1.5).
func (j *Job) successor(ctx context.Context, now time.Time) (f scripts.Firing, ok bool, err error) {
	members, err := objectMembers(j.RawOpts)
	if err != nil {
		return f, false, fmt.Errorf("options of the job: %w", err)
	}
	options := latest(members)
	r, count, err := decodeRepeat(options["repeat"])
	if err != nil {
		return f, false, err
	}
	count++
	if !r.allows(count) || !r.EndDate.IsZero() && now.After(r.EndDate) {
		return f, false, nil
	}
	f = scripts.Firing{
		SchedulerID: j.SchedulerID, JobID: j.ID, Every: r.Every, Offset: r.Offset, End: r.EndDate,
		Job: scripts.Iteration{
			Name: j.Name, Data: string(j.Data), Priority: int64(j.Opts.Priority), LIFO: j.Opts.LIFO,
			DedupID: j.DeduplicationID,
		},
	}
	if r.Pattern != "" {
		if f.Next, ok, err = r.next(later(now, options["prevMillis"])); err != nil || !ok {
			return f, false, err
		}
	}
	f.Job.Opts = j.nextOptions(ctx, members, r.repeated(options["repeat"], count), f.Next, now)
	return f, true, nil
}

// latest gives each option by its stored name; of two spellings the later one counts.
func latest(members []member) map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		values[shortName(longName(m.name))] = m.value
	}
	return values
}

// later is the later of now and a time in milliseconds, if that is one.
func later(now time.Time, ms json.RawMessage) time.Time {
	if n, ok := jsonNumber(ms); ok && instant(n).After(now) {
		return instant(n)
	}
	return now
}

// nextOptions are the options of the successor: those of j as they are stored, and what follows from the firing.
func (j *Job) nextOptions(ctx context.Context, members []member, repeat json.RawMessage, next, now time.Time) string {
	var o object
	values := latest(members)
	for _, m := range members {
		name := shortName(longName(m.name))
		if o.seen[name] || slices.Contains(iterationMembers, name) || isNull(values[name]) {
			continue
		}
		o.put(name, normalised(name, values[name]))
	}
	if !o.seen["attempts"] {
		o.number("attempts", 0)
	}
	o.trace(ctx, j.queue)
	o.firing(repeat, j.SchedulerID, next, now)
	return string(o.json())
}

// normalised spells a backoff that is only a number as every job but a scheduler's first has it (lifecycle 3).
func normalised(name string, value json.RawMessage) json.RawMessage {
	if _, isNumber := decimal(string(value)); name == "backoff" && isNumber {
		if b, ok := decodeBackoff(value); ok {
			return b.encode()
		}
	}
	return value
}

// repeated is the option repeat of the count-th firing: the members of the one before as they are stored, but for those
// that follow from the firing.
func (r Repeat) repeated(before json.RawMessage, count int64) json.RawMessage {
	members, _ := objectMembers(before) // decodeRepeat has read it
	var j object
	for _, m := range members {
		if !r.decides(m.name) && !isNull(m.value) {
			j.put(m.name, m.value)
		}
	}
	r.encodeIteration(&j, count)
	return j.json()
}

// legacyShape recognises the ids that older BullMQ, and Bull, made of repeatable jobs: name:id:endDate:tz:pattern, the
// pattern being cron or milliseconds (features 1.10). A scheduler's own id can look like that too.
func legacyShape(id string) bool {
	parts := strings.SplitN(id, ":", 5)
	if len(parts) < 5 || parts[2] != "" && !digits(parts[2]) {
		return false
	}
	return digits(parts[4]) || strings.Contains(parts[4], " ")
}

// bullShape recognises the ids that Bull made of repeatable jobs with an interval: name:id:endDate:milliseconds.
func bullShape(id string) bool {
	parts := strings.Split(id, ":")
	return len(parts) == 4 && (parts[2] == "" || digits(parts[2])) && digits(parts[3])
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
