package interop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/policy"
	"bullpen/internal/engine/scripts"
)

// fetched is what the driver says of a fetch.
type fetched struct {
	ID              *string `json:"id"`
	AttemptsMade    *int    `json:"attemptsMade,omitempty"`
	AttemptsStarted *int    `json:"attemptsStarted,omitempty"`
	Limited         *bool   `json:"limited,omitempty"`
	Next            *int64  `json:"next,omitempty"`
}

func (c call) target() scripts.Target {
	return scripts.Target{Queue: c.q.Queue, LegacyPause: c.legacyPause}
}

func (c call) lock() scripts.Lock { return scripts.Lock{ID: c.Job, Token: c.Token} }

func (c call) fetchOptions() scripts.FetchOptions {
	o := scripts.FetchOptions{Token: c.Token, LockDuration: 30 * time.Second, Count: 1, Worker: c.Worker.Name}
	if c.Worker.LockDuration > 0 {
		o.LockDuration = ms(c.Worker.LockDuration)
	}
	if l := c.Worker.Limiter; l != nil {
		o.Limiter = &scripts.Limiter{Max: l.Max, Duration: ms(float64(l.Duration))}
	}
	return o
}

// nextOptions are those of a step that takes the next job.
func (c call) nextOptions() *scripts.FetchOptions {
	if !c.Next {
		return nil
	}
	o := c.fetchOptions()
	return &o
}

func (c call) take(ctx context.Context) (*fetched, error) {
	f, err := c.runner.Fetch(ctx, c.target(), c.now, c.fetchOptions())
	if err != nil {
		return nil, err
	}
	return c.describe(ctx, f)
}

// describe remembers the job taken as it is now and says what the fetch gave.
func (c call) describe(ctx context.Context, f *scripts.Fetched) (*fetched, error) {
	if f == nil {
		f = &scripts.Fetched{}
	}
	if len(f.Jobs) == 0 {
		limited, next := f.LimitedFor > 0, int64(0)
		if !f.NextDue.IsZero() {
			next = f.NextDue.UnixMilli()
		}
		return &fetched{Limited: &limited, Next: &next}, nil
	}
	job, err := c.q.Job(ctx, f.Jobs[0].ID)
	if err != nil {
		return nil, err
	}
	c.taken[job.Key()] = taken{job, c.Worker}
	return &fetched{ID: &job.ID, AttemptsMade: &job.AttemptsMade, AttemptsStarted: &job.AttemptsStarted}, nil
}

// job is the taken job as it was when it was taken, else the stored one, else one without a hash.
func (c call) job(ctx context.Context) (*engine.Job, error) {
	if t, ok := c.taken[c.q.JobKey(c.Job)]; ok {
		return t.job, nil
	}
	job, err := c.q.Job(ctx, c.Job)
	if errors.Is(err, engine.ErrJobNotFound) {
		return &engine.Job{ID: c.Job}, nil
	}
	return job, err
}

// refusal turns the code of one job into an error; the text is compared where the engine makes one.
func refusal(code scripts.Code) error {
	if code >= 0 {
		return nil
	}
	return &stepError{Code: int(code)}
}

func (c call) complete(ctx context.Context) (*fetched, error) {
	f, err := c.completed(ctx)
	if err != nil {
		return nil, err
	}
	return c.finish(ctx, f)
}

// completed is the job of the step as one that ends well.
func (c call) completed(ctx context.Context) (scripts.FinishedJob, error) {
	job, err := c.job(ctx)
	if err != nil {
		return scripts.FinishedJob{}, err
	}
	f := scripts.FinishedJob{
		Lock: c.lock(), Result: string(orJSON(c.Value, "null")), Attempts: job.Opts.Attempts,
	}
	f.Keep, err = c.keep(ctx, job.Opts.KeepCompleted, c.Worker.KeepCompleted, "removeOnComplete")
	return f, err
}

func (c call) finish(ctx context.Context, f scripts.FinishedJob) (*fetched, error) {
	codes, next, err := c.runner.Finish(ctx, c.target(), c.now, []scripts.FinishedJob{f}, c.finishOptions())
	if err != nil {
		return nil, err
	}
	return c.ended(ctx, codes[0], next)
}

func (c call) finishOptions() scripts.FinishOptions {
	return scripts.FinishOptions{MetricsPoints: c.Worker.Metrics.MaxDataPoints, Next: c.nextOptions()}
}

// ended forgets the job unless the step was refused.
func (c call) ended(ctx context.Context, code scripts.Code, next *scripts.Fetched) (*fetched, error) {
	if err := refusal(code); err != nil {
		return nil, err
	}
	delete(c.taken, c.q.JobKey(c.Job))
	if !c.Next {
		return nil, nil
	}
	return c.describe(ctx, next)
}

// fail decides as the driver's moveToFailed does (lifecycle 8.8); the engine's own decision is proven by "process".
func (c call) fail(ctx context.Context) (*fetched, error) {
	job, err := c.job(ctx)
	if err != nil {
		return nil, err
	}
	reason := "boom"
	if c.Message != nil {
		reason = *c.Message
	}
	updates := []string{"failedReason", reason, "stacktrace", c.trace(job, reason)}
	retry, delay := c.retry(job)
	switch {
	case !retry:
		f, err := c.failed(ctx, job, reason, updates)
		if err != nil {
			return nil, err
		}
		return c.finish(ctx, f)
	case delay != 0:
		d := scripts.DelayedJob{Lock: c.lock(), Delay: delay, Updates: updates}
		codes, next, err := c.runner.MoveToDelayed(ctx, c.target(), c.now, []scripts.DelayedJob{d}, c.nextOptions())
		if err != nil {
			return nil, err
		}
		if next != nil && len(next.Jobs) == 0 {
			next = nil // BullMQ's reply says nothing unless a job was taken
		}
		return c.ended(ctx, codes[0], next)
	default:
		r := scripts.RetriedJob{Lock: c.lock(), LIFO: job.Opts.LIFO, Updates: updates}
		codes, err := c.runner.RetryJobs(ctx, c.target(), c.now, []scripts.RetriedJob{r})
		if err != nil {
			return nil, err
		}
		return c.ended(ctx, codes[0], nil)
	}
}

// failed is a job as one that fails for good.
func (c call) failed(ctx context.Context, job *engine.Job, reason string, updates []string) (scripts.FinishedJob, error) {
	keep, err := c.keep(ctx, job.Opts.KeepFailed, c.Worker.KeepFailed, "removeOnFail")
	return scripts.FinishedJob{
		Lock: c.lock(), Failed: true, Result: reason, Updates: updates, Attempts: job.Opts.Attempts, Keep: keep,
	}, err
}

func (c call) retry(job *engine.Job) (bool, time.Duration) {
	unrecoverable := c.Kind == "unrecoverable" || c.name() == "UnrecoverableError"
	started := c.Worker.MaxStarted > 0 && c.Worker.MaxStarted <= job.AttemptsStarted
	if job.AttemptsMade+1 >= job.Opts.Attempts || unrecoverable || started {
		return false, 0
	}
	b := job.Opts.Backoff
	switch {
	case b == nil:
		return true, 0
	case b.Type != policy.Fixed && b.Type != policy.Exponential:
		d := ms(*c.Worker.Backoff)
		return d != engine.GiveUp, d
	}
	return true, policy.Backoff{Type: b.Type, Delay: b.Delay, Jitter: b.Jitter}.After(job.AttemptsMade+1, 0.5)
}

func (c call) trace(job *engine.Job, reason string) string {
	traces := append([]string{}, job.Stacktrace...)
	traces = append(traces, or(c.Stack, "Error: "+reason))
	if limit := job.Opts.StackTraceLimit; limit != nil {
		traces = traces[len(traces)-min(*limit, len(traces)):]
	}
	text := []byte("[")
	for i, t := range traces {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, jsonText(t)...)
	}
	return string(append(text, ']'))
}

// keep is the rule of the job, else the worker's, which is read as an option of that name.
func (c call) keep(ctx context.Context, own *engine.Keep, worker json.RawMessage, option string) (scripts.Keep, error) {
	if own == nil && len(worker) > 0 {
		o, err := c.options(ctx, json.RawMessage(`{"`+option+`":`+string(worker)+`}`))
		if err != nil {
			return scripts.Keep{}, err
		}
		own = o.KeepCompleted
		if option == "removeOnFail" {
			own = o.KeepFailed
		}
	}
	if own == nil {
		return scripts.Keep{}, nil
	}
	return scripts.Keep{Count: own.Count, Age: own.Age, Limit: own.Limit}, nil
}

// endAll ends every job there is to take.
func (c call) endAll(ctx context.Context, end func(call) (*fetched, error)) (any, error) {
	ended := []string{}
	for {
		got, err := c.take(ctx)
		if err != nil || got.ID == nil {
			return ended, err
		}
		c.Job, c.Value = *got.ID, jsonText(*got.ID)
		if _, err := end(c); err != nil {
			return nil, err
		}
		ended = append(ended, *got.ID)
	}
}

// stored is the job as it is in Redis now, or one without a hash: a step on it must reach the script.
func (c call) stored(ctx context.Context) (*engine.Job, error) {
	job, err := c.q.Job(ctx, c.Job)
	if errors.Is(err, engine.ErrJobNotFound) {
		return nil, refusal(scripts.JobMissing)
	}
	return job, err
}
