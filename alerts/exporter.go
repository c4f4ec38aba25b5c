package alerts

// exporterAlerts are about Bullpen itself.
func exporterAlerts(job string) []Alert {
	up := series("up", is("job", job))
	anyUp := Aggregate{Fn: "max", By: []string{"job"}, Of: up}
	return []Alert{
		{
			Name: "BullMQWatchdog", Component: Watchdog, Severity: None, Outside: true,
			Expr:        Call{Fn: "vector", Args: []Expr{Number(1)}},
			Summary:     "Always fires, to prove that the alert path works.",
			Description: "Route this to a dead man's switch. It must never stop.",
			Runbook:     "watchdog",
		},
		{
			Name: "BullpenExporterDown", Component: Exporter, Severity: Critical, Outside: true,
			Expr:        either(Call{Fn: "absent", Args: []Expr{up}}, equal(anyUp, Number(0))),
			For:         5 * minute,
			Summary:     "No replica of Bullpen can be scraped.",
			Description: "All queue and Redis alerts are blind until one replica of job {{ $labels.job }} answers. Look at its log and at the network between it and Prometheus.",
			Runbook:     "exporter-down",
			Note:        "No target, or all of them down. absent() copies the labels of a plain selector only: absent(up{...} == 1) would say both in one term but lose the job, and with it the inhibition in the Alertmanager.",
		},
		{
			Name: "BullpenExporterReplicaDown", Component: Exporter, Severity: Warning, Outside: true,
			Expr:        Binary{Op: "and", L: equal(up, Number(0)), R: equal(anyUp, Number(1)), On: []string{"job"}},
			For:         15 * minute,
			Summary:     "One replica of Bullpen cannot be scraped.",
			Description: "Replica {{ $labels.instance }} has not answered for 15 minutes; others still do.",
			Runbook:     "exporter-replica-down",
		},
		{
			Name: "BullpenExporterDegraded", Component: Exporter, Severity: Warning,
			Expr:        equal(global("bullpen_collector_success"), Number(0)),
			For:         5 * minute,
			Summary:     "A collector of Bullpen fails on every replica.",
			Description: "Collector {{ $labels.collector }} has failed for 5 minutes, and what it reads is missing. The log says why.",
			Runbook:     "exporter-degraded",
		},
		{
			Name: "BullpenExporterEventsLost", Component: Exporter, Severity: Info,
			Expr:        above(sumOfReplicas(increase(series("bullpen_events_lost_total"), 15*minute)), Number(0)),
			For:         5 * minute,
			Summary:     "Events of queue {{ $labels.queue }} were trimmed before Bullpen read them.",
			Description: "About {{ $value | humanize }} events were lost in 15 minutes, so retries, stalls and durations are undercounted. Raise streams.events.maxLen, or enable metrics on the workers.",
			Runbook:     "events-lost",
		},
		{
			Name: "BullMQNoQueuesFound", Component: Exporter, Severity: Warning,
			Expr:        equal(global("bullpen_queues"), Number(0)),
			For:         15 * minute,
			Summary:     "Bullpen sees no queue at all.",
			Description: "A wrong Redis address, database number or key prefix looks perfectly healthy otherwise. Check all three.",
			Runbook:     "no-queues",
		},
	}
}
