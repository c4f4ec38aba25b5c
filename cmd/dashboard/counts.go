package main

import "fmt"

// exportCounts lets the telemetry, if there is any, export how many jobs each queue has, as the collector last read it.
func (s *server) exportCounts() error {
	if s.telemetry == nil {
		return nil
	}
	err := s.telemetry.QueueJobs(func(observe func(queue, state string, n int64)) {
		for _, q := range s.monitor.Snapshot().Queues {
			for state, n := range q.Counts {
				observe(q.Name, string(state), n)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("export counts: %w", err)
	}
	return nil
}
