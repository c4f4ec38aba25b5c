package processor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
)

// DefaultMetrics is how many minutes of BullMQ's metrics a worker keeps unless told otherwise: two weeks.
const DefaultMetrics = 20160

// WorkerConfig is one worker: a queue, its policy and what runs its jobs.
type WorkerConfig struct {
	Queue   *engine.Queue  // required
	Policy  policy.Policy  // unset fields get their defaults
	Handler engine.Handler // required
	// Blocking opens the client of the worker's blocking read, see engine.WorkerOptions. A Pool fills it in.
	Blocking func(connectionName string) redis.UniversalClient
	// Name is stored as "processed by"; default DefaultName.
	Name string
	// Metrics is how many minutes of BullMQ's metrics are kept, 0 = none; default DefaultMetrics.
	Metrics *int
	// DrainDelay, LockRenew and MaxRateLimitDelay override BullMQ's defaults and the policy; 0 = do not.
	DrainDelay, LockRenew, MaxRateLimitDelay time.Duration
	// Observer and Logger are handed to the worker. A Pool fills in the logger, and its own observer if there is none.
	Observer engine.Observer
	Logger   *slog.Logger
}

// DefaultName is "host:process id".
func DefaultName() string { return hostname() + ":" + strconv.Itoa(os.Getpid()) }

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}

// WorkerOptions are the options of an engine worker that acts by c's policy.
func WorkerOptions(c WorkerConfig) engine.WorkerOptions {
	p := c.Policy.WithDefaults()
	o := engine.WorkerOptions{
		Queue: c.Queue, Handler: c.Handler, Blocking: c.Blocking, Observer: c.Observer, Logger: c.Logger,
		Name: c.Name, Concurrency: p.Concurrency,
		LockDuration: p.LockDuration, LockRenew: p.LockRenew, StalledInterval: p.StalledInterval,
		MaxStalledCount: p.MaxStalled, MaxStarted: p.MaxStartedAttempts,
		DrainDelay: c.DrainDelay, MaxRateLimitWait: c.MaxRateLimitDelay,
		KeepCompleted: keep(p.KeepCompleted), KeepFailed: keep(p.KeepFailed),
		Backoff: strategy(p.Backoff), MaxBackoff: p.Backoff.Max,
		MetricsPoints: DefaultMetrics, DeadLetter: p.DeadLetter,
	}
	if o.Name == "" {
		o.Name = DefaultName()
	}
	if c.LockRenew > 0 {
		o.LockRenew = c.LockRenew
	}
	if c.Metrics != nil {
		o.MetricsPoints = *c.Metrics
	}
	o.Limiter = limiter(p.Limiter)
	return o
}

// apply changes what can be changed of a running worker.
func apply(w *engine.Worker, p policy.Policy) error {
	p = p.WithDefaults()
	w.SetBackoff(strategy(p.Backoff), p.Backoff.Max)
	w.SetKeep(keep(p.KeepCompleted), keep(p.KeepFailed))
	w.SetConcurrency(p.Concurrency)
	return w.SetLimiter(limiter(p.Limiter))
}

// limiter turns a policy's limiter into the engine's; nil is none.
func limiter(l policy.Limiter) *engine.Limiter {
	if l.Max <= 0 {
		return nil
	}
	return &engine.Limiter{Max: l.Max, Duration: l.Duration}
}

// JobDefaults are the options of jobs that are added through Bullpen and do not say themselves.
func JobDefaults(p policy.Policy) engine.JobOptions {
	o := engine.JobOptions{Attempts: p.WithDefaults().Attempts}
	if b := p.Backoff; b.Type != "" {
		o.Backoff = &engine.Backoff{Type: b.Type, Delay: b.Delay, Jitter: b.Jitter}
	}
	return o
}

// ApplyPolicy writes what a policy keeps in the queue's meta, where every client's workers obey it: the global
// concurrency, if the policy names it, and a limiter whose scope is the queue. What the policy leaves out stays.
// engine.ErrBullQueue refuses a queue that Bull 3 or 4 left, if there is something to write.
func ApplyPolicy(ctx context.Context, q *engine.Queue, p policy.Policy) error {
	global, limited := p.GlobalConcurrency > 0 || p.ClearGlobal, p.Limiter.Max > 0 && p.Limiter.Scope == "queue"
	if !global && !limited {
		return nil
	}
	if err := q.RefuseBull(ctx); err != nil {
		return fmt.Errorf("apply policy: %w", err)
	}
	var errs []error
	if global {
		errs = append(errs, q.SetGlobalConcurrency(ctx, p.GlobalConcurrency))
	}
	if limited {
		errs = append(errs, q.SetGlobalRateLimit(ctx, p.Limiter.Max, p.Limiter.Duration))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("apply policy of %s: %w", q.Name, err)
	}
	return nil
}

// PolicyHash tells policies apart, so that replicas whose files differ can be seen. It is twelve hexadecimal digits.
func PolicyHash(p policy.Policy) string {
	b, _ := json.Marshal(p.WithDefaults()) // plain values cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// strategy makes the policy's backoff the custom strategy of jobs whose backoff is neither fixed nor exponential; nil
// without one, so that such a job fails with a reason that names its type.
func strategy(b policy.Backoff) func(int, string, error, *engine.Job) time.Duration {
	if b.Type == "" {
		return nil
	}
	return func(attemptsMade int, _ string, _ error, _ *engine.Job) time.Duration {
		return b.After(attemptsMade, rand.Float64())
	}
}

// keep turns a retention rule into the engine's; nil keeps all.
func keep(k policy.Keep) *engine.Keep {
	if !k.Set {
		return nil
	}
	var e engine.Keep
	if k.Count >= 0 {
		e.Count = &k.Count
	}
	if k.Age > 0 {
		e.Age = &k.Age
	}
	if k.Limit > 0 {
		e.Limit = &k.Limit
	}
	return &e
}
