package alerts

import "strings"

// Selectors of the dashboard: of a queue, of a Redis, of this program.
const (
	selQueue = `job=~"$job", redis=~"$redis", prefix=~"$prefix", queue=~"$queue"`
	selRedis = `job=~"$job", redis=~"$redis"`
	selJob   = `job=~"$job"`
)

// ofQueue is a recorded series, or a metric, of the chosen queues. All replicas say the same, so it takes the maximum.
func ofQueue(name string, match ...string) string {
	sel := strings.Join(append([]string{selQueue}, match...), ", ")
	return "max by (redis, prefix, queue) (" + name + "{" + sel + "})"
}

func rateOfQueue(name, by string, match ...string) string {
	sel := strings.Join(append([]string{selQueue}, match...), ", ")
	group := "redis, prefix, queue"
	if by != "" {
		group += ", " + by
	}
	return "max by (" + group + ") (rate(" + name + "{" + sel + "}[$__rate_interval]))"
}

// ofRedis is a metric of the chosen Redis.
func ofRedis(name string, match ...string) string {
	sel := strings.Join(append([]string{selRedis}, match...), ", ")
	return "max by (redis) (" + name + "{" + sel + "})"
}

const (
	globalText = " Global: every replica says the same, so the maximum is taken."
	localText  = " Local: each replica sees its own part, so the sum is taken."
)

func stat(title, text, unit string, width int, q query) panel {
	return panel{kind: "stat", title: title, text: text, unit: unit, width: width, queries: []query{q}}
}

func lines(title, text, unit string, width int, queries ...query) panel {
	return panel{kind: "timeseries", title: title, text: text, unit: unit, width: width, queries: queries}
}

// rows is what the dashboard shows.
func rows() []row {
	return []row{
		healthRow(), overviewRow(), flowRow(), retryRow(), deferralRow(), latencyRow(), workerRow(), redisRow(), ownRow(),
	}
}

func healthRow() row {
	return row{"Health", []panel{
		stat("Firing: page", "Alerts of severity critical.", "short", 3,
			query{expr: `count(ALERTS{alertstate="firing", severity="critical", ` + selJob + `}) or vector(0)`}),
		stat("Firing: warning", "Alerts of severity warning.", "short", 3,
			query{expr: `count(ALERTS{alertstate="firing", severity="warning", ` + selJob + `}) or vector(0)`}),
		stat("Queues", "Queues exported."+globalText, "short", 3, query{expr: `max(bullpen_queues{` + selJob + `})`}),
		stat("Workers", "Worker connections of the chosen queues; absent where CLIENT LIST is refused."+globalText, "short", 3,
			query{expr: "sum(" + ofQueue("bullmq_queue_workers") + ")"}),
		stat("Replicas up", "Replicas of Bullpen that can be scraped."+localText, "short", 3, query{expr: `sum(up{` + selJob + `})`}),
		stat("Redis up", "1 if at least one replica reaches Redis."+globalText, "short", 3,
			query{expr: ofRedis("bullmq_redis_up"), legend: "{{redis}}"}),
		stat("Memory of maxmemory", "Empty: no limit is set."+globalText, "percentunit", 3,
			query{expr: ofRedis("redis:bullmq_memory_used:ratio"), legend: "{{redis}}"}),
		stat("Events lost", "Entries trimmed before they were read, in the chosen time."+localText, "short", 3,
			query{expr: `sum(increase(bullpen_events_lost_total{` + selQueue + `}[$__range]))`}),
		stat("Eviction policy", "Anything but noeviction loses jobs."+globalText, "short", 6,
			query{expr: `max by (redis, maxmemory_policy) (bullmq_redis_info{` + selRedis + `})`, legend: "{{redis}} {{maxmemory_policy}}"}),
		stat("Append-only file", "1 if it is on."+globalText, "short", 6,
			query{expr: ofRedis("bullmq_redis_aof_enabled"), legend: "{{redis}}"}),
	}}
}

func overviewRow() row {
	return row{"Overview", []panel{{
		kind: "table", title: "Queues, slowest to drain first", unit: "short", width: 24, links: true,
		text: "One line a queue; its name leads to that queue alone." + globalText,
		queries: []query{
			{expr: ofQueue("queue:bullmq_backlog_jobs:max")},
			{expr: ofQueue("queue:bullmq_active_jobs:max")},
			{expr: ofQueue("queue:bullmq_concurrency_ceiling:max")},
			{expr: ofQueue("queue:bullmq_saturation:ratio")},
			{expr: ofQueue("queue:bullmq_oldest_waiting_job_age_seconds:max")},
			{expr: ofQueue("queue:bullmq_wait_target_seconds:max")},
			{expr: ofQueue("queue:bullmq_jobs_added:rate5m")},
			{expr: ofQueue("queue:bullmq_jobs_completed:rate5m")},
			{expr: ofQueue("queue:bullmq_backlog_drain_seconds:ratio")},
			{expr: ofQueue("queue:bullmq_jobs_failed:ratio_rate1h")},
			{expr: ofQueue("queue:bullmq_failed_budget:ratio")},
			{expr: ofQueue("queue:bullmq_workers:max")},
			{expr: ofQueue("queue:bullmq_paused:max")},
			{expr: ofQueue("queue:bullmq_rate_limited:max")},
			{expr: ofQueue("queue:bullmq_failed_set_jobs:max")},
		},
		columns: map[string]string{
			"A": "backlog", "B": "active", "C": "ceiling", "D": "saturation", "E": "oldest wait (s)", "F": "target (s)",
			"G": "added/s", "H": "done/s", "I": "drain time (s)", "J": "failed, 1 h", "K": "budget", "L": "workers",
			"M": "paused", "N": "limited", "O": "dead letters",
		},
	}}}
}

func flowRow() row {
	backlogPanel := lines("Backlog", "What a free slot could start now."+globalText, "short", 8,
		query{expr: ofQueue("queue_state:bullmq_queue_jobs:max", `state="waiting"`), legend: "{{queue}} waiting"},
		query{expr: ofQueue("queue_state:bullmq_queue_jobs:max", `state="prioritized"`), legend: "{{queue}} prioritized"},
		query{expr: ofQueue("queue:bullmq_delayed_overdue_jobs:max"), legend: "{{queue}} overdue"})
	backlogPanel.stack = true
	return row{"Flow", []panel{
		lines("Arrival and finish", "Jobs a second that are added, and that end for good."+globalText, "ops", 8,
			query{expr: rateOfQueue("bullmq_jobs_added_total", ""), legend: "{{queue}} added"},
			query{expr: rateOfQueue("bullmq_jobs_completed_total", ""), legend: "{{queue}} completed"},
			query{expr: "sum without (reason) (" + rateOfQueue("bullmq_jobs_failed_total", "reason") + ")", legend: "{{queue}} failed"}),
		backlogPanel,
		lines("Active and ceiling", "Jobs running, and how many could."+globalText, "short", 8,
			query{expr: ofQueue("queue:bullmq_active_jobs:max"), legend: "{{queue}} active"},
			query{expr: ofQueue("queue:bullmq_concurrency_ceiling:max"), legend: "{{queue}} ceiling", dashed: true}),
		lines("Saturation", "Share of the ceiling in use."+globalText, "percentunit", 8,
			query{expr: ofQueue("queue:bullmq_saturation:ratio"), legend: "{{queue}}"}),
		lines("Oldest wait", "Age of the oldest ready job, and the target of the policy."+globalText, "s", 8,
			query{expr: ofQueue("queue:bullmq_oldest_waiting_job_age_seconds:max"), legend: "{{queue}}"},
			query{expr: ofQueue("queue:bullmq_wait_target_seconds:max"), legend: "{{queue}} target", dashed: true}),
		lines("Time to drain", "Backlog over the rate at which jobs end."+globalText, "s", 8,
			query{expr: ofQueue("queue:bullmq_backlog_drain_seconds:ratio"), legend: "{{queue}}"}),
	}}
}

func retryRow() row {
	failed := ofQueue("queue:bullmq_jobs_failed:ratio_rate1h")
	budget := ofQueue("queue:bullmq_failed_budget:ratio")
	predicted := "(" + ofQueue("queue:bullmq_attempts_failed:ratio_rate30m") + " ^ " + ofQueue("bullmq_queue_policy_attempts") + ")"
	spent := "(sum without (reason) (max by (redis, prefix, queue, reason) (increase(bullmq_jobs_failed_total{" + selQueue + "}[30d]))) / " +
		"(sum without (reason) (max by (redis, prefix, queue, reason) (increase(bullmq_jobs_failed_total{" + selQueue + "}[30d]))) + " +
		"max by (redis, prefix, queue) (increase(bullmq_jobs_completed_total{" + selQueue + "}[30d]))))"
	return row{"Retries", []panel{
		lines("Attempts by outcome", "Attempts a second that completed, will be retried, or failed for good."+globalText, "ops", 8,
			query{expr: rateOfQueue("bullmq_jobs_completed_total", ""), legend: "{{queue}} completed"},
			query{expr: rateOfQueue("bullmq_jobs_retried_total", "mode"), legend: "{{queue}} retried {{mode}}"},
			query{expr: "sum without (reason) (" + rateOfQueue("bullmq_jobs_failed_total", "reason") + ")", legend: "{{queue}} failed"}),
		lines("Failed for good by reason", "Attempts used up, given up at once, or stalled too often."+globalText, "ops", 8,
			query{expr: rateOfQueue("bullmq_jobs_failed_total", "reason"), legend: "{{queue}} {{reason}}"}),
		lines("Failed share against the budget", "Share of finished jobs that failed for good; the dashed lines are the budget and where the warning (3×) and the page (14.4×) begin."+globalText, "percentunit", 8,
			query{expr: failed, legend: "{{queue}} 1 h"},
			query{expr: ofQueue("queue:bullmq_jobs_failed:ratio_rate6h"), legend: "{{queue}} 6 h"},
			query{expr: budget, legend: "{{queue}} budget", dashed: true},
			query{expr: "clamp_max(3 * " + budget + ", 0.5)", legend: "{{queue}} warning", dashed: true},
			query{expr: "clamp_max(14.4 * " + budget + ", 0.75)", legend: "{{queue}} page", dashed: true}),
		lines("Poison quotient", "Failed share over the share that the measured attempts predict. Near 1 while many attempts fail is an outage; far above 1 while few fail is some jobs that fail every time."+globalText, "short", 8,
			query{expr: failed + " / (" + predicted + " > 0)", legend: "{{queue}}"}),
		{
			kind: "heatmap", title: "Attempts a job took", text: "How many attempts jobs had used when they ended." + localText, unit: "short", width: 8,
			queries: []query{{expr: "sum by (le) (rate(bullmq_job_attempts_bucket{" + selQueue + "}[$__rate_interval]))", legend: "{{le}}"}},
		},
		lines("Budget left over 30 days", "1 is untouched, 0 used up."+globalText, "percentunit", 8,
			query{expr: "1 - " + spent + " / " + budget, legend: "{{queue}}"}),
	}}
}

func deferralRow() row {
	return row{"Deferral", []panel{
		lines("Delayed and overdue", "Jobs in the delayed set, and those of them whose time has come."+globalText, "short", 6,
			query{expr: ofQueue("queue:bullmq_delayed_jobs:max"), legend: "{{queue}} delayed"},
			query{expr: ofQueue("queue:bullmq_delayed_overdue_jobs:max"), legend: "{{queue}} overdue"}),
		lines("Into and out of delayed", "Jobs a second put off, by reason, and promoted."+globalText, "ops", 6,
			query{expr: rateOfQueue("bullmq_jobs_delayed_total", "reason"), legend: "{{queue}} {{reason}}"},
			query{expr: rateOfQueue("bullmq_jobs_promoted_total", ""), legend: "{{queue}} promoted"}),
		lines("Limiter", "Share of 10 minutes it was closed, and how long until it opens."+globalText, "short", 6,
			query{expr: "avg_over_time(queue:bullmq_rate_limited:max{" + selQueue + "}[10m])", legend: "{{queue}} closed"},
			query{expr: ofQueue("queue:bullmq_rate_limit_ttl_seconds:max"), legend: "{{queue}} opens in (s)"}),
		lines("Schedulers late by", "Time since the next scheduled run should have been."+globalText, "s", 6,
			query{expr: "clamp_min(time() - " + ofQueue("bullmq_queue_next_schedule_timestamp_seconds") + ", 0)", legend: "{{queue}}"}),
	}}
}

// quantile reads a histogram in the form chosen on the page: the variable is the end of the name, "(_bucket)" or "()".
// Native histograms have no label le, so that summing by it does them no harm.
func quantile(q, name, by string) string {
	return "histogram_quantile(" + q + ", sum by (" + by + ") (rate({__name__=~\"" + name + "${histogram:raw}\", " + selQueue + "}[$__rate_interval])))"
}

func latencyRow() row {
	quantiles := func(name, by, legend string) []query {
		var out []query
		for _, q := range []struct{ value, name string }{{"0.5", "p50"}, {"0.95", "p95"}, {"0.99", "p99"}} {
			out = append(out, query{expr: quantile(q.value, name, by), legend: "{{queue}} " + legend + q.name})
		}
		return out
	}
	heat := func(title, name string) panel {
		return panel{
			kind: "heatmap", title: title, text: "Distribution over time, classic buckets." + localText, unit: "s", width: 8,
			queries: []query{{expr: "sum by (le) (rate(" + name + "_bucket{" + selQueue + "}[$__rate_interval]))", legend: "{{le}}"}},
		}
	}
	share := func(within, of string) string {
		return rateOfQueue(within, "") + " / (" + of + " > 0)"
	}
	finished := "(" + rateOfQueue("bullmq_jobs_completed_total", "") +
		" + sum without (reason) (" + rateOfQueue("bullmq_jobs_failed_total", "reason") + ")" +
		" + sum without (mode) (" + rateOfQueue("bullmq_jobs_retried_total", "mode") + "))"
	return row{"Latency", []panel{
		lines("Wait", "From ready to run until an attempt starts."+localText, "s", 8, quantiles("bullmq_job_wait_seconds", "queue, le", "")...),
		lines("Processing", "Run time of an attempt, by outcome."+localText, "s", 8,
			quantiles("bullmq_job_processing_seconds", "queue, outcome, le", "{{outcome}} ")...),
		lines("Started within target", "Share of attempts that started within the wait target."+globalText, "percentunit", 8,
			query{expr: share("bullmq_jobs_started_within_target_total", rateOfQueue("bullmq_jobs_started_total", "")), legend: "{{queue}}"}),
		lines("Finished within target", "Share of attempts that ended, well or not, within the processing target of the policy. Nothing without one."+globalText, "percentunit", 8,
			query{
				expr:   share("bullmq_jobs_finished_within_target_total", finished) + " and " + ofQueue("bullmq_queue_policy_processing_target_seconds"),
				legend: "{{queue}}",
			}),
		heat("Wait, heat map", "bullmq_job_wait_seconds"),
		heat("Processing, heat map", "bullmq_job_processing_seconds"),
	}}
}

func workerRow() row {
	own := func(name string) string { return "sum by (prefix, queue) (" + name + "{" + selQueue + "})" }
	return row{"Workers", []panel{
		lines("Workers", "Connected, and expected by the policy."+globalText, "short", 6,
			query{expr: ofQueue("queue:bullmq_workers:max"), legend: "{{queue}}"},
			query{expr: ofQueue("bullmq_queue_policy_workers_expected"), legend: "{{queue}} expected", dashed: true}),
		lines("Stalled", "Jobs found without a lock, in 15 minutes."+globalText, "short", 6,
			query{expr: ofQueue("queue:bullmq_jobs_stalled:increase15m"), legend: "{{queue}}"}),
		lines("Oldest active job", "Time since the job that has run longest started."+globalText, "s", 6,
			query{expr: ofQueue("queue:bullmq_oldest_active_job_age_seconds:max"), legend: "{{queue}}"}),
		lines("Bullpen's own workers", "Jobs they run, and could run."+localText, "short", 6,
			query{expr: own("bullpen_worker_active_jobs"), legend: "{{queue}} active"},
			query{expr: own("bullpen_worker_concurrency"), legend: "{{queue}} concurrency", dashed: true}),
		lines("Locks lost", "Running jobs whose lock was lost."+localText, "short", 8,
			query{expr: "sum by (prefix, queue) (increase(bullpen_worker_lock_lost_total{" + selQueue + "}[$__rate_interval]))", legend: "{{queue}}"}),
		lines("Goroutines", "Of each replica.", "short", 8, query{expr: `go_goroutines{` + selJob + `}`, legend: "{{instance}}"}),
		lines("Memory", "Resident memory of each replica.", "bytes", 8,
			query{expr: `process_resident_memory_bytes{` + selJob + `}`, legend: "{{instance}}"}),
	}}
}

func redisRow() row {
	perSecond := func(name string, by string) string {
		return "max by (redis" + by + ") (rate(" + name + "{" + selRedis + "}[$__rate_interval]))"
	}
	return row{"Redis", []panel{
		lines("Memory", "Used, the maximum (none if 0), and where the last hour leads in four."+globalText, "bytes", 8,
			query{expr: ofRedis("bullmq_redis_memory_used_bytes"), legend: "{{redis}} used"},
			query{expr: ofRedis("bullmq_redis_memory_max_bytes") + " > 0", legend: "{{redis}} max", dashed: true},
			query{expr: "max by (redis) (predict_linear(bullmq_redis_memory_used_bytes{" + selRedis + "}[1h], 14400))", legend: "{{redis}} in 4 h"}),
		lines("Fragmentation", "Memory of the process over memory asked for."+globalText, "short", 4,
			query{expr: ofRedis("bullmq_redis_memory_fragmentation_ratio"), legend: "{{redis}}"}),
		lines("Clients", "Connections by state, and the maximum."+globalText, "short", 6,
			query{expr: "max by (redis, state) (bullmq_redis_clients{" + selRedis + "})", legend: "{{redis}} {{state}}"},
			query{expr: ofRedis("bullmq_redis_max_clients"), legend: "{{redis}} max", dashed: true}),
		lines("Commands", "A second."+globalText, "ops", 6,
			query{expr: perSecond("bullmq_redis_commands_total", ""), legend: "{{redis}}"}),
		lines("Errors by code", "Error replies a second."+globalText, "ops", 6,
			query{expr: perSecond("bullmq_redis_errors_total", ", code"), legend: "{{redis}} {{code}}"}),
		lines("Evicted keys", "A second. Anything above 0 loses jobs."+globalText, "ops", 6,
			query{expr: perSecond("bullmq_redis_evicted_keys_total", ""), legend: "{{redis}}"}),
		lines("Persistence", "1 if the last write, rewrite or snapshot succeeded."+globalText, "short", 6,
			query{expr: ofRedis("bullmq_redis_aof_last_write_ok"), legend: "{{redis}} write"},
			query{expr: ofRedis("bullmq_redis_aof_last_rewrite_ok"), legend: "{{redis}} rewrite"},
			query{expr: ofRedis("bullmq_redis_rdb_last_save_ok"), legend: "{{redis}} snapshot"}),
		lines("Event streams", "Entries kept."+globalText, "short", 6,
			query{expr: ofQueue("bullmq_queue_events_stream_entries"), legend: "{{queue}}"}),
	}}
}

func ownRow() row {
	return row{"Bullpen", []panel{
		lines("Scrapes", "Time a scrape takes.", "s", 6,
			query{expr: `scrape_duration_seconds{` + selJob + `}`, legend: "{{instance}}"}),
		lines("Series of each replica", "Samples a scrape brings.", "short", 6,
			query{expr: `scrape_samples_scraped{` + selJob + `}`, legend: "{{instance}}"}),
		lines("Requests by route", "Requests a second that Bullpen's own server answers; those it failed are below 0."+localText, "reqps", 6,
			query{expr: `sum by (route) (rate(bullpen_http_requests_total{` + selJob + `}[$__rate_interval]))`, legend: "{{route}}"},
			query{expr: `-sum by (route) (rate(bullpen_http_requests_total{` + selJob + `, code="5xx"}[$__rate_interval]))`, legend: "{{route}} failed"}),
		lines("Time to answer", "95 of 100 requests are answered faster."+localText, "s", 6,
			query{expr: `histogram_quantile(0.95, sum by (route, le) (rate(bullpen_http_request_duration_seconds_bucket{` + selJob + `}[$__rate_interval])))`, legend: "{{route}}"}),
		lines("Collectors", "Duration of the last run of each part of the collection."+globalText, "s", 8,
			query{expr: `max by (collector) (bullpen_collector_duration_seconds{` + selJob + `})`, legend: "{{collector}}"}),
		lines("Collectors that succeed", "0 where a part fails on every replica."+globalText, "short", 8,
			query{expr: `max by (collector) (bullpen_collector_success{` + selJob + `})`, legend: "{{collector}}"}),
		lines("Events", "Entries read a second, and lost."+localText, "ops", 8,
			query{expr: `sum by (queue) (rate(bullpen_events_read_total{` + selQueue + `}[$__rate_interval]))`, legend: "{{queue}} read"},
			query{expr: `sum by (queue) (rate(bullpen_events_lost_total{` + selQueue + `}[$__rate_interval]))`, legend: "{{queue}} lost"}),
		lines("Event lag", "Age of the newest entry read while more wait."+globalText, "s", 8,
			query{expr: ofQueue("bullpen_events_lag_seconds"), legend: "{{queue}}"}),
		lines("Streams read by each replica", "Each stream has one reader."+localText, "short", 8,
			query{expr: `sum by (instance) (bullpen_event_reader{` + selQueue + `})`, legend: "{{instance}}"}),
	}}
}
