package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

const (
	// memoryJobs is how many jobs of each state are measured, half from each end of its list.
	memoryJobs = 20
	// memorySamples is how many members of a list, set or stream Redis measures of each of the queue's own keys.
	memorySamples = 5
	// allFields measures every field of a job: among samples of them the data may be missing, in each job the same.
	allFields = 0
)

// Memory is an estimate of what a queue takes in Redis, in bytes.
type Memory struct {
	// Total is the mean job of each state times the jobs in it, and the queue's own keys.
	Total int64
	// Jobs is how many jobs there are, Measured how many were measured, Largest the largest of those.
	Jobs, Measured, Largest int64
}

// SampleMemory estimates the queue's memory from at most 20 jobs of each state. It sends at most 160 MEMORY USAGE
// commands, over all fields of a job and 5 samples of other keys, in three round trips; logs and dependencies of jobs are not counted.
func (q *Queue) SampleMemory(ctx context.Context) (Memory, error) {
	counts, err := q.Counts(ctx)
	if err != nil {
		return Memory{}, err
	}
	ids, err := q.sampleIDs(ctx)
	if err != nil {
		return Memory{}, fmt.Errorf("sample jobs of %s: %w", q.Name, err)
	}
	p := q.client.Pipeline()
	jobs := map[keys.State][]*redis.IntCmd{}
	for state, list := range ids {
		for _, id := range list {
			jobs[state] = append(jobs[state], p.MemoryUsage(ctx, q.Queue.Job(id), allFields))
		}
	}
	var own []*redis.IntCmd
	for _, key := range []string{q.Meta(), q.Wait(), q.Paused(), q.Active(), q.Prioritized(), q.Delayed(), q.Completed(), q.Failed(), q.WaitingChildren(), q.Events(), q.Repeat()} {
		own = append(own, p.MemoryUsage(ctx, key, memorySamples))
	}
	if _, err := p.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return Memory{}, fmt.Errorf("measure %s: %w", q.Name, err)
	}
	return estimate(counts, jobs, own), nil
}

// sampleIDs takes ids from both ends of every state.
func (q *Queue) sampleIDs(ctx context.Context) (map[keys.State][]string, error) {
	const half = memoryJobs / 2
	p := q.client.Pipeline()
	found := map[keys.State][]*redis.StringSliceCmd{}
	for _, list := range []struct {
		state keys.State
		key   string
	}{{keys.Waiting, q.Wait()}, {keys.Waiting, q.Paused()}, {keys.Active, q.Active()}} {
		found[list.state] = append(found[list.state], p.LRange(ctx, list.key, 0, half-1), p.LRange(ctx, list.key, -half, -1))
	}
	for state, key := range map[keys.State]string{
		keys.Prioritized: q.Prioritized(), keys.Delayed: q.Delayed(), keys.WaitingChildren: q.WaitingChildren(),
		keys.Completed: q.Completed(), keys.Failed: q.Failed(),
	} {
		found[state] = append(found[state], p.ZRange(ctx, key, 0, half-1), p.ZRange(ctx, key, -half, -1))
	}
	if _, err := p.Exec(ctx); err != nil {
		return nil, err
	}
	ids := map[keys.State][]string{}
	for state, parts := range found {
		seen := map[string]bool{}
		for _, part := range parts {
			for _, id := range part.Val() {
				if len(ids[state]) < memoryJobs && !seen[id] && !strings.HasPrefix(id, "0:") {
					seen[id] = true
					ids[state] = append(ids[state], id)
				}
			}
		}
	}
	return ids, nil
}

// estimate extrapolates. A key that is gone measures nothing.
func estimate(counts map[keys.State]int64, jobs map[keys.State][]*redis.IntCmd, own []*redis.IntCmd) Memory {
	var m Memory
	for _, cmd := range own {
		m.Total += cmd.Val()
	}
	for state, n := range counts {
		m.Jobs += n
		var sum, measured int64
		for _, cmd := range jobs[state] {
			if cmd.Err() != nil {
				continue
			}
			sum += cmd.Val()
			measured++
			m.Largest = max(m.Largest, cmd.Val())
		}
		m.Measured += measured
		if measured > 0 {
			m.Total += int64(float64(sum) / float64(measured) * float64(n))
		}
	}
	return m
}
