package alerts

import "time"

// Recording is a rule that gives the value of an expression a name.
type Recording struct {
	Name string
	Expr Expr
	Note string // why, for the reader of the file
}

// Series that recording rules make; alerts are written in these words.
var (
	jobsByState     = series("queue_state:bullmq_queue_jobs:max")
	overdue         = series("queue:bullmq_delayed_overdue_jobs:max")
	backlog         = series("queue:bullmq_backlog_jobs:max")
	active          = series("queue:bullmq_active_jobs:max")
	delayed         = series("queue:bullmq_delayed_jobs:max")
	failedKept      = series("queue:bullmq_failed_set_jobs:max")
	ceiling         = series("queue:bullmq_concurrency_ceiling:max")
	saturation      = series("queue:bullmq_saturation:ratio")
	paused          = series("queue:bullmq_paused:max")
	limited         = series("queue:bullmq_rate_limited:max")
	limitTTL        = series("queue:bullmq_rate_limit_ttl_seconds:max")
	workers         = series("queue:bullmq_workers:max")
	oldestWait      = series("queue:bullmq_oldest_waiting_job_age_seconds:max")
	oldestRun       = series("queue:bullmq_oldest_active_job_age_seconds:max")
	waitTarget      = series("queue:bullmq_wait_target_seconds:max")
	runTarget       = series("queue:bullmq_processing_target_seconds:max")
	failedBudget    = series("queue:bullmq_failed_budget:ratio")
	attemptBudget   = series("queue:bullmq_attempt_failure_budget:ratio")
	deadLetterMax   = series("queue:bullmq_dead_letter_budget_jobs:max")
	deadLetterQueue = series("queue:bullmq_dead_letter_queue:max")
	redisUp         = series("redis:bullmq_redis_up:max")
	memoryUsed      = series("redis:bullmq_memory_used:ratio")
	stalled15m      = series("queue:bullmq_jobs_stalled:increase15m")
	attemptsFailed  = series("queue:bullmq_attempts_failed:ratio_rate30m")
	backoffRate     = series("queue:bullmq_jobs_backoff:rate30m")
	delayedRate     = series("queue:bullmq_jobs_delayed:rate30m")
	retriedRate     = series("queue:bullmq_jobs_retried:rate30m")
)

// windowName is how a window is written in the name of a recorded rate.
func windowName(d time.Duration) string { return printer{1}.duration(d) }

func completedRate(d time.Duration) Selector {
	return series("queue:bullmq_jobs_completed:rate" + windowName(d))
}

func failedRate(d time.Duration) Selector {
	return series("queue:bullmq_jobs_failed:rate" + windowName(d))
}

func failedRatio(d time.Duration) Selector {
	return series("queue:bullmq_jobs_failed:ratio_rate" + windowName(d))
}

// finishWindows are the windows over which the rates of finished jobs are recorded.
var finishWindows = []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour}

// Gauges returns the recording rules that name the present state of queues and Redis.
func Gauges() []Recording {
	rec := func(s Selector, e Expr, note ...string) Recording {
		r := Recording{Name: s.Name, Expr: e}
		if len(note) > 0 {
			r.Note = note[0]
		}
		return r
	}
	state := func(s string) Expr { return without("state", series(jobsByState.Name, is("state", s))) }
	return []Recording{
		rec(jobsByState, global("bullmq_queue_jobs")),
		rec(overdue, global("bullmq_queue_delayed_overdue_jobs")),
		rec(backlog, add(
			without("state", series(jobsByState.Name, oneOf("state", "waiting|prioritized"))),
			either(overdue, mul(Number(0), state("waiting"))),
		), "What a free slot would start right now. Overdue delayed jobs belong to it: a worker promotes them only when it asks "+
			"for the next job, so a fully busy worker hides its backlog in the delayed set."),
		rec(active, state("active")),
		rec(delayed, state("delayed")),
		rec(failedKept, state("failed")),
		rec(ceiling, global("bullmq_queue_concurrency_ceiling"),
			"What can run right now: global concurrency or the sum over the live workers, whichever is smaller."),
		rec(saturation, div(active, above(ceiling, Number(0)))),
		rec(paused, global("bullmq_queue_paused")),
		rec(limited, global("bullmq_queue_rate_limited")),
		rec(limitTTL, global("bullmq_queue_rate_limit_ttl_seconds")),
		rec(workers, global("bullmq_queue_workers")),
		rec(oldestWait, global("bullmq_queue_oldest_waiting_job_age_seconds")),
		rec(oldestRun, global("bullmq_queue_oldest_active_job_age_seconds")),
		rec(waitTarget, global("bullmq_queue_policy_wait_target_seconds")),
		rec(runTarget, global("bullmq_queue_policy_processing_target_seconds")),
		rec(failedBudget, global("bullmq_queue_policy_failed_budget_ratio"),
			"Terminal failures the retry policy predicts: tolerated failure ratio of one attempt ^ attempts, or what is declared."),
		rec(attemptBudget, global("bullmq_queue_policy_attempt_failure_ratio")),
		rec(deadLetterMax, global("bullmq_queue_policy_dead_letter_max_jobs")),
		rec(deadLetterQueue, global("bullmq_queue_policy_dead_letter"),
			"1 for a queue that is itself a dead-letter store: nobody is meant to consume it."),
		rec(redisUp, global("bullmq_redis_up")),
		rec(memoryUsed, div(global("bullmq_redis_memory_used_bytes"), above(global("bullmq_redis_memory_max_bytes"), Number(0))),
			"maxmemory 0 means no limit. The filter on the denominator drops it: x / 0 is +Inf, which is above any threshold."),
	}
}

// Rates returns the recording rules over counters, then the ratios made of them: rules of one group run in order,
// groups run side by side.
func Rates() []Recording {
	var out []Recording
	rec := func(s Selector, e Expr, note string) { out = append(out, Recording{s.Name, e, note}) }
	total := func(name string, d time.Duration, match ...Matcher) Expr {
		return maxOfReplicas(rate(series("bullmq_jobs_"+name+"_total", match...), d))
	}
	const half = 30 * time.Minute
	rec(series("queue:bullmq_jobs_added:rate5m"), total("added", 5*time.Minute), "")
	for _, d := range finishWindows {
		rec(completedRate(d), total("completed", d), "")
		rec(failedRate(d), without("reason", total("failed", d)), "")
	}
	rec(retriedRate, without("mode", total("retried", half)), "")
	rec(delayedRate, without("reason", total("delayed", half)), "The flow into the delayed set, and the part of it that is retry backoff.")
	rec(backoffRate, without("reason", total("delayed", half, is("reason", "backoff"))), "")
	rec(stalled15m, maxOfReplicas(increase(series("bullmq_jobs_stalled_total"), 15*time.Minute)), "")
	for _, d := range finishWindows {
		if d != 15*time.Minute { // no alert and no panel asks for it
			rec(failedRatio(d), div(failedRate(d), add(failedRate(d), completedRate(d))), "")
		}
	}
	failing := add(retriedRate, failedRate(half))
	rec(attemptsFailed, div(failing, add(failing, completedRate(half))),
		"Failed attempts among finished attempts: the leading indicator of the ratio above.")
	rec(series("queue:bullmq_backlog_drain_seconds:ratio"),
		div(backlog, above(add(completedRate(5*time.Minute), failedRate(5*time.Minute)), Number(0))),
		"For dashboards and autoscalers: seconds to drain the backlog at the present pace, and the slots wanted.")
	rec(series("queue:bullmq_demand_jobs:sum"), add(backlog, active), "")
	return out
}
