package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bullpen/internal/engine"

	"github.com/redis/go-redis/v9"
)

// processed is what the driver says of a job that was run.
type processed struct {
	ID     *string  `json:"id"`
	Ran    bool     `json:"ran"`
	Next   *string  `json:"next"`
	Errors []string `json:"errors"`
}

// process takes one job and runs it as a worker does, with a handler that ends as told.
func (c call) process(ctx context.Context) (any, error) {
	ran := false
	w, err := c.worker(ctx, func(ctx context.Context, j *engine.Job) (any, error) {
		ran = true
		c.Job = j.ID
		if err := c.meanwhile(ctx); err != nil {
			return nil, err
		}
		return c.end(ctx, j)
	})
	if err != nil {
		return nil, err
	}
	p := processed{Errors: []string{}}
	j, err := w.RunOnce(ctx)
	var code *engine.CodeError
	switch {
	case errors.As(err, &code):
		p.Errors = append(p.Errors, code.Message)
	case err != nil:
		return nil, err
	}
	if j == nil {
		return map[string]any{"id": nil, "errors": p.Errors}, nil
	}
	p.ID, p.Ran = &j.ID, ran
	return p, nil
}

// worker has the options of the step.
func (c call) worker(ctx context.Context, h engine.Handler) (*engine.Worker, error) {
	keep, err := json.Marshal(map[string]json.RawMessage{
		"removeOnComplete": orJSON(c.Worker.KeepCompleted, "null"), "removeOnFail": orJSON(c.Worker.KeepFailed, "null"),
	})
	if err != nil {
		return nil, err
	}
	kept, err := c.options(ctx, keep)
	if err != nil {
		return nil, err
	}
	o := engine.WorkerOptions{
		Queue: c.q, Handler: h, Blocking: func(string) redis.UniversalClient { return nil }, Name: c.Worker.Name,
		LockDuration: ms(c.Worker.LockDuration), MaxStalledCount: c.Worker.MaxStalledCount,
		MaxStarted: c.Worker.MaxStarted, MetricsPoints: c.Worker.Metrics.MaxDataPoints,
		KeepCompleted: kept.KeepCompleted, KeepFailed: kept.KeepFailed,
	}
	if l := c.Worker.Limiter; l != nil {
		o.Limiter = &engine.Limiter{Max: l.Max, Duration: ms(float64(l.Duration))}
	}
	if d := c.Worker.Backoff; d != nil {
		o.Backoff = func(int, string, error, *engine.Job) time.Duration { return ms(*d) }
	}
	return engine.NewWorker(o)
}

// meanwhile plays the steps that happen while the handler runs.
func (c call) meanwhile(ctx context.Context) error {
	for _, text := range c.During {
		inner := c
		inner.args = args{Queue: c.Queue, Prefix: c.Prefix, Job: c.Job, Token: c.Token}
		var what struct{ Op string }
		if err := errors.Join(json.Unmarshal(text, &what), json.Unmarshal(text, &inner.args)); err != nil {
			return err
		}
		var err error
		if inner.q, err = inner.queue(ctx); err != nil {
			return err
		}
		if _, err := engineSteps[what.Op](ctx, inner); err != nil {
			return fmt.Errorf("while the handler runs: %s: %w", what.Op, err)
		}
	}
	return nil
}

// traced is a failure with the trace the scenarios give every error.
type traced struct{ message, trace string }

func (e traced) Error() string      { return e.message }
func (e traced) Stacktrace() string { return e.trace }

// end is what the handler returns.
func (c call) end(ctx context.Context, j *engine.Job) (any, error) {
	outcome := map[string]json.RawMessage{"return": nil}
	if len(c.Outcome) > 0 {
		clear(outcome)
		if err := json.Unmarshal(c.Outcome, &outcome); err != nil {
			return nil, err
		}
	}
	for kind, value := range outcome {
		switch kind {
		case "return":
			return orJSON(value, "null"), nil
		case "fail":
			return nil, c.failure(value)
		case "rateLimit":
			return nil, engine.RateLimit(ms(numberOf(value)))
		case "delay":
			return nil, engine.DelayJob(ms(numberOf(value)))
		case "waitChildren":
			if waits, err := j.MoveToWaitingChildren(ctx); waits || err != nil {
				return nil, errors.Join(err, map[bool]error{true: engine.ErrMoved}[waits])
			}
			return orJSON(value, "null"), nil
		}
	}
	return nil, fmt.Errorf("the engine's handler cannot end with %s", c.Outcome)
}

func (c call) failure(value json.RawMessage) error {
	var how struct{ Message, Kind, Stack string }
	if json.Unmarshal(value, &how.Message) != nil {
		_ = json.Unmarshal(value, &how)
	}
	err := error(traced{how.Message, or(how.Stack, "Error: "+how.Message)})
	if how.Kind == "unrecoverable" {
		return engine.Unrecoverable(err)
	}
	return err
}

func numberOf(v json.RawMessage) (n float64) {
	_ = json.Unmarshal(v, &n)
	return n
}
