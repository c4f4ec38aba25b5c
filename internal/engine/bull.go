package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ErrBullQueue means that a queue's keys were left by Bull 3 or 4, the predecessor of BullMQ, whose jobs and lists look
// alike and mean something else.
var ErrBullQueue = errors.New("queue was written by Bull 3 or 4, and nothing of BullMQ may be mixed into it; use another name, or remove its keys")

// RefuseBull returns ErrBullQueue if the queue was left by Bull 3 or 4 and no BullMQ client has used it since
// (features 6.3). It is to be asked before a worker is started on a queue that is new to it, or a job is added there.
func (q *Queue) RefuseBull(ctx context.Context) error {
	var meta *redis.SliceCmd
	var bullmq, bull *redis.IntCmd
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		meta = p.HMGet(ctx, q.Meta(), "opts.maxLenEvents", "version", "library", "concurrency", "max")
		bullmq = p.Exists(ctx, q.Events(), q.Marker(), q.Prioritized(), q.PriorityCounter())
		bull = p.Exists(ctx, q.Wait(), q.Paused(), q.Active(), q.Delayed(), q.Completed(), q.Failed())
		return nil
	})
	if err != nil {
		return fmt.Errorf("find out who wrote %s: %w", q.Name, err)
	}
	for _, v := range meta.Val() {
		if v != nil {
			return nil
		}
	}
	if bullmq.Val() == 0 && bull.Val() > 0 {
		return fmt.Errorf("%s: %w", q.Name, ErrBullQueue)
	}
	return nil
}
