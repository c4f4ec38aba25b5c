package alerts

// Shares of maxmemory.
const (
	memoryHigh     = 0.8
	memoryCritical = 0.92
	memoryForecast = 0.6 // below it a trend is not worth a message
)

// redisAlerts are about the Redis behind the queues.
func redisAlerts() []Alert {
	const memoryText = "{{ $value | humanizePercentage }} is used. At 100 % every add is refused. Remove finished jobs, or give Redis more."
	return []Alert{
		{
			Name: "BullMQRedisDown", Component: Redis, Severity: Critical,
			Expr:        equal(redisUp, Number(0)),
			For:         2 * minute,
			Summary:     "No replica of Bullpen can reach Redis {{ $labels.redis }}.",
			Description: "Producers and workers most likely cannot either. Jobs wait where they are added from.",
			Runbook:     "redis-down",
			Note:        "max: one replica that cannot reach Redis is not Redis down.",
		},
		{
			Name: "BullMQRedisMemoryHigh", Component: Redis, Severity: Warning,
			Expr: above(memoryUsed, Number(memoryHigh)),
			For:  5 * minute, KeepFiring: 5 * minute,
			Summary:     "Redis {{ $labels.redis }} uses more than 80 % of maxmemory.",
			Description: memoryText,
			Runbook:     "redis-memory",
			Note:        "(d) of four: memory.",
		},
		{
			Name: "BullMQRedisMemoryHigh", Component: Redis, Severity: Critical,
			Expr: above(memoryUsed, Number(memoryCritical)),
			For:  2 * minute, KeepFiring: 5 * minute,
			Summary:     "Redis {{ $labels.redis }} is about to reach maxmemory.",
			Description: memoryText,
			Runbook:     "redis-memory",
		},
		{
			Name: "BullMQRedisMemoryFilling", Component: Redis, Severity: Warning,
			Expr: all(
				above(predict(memoryUsed, hour, 4*hour), Number(1)),
				above(memoryUsed, Number(memoryForecast)),
				above(countOver(memoryUsed.ago(55*minute), 5*minute), Number(0)),
			),
			For:         30 * minute,
			Summary:     "Redis {{ $labels.redis }} will reach maxmemory within 4 hours at the present pace.",
			Description: "The trend of the last hour predicts {{ $value | humanizePercentage }} of maxmemory in 4 hours. Find the queue that grows.",
			Runbook:     "redis-memory",
			Note:        "A trend needs an hour behind it, and a filling but nearly empty Redis is nobody's problem.",
		},
		{
			Name: "BullMQRedisRefusesWrites", Component: Redis, Severity: Critical,
			Expr: above(maxOfReplicas(increase(series("bullmq_redis_errors_total", is("code", "OOM")), 5*minute)), Number(0)),
			For:  minute, KeepFiring: 5 * minute,
			Summary:     "Redis {{ $labels.redis }} refuses writes because it is out of memory.",
			Description: "About {{ $value | humanize }} commands were refused in 5 minutes: jobs can neither be added, retried nor finished. Free memory now.",
			Runbook:     "redis-oom",
			Note:        "The damage itself, whatever the figures say.",
		},
		{
			Name: "BullMQRedisUnsafeEviction", Component: Redis, Severity: Warning,
			Expr:        equal(global("bullmq_redis_info", not("maxmemory_policy", "noeviction"), not("maxmemory_policy", "")), Number(1)),
			For:         5 * minute,
			Summary:     "Redis {{ $labels.redis }} may evict the keys of queues.",
			Description: "maxmemory-policy is {{ $labels.maxmemory_policy }}; it must be noeviction, or jobs vanish when memory is short.",
			Runbook:     "redis-eviction-policy",
		},
		{
			Name: "BullMQRedisEvictsKeys", Component: Redis, Severity: Critical,
			Expr:        above(maxOfReplicas(increase(series("bullmq_redis_evicted_keys_total"), 10*minute)), Number(0)),
			Summary:     "Redis {{ $labels.redis }} evicts keys; jobs may already be lost.",
			Description: "About {{ $value | humanize }} keys were evicted in 10 minutes. Set maxmemory-policy to noeviction at once.",
			Runbook:     "redis-evictions",
		},
		{
			Name: "BullMQRedisAOFDisabled", Component: Redis, Severity: Warning,
			Expr:        equal(global("bullmq_redis_aof_enabled"), Number(0)),
			For:         15 * minute,
			Summary:     "Redis {{ $labels.redis }} runs without an append-only file.",
			Description: "A crash loses every job since the last snapshot. Set appendonly to yes.",
			Runbook:     "redis-persistence",
		},
		{
			Name: "BullMQRedisPersistenceFailing", Component: Redis, Severity: Critical,
			Expr: either(
				equal(global("bullmq_redis_aof_last_write_ok"), Number(0)),
				equal(global("bullmq_redis_rdb_last_save_ok"), Number(0)),
			),
			For:         5 * minute,
			Summary:     "Redis {{ $labels.redis }} cannot persist its data.",
			Description: "The last write of the append-only file or the last snapshot failed; with its defaults Redis stops all writes after that. Check the disk.",
			Runbook:     "redis-persistence",
		},
	}
}
