package monitor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor/alerting"
)

// maxAlertQueues bounds the queues whose alerts are evaluated here, declared ones first, as /metrics bounds those it
// exports: each takes up to 100 KB of history.
const maxAlertQueues = 500

// currentFor is how old figures may be and still count as present. Older ones are neither exported nor evaluated: rules
// bridge a hole of two minutes, but cannot know an old figure.
const currentFor = time.Minute

// Current reports whether the figures are those of now: the last pass succeeded, and not long ago.
func (s *Snapshot) Current(now time.Time) bool {
	return s.Err == nil && !s.At.IsZero() && s.Age(now) < currentFor
}

// alertWatch evaluates the alert rules over snapshots.
type alertWatch struct {
	engine   *alerting.Engine
	alias    string
	policy   func(keys.Queue) policy.Policy
	snapshot func() *Snapshot
	clock    func() time.Time
}

func newAlertWatch(o Options, p func(keys.Queue) policy.Policy, snapshot func() *Snapshot) *alertWatch {
	return &alertWatch{engine: alerting.New(), alias: o.Alias, policy: p, snapshot: snapshot, clock: o.Clock}
}

// run evaluates every half minute until ctx ends. The first time is right after the first pass.
func (w *alertWatch) run(ctx context.Context) {
	for w.snapshot().At.IsZero() && w.snapshot().Err == nil && ctx.Err() == nil {
		sleep(ctx, 100*time.Millisecond)
	}
	ticker := time.NewTicker(alerting.Interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		w.evaluate()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// evaluate takes the present snapshot. Times are cut to whole seconds, so that samples stand at equal distances.
func (w *alertWatch) evaluate() {
	now := w.clock()
	w.engine.Tick(now.Truncate(time.Second), AlertSamples(w.snapshot(), w.alias, now, w.policy))
}

// Alerts returns the state of every alert rule that can be evaluated without Prometheus, in the order of their table.
func (m *Monitor) Alerts() []alerting.Status { return m.alerts.engine.Status() }

// AlertReading returns the figure of the i-th rule of Alerts that is nearest to its limit; false if there is none.
func (m *Monitor) AlertReading(i int) (alerting.Reading, bool) { return m.alerts.engine.Nearest(i) }

// AlertSamples are the samples that /metrics shows of a snapshot, as far as the alert rules ask for them.
func AlertSamples(s *Snapshot, alias string, now time.Time, of func(keys.Queue) policy.Policy) []alerting.Sample {
	var b sampler
	current := s.Current(now)
	b.add("bullmq_redis_up", b.flag(current && s.Redis.Up), "redis", alias)
	for _, p := range s.Parts {
		if p.Name != "clients" || s.WorkersErr == "" {
			b.add("bullpen_collector_success", b.flag(p.Err == nil), "collector", p.Name)
		}
	}
	if !current {
		b.add("bullpen_queues", 0)
		return b.samples
	}
	queues := watchedQueues(s)
	b.add("bullpen_queues", float64(len(queues)))
	for _, q := range queues {
		b.queue(q, of(q.Queue).WithDefaults(), alias)
	}
	if s.Nodes == nil {
		b.redis(s.Redis, "redis", alias)
	}
	for _, n := range s.Nodes {
		b.redis(n, "redis", alias, "node", n.Node)
	}
	return b.samples
}

// watchedQueues are the queues of a snapshot up to the bound, declared ones first.
func watchedQueues(s *Snapshot) []*Queue {
	if len(s.Queues) <= maxAlertQueues {
		return s.Queues
	}
	rank := func(q *Queue) int {
		if q.Declared {
			return 0
		}
		return 1
	}
	sorted := slices.SortedStableFunc(slices.Values(s.Queues), func(a, b *Queue) int { return cmp.Compare(rank(a), rank(b)) })
	return sorted[:maxAlertQueues]
}

// sampler collects samples.
type sampler struct{ samples []alerting.Sample }

func (b *sampler) add(name string, v float64, labels ...string) {
	b.samples = append(b.samples, alerting.Sample{Name: name, Value: v, Labels: alerting.NewLabels(labels...)})
}

func (*sampler) flag(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

// queue adds what the rules ask of a queue. What is not known is left out.
func (b *sampler) queue(q *Queue, p policy.Policy, alias string) {
	id := []string{"redis", alias, "prefix", q.Prefix, "queue", q.Name}
	one := func(name string, v float64, more ...string) { b.add(name, v, slices.Concat(id, more)...) }
	if q.Counts != nil {
		for _, state := range keys.States {
			one("bullmq_queue_jobs", float64(q.Counts[state]), "state", string(state))
		}
		one("bullmq_queue_delayed_overdue_jobs", float64(q.Overdue))
		one("bullmq_queue_oldest_waiting_job_age_seconds", q.OldestWait.Seconds())
		one("bullmq_queue_oldest_active_job_age_seconds", q.OldestActive.Seconds())
		one("bullmq_queue_paused", b.flag(q.Paused))
		one("bullmq_queue_rate_limited", b.flag(q.Limiter.Closed))
		one("bullmq_queue_rate_limit_ttl_seconds", q.Limiter.TTL.Seconds())
		one("bullmq_jobs_added_total", float64(q.Added))
	}
	if q.WorkersKnown {
		one("bullmq_queue_workers", float64(q.Workers))
	}
	if q.CeilingKnown {
		one("bullmq_queue_concurrency_ceiling", float64(q.Ceiling))
	}
	one("bullmq_queue_policy_wait_target_seconds", p.WaitTarget.Seconds())
	if p.ProcessingTarget > 0 {
		one("bullmq_queue_policy_processing_target_seconds", p.ProcessingTarget.Seconds())
	}
	one("bullmq_queue_policy_failed_budget_ratio", p.FailedBudget)
	one("bullmq_queue_policy_attempt_failure_ratio", p.AttemptFailure)
	one("bullmq_queue_policy_dead_letter_max_jobs", float64(p.DeadLetterMax))
	one("bullmq_queue_policy_dead_letter", b.flag(q.DeadLetter))
	one("bullpen_events_lost_total", float64(q.Follower.Lost))
	if t := q.Totals; q.TotalsKnown {
		one("bullmq_jobs_completed_total", float64(t.Completed))
		one("bullmq_jobs_failed_total", float64(t.FailedExhausted), "reason", "exhausted")
		one("bullmq_jobs_failed_total", float64(t.FailedUnrecoverable), "reason", "unrecoverable")
		one("bullmq_jobs_failed_total", float64(t.FailedStalled), "reason", "stalled")
		one("bullmq_jobs_retried_total", float64(t.RetriedImmediate), "mode", "immediate")
		one("bullmq_jobs_retried_total", float64(t.RetriedBackoff), "mode", "backoff")
		one("bullmq_jobs_delayed_total", float64(t.DelayedScheduled), "reason", "scheduled")
		one("bullmq_jobs_delayed_total", float64(t.DelayedBackoff), "reason", "backoff")
		one("bullmq_jobs_delayed_total", float64(t.DelayedManual), "reason", "manual")
		one("bullmq_jobs_stalled_total", float64(t.Stalled))
	}
}

// redis adds what the rules ask of a Redis, or of a node of a Cluster. The in-process store tells nothing.
func (b *sampler) redis(r Redis, id ...string) {
	if !r.Known || r.Embedded {
		return
	}
	one := func(name string, v float64, more ...string) { b.add(name, v, slices.Concat(id, more)...) }
	one("bullmq_redis_memory_used_bytes", float64(r.UsedMemory))
	one("bullmq_redis_memory_max_bytes", float64(r.MaxMemory))
	one("bullmq_redis_errors_total", float64(r.Errors["OOM"]), "code", "OOM")
	one("bullmq_redis_evicted_keys_total", float64(r.EvictedKeys))
	one("bullmq_redis_aof_enabled", b.flag(r.AOFEnabled))
	one("bullmq_redis_aof_last_write_ok", b.flag(r.AOFLastWriteOK))
	one("bullmq_redis_rdb_last_save_ok", b.flag(r.RDBLastSaveOK))
	one("bullmq_redis_info", 1, "redis_version", r.Version, "redis_mode", r.Mode, "role", r.Role,
		"maxmemory_policy", r.MaxMemoryPolicy, "appendfsync", r.AppendFsync)
}
