package monitor

import (
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/words"
)

// The thresholds of the verdicts that no policy sets.
const (
	noWorkerFor       = time.Minute
	notStartedFor     = 2 * time.Minute
	overdueFor        = time.Minute
	leastAttempts     = 20   // fewer in five minutes say nothing about a share
	failingAttention  = 0.5  // share of attempts
	failingWatchClamp = 0.75 // a loose policy's limit must stay reachable
	waitFactor        = 5    // times the wait target
	failureFactor     = 3    // times the tolerated share
	ceilingMinutes    = 10
	ceilingBusy       = 0.9
	limiterClosed     = 0.8
	quietAfter        = 5 * time.Minute
)

// verdict is a queue's health, the reason in words, and the figure that is the reason.
type verdict struct {
	health Health
	reason string
	field  string
}

// facts is what a verdict needs beside the queue's own figures.
type facts struct {
	now      time.Time
	policy   policy.Policy
	since    since
	refusing string // why Redis refuses writes; "" when it does not
}

// rule gives a verdict, or ok = false when its condition does not hold.
type rule func(q *Queue, f facts) (v verdict, ok bool)

// rules are asked in this order, so the worst comes first and causes before their consequences.
var rules = [...]rule{
	ruleUnreadable, ruleLegacy, ruleRefusing, ruleNoWorker, ruleNotStarted, ruleOldest(NeedsAttention, waitFactor), ruleFailing(NeedsAttention),
	ruleOldest(Watch, 1), ruleFailing(Watch), ruleCeiling, ruleLimiter, ruleStalled, ruleOverdue, ruleFailedKept, ruleRunTime,
	rulePaused, ruleDeadLetter, ruleIdle, ruleHealthy,
}

// judge returns the verdict on q. It depends on its arguments only.
func judge(q *Queue, f facts) verdict {
	for _, r := range rules {
		if v, ok := r(q, f); ok {
			return v
		}
	}
	return verdict{health: UnknownHealth}
}

// failingLimit is the share of failing attempts from which on a queue is watched.
func failingLimit(p policy.Policy) float64 {
	return min(failureFactor*p.AttemptFailure, failingWatchClamp)
}

func ruleUnreadable(q *Queue, _ facts) (verdict, bool) {
	if q.Counts != nil {
		return verdict{}, false
	}
	reason := "Not read yet"
	if q.Unreadable != "" {
		reason = "Cannot be read: " + q.Unreadable
	}
	return verdict{UnknownHealth, reason, ""}, true
}

// ruleLegacy expects nothing of what Bull left behind, unless a worker still runs it.
func ruleLegacy(q *Queue, _ facts) (verdict, bool) {
	return verdict{Quiet, "Left by Bull 3 or 4, shown only", ""}, q.Legacy && q.Workers == 0
}

func ruleRefusing(_ *Queue, f facts) (verdict, bool) {
	return verdict{NeedsAttention, "Redis refuses writes: " + f.refusing, ""}, f.refusing != ""
}

func ruleNoWorker(q *Queue, f facts) (verdict, bool) {
	s := f.since
	if q.Paused || q.DeadLetter || !lasts(s.noWorker, noWorkerFor, f.now) || !lasts(s.ready, noWorkerFor, f.now) {
		return verdict{}, false
	}
	return verdict{NeedsAttention, "No worker for " + span(s.noWorker, f), "waiting"}, true
}

func ruleNotStarted(q *Queue, f facts) (verdict, bool) {
	if q.DeadLetter || !lasts(f.since.noStart, notStartedFor, f.now) {
		return verdict{}, false
	}
	return verdict{NeedsAttention, "Nothing started for " + span(f.since.noStart, f) + " though jobs are ready", "active"}, true
}

// ruleOldest holds when the oldest ready job has waited longer than factor times the target.
func ruleOldest(h Health, factor int) rule {
	return func(q *Queue, f facts) (verdict, bool) {
		if q.Paused || q.DeadLetter || q.OldestWait <= time.Duration(factor)*f.policy.WaitTarget {
			return verdict{}, false
		}
		reason := "Oldest waits "
		if q.OldestWaitAtLeast {
			reason += "at least "
		}
		reason += words.Roughly(q.OldestWait)
		if q.Rate.Known && q.Rate.Growth > 0 {
			reason += " and growing"
		}
		return verdict{h, reason, "oldest"}, true
	}
}

func ruleFailing(h Health) rule {
	return func(q *Queue, f facts) (verdict, bool) {
		share, enough := q.Rate.FailingShare, q.Rate.Attempts >= leastAttempts
		over := share > failingLimit(f.policy)
		if h == NeedsAttention {
			over = share >= failingAttention
		}
		if !enough || !over {
			return verdict{}, false
		}
		reason := words.Percent(share) + " of attempts failing"
		if at := f.since.failing; !at.IsZero() {
			reason += " for " + span(at, f)
		}
		return verdict{h, reason, "failing"}, true
	}
}

func ruleCeiling(q *Queue, f facts) (verdict, bool) {
	w := lastMinutes(q.History, ceilingMinutes)
	if q.Paused || !w.complete || w.busy < ceilingBusy || !growing(q.History) {
		return verdict{}, false
	}
	return verdict{Watch, "At its ceiling for " + words.Roughly(atCeiling(q.History)) + " and growing", "active"}, true
}

// atCeiling is how long the mean use of the ceiling has been high, looking back from the last minute.
func atCeiling(history []Minute) time.Duration {
	n := 0
	for i := len(history) - 1; i >= 0 && history[i].Busy >= ceilingBusy; i-- {
		n++
	}
	return time.Duration(max(n, ceilingMinutes)) * time.Minute
}

func ruleLimiter(q *Queue, _ facts) (verdict, bool) {
	w := lastMinutes(q.History, ceilingMinutes)
	if q.Paused || !w.complete || w.limited < limiterClosed || !growing(q.History) {
		return verdict{}, false
	}
	return verdict{Watch, "Limiter closed " + words.Percent(w.limited) + " of the time and growing", "waiting"}, true
}

func ruleStalled(q *Queue, _ facts) (verdict, bool) {
	return verdict{Watch, jobs(q.StalledLastHour) + " stalled in the last hour", "active"}, q.StalledLastHour > 0
}

func ruleOverdue(q *Queue, f facts) (verdict, bool) {
	if q.DeadLetter || !lasts(f.since.overdue, overdueFor, f.now) {
		return verdict{}, false
	}
	due := words.Plural(q.Overdue, "due job", "due jobs")
	return verdict{Watch, due + " not promoted for " + span(f.since.overdue, f), "delayed"}, true
}

func ruleFailedKept(q *Queue, f facts) (verdict, bool) {
	kept, tolerated := q.Counts[keys.Failed], int64(f.policy.DeadLetterMax)
	if kept <= tolerated {
		return verdict{}, false
	}
	return verdict{Watch, words.Plural(kept, "failed job", "failed jobs") + " kept, " + words.Count(tolerated) + " tolerated", "failed"}, true
}

func ruleRunTime(q *Queue, _ facts) (verdict, bool) {
	p95, longer := runsLonger(q.History)
	return verdict{Watch, "Run time p95 " + words.Exact(p95) + ", twice its usual", "active"}, longer
}

func rulePaused(q *Queue, f facts) (verdict, bool) {
	if !q.Paused {
		return verdict{}, false
	}
	reason := "Paused"
	if !q.PausedSince.IsZero() {
		reason = "Paused " + words.Roughly(f.now.Sub(q.PausedSince)) + " ago"
	}
	return verdict{PausedHealth, reason + ", " + jobs(q.Backlog()) + " held", ""}, true
}

func ruleDeadLetter(q *Queue, _ facts) (verdict, bool) {
	return verdict{Quiet, "Dead letter, no worker expected", ""}, q.DeadLetter
}

// ruleIdle is for queues in which nothing is ready or running and nothing has happened for a while.
func ruleIdle(q *Queue, f facts) (verdict, bool) {
	if q.Backlog() > 0 || q.Counts[keys.Active] > 0 {
		return verdict{}, false
	}
	switch {
	case q.NextSchedule.After(f.now):
		return verdict{Healthy, "Idle, next run in " + words.Roughly(q.NextSchedule.Sub(f.now)), ""}, true
	case q.NextDue.After(f.now):
		return verdict{Healthy, "Idle, next job due in " + words.Roughly(q.NextDue.Sub(f.now)), ""}, true
	case q.Added == 0 && len(q.History) == 0 && q.total() == 0:
		return verdict{Quiet, "No jobs yet", ""}, true
	case !lasts(f.since.lastChange, quietAfter, f.now):
		return verdict{}, false
	case q.Counts[keys.WaitingChildren] > 0:
		return verdict{Quiet, jobs(q.Counts[keys.WaitingChildren]) + " waiting for children", ""}, true
	default:
		return verdict{Quiet, "Idle for " + span(f.since.lastChange, f), ""}, true
	}
}

func ruleHealthy(q *Queue, f facts) (verdict, bool) {
	switch {
	case !f.since.noWorker.IsZero() && q.Backlog() > 0:
		return verdict{Healthy, "No worker for " + span(f.since.noWorker, f), ""}, true
	case q.CeilingKnown && q.Ceiling > 0:
		return verdict{Healthy, "Keeps up at " + words.Percent(q.use()) + " of its ceiling", ""}, true
	default:
		return verdict{Healthy, "Keeps up", ""}, true
	}
}

// use is the share of the ceiling in use: the mean of the last minute where that is known.
func (q *Queue) use() float64 {
	active := float64(q.Counts[keys.Active])
	if q.Rate.Known {
		active = q.Rate.Active
	}
	return min(active/float64(q.Ceiling), 1)
}

func (q *Queue) total() int64 {
	var n int64
	for _, c := range q.Counts {
		n += c
	}
	return n
}

// lasts says that a condition has held for at least d.
func lasts(at time.Time, d time.Duration, now time.Time) bool {
	return !at.IsZero() && now.Sub(at) >= d
}

// span says how long a condition has held, "at least" when it already did at the first read.
func span(at time.Time, f facts) string {
	text := words.Roughly(f.now.Sub(at))
	if at.Equal(f.since.seen) {
		return "at least " + text
	}
	return text
}

func jobs(n int64) string { return words.Plural(n, "job", "jobs") }

// String is the verdict in words, as pages and metrics name it.
func (h Health) String() string {
	switch h {
	case NeedsAttention:
		return "needs attention"
	case Watch:
		return "watch"
	case Healthy:
		return "healthy"
	case PausedHealth:
		return "paused"
	case Quiet:
		return "quiet"
	default:
		return "unknown"
	}
}
