package monitor

import "container/list"

// maxJobs bounds the jobs a process remembers for wait and run times, about 20 MB in all.
const maxJobs = 100_000

// jobRecord is what is remembered of a job between two of its events. Times are milliseconds since the epoch, 0 when
// not seen.
type jobRecord struct {
	owner *eventCounter
	id    string
	name  string // only where job names are wanted
	// last is the last event's kind.
	last string
	// ready is when the job could first have been taken, started when its attempt began, due the end of its delay.
	ready, started, due int64
	// attempts counts attempts used up; it is right only if known.
	attempts int
	known    bool
	// back counts attempts that were not used up, -1 while nothing is known of the job's past.
	back int64
}

// jobTable holds the records of all queues of a reader, and forgets the one untouched for longest when full.
type jobTable struct {
	max    int
	recent list.List // of *jobRecord, last touched in front
}

// touch returns the record of a job of c, new if there is none.
func (t *jobTable) touch(c *eventCounter, id string) *jobRecord {
	if e, ok := c.jobs[id]; ok {
		t.recent.MoveToFront(e)
		return e.Value.(*jobRecord)
	}
	if t.recent.Len() >= t.max {
		oldest := t.recent.Back().Value.(*jobRecord)
		oldest.owner.forget(oldest.id)
	}
	r := &jobRecord{owner: c, id: id, back: -1}
	c.jobs[id] = t.recent.PushFront(r)
	return r
}

// forget drops a job.
func (c *eventCounter) forget(id string) {
	if e, ok := c.jobs[id]; ok {
		c.table.recent.Remove(e)
		delete(c.jobs, id)
	}
}

// forgetAll drops every job of the queue: after a gap nothing that is remembered can be trusted.
func (c *eventCounter) forgetAll() {
	for id := range c.jobs {
		c.forget(id)
	}
}
