package alerts

import "time"

// Thresholds of the queue alerts. Those of a single queue come from its policy.
const (
	saturated      = 0.9 // share of the ceiling, on average: a sample between two jobs reads one less
	mostlyLimited  = 0.8 // share of the time the limiter is closed
	halfLimited    = 0.5
	rising         = 1.05 // from one half hour to the next
	criticalWait   = 5    // times the target
	longRun        = 10   // times the target
	fastBurn       = 14.4 // times the budget over 1 h: 2 % of 30 days
	slowBurn       = 3    // times the budget over 6 h: 2.5 % of 30 days
	fastBurnMost   = 0.75 // 14.4 times a loose budget would be more than all
	slowBurnMost   = 0.5
	leastFailures  = 10 // one failure of two jobs is 50 %
	attemptsBurn   = 3
	leastAttempts  = 20
	explainsGrowth = 0.8 // of the growth of the delayed set
	realPart       = 0.2 // of the flow into it
	leastBackoffs  = 20
	longManual     = 15 * time.Minute
	moreThanNone   = 0.5 // increase() is not a whole number
)

// Exceptions that several rules share.
var (
	isPaused     = equal(paused, Number(1))
	noWorkers    = equal(workers, Number(0))
	isDeadLetter = equal(deadLetterQueue, Number(1))
)

func limitedFor(d time.Duration, share float64) Expr {
	return above(avgOver(limited, d), Number(share))
}

// ratchet holds when the least of the last window lies above the most of a window that ended some time ago.
func ratchet(s Selector, window, ago time.Duration) Expr {
	return above(minOver(s, window), maxOver(s.ago(ago), window))
}

// times a share of a second is how many there were.
func count(perSecond Expr, d time.Duration) Expr { return mul(perSecond, Seconds(d)) }

// queueAlerts are about queues: (a) to (c) of the four, and what goes with them.
func queueAlerts() []Alert {
	out := throughputAlerts()
	out = append(out, retryAlerts()...)
	out = append(out, deferralAlerts()...)
	out = append(out, workerAlerts()...)
	return append(out, deadLetterAlerts()...)
}

// throughputAlerts are (a): jobs arrive faster than they are done.
func throughputAlerts() []Alert {
	rises := func(now, before time.Duration) Expr {
		return above(avgOver(backlog.ago(now), 30*minute), mul(Number(rising), avgOver(backlog.ago(before), 30*minute)))
	}
	waits := func(times float64, s Severity, summary string) Alert {
		target := Expr(waitTarget)
		if times > 1 {
			target = mul(Number(times), waitTarget)
		}
		return Alert{
			Name: "BullMQWaitTargetMissed", Component: Queue, Severity: s,
			Expr: except(all(above(oldestWait, target)), isPaused, isDeadLetter),
			For:  5 * minute, KeepFiring: 5 * minute,
			Summary:     summary,
			Description: "The oldest waiting job became ready {{ $value | humanizeDuration }} ago. See whether workers are missing, slow or limited.",
			Runbook:     "wait-target",
		}
	}
	warning := waits(1, Warning, "Jobs in queue {{ $labels.queue }} wait longer than its target.")
	warning.Note = "The symptom, whatever the cause."
	return []Alert{
		{
			Name: "BullMQQueueSaturated", Component: Queue, Severity: Warning, Label: "window", Value: "fast",
			Expr: except(all(
				ratchet(backlog, 5*minute, 10*minute),
				atLeast(avgOver(saturation, 10*minute), Number(saturated)),
				above(backlog, ceiling),
			), isPaused, limitedFor(10*minute, halfLimited)),
			For: 10 * minute, KeepFiring: 5 * minute,
			Summary:     "Queue {{ $labels.queue }} is at its concurrency ceiling and its backlog keeps growing.",
			Description: "At least {{ $value | humanize }} jobs wait and every slot has been busy for 10 minutes: less is done than arrives. Add workers or concurrency, make the job cheaper, or shed load.",
			Runbook:     "saturated",
			Note:        "(a) of four: the least of the last 5 minutes above the most of 5 minutes that ended 10 minutes ago. A step that drains holds this for about 5 minutes only, less than `for`; a slope would stay positive.",
		},
		{
			Name: "BullMQQueueSaturated", Component: Queue, Severity: Warning, Label: "window", Value: "slow",
			Expr: except(all(
				rises(0, 30*minute),
				rises(30*minute, hour),
				atLeast(avgOver(saturation, hour), Number(saturated)),
				above(backlog, ceiling),
			), isPaused, limitedFor(hour, halfLimited)),
			For: 15 * minute, KeepFiring: 15 * minute,
			Summary:     "Queue {{ $labels.queue }} has been saturated for over an hour and its backlog grows.",
			Description: "On average {{ $value | humanize }} jobs waited in the last half hour, and more than in the half hours before. Add workers or concurrency.",
			Runbook:     "saturated",
			Note:        "Arrivals in saw teeth defeat the test above, so compare half-hour averages.",
		},
		{
			Name: "BullMQQueueBacklogGrowing", Component: Queue, Severity: Warning,
			Expr: except(all(
				ratchet(backlog, 10*minute, 20*minute),
				above(completedRate(15*minute), Number(0)),
			), ceiling, isPaused, noWorkers, isDeadLetter, limitedFor(30*minute, halfLimited)),
			For: 20 * minute, KeepFiring: 5 * minute,
			Summary:     "The backlog of queue {{ $labels.queue }} keeps growing.",
			Description: "At least {{ $value | humanize }} jobs wait although jobs complete. The concurrency of the workers is not known; declare worker_concurrency in the policy to get the exact alert.",
			Runbook:     "backlog-growing",
			Note:        "(a) where the ceiling is unknown.",
		},
		warning,
		waits(criticalWait, Critical, "Jobs in queue {{ $labels.queue }} wait five times longer than its target."),
	}
}

// retryAlerts are (b): retries are used up faster than the policy predicts.
func retryAlerts() []Alert {
	burns := func(window time.Duration, times, most float64) Expr {
		return above(failedRatio(window), clampMax(mul(Number(times), failedBudget), most))
	}
	const halfHour = 30 * minute
	return []Alert{
		{
			Name: "BullMQRetriesExhausting", Component: Queue, Severity: Critical, Label: "window", Value: "fast",
			Expr: all(
				burns(hour, fastBurn, fastBurnMost),
				burns(5*minute, fastBurn, fastBurnMost),
				atLeast(count(failedRate(hour), hour), Number(leastFailures)),
			),
			For: 2 * minute, KeepFiring: 5 * minute,
			Summary:     "Jobs of queue {{ $labels.queue }} use up their retries far faster than its policy predicts.",
			Description: "{{ $value | humanizePercentage }} of the jobs that finished in the last hour failed for good. Look at the failures page for the error they share.",
			Runbook:     "retries-exhausting",
			Note:        "(b) of four: the long window gives it meaning, the short one ends it soon after the cause is gone. The clamp keeps the threshold of a loose budget reachable.",
		},
		{
			Name: "BullMQRetriesExhausting", Component: Queue, Severity: Warning, Label: "window", Value: "slow",
			Expr: all(
				burns(6*hour, slowBurn, slowBurnMost),
				burns(halfHour, slowBurn, slowBurnMost),
				atLeast(count(failedRate(6*hour), 6*hour), Number(leastFailures)),
			),
			For: 15 * minute, KeepFiring: 15 * minute,
			Summary:     "More jobs of queue {{ $labels.queue }} fail for good than its policy predicts.",
			Description: "{{ $value | humanizePercentage }} of the jobs that finished in the last 6 hours failed for good. Look at the failures page for the error they share.",
			Runbook:     "retries-exhausting",
		},
		{
			Name: "BullMQAttemptsFailing", Component: Queue, Severity: Warning,
			Expr: all(
				above(attemptsFailed, clampMax(mul(Number(attemptsBurn), attemptBudget), fastBurnMost)),
				atLeast(count(add(retriedRate, failedRate(halfHour)), halfHour), Number(leastAttempts)),
			),
			For: 10 * minute, KeepFiring: 10 * minute,
			Summary:     "Attempts in queue {{ $labels.queue }} fail more often than its policy tolerates.",
			Description: "{{ $value | humanizePercentage }} of the attempts of the last 30 minutes failed. Jobs that now wait for their backoff will fail for good once their attempts are used up.",
			Runbook:     "attempts-failing",
			Note:        "Leads (b): with long backoffs the failures show only after the last attempt.",
		},
	}
}

// deferralAlerts are (c): backoff or rate limiting puts off more than is done.
func deferralAlerts() []Alert {
	const halfHour = 30 * minute
	return []Alert{
		{
			Name: "BullMQDelayedClimbing", Component: Queue, Severity: Warning,
			Expr: all(
				ratchet(delayed, 10*minute, 20*minute),
				atLeast(backoffRate, mul(Number(explainsGrowth), above(deriv(delayed, halfHour), Number(0)))),
				atLeast(backoffRate, mul(Number(realPart), delayedRate)),
				atLeast(count(backoffRate, halfHour), Number(leastBackoffs)),
			),
			For: 15 * minute, KeepFiring: 10 * minute,
			Summary:     "The delayed set of queue {{ $labels.queue }} keeps climbing because of retry backoff.",
			Description: "At least {{ $value | humanize }} jobs are put off, and backoff puts off more than is done. Look at the failures page for what the attempts fail with.",
			Runbook:     "delayed-climbing",
			Note:        "(c) of four. A campaign scheduled far ahead also grows the set; then backoff is a small part of the growth.",
		},
		{
			Name: "BullMQRateLimitedTooLong", Component: Queue, Severity: Warning, Label: "reason", Value: "backlog",
			Expr: except(all(
				ratchet(backlog, 10*minute, 20*minute),
				limitedFor(halfHour, mostlyLimited),
			), isPaused),
			For: 15 * minute, KeepFiring: 10 * minute,
			Summary:     "The rate limiter of queue {{ $labels.queue }} holds back more than it lets through.",
			Description: "The limiter has been closed for over 80 % of 30 minutes and the backlog grew to {{ $value | humanize }} jobs. Raise the limit if the other side allows it, or shed load.",
			Runbook:     "rate-limited",
			Note:        "(c) by a limiter: since BullMQ 2 a rate limited job stays in wait, it is not delayed. A limiter at steady state is closed most of the time by design; only a growing backlog makes that a fault.",
		},
		{
			Name: "BullMQRateLimitedTooLong", Component: Queue, Severity: Warning, Label: "reason", Value: "manual",
			Expr: except(all(
				above(limitTTL, Seconds(longManual)),
				equal(limited, Number(1)),
				above(backlog, Number(0)),
			), isPaused),
			For:         5 * minute,
			Summary:     "Queue {{ $labels.queue }} is rate limited for a long time.",
			Description: "The limiter opens again in {{ $value | humanizeDuration }} and jobs are waiting. Lift the limit if its reason is gone.",
			Runbook:     "rate-limited",
			Note:        "A limit set by hand, or by a Retry-After of hours, is a pause in disguise.",
		},
		{
			Name: "BullMQDelayedOverdue", Component: Queue, Severity: Warning,
			Expr: except(all(above(minOver(overdue, 5*minute), Number(0))),
				isPaused, noWorkers, isDeadLetter,
				atLeast(avgOver(saturation, 5*minute), Number(saturated)),
				limitedFor(5*minute, halfLimited),
			),
			For:         5 * minute,
			Summary:     "Delayed jobs of queue {{ $labels.queue }} are overdue.",
			Description: "{{ $value | humanize }} jobs are past their due time although slots are free. See whether the workers hang, and what their clocks say.",
			Runbook:     "delayed-overdue",
			Note:        "Due, slots free, nobody promotes.",
		},
	}
}

// workerAlerts say that nobody works, or that work is lost.
func workerAlerts() []Alert {
	lostToStalls := increase(series("bullmq_jobs_failed_total", is("reason", "stalled")), 30*minute)
	return []Alert{
		{
			Name: "BullMQQueueWithoutWorkers", Component: Queue, Severity: Critical,
			Expr: except(all(above(backlog, Number(0)), noWorkers), isPaused, isDeadLetter),
			For:  5 * minute, KeepFiring: 2 * minute,
			Summary:     "Queue {{ $labels.queue }} has waiting jobs and no worker.",
			Description: "{{ $value | humanize }} jobs wait and no worker is connected. The workers are down, or a producer misspells the queue's name.",
			Runbook:     "no-workers",
			Note:        "Where CLIENT LIST is not permitted there is no such series: unknown must not look like none.",
		},
		{
			Name: "BullMQQueueNotProgressing", Component: Queue, Severity: Critical,
			Expr: except(all(
				above(minOver(backlog, 10*minute), Number(0)),
				equal(maxOver(active, 10*minute), Number(0)),
				equal(maxOver(paused, 10*minute), Number(0)),
				above(countOver(backlog.ago(5*minute), 5*minute), Number(0)),
			),
				above(add(completedRate(15*minute), failedRate(15*minute)), Number(0)),
				limitedFor(10*minute, halfLimited),
				noWorkers, isDeadLetter,
			),
			For:         5 * minute,
			Summary:     "Nothing takes jobs from queue {{ $labels.queue }}.",
			Description: "At least {{ $value | humanize }} jobs have waited for 10 minutes and none became active. See whether the workers run, and whether they hang.",
			Runbook:     "not-progressing",
			Note:        "Works without CLIENT LIST, and for workers that are connected but hang.",
		},
		{
			Name: "BullMQJobsStalling", Component: Queue, Severity: Warning,
			Expr: all(
				above(stalled15m, Number(moreThanNone)),
				above(stalled15m.ago(15*minute), Number(moreThanNone)),
			),
			For: 5 * minute, KeepFiring: 15 * minute,
			Summary:     "Jobs of queue {{ $labels.queue }} keep stalling.",
			Description: "About {{ $value | humanize }} jobs stalled in 15 minutes, and some in the 15 minutes before: workers crash, block their event loop, or hold jobs longer than the lock.",
			Runbook:     "stalling",
			Note:        "An unclean restart of workers stalls their jobs once. Two windows mean that it goes on.",
		},
		{
			Name: "BullMQJobsLostToStalls", Component: Queue, Severity: Warning,
			Expr:        above(maxOfReplicas(lostToStalls), Number(moreThanNone)),
			Summary:     "Jobs of queue {{ $labels.queue }} failed because they stalled too often.",
			Description: "About {{ $value | humanize }} jobs failed for good in 30 minutes without running to an end. They crash their workers, or outlast their locks.",
			Runbook:     "stalled-failures",
		},
		{
			Name: "BullMQJobRunningTooLong", Component: Queue, Severity: Warning,
			Expr:        above(oldestRun, mul(Number(longRun), runTarget)),
			For:         5 * minute,
			Summary:     "A job of queue {{ $labels.queue }} runs far longer than its target.",
			Description: "The oldest active job started {{ $value | humanizeDuration }} ago, more than ten times the target. See where its handler waits.",
			Runbook:     "job-running-too-long",
		},
	}
}

// deadLetterAlerts are about failures nobody has looked at, and pauses nobody remembers.
func deadLetterAlerts() []Alert {
	return []Alert{
		{
			Name: "BullMQDeadLettersUnresolved", Component: Queue, Severity: Warning,
			Expr:        above(add(failedKept, mul(backlog, deadLetterQueue)), deadLetterMax),
			For:         30 * minute,
			Summary:     "Queue {{ $labels.queue }} holds more dead letters than its policy allows.",
			Description: "{{ $value | humanize }} failed jobs await a retry or a removal.",
			Runbook:     "dead-letters",
			Note:        "Failed jobs kept by a work queue, and the content of a dead-letter queue.",
		},
		{
			Name: "BullMQDeadLettersGrowing", Component: Queue, Severity: Info,
			Expr:        ratchet(failedKept, hour, 5*hour),
			For:         30 * minute,
			Summary:     "The dead letters of queue {{ $labels.queue }} pile up.",
			Description: "At least {{ $value | humanize }} failed jobs are kept, more than at any time 5 to 6 hours ago.",
			Runbook:     "dead-letters",
		},
		{
			Name: "BullMQQueuePausedWithBacklog", Component: Queue, Severity: Info,
			Expr:        all(above(backlog, Number(0)), equal(minOver(paused, hour), Number(1))),
			For:         12 * hour,
			Summary:     "Queue {{ $labels.queue }} has been paused for half a day with jobs in it.",
			Description: "{{ $value | humanize }} jobs wait behind a pause that somebody may have forgotten.",
			Runbook:     "paused",
		},
	}
}
