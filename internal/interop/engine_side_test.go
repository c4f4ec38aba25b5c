package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
)

// engineSide plays the steps on our engine: queue and job steps by its Queue, the moves of a worker that is driven by
// hand by the transitions themselves, and "process" by a Worker.
type engineSide struct {
	client  *redis.Client
	scratch *redis.Client // of a database in which options are decoded
	runner  *scripts.Runner
	taken   map[string]taken // by full key
	now     time.Time
	// legacyPause makes every queue keep the lists of BullMQ 5.x.
	legacyPause bool
}

func newEngineSide(c, scratch *redis.Client) *engineSide {
	return &engineSide{client: c, scratch: scratch, runner: scripts.New(c), taken: map[string]taken{}}
}

func (s *engineSide) redis() *redis.Client { return s.client }

func (s *engineSide) reset(context.Context) error {
	s.taken = map[string]taken{}
	return nil
}

// taken is a job as it was when it was taken, and the worker that took it.
type taken struct {
	job    *engine.Job
	worker workerArgs
}

// call is one step on the engine: its arguments and the queue they name.
type call struct {
	*engineSide
	args
	q *engine.Queue
}

// args are the arguments of all steps together.
type args struct {
	Queue, Prefix, Job, Token                string
	Name                                     *string
	Kind, Row, State, Key, Stack             string
	Message                                  *string
	Data, Opts, Value, Defaults, Flow        json.RawMessage
	Jobs, Outcome, States, Repeat, Template  json.RawMessage
	Flows, FlowOpts                          json.RawMessage
	Child                                    string
	Depth                                    int
	Scheduler                                string
	Tokens, Words                            []string
	During                                   []json.RawMessage
	Worker                                   workerArgs
	Next, Force, LIFO, Asc                   bool
	Delayed, Metas                           bool
	Children                                 *bool
	Delay, Duration, Grace                   float64
	Count, Keep, Max, Limit, Priority, Start int
	End                                      *int64
	Priorities                               []int
}

// workerArgs are the options of a worker, by BullMQ's names.
type workerArgs struct {
	Name            string
	LockDuration    float64
	Limiter         *struct{ Max, Duration int }
	MaxStalledCount *int
	MaxStarted      int             `json:"maxStartedAttempts"`
	KeepCompleted   json.RawMessage `json:"removeOnComplete"`
	KeepFailed      json.RawMessage `json:"removeOnFail"`
	Backoff         *float64
	Metrics         struct{ MaxDataPoints int }
}

func ms(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

func (s *engineSide) do(ctx context.Context, now time.Time, st step) (json.RawMessage, error) {
	s.now = now
	c := call{engineSide: s}
	c.args = args{Queue: "q", Prefix: keys.DefaultPrefix, Token: "t", Asc: st.Op == "logs"}
	if err := json.Unmarshal(st.Args, &c.args); err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", st.Op, err)
	}
	run, ok := engineSteps[st.Op]
	if !ok {
		return nil, fmt.Errorf("the engine has no step %s", st.Op)
	}
	var err error
	if c.q, err = c.queue(ctx); err != nil {
		return nil, err
	}
	c = c.ofTaker()
	result, err := run(ctx, c)
	if err != nil {
		return nil, asStepError(err)
	}
	if raw, ok := result.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(result)
}

// ofTaker is the step with the options of the worker that took its job, if one did.
func (c call) ofTaker() call {
	if t, ok := c.taken[c.q.JobKey(c.Job)]; ok {
		c.Worker = t.worker
	}
	return c
}

// queue is the one that the arguments name.
func (c call) queue(ctx context.Context) (*engine.Queue, error) {
	defaults, err := c.options(ctx, c.Defaults)
	if err != nil {
		return nil, err
	}
	return engine.NewQueue(engine.QueueOptions{
		Client: c.client, Prefix: c.Prefix, Name: c.Queue, Defaults: defaults,
		LegacyPause: c.legacyPause, SkipMetas: !c.Metas, Clock: func() time.Time { return c.now },
	})
}

// asStepError makes of a refusal what the driver makes of it; anything else stays and ends the test.
func asStepError(err error) error {
	var code *engine.CodeError
	var refused *stepError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &code) && code.Code > -20:
		return &stepError{Code: code.Code, Message: code.Message}
	case errors.As(err, &code), errors.Is(err, engine.ErrInvalid), errors.Is(err, engine.ErrActiveJobs),
		errors.Is(err, engine.ErrLegacyScheduler):
		return &stepError{Message: err.Error()}
	}
	return err
}

// options reads a producer's options as the engine reads stored ones, whose names may be long too.
func (s *engineSide) options(ctx context.Context, text json.RawMessage) (engine.JobOptions, error) {
	if len(text) == 0 || string(text) == "null" {
		return engine.JobOptions{}, nil
	}
	q, err := engine.NewQueue(engine.QueueOptions{Client: s.scratch, Name: "options"})
	if err != nil {
		return engine.JobOptions{}, err
	}
	if err := s.scratch.HSet(ctx, q.JobKey("o"), "name", "o", "data", "{}", "opts", string(text)).Err(); err != nil {
		return engine.JobOptions{}, err
	}
	job, err := q.Job(ctx, "o")
	if err != nil {
		return engine.JobOptions{}, err
	}
	o := job.Opts
	if d, ok := o.Extra["deduplication"]; ok { // without an id it reads as none, but a producer can ask for it
		o.Deduplication = &engine.Deduplication{}
		err = json.Unmarshal(d, o.Deduplication)
		delete(o.Extra, "deduplication")
	}
	return o, errors.Join(err, job.Fault())
}

// spec is one job of a batch.
type spec struct {
	Name       string
	Data, Opts json.RawMessage
}

func (c call) specs(ctx context.Context, list []spec) ([]engine.JobSpec, error) {
	out := make([]engine.JobSpec, len(list))
	for i, sp := range list {
		o, err := c.options(ctx, sp.Opts)
		if err != nil {
			return nil, err
		}
		out[i] = engine.JobSpec{Name: sp.Name, Data: sp.Data, Options: o}
	}
	return out, nil
}

// add adds jobs one by one and returns their ids.
func (c call) add(ctx context.Context, list ...spec) ([]string, error) {
	specs, err := c.specs(ctx, list)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(specs))
	for i, sp := range specs {
		job, err := c.q.Add(ctx, sp.Name, sp.Data, sp.Options)
		if err != nil {
			return nil, err
		}
		ids[i] = job.ID
	}
	return ids, nil
}
