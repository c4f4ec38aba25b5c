package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// series is one of BullMQ's two metrics (features 4): finished jobs per minute, kept by workers that were told to.
type series struct {
	state *redis.SliceCmd // prevTS, count, prevCount
	data  *redis.StringSliceCmd
}

func askSeries(ctx context.Context, p redis.Pipeliner, key string) series {
	return series{p.HMGet(ctx, key, "prevTS", "count", "prevCount"), p.LRange(ctx, key+":data", 0, historyLength-1)}
}

// minutes gives each finish count to its minute: entry i of the data belongs to the minute i+1 before the one of
// prevTS, whose own count so far is count - prevCount.
func (s series) minutes(put func(start time.Time, n int64)) {
	last := timeField(s.state, 0).Truncate(time.Minute)
	if last.IsZero() || s.data.Err() != nil {
		return
	}
	put(last, field(s.state, 1)-field(s.state, 2))
	for i, n := range s.data.Val() {
		put(last.Add(-time.Duration(i+1)*time.Minute), integer(n))
	}
}

func field(c *redis.SliceCmd, i int) int64 {
	s, _ := at(c.Val(), i).(string)
	return integer(s)
}

// backfill gives queues that were just found the last hour of BullMQ's metrics, so that charts survive a restart.
func (c *collector) backfill(ctx context.Context, now time.Time, chunk []*reading) error {
	type pair struct {
		t                 *track
		completed, failed series
	}
	var asked []pair
	_, err := c.wire.exec(ctx, func(p redis.Pipeliner) {
		for _, r := range chunk {
			if r.t.passes > 1 || r.t.ages.completed < 0 && r.t.ages.failed < 0 {
				continue
			}
			asked = append(asked, pair{r.t, askSeries(ctx, p, r.t.q.MetricsCompleted()), askSeries(ctx, p, r.t.q.MetricsFailed())})
		}
	})
	if err != nil {
		return err
	}
	for _, a := range asked {
		a.t.history = pastHour(now, a.completed, a.failed)
	}
	return nil
}

// pastHour makes minutes of the two series; it is empty when nothing finished in the last hour.
func pastHour(now time.Time, completed, failed series) []Minute {
	end := now.Truncate(time.Minute)
	hour := make([]Minute, historyLength)
	for i := range hour {
		hour[i] = Minute{Start: end.Add(time.Duration(i-historyLength) * time.Minute), Busy: -1}
	}
	at := func(start time.Time) *Minute {
		i := historyLength - int(end.Sub(start)/time.Minute)
		if i < 0 || i >= historyLength {
			return &Minute{}
		}
		return &hour[i]
	}
	completed.minutes(func(start time.Time, n int64) { at(start).Completed += n })
	failed.minutes(func(start time.Time, n int64) { at(start).Failed += n })
	first := slices.IndexFunc(hour, func(m Minute) bool { return m.Completed+m.Failed > 0 })
	if first < 0 {
		return nil
	}
	return hour[first:]
}
