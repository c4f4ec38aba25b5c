package monitor

import "time"

// since is from when on the conditions of a verdict have held; the zero time means one does not hold. The first read of
// a queue cannot know how long something has lasted, so what held then has lasted "at least" since seen.
type since struct {
	seen       time.Time // the first read
	ready      time.Time // jobs are ready
	noWorker   time.Time // no worker is connected
	noStart    time.Time // jobs are ready, slots free, and none is started
	failing    time.Time // more attempts fail than the policy tolerates
	overdue    time.Time // due jobs are not promoted though slots are free
	paused     time.Time
	lastChange time.Time // the last sign of life: a total or a count changed
}

// hold keeps the moment a condition began to hold.
func hold(at *time.Time, holds bool, now time.Time) {
	switch {
	case !holds:
		*at = time.Time{}
	case at.IsZero():
		*at = now
	}
}

// update takes in one read. started says that a job was started, changed that anything moved since the last read.
func (s *since) update(q *Queue, limit float64, now time.Time, started, changed bool) {
	if s.seen.IsZero() {
		s.seen, s.lastChange = now, now
	}
	if changed {
		s.lastChange = now
	}
	ready, blocked := q.Backlog() > 0, q.Paused || q.Limiter.Closed
	hold(&s.ready, ready && !q.Paused, now)
	hold(&s.noWorker, q.WorkersKnown && q.Workers == 0, now)
	hold(&s.noStart, ready && !blocked && q.slotsFree() && !started, now)
	hold(&s.overdue, q.Overdue > 0 && !blocked && q.slotsFree() && s.noWorker.IsZero(), now)
	hold(&s.paused, q.Paused, now)
	failing := q.Rate.Attempts >= leastAttempts && q.Rate.FailingShare > limit
	if failing && s.failing.IsZero() {
		s.failing = failingSince(q.History, limit, now)
	}
	hold(&s.failing, failing, now)
}

// slotsFree says that another job could start now, as far as can be known.
func (q *Queue) slotsFree() bool {
	active := q.Counts["active"]
	if q.CeilingKnown {
		return active < q.Ceiling
	}
	// With an unknown ceiling, any running job may be all that fits.
	return active == 0
}

// failingSince looks back for the minute in which the failures began.
func failingSince(history []Minute, limit float64, now time.Time) time.Time {
	began := now.Truncate(time.Minute)
	for i := len(history) - 1; i >= 0; i-- {
		m := history[i]
		failed := m.Failed + m.Retried
		if all := failed + m.Completed; all == 0 || float64(failed) <= limit*float64(all) {
			break
		}
		began = m.Start
	}
	return began
}
