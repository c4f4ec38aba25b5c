package interop

import (
	"context"
	"encoding/json"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"
)

// The steps named …Many do in one script run what BullMQ does one after the other.

// each is the step's call for each of its jobs.
func (c call) each() (calls []call, ids []string, err error) {
	if err := json.Unmarshal(c.Jobs, &ids); err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		one := c
		one.Job = id
		calls = append(calls, one.ofTaker())
	}
	return calls, ids, nil
}

// sent forgets the jobs that ended and gives the codes as the driver does.
func sent(calls []call, codes []scripts.Code, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	for i, code := range codes {
		if code >= 0 {
			delete(calls[i].taken, calls[i].q.JobKey(calls[i].Job))
		}
	}
	return codes, nil
}

func completeMany(ctx context.Context, c call) (any, error) {
	calls, _, err := c.each()
	if err != nil {
		return nil, err
	}
	jobs := make([]scripts.FinishedJob, len(calls))
	for i, one := range calls {
		if jobs[i], err = one.completed(ctx); err != nil {
			return nil, err
		}
	}
	codes, _, err := c.runner.Finish(ctx, c.target(), c.now, jobs, finishOptions(calls))
	return sent(calls, codes, err)
}

// finishOptions are those of the worker that took the jobs: only their lists say how long it keeps counts.
func finishOptions(calls []call) scripts.FinishOptions {
	o := calls[0].finishOptions()
	for _, one := range calls {
		o.MetricsPoints = max(o.MetricsPoints, one.Worker.Metrics.MaxDataPoints)
	}
	return o
}

// failMany fails jobs of one kind: all for good, all to be repeated at once, or all later.
func failMany(ctx context.Context, c call) (any, error) {
	calls, _, err := c.each()
	if err != nil {
		return nil, err
	}
	var final []scripts.FinishedJob
	var now []scripts.RetriedJob
	var later []scripts.DelayedJob
	for _, one := range calls {
		job, err := one.job(ctx)
		if err != nil {
			return nil, err
		}
		updates := []string{"failedReason", "boom", "stacktrace", one.trace(job, "boom")}
		f, err := one.failed(ctx, job, "boom", updates)
		if err != nil {
			return nil, err
		}
		again, delay := one.retry(job)
		switch {
		case !again:
			final = append(final, f)
		case delay > 0:
			later = append(later, scripts.DelayedJob{Lock: one.lock(), Delay: delay, Updates: updates})
		default:
			now = append(now, scripts.RetriedJob{Lock: one.lock(), LIFO: job.Opts.LIFO, Updates: updates})
		}
	}
	var codes []scripts.Code
	switch len(calls) {
	case len(final):
		codes, _, err = c.runner.Finish(ctx, c.target(), c.now, final, finishOptions(calls))
	case len(later):
		codes, _, err = c.runner.MoveToDelayed(ctx, c.target(), c.now, later, nil)
	case len(now):
		codes, err = c.runner.RetryJobs(ctx, c.target(), c.now, now)
	default:
		return nil, &stepError{Message: "the jobs do not all fail in the same way"}
	}
	return sent(calls, codes, err)
}

func moveToWaitMany(ctx context.Context, c call) (any, error) {
	calls, ids, err := c.each()
	if err != nil {
		return nil, err
	}
	locks := make([]scripts.Lock, len(ids))
	for i, id := range ids {
		locks[i] = scripts.Lock{ID: id, Token: c.Token}
	}
	codes, _, err := c.runner.MoveToWait(ctx, c.target(), locks)
	return sent(calls, codes, err)
}

func moveToDelayedMany(ctx context.Context, c call) (any, error) {
	calls, ids, err := c.each()
	if err != nil {
		return nil, err
	}
	jobs := make([]scripts.DelayedJob, len(ids))
	for i, id := range ids {
		jobs[i] = scripts.DelayedJob{
			Lock: scripts.Lock{ID: id, Token: c.Token}, Delay: max(ms(c.Delay), 0), SkipAttempt: true,
		}
	}
	codes, _, err := c.runner.MoveToDelayed(ctx, c.target(), c.now, jobs, nil)
	return sent(calls, codes, err)
}

// bulk runs an act of the queue on many jobs and gives the codes by job.
func bulk(act func(context.Context, call, []string) ([]engine.Refusal, error)) func(context.Context, call) (any, error) {
	return func(ctx context.Context, c call) (any, error) {
		_, ids, err := c.each()
		if err != nil {
			return nil, err
		}
		refused, err := act(ctx, c, ids)
		if err != nil {
			return nil, err
		}
		codes := make([]int, len(ids))
		for i, id := range ids {
			for _, r := range refused {
				if code, ok := r.Err.(*engine.CodeError); ok && r.ID == id { //nolint:errorlint // as it was put in
					codes[i] = code.Code
				}
			}
		}
		return codes, nil
	}
}

var (
	promoteMany = bulk(func(ctx context.Context, c call, ids []string) ([]engine.Refusal, error) {
		_, refused, err := c.q.Promote(ctx, ids)
		return refused, err
	})
	removeMany = bulk(func(ctx context.Context, c call, ids []string) ([]engine.Refusal, error) {
		_, refused, err := c.q.Remove(ctx, ids, true)
		return refused, err
	})
	retryMany = bulk(func(ctx context.Context, c call, ids []string) ([]engine.Refusal, error) {
		_, refused, err := c.q.Retry(ctx, keys.State(or(c.State, "failed")), ids, false)
		return refused, err
	})
)
