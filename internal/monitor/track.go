package monitor

import (
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
)

// track is what the collector remembers of one queue between passes.
type track struct {
	q                            keys.Queue
	policy                       policy.Policy
	declared, legacy, deadLetter bool
	// noted is when somebody last said the queue exists; its keys may follow a moment later.
	noted time.Time

	// The last answers. passes is how often counts were read.
	counts  counts
	limiter limiter
	ages    ages
	front   front
	fleet   fleet
	passes  int64
	// markers says that pseudo ids of BullMQ 4 have been seen, so the tails are looked at in every pass.
	markers    bool
	tail, next sighting // at the tail of wait, and the next prioritized

	added, started, completed, failed, retried, stalled counter
	activeSum                                           int64 // of active over all passes
	samples                                             samples
	minute                                              openMinute
	history                                             []Minute
	since                                               since
	// queue is the last result; snapshots share it.
	queue *Queue
}

// view is what settling a queue needs from outside.
type view struct {
	now      time.Time
	source   totalsSource // may be nil
	refusing string
}

// exists says that something of the queue is in Redis. What cannot be read does exist.
func (t *track) exists() bool { return t.counts.unreadable != "" || !t.counts.empty() }

// gone says that nothing of a found queue is left and nobody works on it.
func (t *track) gone(now time.Time, grace time.Duration) bool {
	return !t.exists() && t.fleet.count() == 0 && now.Sub(t.noted) > grace
}

// take stores new counts and says whether anything moved, and whether a job must have started.
func (t *track) take(c counts) (changed, started bool) {
	old := t.counts
	t.counts = c
	t.passes++
	return old != c, t.passes > 1 && c.active > old.active
}

// settle turns the last answers into the queue's figures and its verdict.
func (t *track) settle(v view, changed, started bool) {
	q := &Queue{
		Queue: t.q, Declared: t.declared, Discovered: t.exists(), Legacy: t.legacy, DeadLetter: t.deadLetter,
		Unreadable: t.counts.unreadable,
	}
	t.queue = q
	t.settleWorkers(q)
	if q.Unreadable != "" {
		t.judge(q, v)
		return
	}
	t.settleCounts(q, v.now)
	before := t.progress()
	t.settleTotals(q, v)
	grown := t.progress() != before
	t.settleHistory(q, v)
	t.since.update(q, failingLimit(t.policy), v.now, started || grown, changed || grown)
	// A queue that was paused when first read may have been so for a week.
	if !t.since.paused.Equal(t.since.seen) {
		q.PausedSince = t.since.paused
	}
	t.judge(q, v)
}

func (t *track) judge(q *Queue, v view) {
	got := judge(q, facts{now: v.now, policy: t.policy, since: t.since, refusing: v.refusing})
	q.Health, q.Reason, q.Field = got.health, got.reason, got.field
}

// progress sums the totals that grow when jobs are started.
func (t *track) progress() int64 {
	return t.started.total + t.completed.total + t.failed.total + t.retried.total
}

func (t *track) settleWorkers(q *Queue) {
	q.BullpenWorkers, q.Announced = t.fleet.bullpen()
	q.Workers, q.WorkersKnown = t.fleet.count(), t.fleet.known
	q.Ceiling, q.CeilingSource, q.CeilingKnown = t.fleet.ceiling(int64(t.policy.WorkerConcurrency), t.counts.meta.concurrency)
}

func (t *track) settleCounts(q *Queue, now time.Time) {
	c, a := &t.counts, &t.ages
	q.Counts = map[keys.State]int64{
		keys.Waiting: c.waiting(), keys.Prioritized: c.prioritized, keys.Active: c.active, keys.Delayed: c.delayed,
		keys.WaitingChildren: c.children, keys.Completed: c.completed, keys.Failed: c.failed,
	}
	q.PausedList, q.Overdue, q.Added = c.paused, c.overdue, c.id
	q.Paused, q.Version, q.GlobalConcurrency = c.meta.paused, c.meta.version, c.meta.concurrency
	q.Limiter = t.limit(now)
	// The front was read up to a few passes ago; what is empty now has no age.
	if c.waiting()+c.prioritized > 0 && !t.front.ready.IsZero() {
		q.OldestWait, q.OldestWaitAtLeast = max(now.Sub(t.front.ready), 0), t.front.atLeast
	}
	if c.active > 0 && !t.front.started.IsZero() {
		q.OldestActive = max(now.Sub(t.front.started), 0)
	}
	if c.delayed > 0 {
		q.NextDue = a.nextDue
	}
	q.Schedulers, q.NextSchedule, q.EventsEntries = a.schedulers, a.nextSchedule, a.events
}

// limit says what is known of the rate limit at now. Meta's max beats the worker's, the worker's duration beats meta's
// (lifecycle 4.2); the worker's are the policy's, for nothing else is known of them.
func (t *track) limit(now time.Time) Limiter {
	l := Limiter{Max: int64(t.policy.Limiter.Max), Duration: t.policy.Limiter.Duration}
	if t.counts.meta.max > 0 {
		l.Max = t.counts.meta.max
	}
	if l.Duration == 0 {
		l.Duration = t.counts.meta.duration
	}
	if l.Duration == 0 {
		l.Max = 0
	}
	left := t.limiter.until.Sub(now)
	if left <= 0 {
		return l
	}
	l.Manual = t.limiter.value >= manualLimit
	l.Closed = l.Manual || l.Max > 0 && t.limiter.value >= l.Max
	if l.Closed {
		l.TTL = left
	}
	return l
}

// limited says that the limiter is worth a look in every pass.
func (t *track) limited() bool {
	return t.counts.meta.max > 0 || t.policy.Limiter.Max > 0 || len(t.fleet.announced) > 0 || !t.limiter.until.IsZero()
}

// settleTotals takes the totals from the followers where they know them, else from BullMQ's metrics, else from the
// growth of the finished sets.
func (t *track) settleTotals(q *Queue, v view) {
	if v.source != nil {
		q.Totals, q.TotalsKnown = v.source.Totals(t.q)
		q.Follower = v.source.Stat(t.q)
	}
	t.added.observe(fromID, t.counts.id)
	e := q.Totals
	switch {
	case q.TotalsKnown:
		q.Completed, q.FailedForGood, q.FinishedKnown = int64(e.Completed), int64(e.Failed()), true
		t.started.observe(fromEvents, int64(e.Started))
		t.retried.observe(fromEvents, int64(e.Retried()))
		t.stalled.observe(fromEvents, int64(e.Stalled))
		t.completed.observe(fromEvents, q.Completed)
		t.failed.observe(fromEvents, q.FailedForGood)
	case t.ages.completed >= 0 || t.ages.failed >= 0:
		q.Completed, q.FailedForGood, q.FinishedKnown = max(t.ages.completed, 0), max(t.ages.failed, 0), true
		t.completed.observe(fromMetrics, q.Completed)
		t.failed.observe(fromMetrics, q.FailedForGood)
	default:
		t.completed.observe(fromSet, t.counts.completed)
		t.failed.observe(fromSet, t.counts.failed)
	}
}

func (t *track) settleHistory(q *Queue, v view) {
	t.activeSum += t.counts.active
	s := sample{
		at: v.now, added: t.added.total, started: t.started.total, completed: t.completed.total, failed: t.failed.total,
		retried: t.retried.total, stalled: t.stalled.total, backlog: t.counts.ready(), active: t.activeSum, reads: t.passes,
	}
	t.samples.push(s)
	q.Rate = t.samples.rates(s)
	busy := -1.0
	if q.CeilingKnown && q.Ceiling > 0 {
		busy = min(float64(t.counts.active)/float64(q.Ceiling), 1)
	}
	if closed, ok := t.minute.observe(s, busy, q.Limiter.Closed); ok {
		t.history = appendMinute(t.history, closed)
	}
	if v.source != nil && len(t.history) > 0 {
		t.history = withTimes(t.history, v.source.Minutes(t.q))
	}
	q.History = t.history
	q.StalledLastHour = t.stalled.total - t.minute.base.stalled
	for _, m := range t.history {
		q.StalledLastHour += m.Stalled
	}
}
