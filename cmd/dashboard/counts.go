package main

import (
	"fmt"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
)

// exportCounts lets the telemetry, if there is any, export how many jobs each queue has, as the collector last read it.
func (s *server) exportCounts() error {
	if s.telemetry == nil {
		return nil
	}
	err := s.telemetry.QueueJobs(func(observe func(queue, state string, n int64)) {
		for of, n := range jobCounts(s.monitor.Snapshot().Queues) {
			observe(of.queue, string(of.state), n)
		}
	})
	if err != nil {
		return fmt.Errorf("export counts: %w", err)
	}
	return nil
}

// counted is what BullMQ's gauge tells apart.
type counted struct {
	queue string
	state keys.State
}

// jobCounts sums queues of the same name under several prefixes: BullMQ's attributes have no prefix, and of two figures
// with the same attributes the last would hide the others.
func jobCounts(queues []*monitor.Queue) map[counted]int64 {
	sums := map[counted]int64{}
	for _, q := range queues {
		for state, n := range q.Counts {
			sums[counted{q.Name, state}] += n
		}
	}
	return sums
}
