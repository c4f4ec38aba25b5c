package monitor

import (
	"container/list"
	"time"

	"bullpen/internal/engine/keys"
)

// JobObserver is told the times of single jobs as their events are read, for histograms. Calls come from the readers'
// goroutines and must not block.
type JobObserver interface {
	// JobWaited is called when an attempt starts, with the time since the job was ready to run.
	JobWaited(q keys.Queue, id string, wait time.Duration)
	// JobRan is called when an attempt ends, completed or failed.
	JobRan(q keys.Queue, id string, completed bool, run time.Duration)
	// JobEnded is called when a job ends for good, with the attempts it used.
	JobEnded(q keys.Queue, id string, attempts int)
}

// JobNameObserver is a JobObserver that also counts jobs by name, for the queues where that is wanted.
type JobNameObserver interface {
	WantsJobNames(q keys.Queue) bool
	// NamedJob is called when an attempt ends with an outcome: "completed", "failed" or "retried". The name is empty
	// when the job was added before its queue was followed.
	NamedJob(q keys.Queue, name, outcome string)
}

// eventCounter turns the events of one queue into totals. It does no I/O.
type eventCounter struct {
	queue    keys.Queue
	table    *jobTable
	jobs     map[string]*list.Element
	minutes  *minuteLog
	observer JobObserver     // may be nil
	names    JobNameObserver // nil unless job names are wanted
	// waitTarget and runTarget are the policy's, in milliseconds; 0 = none.
	waitTarget, runTarget int64
	// fresh is what was counted since it was last taken.
	fresh EventTotals
}

// jobFacts are what Redis says of a job right after a batch was read; they settle what events leave open.
type jobFacts struct {
	found bool
	// started, made and stalls are ats, atm and stc of the hash.
	started, made, stalls int64
	// running says the job is locked by a worker.
	running bool
}

// back is how many attempts of the job went back without being used up: every start but those that were used up,
// stalled, or still run.
func (f jobFacts) back() int64 {
	n := f.started - f.made - f.stalls
	if f.running {
		n--
	}
	return n
}

// undecided returns the jobs of a batch with an event whose meaning only the job's hash tells: was an attempt used up
// when it left active, or did it go back of its own accord?
func (c *eventCounter) undecided(batch []entry) map[string]jobFacts {
	open := map[string]jobFacts{}
	last := map[string]string{}
	for i, e := range batch {
		if e.job == "" {
			continue
		}
		switch {
		case e.backFromActive():
			if !nextOf(batch, i).follows(e, eventStalled) {
				open[e.job] = jobFacts{}
			}
		case e.kind == eventDelayed:
			if leftActive(c.lastKind(last, e.job)) {
				open[e.job] = jobFacts{}
			}
		}
		last[e.job] = e.kind
	}
	return open
}

func (c *eventCounter) lastKind(inBatch map[string]string, id string) string {
	if kind, ok := inBatch[id]; ok {
		return kind
	}
	if e, ok := c.jobs[id]; ok {
		return e.Value.(*jobRecord).last
	}
	return ""
}

// leftActive reports whether a job delayed after an event of this kind may come from active. An unknown job does: new
// ones are told by the added event just before.
func leftActive(last string) bool { return last == eventActive || last == "" }

func nextOf(batch []entry, i int) entry {
	if i+1 < len(batch) {
		return batch[i+1]
	}
	return entry{}
}

// count takes a batch in stream order. facts has an entry for every job undecided named. The last entry must not need
// the one after it, unless the stream ends there.
func (c *eventCounter) count(batch []entry, facts map[string]jobFacts) {
	for i, e := range batch {
		var prev entry
		if i > 0 {
			prev = batch[i-1]
		}
		c.one(prev, e, nextOf(batch, i), facts)
	}
}

// one counts e; prev and next are its neighbours in the stream.
func (c *eventCounter) one(prev, e, next entry, facts map[string]jobFacts) {
	minute := c.minutes.at(e.at)
	switch e.kind {
	case eventAdded:
		r := c.table.touch(c, e.job)
		*r = jobRecord{owner: c, id: e.job, last: e.kind, known: true}
		if c.names != nil {
			r.name = e.name
		}
		minute.Added++
	case eventWaiting:
		c.waiting(e, next, facts)
	case eventDelayed:
		c.delayed(e, facts)
	case eventActive:
		c.active(e)
	case eventCompleted:
		c.fresh.Completed++
		minute.Completed++
		c.ended(e, true)
	case eventFailed:
		minute.Failed++
		c.failed(e, next)
	case eventStalled:
		c.fresh.Stalled++
		minute.Stalled++
	case eventRemoved:
		if e.prev != eventCompleted && e.prev != eventFailed {
			c.fresh.Removed++
		}
		c.forget(e.job)
	case eventDuplicated:
		c.fresh.Duplicated++
	case eventDeduplicated:
		if !replaced(prev, e) {
			c.fresh.Deduplicated++
		}
	case eventWaitingChildren:
		c.table.touch(c, e.job).last = e.kind
	}
}

// replaced reports whether a deduplicated event tells of a job that took the place of a delayed one, so that the add
// was not dropped: its script removes the old job just before (features 3.2).
func replaced(prev, e entry) bool {
	return prev.kind == eventRemoved && prev.prev == eventDelayed && (prev.job == e.owner || prev.job == e.job)
}

// waiting counts a job that became ready: new, promoted, retried, stalled, put back or run again.
func (c *eventCounter) waiting(e, next entry, facts map[string]jobFacts) {
	r := c.table.touch(c, e.job)
	switch e.prev {
	case "active":
		if !next.follows(e, eventStalled) && r.usedUp(facts[e.job]) {
			c.fresh.RetriedImmediate++
			c.retried(r, e)
		}
	case eventDelayed:
		c.fresh.Promoted++
	case eventCompleted, eventFailed:
		*r = jobRecord{owner: c, id: e.job, back: -1, name: r.name}
	}
	r.ready = e.at
	if e.prev == eventDelayed && r.due > 0 {
		// A busy worker promotes late: the job was ready when its delay ended.
		r.ready = min(e.at, r.due)
	}
	r.last, r.started, r.due = e.kind, 0, 0
}

// delayed counts a move into the delayed set. A job that only gets another due time is in it already.
func (c *eventCounter) delayed(e entry, facts map[string]jobFacts) {
	r := c.table.touch(c, e.job)
	switch {
	case r.last == eventAdded, r.last == eventWaitingChildren:
		c.fresh.DelayedScheduled++
	case r.last == eventDelayed:
	case leftActive(r.last) && r.usedUp(facts[e.job]):
		c.fresh.RetriedBackoff++
		c.fresh.DelayedBackoff++
		c.retried(r, e)
	default:
		c.fresh.DelayedManual++
	}
	r.last, r.due, r.started, r.ready = e.kind, e.due, 0, 0
}

// usedUp says whether the attempt that ended with a move out of active counts. A job that is gone went on to its end,
// which one that was put back seldom does so soon.
func (r *jobRecord) usedUp(f jobFacts) bool {
	back := f.back()
	switch {
	case f.found && r.back < 0: // first seen in mid-life: take it as the latest of those that went back
		r.back = max(back, 0)
		if back > 0 {
			return false
		}
	case f.found && back > r.back:
		r.back++
		return false
	}
	r.attempts++
	return true
}

func (c *eventCounter) retried(r *jobRecord, e entry) {
	c.minutes.at(e.at).Retried++
	c.named(r, "retried")
	c.ran(r, e, false)
}

// active counts the start of an attempt. A wait that was not seen from its beginning counts as within the target.
func (c *eventCounter) active(e entry) {
	r := c.table.touch(c, e.job)
	c.fresh.Started++
	wait := max(e.at-r.ready, 0)
	if r.ready == 0 || c.waitTarget == 0 || wait <= c.waitTarget {
		c.fresh.StartedWithinTarget++
	}
	if r.ready > 0 {
		c.minutes.waited(e.at, wait)
		if c.observer != nil {
			c.observer.JobWaited(c.queue, e.job, ofMillis(wait))
		}
	}
	r.last, r.started, r.ready = e.kind, e.at, 0
}

// failed counts a job that failed for good. What follows in the stream tells the reason.
func (c *eventCounter) failed(e, next entry) {
	exhausted := next.follows(e, eventExhausted)
	switch {
	case e.stalledOut:
		c.fresh.FailedStalled++
	case exhausted:
		c.fresh.FailedExhausted++
	default:
		c.fresh.FailedUnrecoverable++
	}
	if r := c.table.touch(c, e.job); exhausted && next.made > 0 {
		r.attempts, r.known = next.made-1, true
	}
	c.ended(e, false)
}

// ended closes a job: its last attempt is over and it is not remembered any longer.
func (c *eventCounter) ended(e entry, completed bool) {
	r := c.table.touch(c, e.job)
	c.ran(r, e, completed)
	if completed {
		c.named(r, "completed")
	} else {
		c.named(r, "failed")
	}
	if r.known && c.observer != nil {
		c.observer.JobEnded(c.queue, e.job, r.attempts+1)
	}
	c.forget(e.job)
}

func (c *eventCounter) named(r *jobRecord, outcome string) {
	if c.names != nil {
		c.names.NamedJob(c.queue, r.name, outcome)
	}
}

// ran observes the attempt that ended with e. A run that was not seen from its beginning counts as within the target.
func (c *eventCounter) ran(r *jobRecord, e entry, completed bool) {
	run := max(e.at-r.started, 0)
	if r.started == 0 || c.runTarget == 0 || run <= c.runTarget {
		c.fresh.FinishedWithinTarget++
	}
	if r.started == 0 {
		return
	}
	c.minutes.ran(e.at, run)
	if c.observer != nil {
		c.observer.JobRan(c.queue, e.job, completed, ofMillis(run))
	}
}

func ofMillis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
