package metrics

import "bullpen/internal/monitor"

// totalFamilies are the counters of a queue. All but added come from its event stream.
func totalFamilies(o Options) []*family[queueView] {
	end := survivesHelp
	if o.ReadOnly {
		end = readOnlyHelp
	}
	events := func(name, help string, labels []string, read func(monitor.EventTotals, emit)) *family[queueView] {
		return counter("bullmq_jobs_"+name+"_total", help+end, func(q queueView, send emit) {
			if q.TotalsKnown {
				read(q.Totals, send)
			}
		}, labels...)
	}
	one := func(name, help string, of func(monitor.EventTotals) uint64) *family[queueView] {
		return events(name, help, nil, func(t monitor.EventTotals, send emit) { send(float64(of(t))) })
	}
	return []*family[queueView]{
		counter("bullmq_jobs_added_total", "Add calls that reached Redis, including deduplicated ones."+survivesHelp,
			readable(func(q queueView) float64 { return float64(q.Added) })),
		one("completed", "Jobs that completed.", func(t monitor.EventTotals) uint64 { return t.Completed }),
		events("failed", "Jobs that failed for good, by reason.", []string{"reason"}, func(t monitor.EventTotals, send emit) {
			send(float64(t.FailedExhausted), "exhausted")
			send(float64(t.FailedUnrecoverable), "unrecoverable")
			send(float64(t.FailedStalled), "stalled")
		}),
		events("retried", "Failed attempts that will be retried, by mode.", []string{"mode"}, func(t monitor.EventTotals, send emit) {
			send(float64(t.RetriedImmediate), "immediate")
			send(float64(t.RetriedBackoff), "backoff")
		}),
		events("delayed", "Moves into the delayed set, by reason.", []string{"reason"}, func(t monitor.EventTotals, send emit) {
			send(float64(t.DelayedScheduled), "scheduled")
			send(float64(t.DelayedBackoff), "backoff")
			send(float64(t.DelayedManual), "manual")
		}),
		one("promoted", "Moves out of the delayed set into waiting.", func(t monitor.EventTotals) uint64 { return t.Promoted }),
		one("stalled", "Times a job was found without a lock and put back.", func(t monitor.EventTotals) uint64 { return t.Stalled }),
		events("dropped", "Add calls that created no job, by cause.", []string{"cause"}, func(t monitor.EventTotals, send emit) {
			send(float64(t.Duplicated), "duplicated")
			send(float64(t.Deduplicated), "deduplicated")
		}),
		one("removed", "Jobs removed before they finished.", func(t monitor.EventTotals) uint64 { return t.Removed }),
		one("started", "Attempts started.", func(t monitor.EventTotals) uint64 { return t.Started }),
		one("started_within_target", "Attempts started within the wait target.",
			func(t monitor.EventTotals) uint64 { return t.StartedWithinTarget }),
		one("finished_within_target", "Attempts that ended within the processing target.",
			func(t monitor.EventTotals) uint64 { return t.FinishedWithinTarget }),
	}
}
