package processor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
)

const (
	// demoBacklog is how many jobs may wait in a demo queue before its producer holds back, so that a paused queue stays
	// small.
	demoBacklog = 300
	// demoDeadLetters is how many dead letters the demo keeps; nobody replays them.
	demoDeadLetters = 40
	// demoRetry is how long a producer waits after Redis refused it.
	demoRetry = time.Second
)

// DemoOptions configure NewDemo.
type DemoOptions struct {
	// Client talks to the Redis that gets the demo's queues. Required.
	Client redis.UniversalClient
	// Prefix of the demo's queues; default "bull".
	Prefix string
	// Seed decides everything that looks like chance: which jobs come, how long each takes and how it ends.
	Seed uint64
	// Pace is how much faster than life everything happens; default 1.
	Pace float64
	// Logger gets what the producers cannot do; default none.
	Logger *slog.Logger
}

// Demo is sample work that looks like a real system: emails (steady), thumbnails (in bursts), partner-sync (slow and
// rate-limited), webhooks (flaky, with retries, exhausted failures and dead letters) and reminders (delayed, and by
// schedulers), with flows across four of them. Its workers run in a Pool; Start adds the first jobs and begins to produce
// more.
type Demo struct {
	o      DemoOptions
	log    *slog.Logger
	queues []*demoQueue
	flows  *engine.FlowProducer
	orders *rand.Rand // of the flows
	cancel context.CancelFunc
	loops  sync.WaitGroup
}

// demoQueue is one queue of the demo.
type demoQueue struct {
	*engine.Queue
	demoPlan
	rand *rand.Rand // of its producer
}

// demoPlan says what happens in a queue.
type demoPlan struct {
	name   string
	policy policy.Policy
	// every is the mean time between two beats of the producer, first how many beats are made at the start.
	every time.Duration
	first int
	beat  func(*rand.Rand) []engine.JobSpec
	// schedulers add jobs by themselves.
	schedulers []demoScheduler
	work       func(context.Context, *demoJob) (any, error)
}

// NewDemo validates o. It does not touch Redis.
func NewDemo(o DemoOptions) (*Demo, error) {
	if o.Client == nil {
		return nil, errors.New("demo: the client is missing")
	}
	if o.Pace <= 0 {
		o.Pace = 1
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	d := &Demo{o: o, log: log.With("component", "demo"), cancel: func() {}}
	defaults := map[string]engine.JobOptions{}
	for i, plan := range demoPlans() {
		defaults[plan.name] = JobDefaults(d.paced(plan.policy))
		q, err := engine.NewQueue(engine.QueueOptions{
			Client: o.Client, Prefix: o.Prefix, Name: plan.name, Defaults: defaults[plan.name],
		})
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		d.queues = append(d.queues, &demoQueue{q, plan, rand.New(rand.NewPCG(o.Seed, uint64(i)))})
	}
	d.orders = rand.New(rand.NewPCG(o.Seed, uint64(len(d.queues))))
	flows, err := engine.NewFlowProducer(engine.FlowProducerOptions{Client: o.Client, Prefix: o.Prefix, Defaults: defaults})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	d.flows = flows
	return d, nil
}

// Policies are the policies of the demo's queues, for whoever judges them.
func (d *Demo) Policies() map[keys.Queue]policy.Policy {
	policies := map[keys.Queue]policy.Policy{}
	for _, q := range d.queues {
		policies[q.Queue.Queue] = d.paced(q.policy)
	}
	return policies
}

// Workers are the workers to add to a Pool.
func (d *Demo) Workers() (workers []WorkerConfig) {
	for _, q := range d.queues {
		if q.work == nil {
			continue
		}
		workers = append(workers, WorkerConfig{
			Queue: q.Queue, Policy: d.paced(q.policy),
			Handler: func(ctx context.Context, j *engine.Job) (any, error) {
				return q.work(ctx, d.job(q, j))
			},
		})
	}
	return workers
}

// Start adds the first jobs and begins to produce. ctx bounds the first jobs only.
func (d *Demo) Start(ctx context.Context) error {
	for _, q := range d.queues {
		if err := d.schedule(ctx, q); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		for range q.first {
			if err := q.tick(ctx); err != nil {
				return fmt.Errorf("demo: %w", err)
			}
		}
	}
	if err := d.order(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	ctx, d.cancel = context.WithCancel(context.Background())
	for _, q := range d.queues {
		d.loops.Go(func() { d.loop(ctx, q.Name, q.rand, q.every, q.tick) })
	}
	d.loops.Go(func() { d.loop(ctx, "orders", d.orders, demoOrderEvery, d.order) })
	return nil
}

// Stop ends the producers and waits for them. Stop it before the pool, so that nothing is added for workers that are
// gone.
func (d *Demo) Stop() {
	d.cancel()
	d.loops.Wait()
}

// loop lets a producer beat after random times, every so often in the mean, until ctx ends.
func (d *Demo) loop(ctx context.Context, name string, r *rand.Rand, every time.Duration, beat func(context.Context) error) {
	failing := false
	next := func() time.Duration { return d.scaled(arrival(r, every)) }
	timer := time.NewTimer(next())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := beat(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			d.log.Warn("demo jobs cannot be added, trying again", "queue", name, "err", err)
		}
		failing = err != nil
		if failing {
			timer.Reset(demoRetry)
		} else {
			timer.Reset(next())
		}
	}
}

// tick makes one beat, unless enough waits already. A queue nobody produces for and nobody works is cut to a few jobs.
func (q *demoQueue) tick(ctx context.Context) error {
	counts, err := q.Counts(ctx)
	if err != nil {
		return err
	}
	waiting := counts[keys.Waiting] + counts[keys.Prioritized] + counts[keys.Delayed]
	switch {
	case q.beat == nil && waiting > demoDeadLetters:
		_, err = q.Clean(ctx, keys.Waiting, 0, int(waiting-demoDeadLetters))
	case q.beat != nil && waiting < demoBacklog:
		_, err = q.AddBulk(ctx, q.beat(q.rand))
	}
	return err
}

// arrival is the time to the next of independent arrivals, without the extremes that would look like a fault.
func arrival(r *rand.Rand, mean time.Duration) time.Duration {
	f := -math.Log(1 - r.Float64())
	return time.Duration(min(max(f, 0.2), 3) * float64(mean))
}

// scaled is a time at the demo's pace.
func (d *Demo) scaled(t time.Duration) time.Duration { return time.Duration(float64(t) / d.o.Pace) }

// paced is a policy whose times are at the demo's pace.
func (d *Demo) paced(p policy.Policy) policy.Policy {
	p.Backoff.Delay, p.Backoff.Max = d.scaled(p.Backoff.Delay), d.scaled(p.Backoff.Max)
	p.Limiter.Duration = d.scaled(p.Limiter.Duration)
	return p
}

// demoJob is an attempt of a demo job with its own chance: the same attempt of the same job always ends the same way.
type demoJob struct {
	*engine.Job
	demo *Demo
	rand *rand.Rand
}

func (d *Demo) job(q *demoQueue, j *engine.Job) *demoJob {
	h := fnv.New64a()
	_, _ = h.Write([]byte(q.Name + ":" + j.ID))
	return &demoJob{j, d, rand.New(rand.NewPCG(d.o.Seed^h.Sum64(), uint64(j.AttemptsMade)))}
}

// takes spends a time between the two at the demo's pace.
func (j *demoJob) takes(ctx context.Context, least, most time.Duration) error {
	timer := time.NewTimer(j.demo.scaled(least + time.Duration(j.rand.Int64N(int64(most-least)))))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return stopped(ctx)
	case <-timer.C:
		return nil
	}
}

// chance is true once in so many times.
func (j *demoJob) chance(p float64) bool { return j.rand.Float64() < p }

// note logs a row; the demo goes on if it cannot.
func (j *demoJob) note(ctx context.Context, format string, args ...any) {
	_, _ = j.Log(ctx, fmt.Sprintf(format, args...))
}
