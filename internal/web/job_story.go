package web

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// eventBudget is how many entries of the event stream a job's page looks at.
const eventBudget = 2000

// stepKind is what a job was doing for a while.
type stepKind int

const (
	stepAdded stepKind = iota
	stepWaited
	stepDelayed
	stepBackoff
	stepAttempt
	stepChildren
	stepEnd
)

// step is a stretch of a job's life.
type step struct {
	kind  stepKind
	at    time.Time
	until time.Time // the zero time while it lasts, or for a moment
	state string    // looks
	label string
	note  string
	// attempt is the number of an attempt, from 1.
	attempt int
}

func (s step) took() time.Duration {
	if s.until.IsZero() {
		return 0
	}
	return s.until.Sub(s.at)
}

// story is the life of a job as far as Redis still knows it.
type story struct {
	steps []step
	// since is how far back the event stream reaches; the zero time when nothing of it was used.
	since time.Time
	// whole says that every attempt is in it.
	whole bool
}

func (st story) total(kind stepKind) (d time.Duration) {
	for _, s := range st.steps {
		if s.kind == kind {
			d += s.took()
		}
	}
	return d
}

// story puts a job's life together: from its events where the stream still has them, else from its record.
func (s *Server) story(ctx context.Context, r viewRequest, j *engine.Peek) story {
	to := j.FinishedOn
	if to.IsZero() {
		to = r.now
	}
	// Entries are stamped by Redis, whose clock may differ from the one in the record.
	const slack = 5 * time.Second
	found, err := j.Queue().JobEvents(ctx, j.ID, j.Timestamp.Add(-slack), to.Add(slack), eventBudget)
	if err != nil {
		s.log.Debug("events of a job are not readable", "queue", j.Queue().Name, "job_id", j.ID, "err", err)
		found = &engine.JobEvents{}
	}
	st := story{since: found.Since}
	for _, e := range found.Events {
		st.add(e, j)
	}
	attempts := 0
	for _, x := range st.steps {
		if x.kind == stepAttempt {
			attempts++
		}
	}
	st.whole = attempts == j.AttemptsStarted && len(st.steps) > 0 && st.steps[0].kind == stepAdded
	if attempts == 0 && j.AttemptsStarted > 0 || len(st.steps) == 0 {
		st.steps = recordSteps(j)
		st.whole = j.AttemptsStarted <= 1
	}
	st.number(j)
	return st
}

// add appends what an event says and ends the step before it.
func (st *story) add(e engine.JobEvent, j *engine.Peek) {
	var last *step
	if n := len(st.steps); n > 0 {
		last = &st.steps[n-1]
	}
	afterAttempt := last != nil && last.kind == stepAttempt
	next := step{at: e.At}
	switch e.Name {
	case "added":
		next.kind, next.state, next.label, next.note = stepAdded, "waiting", "Added", addedNote(j)
	case "waiting":
		next.kind, next.state, next.label = stepWaited, "waiting", "Waited"
		switch e.Fields["prev"] {
		case "active":
			next.note = "put back to waiting"
		case "failed", "completed":
			next.note = "run again after it had " + e.Fields["prev"]
		}
	case "delayed":
		next.kind, next.state, next.label = stepDelayed, "delayed", "Delayed"
		if afterAttempt {
			next.kind, next.label = stepBackoff, "Backed off"
		}
		if due, err := strconv.ParseInt(e.Fields["delay"], 10, 64); err == nil && time.UnixMilli(due).After(e.At) {
			next.note = "for " + words.Exact(time.UnixMilli(due).Sub(e.At))
		}
	case "active":
		next.kind, next.state, next.label = stepAttempt, "active", "Attempt"
	case "completed":
		next.kind, next.state, next.label = stepEnd, "completed", "Completed"
	case "failed":
		next.kind, next.state, next.label, next.note = stepEnd, "failed", "Failed", jsonview.Visible(e.Fields["failedReason"])
	case "waiting-children":
		next.kind, next.state, next.label = stepChildren, "waiting-children", "Waited for children"
	case "stalled":
		if last != nil {
			last.note = "its worker had stalled"
		}
		return
	default:
		return // progress, retries-exhausted, duplicated and the like change no state
	}
	if last != nil && last.until.IsZero() {
		last.until = next.at
	}
	st.steps = append(st.steps, next)
}

func addedNote(j *engine.Peek) string {
	note := fmt.Sprintf("priority %d, %s", j.Priority, words.Plural(int64(j.AttemptsAllowed()), "attempt", "attempts"))
	if j.SchedulerID != "" {
		note += ", by scheduler " + jsonview.Visible(j.SchedulerID)
	}
	return note
}

// recordSteps is what the job's record alone tells: the last attempt and the end.
func recordSteps(j *engine.Peek) []step {
	var out []step
	if !j.Timestamp.IsZero() {
		out = append(out, step{kind: stepAdded, at: j.Timestamp, state: "waiting", label: "Added", note: addedNote(j)})
	}
	if !j.ProcessedOn.IsZero() {
		out = append(out, step{kind: stepAttempt, at: j.ProcessedOn, until: j.FinishedOn, state: "active", label: "Attempt"})
	}
	switch j.State {
	case keys.Completed:
		out = append(out, step{kind: stepEnd, at: j.FinishedOn, state: "completed", label: "Completed"})
	case keys.Failed:
		out = append(out, step{kind: stepEnd, at: j.FinishedOn, state: "failed", label: "Failed", note: jsonview.Visible(firstLineOf(j.FailedReason, 300))})
	}
	return out
}

// number counts the attempts back from the last one and adds what only the record knows about it.
func (st *story) number(j *engine.Peek) {
	n := j.AttemptsStarted
	for i := len(st.steps) - 1; i >= 0; i-- {
		x := &st.steps[i]
		if x.kind != stepAttempt {
			continue
		}
		x.attempt, x.label = n, "Attempt "+strconv.Itoa(n)
		if n == j.AttemptsStarted && j.ProcessedBy != "" {
			x.note = "on worker " + jsonview.Visible(j.ProcessedBy)
		}
		n--
	}
}

// stepRows is the story as a table.
func (s *Server) stepRows(st story) []templates.StepRow {
	var out []templates.StepRow
	for _, x := range st.steps {
		row := templates.StepRow{State: templates.StateOf(x.state), Label: x.label, Note: x.note, At: s.clock(x.at)}
		row.At.Text = x.at.In(s.o.Zone).Format("15:04:05.000")
		if x.kind != stepAdded && !x.until.IsZero() {
			row.Took = words.Exact(x.took())
		}
		out = append(out, row)
	}
	return out
}

// stepNote says what is no longer known, and why.
func (s *Server) stepNote(j *engine.Peek, st story) string {
	switch {
	case len(j.Fields) == 0 || st.whole:
		return "Times are in " + s.o.Zone.String() + "."
	case st.since.IsZero():
		return "Redis keeps only the last attempt's times, and the queue's event stream is empty."
	}
	return "Redis keeps only the last attempt's times. The others come from the queue's event stream, which reaches back to " +
		st.since.In(s.o.Zone).Format("2 January, 15:04:05") + "; what it no longer holds is missing here."
}
