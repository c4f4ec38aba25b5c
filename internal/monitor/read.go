package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// reading is what one pass asks about one queue.
type reading struct {
	t       *track
	limiter bool
	ages    bool

	countCmds   countCmds
	limiterCmds *limiterCmds
	ageCmds     *ageCmds
	lookup      *lookup
}

// wire runs pipelines of reads and adds up how long Redis was busy with them.
type wire struct {
	client redis.UniversalClient
	// timed says that TIME can stand at both ends of a pipeline; on a Cluster it would go to any node.
	timed bool
	clock func() time.Time
	// busy is Redis's time since it was last reset, offset how far Redis's clock is ahead of ours.
	busy   time.Duration
	offset time.Duration
}

// exec runs what ask puts into a pipeline and returns the time of Redis's clock. The error is of the connection or of
// Redis as a whole; refused commands carry their own.
func (w *wire) exec(ctx context.Context, ask func(redis.Pipeliner)) (redisNow time.Time, err error) {
	p := w.client.Pipeline()
	var first, last *redis.TimeCmd
	if w.timed {
		first = p.Time(ctx)
	}
	before := p.Len()
	ask(p)
	if p.Len() == before {
		return w.clock().Add(w.offset), nil
	}
	if w.timed {
		last = p.Time(ctx)
	}
	sent := time.Now()
	cmds, _ := p.Exec(ctx)
	took := time.Since(sent)
	for _, cmd := range cmds {
		if err := cmd.Err(); fatal(err) {
			return time.Time{}, fmt.Errorf("%s: %w", cmd.Name(), err)
		}
	}
	if !w.timed || first.Err() != nil || last.Err() != nil {
		w.busy += took
		return w.clock().Add(w.offset), nil
	}
	w.busy += last.Val().Sub(first.Val())
	w.offset = first.Val().Sub(w.clock().Add(-took / 2))
	return first.Val(), nil
}

// fatal says that err is no answer to one command but that Redis cannot be read at all.
func fatal(err error) bool {
	if err == nil || errors.Is(err, redis.Nil) {
		return false
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return true
	}
	for _, prefix := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOAUTH", "WRONGPASS", "BUSY"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// readChunk asks everything about some queues, in at most four round trips, and stores the answers.
func (c *collector) readChunk(ctx context.Context, now time.Time, chunk []*reading) error {
	redisNow, err := c.wire.exec(ctx, func(p redis.Pipeliner) {
		for _, r := range chunk {
			r.ask(ctx, p, now)
		}
	})
	if err != nil {
		return err
	}
	moved := make([]struct{ changed, started bool }, len(chunk))
	for i, r := range chunk {
		moved[i].changed, moved[i].started = r.take(now, redisNow)
	}
	if err := c.readFronts(ctx, now, chunk); err != nil {
		return err
	}
	if err := c.backfill(ctx, now, chunk); err != nil {
		return err
	}
	v := view{now: now, source: c.source, refusing: c.server.redis.Refusing}
	for i, r := range chunk {
		r.t.settle(v, moved[i].changed, moved[i].started)
	}
	return nil
}

func (r *reading) ask(ctx context.Context, p redis.Pipeliner, now time.Time) {
	r.countCmds = askCounts(ctx, p, r.t.q, now, r.t.markers)
	if r.limiter {
		r.limiterCmds = askLimiter(ctx, p, r.t.q)
	}
	if r.ages {
		r.ageCmds = askAges(ctx, p, r.t.q)
	}
}

func (r *reading) take(now, redisNow time.Time) (changed, started bool) {
	counts := r.countCmds.take()
	if r.limiterCmds != nil {
		r.t.limiter = r.limiterCmds.take(now)
	}
	if r.ageCmds != nil {
		a := r.ageCmds.take(redisNow)
		if a.tailMarkers > 0 && !r.t.markers {
			r.t.markers, counts.markers = true, a.tailMarkers
		}
		started = r.t.ages.active != a.active && a.active != "" && r.t.passes > 0
		r.t.ages, r.t.fleet.announced = a, a.announced
	}
	changed, more := r.t.take(counts)
	return changed, started || more
}

// readFronts looks up the jobs at the front of the queues whose heads were read.
func (c *collector) readFronts(ctx context.Context, now time.Time, chunk []*reading) error {
	_, err := c.wire.exec(ctx, func(p redis.Pipeliner) {
		for _, r := range chunk {
			if r.ages {
				r.lookup = askFront(ctx, p, r.t, r.t.ages.heads)
			}
		}
	})
	if err != nil {
		return err
	}
	_, err = c.wire.exec(ctx, func(p redis.Pipeliner) {
		for _, r := range chunk {
			if r.lookup != nil {
				r.lookup.askOptions(ctx, p)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, r := range chunk {
		if r.lookup != nil {
			r.t.front = r.lookup.settle(now)
		}
	}
	return nil
}
