package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// Job reads one job whole, payload included. ErrJobNotFound if it has no hash.
func (q *Queue) Job(ctx context.Context, id string) (*Job, error) {
	jobs, err := q.Jobs(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	if jobs[0] == nil {
		return nil, fmt.Errorf("job %s: %w", id, ErrJobNotFound)
	}
	return jobs[0], nil
}

// Jobs reads jobs whole in one round trip; the result has the order of ids and nil for those without a hash.
func (q *Queue) Jobs(ctx context.Context, ids []string) ([]*Job, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	hashes := make([]*redis.MapStringStringCmd, len(ids))
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			hashes[i] = p.HGetAll(ctx, q.Queue.Job(id))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read jobs of %s: %w", q.Name, err)
	}
	jobs := make([]*Job, len(ids))
	for i, id := range ids {
		if fields := hashes[i].Val(); len(fields) > 0 {
			jobs[i] = decodeJob(q, id, fields)
		}
	}
	return jobs, nil
}

// JobsIn reads the jobs start..end (inclusive, 0-based, -1 = the last) of a state whole, and how many the state has in
// all. asc: next to run or oldest first; otherwise newest first. Listed ids without a hash are left out.
func (q *Queue) JobsIn(ctx context.Context, s keys.State, start, end int64, asc bool) ([]*Job, int64, error) {
	rows, total, err := q.Rows(ctx, s, start, end, asc)
	if err != nil {
		return nil, 0, err
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	jobs, err := q.Jobs(ctx, ids)
	if err != nil {
		return nil, 0, err
	}
	return slices.DeleteFunc(jobs, func(j *Job) bool { return j == nil }), total, nil
}

// State returns the state of a job, keys.Unknown if it is in none (lifecycle 9).
func (q *Queue) State(ctx context.Context, id string) (keys.State, error) {
	states, err := q.runner.States(ctx, q.target, []string{id})
	if err != nil {
		return keys.Unknown, fmt.Errorf("read state of job %s: %w", id, err)
	}
	return states[0], nil
}

// States returns the states of many jobs, in order.
func (q *Queue) States(ctx context.Context, ids []string) ([]keys.State, error) {
	states, err := q.runner.States(ctx, q.target, ids)
	if err != nil {
		return nil, fmt.Errorf("read states of jobs in %s: %w", q.Name, err)
	}
	return states, nil
}

// Counts returns how many jobs are in each state. The legacy paused list counts as waiting.
func (q *Queue) Counts(ctx context.Context) (map[keys.State]int64, error) {
	counts, err := q.runner.Counts(ctx, q.target)
	if err != nil {
		return nil, fmt.Errorf("count jobs of %s: %w", q.Name, err)
	}
	return counts, nil
}

// CountPriority returns how many jobs wait with the given priority; 0 counts those without one (lifecycle 5.2).
func (q *Queue) CountPriority(ctx context.Context, priority int) (n int64, err error) {
	if err := checkPriority(priority); err != nil {
		return 0, err
	}
	if priority == 0 {
		n, err = q.client.LLen(ctx, q.Wait()).Result()
	} else {
		band := int64(priority) << 32
		n, err = q.client.ZCount(ctx, q.Prioritized(), strconv.FormatInt(band, 10), strconv.FormatInt(band+1<<32-1, 10)).Result()
	}
	if err != nil {
		return 0, fmt.Errorf("count priority %d of %s: %w", priority, q.Name, err)
	}
	return n, nil
}

// CountDue returns how many delayed jobs become ready before a time (lifecycle 9).
func (q *Queue) CountDue(ctx context.Context, before time.Time) (int64, error) {
	last := strconv.FormatInt(before.UnixMilli()*4096-1, 10)
	n, err := q.client.ZCount(ctx, q.Delayed(), "-inf", last).Result()
	if err != nil {
		return 0, fmt.Errorf("count due jobs of %s: %w", q.Name, err)
	}
	return n, nil
}

// Due returns when a delayed job becomes ready, the zero time if it is not delayed.
func (q *Queue) Due(ctx context.Context, id string) (time.Time, error) {
	score, err := q.client.ZScore(ctx, q.Delayed(), id).Result()
	if err == redis.Nil {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read due time of job %s: %w", id, err)
	}
	return dueTime(score), nil
}

// dueTime decodes the score of a delayed job (lifecycle 5.1).
func dueTime(score float64) time.Time { return instant(math.Floor(score / 4096)) }

// IDs returns at most limit ids of a state, oldest first, starting after offset entries; finished ones are bounded to
// FinishedOn <= before when before is not zero. For delayed and prioritized jobs oldest means next to run.
func (q *Queue) IDs(ctx context.Context, s keys.State, offset, limit int64, before time.Time) ([]string, error) {
	if limit <= 0 {
		return nil, nil
	}
	var ids []string
	var err error
	switch s {
	case keys.Waiting:
		ids, err = q.waitingIDs(ctx, offset, limit)
	case keys.Active:
		ids, _, err = q.listRange(ctx, q.Active(), -offset-limit, -offset-1, true)
		slices.Reverse(ids)
	default:
		set, ok := q.stateSet(s)
		if !ok {
			return nil, invalid("state", "%q is not a state with a list of jobs", s)
		}
		by := redis.ZRangeArgs{Key: set, Start: "-inf", Stop: "+inf", ByScore: true, Offset: offset, Count: limit}
		if !before.IsZero() {
			by.Stop = strconv.FormatInt(before.UnixMilli(), 10)
		}
		ids, err = q.client.ZRangeArgs(ctx, by).Result()
	}
	if err != nil {
		return nil, fmt.Errorf("list %s jobs of %s: %w", s, q.Name, err)
	}
	return ids, nil
}

// waitingIDs lists waiting jobs in the order they run: those in the list of BullMQ 5.x for paused queues come first.
func (q *Queue) waitingIDs(ctx context.Context, offset, limit int64) ([]string, error) {
	var ids []string
	for _, list := range []string{q.Paused(), q.Wait()} {
		part, total, err := q.listRange(ctx, list, -offset-limit, -offset-1, true)
		if err != nil {
			return nil, err
		}
		slices.Reverse(part)
		ids = append(ids, part...)
		limit -= int64(len(part))
		if offset = max(offset-total, 0); limit == 0 {
			break
		}
	}
	return ids, nil
}

// stateSet is the sorted set of a state that has one.
func (q *Queue) stateSet(s keys.State) (string, bool) {
	switch s {
	case keys.Prioritized:
		return q.Prioritized(), true
	case keys.Delayed:
		return q.Delayed(), true
	case keys.WaitingChildren:
		return q.WaitingChildren(), true
	case keys.Completed:
		return q.Completed(), true
	case keys.Failed:
		return q.Failed(), true
	}
	return "", false
}

// listRange reads start..end of a list and its length. Not asc: the indexes count from the tail and so does the result.
func (q *Queue) listRange(ctx context.Context, key string, start, end int64, asc bool) ([]string, int64, error) {
	from, to := start, end
	if !asc {
		from, to = -(end + 1), -(start + 1)
	}
	var items *redis.StringSliceCmd
	var length *redis.IntCmd
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		items, length = p.LRange(ctx, key, from, to), p.LLen(ctx, key)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	rows := items.Val()
	if !asc {
		slices.Reverse(rows)
	}
	return rows, length.Val(), nil
}
