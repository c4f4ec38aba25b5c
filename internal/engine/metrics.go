package engine

import (
	"context"
	"fmt"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// Metrics is how many jobs of a queue completed, or failed for good, per minute. Only workers that are told to keep it,
// see WorkerOptions.MetricsPoints (features 4).
type Metrics struct {
	// Count is how many there have been since the first.
	Count int64
	// Minutes is the number in each closed minute, newest first, as far as asked for; Kept is how many minutes are stored.
	Minutes []int64
	Kept    int64
	// Start is the offset of Minutes[0] that was asked for.
	Start int64
	// ClosedUntil is when the newest minute was closed: by the first job that finished in a later one. The zero time says
	// that nothing was ever counted. ClosedCount is the number until then.
	ClosedUntil time.Time
	ClosedCount int64
}

// Minute is the time at which the minute of Minutes[i] began.
func (m Metrics) Minute(i int) time.Time {
	return m.ClosedUntil.Truncate(time.Minute).Add(-time.Duration(m.Start+int64(i)+1) * time.Minute)
}

// Open is how many have finished since the newest closed minute, beginning with the minute of ClosedUntil.
func (m Metrics) Open() int64 { return m.Count - m.ClosedCount }

// Metrics reads minutes start..end (inclusive, 0 = the newest closed one, -1 = the oldest) of completed or failed jobs
// (features 4.2).
func (q *Queue) Metrics(ctx context.Context, s keys.State, start, end int64) (Metrics, error) {
	key := q.MetricsCompleted()
	switch s {
	case keys.Completed:
	case keys.Failed:
		key = q.MetricsFailed()
	default:
		return Metrics{}, invalid("state", "metrics are kept of completed and failed jobs, not of %s ones", s)
	}
	var meta *redis.MapStringStringCmd
	var data *redis.StringSliceCmd
	var kept *redis.IntCmd
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		meta, data, kept = p.HGetAll(ctx, key), p.LRange(ctx, key+":data", start, end), p.LLen(ctx, key+":data")
		return nil
	})
	if err != nil {
		return Metrics{}, fmt.Errorf("read metrics of %s: %w", q.Name, err)
	}
	m := Metrics{
		Count: fieldInt(meta.Val()["count"]), Kept: kept.Val(), Start: start, Minutes: make([]int64, len(data.Val())),
		ClosedUntil: fieldTime(meta.Val()["prevTS"]), ClosedCount: fieldInt(meta.Val()["prevCount"]),
	}
	for i, n := range data.Val() {
		m.Minutes[i] = fieldInt(n)
	}
	return m, nil
}
