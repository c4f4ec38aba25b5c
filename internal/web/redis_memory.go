package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

const (
	// sampledQueues is how many queues are sampled at once, those with most jobs first.
	sampledQueues = 20
	// sampleLimit bounds the sampling.
	sampleLimit = 5 * time.Second
)

// sampled is what a queue was estimated to take.
type sampled struct {
	queue  *monitor.Queue
	memory engine.Memory
}

// redisMemory is the memory by queue. It is only measured when the address asks for it.
func (s *Server) redisMemory(ctx context.Context, r viewRequest) templates.RedisMemory {
	m := templates.RedisMemory{URL: r.with(s.links.base, "sample", "queue") + "#memory", Label: "Sample memory by queue"}
	switch {
	case r.snap.Redis.Embedded:
		return templates.RedisMemory{Note: "The store inside Bullpen does not tell what a key takes."}
	case r.query.Get("sample") != "queue":
		m.Note = "Not measured yet: it takes up to 160 small commands for each of the " + words.Count(sampledQueues) + " fullest queues."
		return m
	}
	m.Label = "Sample again"
	began := time.Now()
	found, left, err := s.sampleMemory(ctx, r)
	if err != nil {
		m.Trouble = &templates.Notice{Class: "s-failed", Icon: "h-crit", Strong: "Not every queue could be measured.", Text: sentenceStart(oneLine(err)) + "."}
	}
	m.Rows = s.memoryRows(found, r.snap.Redis.UsedMemory)
	measured := int64(0)
	for _, f := range found {
		measured += f.memory.Measured
	}
	m.Note = "Estimate from " + words.Plural(measured, "job", "jobs") + ", at most 20 of each queue and state, sampled " +
		r.now.In(s.o.Zone).Format("15:04:05") + " in " + words.Exact(time.Since(began)) + ". Logs of jobs are not counted."
	if left > 0 {
		m.Note += " " + words.Plural(int64(left), "queue was", "queues were") + " not sampled."
	}
	return m
}

// sampleMemory measures the fullest queues; left is how many others there are.
func (s *Server) sampleMemory(ctx context.Context, r viewRequest) (found []sampled, left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	queues := s.fullestQueues(r)
	for _, q := range queues[:min(len(queues), sampledQueues)] {
		eq, err := s.engineOf(q.Queue)
		var memory engine.Memory
		if err == nil {
			memory, err = eq.SampleMemory(ctx)
		}
		if err != nil {
			return found, len(queues) - len(found), err
		}
		found = append(found, sampled{q, memory})
	}
	return found, len(queues) - len(found), nil
}

// fullestQueues are the queues the viewer may see, those with most jobs first.
func (s *Server) fullestQueues(r viewRequest) []*monitor.Queue {
	var out []*monitor.Queue
	for _, q := range r.snap.Queues {
		if q.Counts != nil && r.who.May(Viewer, q.Queue) {
			out = append(out, q)
		}
	}
	all := func(q *monitor.Queue) (n int64) {
		for _, st := range keys.States {
			n += q.Counts[st]
		}
		return n
	}
	slices.SortStableFunc(out, func(a, b *monitor.Queue) int { return cmp.Compare(all(b), all(a)) })
	return out
}

func (s *Server) memoryRows(found []sampled, used int64) []templates.MemoryRow {
	slices.SortStableFunc(found, func(a, b sampled) int { return cmp.Compare(b.memory.Total, a.memory.Total) })
	var rows []templates.MemoryRow
	for _, f := range found {
		row := templates.MemoryRow{
			Name: jsonview.Visible(s.queueName(f.queue.Qualified())), URL: s.links.queue(f.queue.Queue), Memory: words.Memory(f.memory.Total),
			Width: percent(100 * float64(f.memory.Total) / float64(max(found[0].memory.Total, 1))), Share: words.Unknown,
			Jobs: words.Count(f.memory.Jobs), Mean: words.Unknown, Largest: words.Unknown,
		}
		if used > 0 {
			row.Share = words.Percent(float64(f.memory.Total) / float64(used))
		}
		if f.memory.Jobs > 0 && f.memory.Measured > 0 {
			row.Mean, row.Largest = words.Bytes(f.memory.Total/f.memory.Jobs), words.Bytes(f.memory.Largest)
		}
		rows = append(rows, row)
	}
	return rows
}
