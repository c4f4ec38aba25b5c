package metrics

import (
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"
)

// queueView is what the families of a queue read.
type queueView struct {
	*monitor.Queue
	policy policy.Policy // with defaults
}

var queueLabels = []string{"redis", "prefix", "queue"}

// queueFamilies returns what is exported of every queue.
func queueFamilies(o Options) []*family[queueView] {
	all := append(stateFamilies(), policyFamilies()...)
	all = append(all, totalFamilies(o)...)
	return append(all, followerFamilies()...)
}

// readable reads a figure that is known when the queue could be read.
func readable(value func(queueView) float64) func(queueView, emit) {
	return known(func(q queueView) (float64, bool) { return value(q), q.Counts != nil })
}

// positive reads a figure that is absent unless it is more than 0.
func positive(value func(queueView) float64) func(queueView, emit) {
	return known(func(q queueView) (float64, bool) { v := value(q); return v, v > 0 })
}

func stateFamilies() []*family[queueView] {
	g := func(name, help string, read func(queueView, emit), labels ...string) *family[queueView] {
		return gauge("bullmq_queue_"+name, help+globalHelp, read, labels...)
	}
	return []*family[queueView]{
		g("jobs", "Jobs in the queue by state. completed and failed are what Redis still keeps, not totals.",
			func(q queueView, send emit) {
				if q.Counts == nil {
					return
				}
				for _, s := range keys.States {
					send(float64(q.Counts[s]), string(s))
				}
			}, "state"),
		g("delayed_overdue_jobs", "Delayed jobs whose due time has passed.",
			readable(func(q queueView) float64 { return float64(q.Overdue) })),
		g("oldest_waiting_job_age_seconds", "Time since the oldest waiting job became ready to run, 0 if none waits.",
			readable(func(q queueView) float64 { return q.OldestWait.Seconds() })),
		g("oldest_active_job_age_seconds", "Time since the oldest active job started, 0 if none is active.",
			readable(func(q queueView) float64 { return q.OldestActive.Seconds() })),
		g("paused", "1 if the queue is paused.", readable(func(q queueView) float64 { return bit(q.Paused) })),
		g("rate_limited", "1 if the rate limiter is closed right now.",
			readable(func(q queueView) float64 { return bit(q.Limiter.Closed) })),
		g("rate_limit_ttl_seconds", "Time until the rate limiter opens, 0 if it is open.",
			readable(func(q queueView) float64 { return q.Limiter.TTL.Seconds() })),
		g("workers", "Worker connections seen in CLIENT LIST. Absent if that command is not permitted.",
			known(func(q queueView) (float64, bool) { return float64(q.Workers), q.WorkersKnown })),
		g("concurrency_ceiling", "Jobs that may be active at once: the smaller of global concurrency and live workers "+
			"times their concurrency. Absent if unknown.",
			known(func(q queueView) (float64, bool) { return float64(q.Ceiling), q.CeilingKnown })),
		g("events_stream_entries", "Entries in the event stream.",
			readable(func(q queueView) float64 { return float64(q.EventsEntries) })),
		g("schedulers", "Job schedulers of the queue.",
			readable(func(q queueView) float64 { return float64(q.Schedulers) })),
		g("next_schedule_timestamp_seconds", "Due time of the next scheduled run. Absent without schedulers.",
			known(func(q queueView) (float64, bool) { return seconds(q.NextSchedule), !q.NextSchedule.IsZero() })),
		g("info", "Facts about the queue in labels, always 1.",
			func(q queueView, send emit) {
				send(1, strings.TrimPrefix(q.Version, "bullmq:"), strconv.FormatBool(q.Declared), q.CeilingSource)
			}, "bullmq_version", "declared", "ceiling_source"),
	}
}

// policyFamilies are exported for every queue, so that no rule needs a threshold of its own.
func policyFamilies() []*family[queueView] {
	g := func(name, help string, read func(queueView, emit)) *family[queueView] {
		return gauge("bullmq_queue_policy_"+name, help+globalHelp, read)
	}
	return []*family[queueView]{
		g("global_concurrency", "Global concurrency from the queue settings. Absent if unset.",
			positive(func(q queueView) float64 { return float64(q.GlobalConcurrency) })),
		g("worker_concurrency", "Concurrency of one worker process. Absent if unknown.", positive(workerConcurrency)),
		g("workers_expected", "Worker processes that should be connected. Absent if undeclared.",
			positive(func(q queueView) float64 { return float64(q.policy.WorkersExpected) })),
		g("rate_limit_max_jobs", "Jobs the limiter admits per period. Absent without a limiter.",
			positive(func(q queueView) float64 { return float64(q.Limiter.Max) })),
		g("rate_limit_duration_seconds", "Length of the limiter period. Absent without a limiter.",
			positive(func(q queueView) float64 { return q.Limiter.Duration.Seconds() })),
		g("attempts", "Attempts a job gets.", always(func(q queueView) float64 { return float64(max(q.policy.Attempts, 1)) })),
		g("backoff_total_seconds", "Sum of all backoff delays of a job that fails every attempt, without jitter.",
			always(func(q queueView) float64 { return backoffTotal(q.policy).Seconds() })),
		g("attempt_failure_ratio", "Tolerated share of failing attempts.",
			always(func(q queueView) float64 { return q.policy.AttemptFailure })),
		g("failed_budget_ratio", "Share of finished jobs that the retry policy predicts to fail for good.",
			always(func(q queueView) float64 { return q.policy.FailedBudget })),
		g("wait_target_seconds", "Longest acceptable wait of a ready job.",
			positive(func(q queueView) float64 { return q.policy.WaitTarget.Seconds() })),
		g("processing_target_seconds", "Longest acceptable run of a job. Absent if undeclared.",
			positive(func(q queueView) float64 { return q.policy.ProcessingTarget.Seconds() })),
		g("dead_letter_max_jobs", "Failed jobs that may be kept unresolved.",
			always(func(q queueView) float64 { return float64(q.policy.DeadLetterMax) })),
		g("dead_letter", "1 if the queue is a dead-letter store without consumers.",
			always(func(q queueView) float64 { return bit(q.DeadLetter) })),
	}
}

// workerConcurrency is what one process runs at once: declared, or the mean of what our own workers announced.
func workerConcurrency(q queueView) float64 {
	if q.policy.WorkerConcurrency > 0 {
		return float64(q.policy.WorkerConcurrency)
	}
	if q.BullpenWorkers == 0 {
		return 0
	}
	return float64(q.Announced) / float64(q.BullpenWorkers)
}

// backoffTotal is how long a job that always fails is delayed in all, without jitter.
func backoffTotal(p policy.Policy) time.Duration {
	b := p.Backoff
	b.Jitter = 0
	return b.Total(p.Attempts)
}

// followerFamilies say what this process does with the queue's event stream.
func followerFamilies() []*family[queueView] {
	return []*family[queueView]{
		gauge("bullpen_event_reader", "1 on the replica that reads the event stream of the queue."+processHelp,
			always(func(q queueView) float64 { return bit(q.Follower.Reading) })),
		counter("bullpen_events_read_total", "Stream entries read by this replica: aggregate with sum.",
			always(func(q queueView) float64 { return float64(q.Follower.Read) })),
		counter("bullpen_events_lost_total", "Stream entries trimmed before they were read: aggregate with sum.",
			always(func(q queueView) float64 { return float64(q.Follower.Lost) })),
		gauge("bullpen_events_lag_seconds", "Age of the newest entry that was read while more are waiting, else 0."+viewHelp,
			always(func(q queueView) float64 { return q.Follower.Lag.Seconds() })),
	}
}

// seconds is a time as Prometheus writes it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
