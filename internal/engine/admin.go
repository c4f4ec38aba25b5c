package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
)

// manualLimit is what the limiter key holds while the queue was stopped by hand (lifecycle 4.2).
const manualLimit = scripts.ManualLimit

// Pause stops all workers of the queue from taking jobs; running ones go on (lifecycle 8.2).
func (q *Queue) Pause(ctx context.Context) (err error) {
	ctx, end := q.begin(ctx, "pause")
	defer end(&err)
	if err := q.runner.Pause(ctx, q.target); err != nil {
		return fmt.Errorf("pause %s: %w", q.Name, err)
	}
	return nil
}

// Resume undoes Pause (lifecycle 8.3).
func (q *Queue) Resume(ctx context.Context) (err error) {
	ctx, end := q.begin(ctx, "resume")
	defer end(&err)
	if err := q.runner.Resume(ctx, q.target); err != nil {
		return fmt.Errorf("resume %s: %w", q.Name, err)
	}
	return nil
}

// IsPaused reports whether the queue is paused.
func (q *Queue) IsPaused(ctx context.Context) (bool, error) {
	paused, err := q.client.HExists(ctx, q.Meta(), "paused").Result()
	if err != nil {
		return false, fmt.Errorf("read whether %s is paused: %w", q.Name, err)
	}
	return paused, nil
}

// Drain removes waiting and prioritized jobs, and delayed ones if asked (lifecycle 8.17).
func (q *Queue) Drain(ctx context.Context, delayed bool) (err error) {
	ctx, end := q.begin(ctx, "drain")
	defer end(&err)
	if err := q.runner.Drain(ctx, q.target, delayed); err != nil {
		return fmt.Errorf("drain %s: %w", q.Name, err)
	}
	return nil
}

// DrainJobs is Drain for given jobs of one state (Waiting, Delayed, Prioritized), so that jobs which come meanwhile stay.
// Those in another state by now are refused with ErrWrongState, current iterations of schedulers with ErrSchedulerOwned.
func (q *Queue) DrainJobs(ctx context.Context, s keys.State, ids []string) (done []string, refused []Refusal, err error) {
	act := act{verb: "drain jobs", span: "drain", options: slog.String(attrQueueOptions, "{}"), command: "drain", state: string(s)}
	return q.inBatches(ctx, ids, act, func(batch []string) ([]scripts.Code, error) {
		return q.runner.DrainJobs(ctx, q.target, s, batch)
	})
}

// The refusals of Obliterate, with the texts that BullMQ's users see.
var (
	ErrNotPaused  = errors.New("Cannot obliterate non-paused queue")
	ErrActiveJobs = errors.New("Cannot obliterate queue with active jobs")
)

// Obliterate deletes the queue and everything in it. The queue is paused first and, on refusal, stays paused.
// ErrActiveJobs if jobs are active, unless forced; ErrNotPaused if it was resumed meanwhile (lifecycle 8.19).
func (q *Queue) Obliterate(ctx context.Context, force bool) (err error) {
	ctx, end := q.begin(ctx, "obliterate")
	defer end(&err)
	if err := q.Pause(ctx); err != nil {
		return err
	}
	code, err := q.runner.Obliterate(ctx, q.target, force)
	return q.obliterated(code, err)
}

// ObliterateSome is one step of Obliterate, for a queue that is paused: it deletes at most n jobs, and with the last of
// them the queue. more says that something is left.
func (q *Queue) ObliterateSome(ctx context.Context, force bool, n int) (deleted int64, more bool, err error) {
	ctx, end := q.begin(ctx, "obliterate")
	defer end(&err)
	deleted, more, code, err := q.runner.ObliterateSome(ctx, q.target, force, n)
	return deleted, more, q.obliterated(code, err)
}

func (q *Queue) obliterated(code scripts.Code, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("obliterate %s: %w", q.Name, err)
	case code == scripts.HasActive:
		return ErrActiveJobs
	case code == scripts.NotPaused:
		return ErrNotPaused
	}
	return nil
}

// RateLimit stops every worker of the queue for d (manual limit, lifecycle 4.2); RemoveRateLimit lifts it. It replaces
// the limiter's present window. BullMQ's own workers obey it only if they have a limiter.
func (q *Queue) RateLimit(ctx context.Context, d time.Duration) (err error) {
	ctx, end := q.begin(ctx, "rateLimit")
	defer end(&err)
	if d < time.Millisecond {
		return invalid("duration", "a rate limit lasts at least a millisecond")
	}
	if err := q.client.Set(ctx, q.Limiter(), manualLimit, d).Err(); err != nil {
		return fmt.Errorf("rate limit %s: %w", q.Name, err)
	}
	return nil
}

// extendRateLimit is RateLimit, but never shortens a manual limit that lasts longer.
func (q *Queue) extendRateLimit(ctx context.Context, d time.Duration) (err error) {
	ctx, end := q.begin(ctx, "rateLimit")
	defer end(&err)
	if err := q.runner.ExtendLimit(ctx, q.target, max(d, time.Millisecond)); err != nil {
		return fmt.Errorf("rate limit %s: %w", q.Name, err)
	}
	return nil
}

func (q *Queue) readLimiter(ctx context.Context) (value int64, ttl time.Duration, err error) {
	var text *redis.StringCmd
	var left *redis.DurationCmd
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		text, left = p.Get(ctx, q.Limiter()), p.PTTL(ctx, q.Limiter())
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, 0, fmt.Errorf("read limiter of %s: %w", q.Name, err)
	}
	return fieldInt(text.Val()), max(left.Val(), 0), nil
}

// RemoveRateLimit lifts the limiter's present window or manual limit.
func (q *Queue) RemoveRateLimit(ctx context.Context) error {
	if err := q.client.Del(ctx, q.Limiter()).Err(); err != nil {
		return fmt.Errorf("lift rate limit of %s: %w", q.Name, err)
	}
	return nil
}

// ShortenRateLimitWindow ends the limiter's present window d from now at the latest, so that a new limiter with a shorter
// window is not held up by the old one. A manual limit stays.
func (q *Queue) ShortenRateLimitWindow(ctx context.Context, d time.Duration) error {
	if err := q.runner.ShortenWindow(ctx, q.target, max(d, time.Millisecond)); err != nil {
		return fmt.Errorf("shorten the limiter's window of %s: %w", q.Name, err)
	}
	return nil
}

// ManualRateLimit returns how long a manual limit still stops the queue, 0 when there is none.
func (q *Queue) ManualRateLimit(ctx context.Context) (time.Duration, error) {
	value, ttl, err := q.readLimiter(ctx)
	if err != nil || value != manualLimit {
		return 0, err
	}
	return ttl, nil
}

// RateLimitTTL returns how long no job of the queue may start, 0 if it is not limited. max, if positive, is how many may
// start per window; else the queue's own limiter says (SetGlobalRateLimit). Without either it is how long the present
// window or manual limit lasts.
func (q *Queue) RateLimitTTL(ctx context.Context, max int64) (time.Duration, error) {
	value, ttl, err := q.readLimiter(ctx)
	if err != nil {
		return 0, err
	}
	if max <= 0 {
		own, err := q.client.HGet(ctx, q.Meta(), "max").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, fmt.Errorf("read limiter of %s: %w", q.Name, err)
		}
		max = fieldInt(own)
	}
	if value < max {
		return 0, nil
	}
	return ttl, nil
}

// SetGlobalConcurrency bounds the active jobs of the whole fleet; n <= 0 removes the bound (lifecycle 4.1).
func (q *Queue) SetGlobalConcurrency(ctx context.Context, n int) error {
	var err error
	if n > 0 {
		err = q.client.HSet(ctx, q.Meta(), "concurrency", n).Err()
	} else {
		err = q.client.HDel(ctx, q.Meta(), "concurrency").Err()
	}
	if err != nil {
		return fmt.Errorf("set global concurrency of %s: %w", q.Name, err)
	}
	return nil
}

// SetGlobalRateLimit writes the queue's limiter to meta, where it holds for the workers of every client; max <= 0
// removes it (lifecycle 4.2).
func (q *Queue) SetGlobalRateLimit(ctx context.Context, max int, window time.Duration) error {
	var err error
	switch {
	case max <= 0:
		err = q.client.HDel(ctx, q.Meta(), "max", "duration").Err()
	case window < time.Millisecond:
		return invalid("duration", "the window of a rate limit lasts at least a millisecond")
	default:
		err = q.client.HSet(ctx, q.Meta(), "max", max, "duration", window.Milliseconds()).Err()
	}
	if err != nil {
		return fmt.Errorf("set global rate limit of %s: %w", q.Name, err)
	}
	return nil
}

// Settings are what the meta hash of a queue says (lifecycle 4).
type Settings struct {
	Paused      bool
	Version     string // "<library>:<version>" of the last queue object made; "" when none wrote it
	Concurrency int64  // global bound on active jobs; 0 = none
	Limiter     Limiter
	MaxEvents   int64 // approximate length of the event stream; 0 = not written yet
}

// Settings reads the queue's settings.
func (q *Queue) Settings(ctx context.Context) (Settings, error) {
	meta, err := q.client.HGetAll(ctx, q.Meta()).Result()
	if err != nil {
		return Settings{}, fmt.Errorf("read settings of %s: %w", q.Name, err)
	}
	_, paused := meta["paused"]
	return Settings{
		Paused: paused, Version: meta["version"], Concurrency: fieldInt(meta["concurrency"]),
		Limiter:   Limiter{Max: int(fieldInt(meta["max"])), Duration: millis(field(meta["duration"]))},
		MaxEvents: fieldInt(meta["opts.maxLenEvents"]),
	}, nil
}

// IsMaxed reports whether as many jobs are active as the global concurrency allows (lifecycle 4.1).
func (q *Queue) IsMaxed(ctx context.Context) (bool, error) {
	var most *redis.StringCmd
	var active *redis.IntCmd
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		most, active = p.HGet(ctx, q.Meta(), "concurrency"), p.LLen(ctx, q.Active())
		return nil
	})
	switch {
	case errors.Is(err, redis.Nil):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read whether %s is maxed: %w", q.Name, err)
	}
	return active.Val() >= fieldInt(most.Val()), nil
}

// TrimEvents cuts the event stream to about its newest n entries.
func (q *Queue) TrimEvents(ctx context.Context, n int64) error {
	if err := q.client.XTrimMaxLenApprox(ctx, q.Events(), n, 0).Err(); err != nil {
		return fmt.Errorf("trim events of %s: %w", q.Name, err)
	}
	return nil
}

// SetMaxEvents sets the approximate length to which writers trim the event stream; BullMQ's default is 10000.
func (q *Queue) SetMaxEvents(ctx context.Context, n int64) error {
	if n < 0 {
		return invalid("maxLenEvents", "%s is negative", strconv.FormatInt(n, 10))
	}
	if err := q.client.HSet(ctx, q.Meta(), "opts.maxLenEvents", n).Err(); err != nil {
		return fmt.Errorf("set event length of %s: %w", q.Name, err)
	}
	return nil
}
