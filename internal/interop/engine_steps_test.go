package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"bullpen/internal/engine/keys"
)

// engineSteps are the driver's steps on the engine; each gives what the driver's gives.
var engineSteps map[string]func(context.Context, call) (any, error)

func init() { //nolint:gochecknoinits // the steps that run others would make the map refer to itself
	engineSteps = map[string]func(context.Context, call) (any, error){
		"add": func(ctx context.Context, c call) (any, error) {
			ids, err := c.add(ctx, spec{c.name(), c.Data, c.Opts})
			return only(ids), err
		},
		"addMany": func(ctx context.Context, c call) (any, error) {
			list := make([]spec, c.Count)
			for i := range list {
				list[i] = spec{c.name(), json.RawMessage(fmt.Sprintf(`{"i":%d}`, i)), c.Opts}
			}
			return c.add(ctx, list...)
		},
		"addEach":         addEach,
		"addBulk":         addBulk,
		"flow":            addFlow,
		"schedulers":      schedulers,
		"upsertScheduler": upsertScheduler,
		"removeScheduler": func(ctx context.Context, c call) (any, error) { return c.q.RemoveScheduler(ctx, c.Scheduler) },
		"take":            func(ctx context.Context, c call) (any, error) { return c.take(ctx) },
		"takeRaw":         func(ctx context.Context, c call) (any, error) { return c.take(ctx) },
		"takeMany":        takeMany,
		"complete":        func(ctx context.Context, c call) (any, error) { return c.complete(ctx) },
		"fail":            func(ctx context.Context, c call) (any, error) { return c.fail(ctx) },
		"process":         func(ctx context.Context, c call) (any, error) { return c.process(ctx) },
		"stalled":         stalled,
		"isPaused":        func(ctx context.Context, c call) (any, error) { return c.q.IsPaused(ctx) },
		"isMaxed":         func(ctx context.Context, c call) (any, error) { return c.q.IsMaxed(ctx) },
		"meta":            settings,
		"countDue": func(ctx context.Context, c call) (any, error) {
			return c.q.CountDue(ctx, epoch.Add(ms(c.Delay)))
		},
		"state":     func(ctx context.Context, c call) (any, error) { return c.q.State(ctx, c.Job) },
		"finished":  finished,
		"job":       jobView,
		"counts":    func(ctx context.Context, c call) (any, error) { return c.q.Counts(ctx) },
		"count":     count,
		"ranges":    ranges,
		"jobs":      ranges,
		"retryJobs": retryJobs,
		"log": func(ctx context.Context, c call) (any, error) {
			return c.q.AddLog(ctx, c.Job, c.Row, c.keepLogs(ctx))
		},
		"addLog": func(ctx context.Context, c call) (any, error) { return c.q.AddLog(ctx, c.Job, c.Row, c.Keep) },
		"logs":   logs,
		"clean": func(ctx context.Context, c call) (any, error) {
			ids, err := c.q.Clean(ctx, stateNamed(c.State), ms(c.Grace), c.Limit)
			slices.Sort(ids)
			return list(ids), err
		},
		"removeOrphans": func(ctx context.Context, c call) (any, error) {
			ids, err := c.q.RemoveOrphanedJobs(ctx, c.Limit)
			return len(ids), err
		},
		"extendLock":            extendLock,
		"extendLocks":           extendLocks,
		"moveToDelayed":         moveToDelayed,
		"moveToWait":            moveToWait,
		"moveToWaitingChildren": moveToWaitingChildren,
		"completeMany":          completeMany, "failMany": failMany, "moveToWaitMany": moveToWaitMany,
		"moveToDelayedMany": moveToDelayedMany, "promoteMany": promoteMany, "removeMany": removeMany, "retryMany": retryMany,
		"completeAll": func(ctx context.Context, c call) (any, error) {
			return c.endAll(ctx, func(c call) (*fetched, error) { return c.complete(ctx) })
		},
		"failAll": func(ctx context.Context, c call) (any, error) {
			return c.endAll(ctx, func(c call) (*fetched, error) { return c.fail(ctx) })
		},
		"countsPerPriority": countsPerPriority,
		"rateLimitTtl": func(ctx context.Context, c call) (any, error) {
			ttl, err := c.q.RateLimitTTL(ctx, int64(c.Max))
			return ttl > 0, err
		},
		"removeDedupKey": func(ctx context.Context, c call) (any, error) {
			return c.runner.RemoveDedupKey(ctx, c.target(), c.Key, "")
		},
		"remove": func(ctx context.Context, c call) (any, error) {
			err := c.q.RemoveJob(ctx, c.Job, c.Children == nil || *c.Children)
			return removed(err)
		},
		"retry": func(ctx context.Context, c call) (any, error) {
			var o struct {
				Made bool `json:"resetAttemptsMade"`
			}
			if err := json.Unmarshal(orJSON(c.Opts, "{}"), &o); err != nil {
				return nil, err
			}
			return nil, c.q.RetryJob(ctx, keys.State(or(c.State, "failed")), c.Job, o.Made)
		},
	}
	for name, act := range acts {
		engineSteps[name] = func(ctx context.Context, c call) (any, error) { return nil, act(ctx, c) }
	}
}

// acts are the steps without a result.
var acts = map[string]func(context.Context, call) error{
	"pause":             func(ctx context.Context, c call) error { return c.q.Pause(ctx) },
	"resume":            func(ctx context.Context, c call) error { return c.q.Resume(ctx) },
	"rateLimit":         func(ctx context.Context, c call) error { return c.q.RateLimit(ctx, ms(c.Duration)) },
	"removeRateLimit":   func(ctx context.Context, c call) error { return c.q.RemoveRateLimit(ctx) },
	"globalConcurrency": func(ctx context.Context, c call) error { return c.q.SetGlobalConcurrency(ctx, intOf(c.Value)) },
	"globalRateLimit":   func(ctx context.Context, c call) error { return c.q.SetGlobalRateLimit(ctx, c.Max, ms(c.Duration)) },
	"drain":             func(ctx context.Context, c call) error { return c.q.Drain(ctx, c.Delayed) },
	"obliterate":        func(ctx context.Context, c call) error { return c.q.Obliterate(ctx, c.Force) },
	"promote":           func(ctx context.Context, c call) error { return c.q.PromoteJob(ctx, c.Job) },
	"promoteJobs":       promoteJobs,
	"trimEvents":        func(ctx context.Context, c call) error { return c.q.TrimEvents(ctx, int64(c.Max)) },
	"changeDelay":       func(ctx context.Context, c call) error { return c.q.ChangeDelay(ctx, c.Job, ms(c.Delay)) },
	"changePriority":    func(ctx context.Context, c call) error { return c.q.ChangePriority(ctx, c.Job, c.Priority, c.LIFO) },
	"updateData":        func(ctx context.Context, c call) error { return c.q.UpdateData(ctx, c.Job, orJSON(c.Value, "null")) },
	"clearLogs":         func(ctx context.Context, c call) error { return c.q.ClearLogs(ctx, c.Job, c.Keep) },
	"updateProgress":    updateProgress,
	"redis":             redisWords,
}

// name is the job's name; the driver's own if none is given.
func (c call) name() string {
	if c.Name == nil {
		return "job"
	}
	return *c.Name
}

func or(v, other string) string {
	if v == "" {
		return other
	}
	return v
}

func orJSON(v json.RawMessage, other string) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage(other)
	}
	return v
}

func intOf(v json.RawMessage) (n int) {
	_ = json.Unmarshal(v, &n)
	return n
}

// only is the one element there is, or nothing.
func only(list []string) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// list is never null, as the driver's.
func list(ids []string) []string { return append([]string{}, ids...) }

// stateNamed reads a state by the name BullMQ's calls use.
func stateNamed(name string) keys.State {
	if name == "wait" || name == "paused" {
		return keys.Waiting
	}
	return keys.State(name)
}
