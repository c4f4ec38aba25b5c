package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Handler runs one attempt. Its result is stored as JSON (json.RawMessage byte for byte, nil as null). Its error fails
// the attempt; Unrecoverable, RetryAfter, RateLimit and DelayJob carry a decision, and ErrMoved says that the handler
// moved the job itself. ctx ends when the attempt must stop; context.Cause tells why: ErrStopping, ErrLockLost, or what
// Cancel was given. A handler that goes on after that keeps running unattended.
type Handler func(ctx context.Context, j *Job) (any, error)

// GiveUp is the delay of WorkerOptions.Backoff that means no further attempt, -1 in the milliseconds of BullMQ's
// strategies.
const GiveUp = -time.Millisecond

// Limiter bounds the jobs started per window across all workers of a queue.
type Limiter struct {
	Max      int
	Duration time.Duration
}

// WorkerOptions configure NewWorker; the zero value of an optional field means BullMQ's default (lifecycle 11.1).
type WorkerOptions struct {
	Queue   *Queue  // required
	Handler Handler // required
	// Blocking returns a client of its own for the blocking read; it must carry the given connection name and have no
	// retries. The worker closes it. Required.
	Blocking func(connectionName string) redis.UniversalClient
	// Name is stored as "processed by"; default none.
	Name             string
	Concurrency      int // default 1
	Limiter          *Limiter
	LockDuration     time.Duration // default 30 s
	LockRenew        time.Duration // default LockDuration/2
	StalledInterval  time.Duration // default 30 s
	MaxStalledCount  *int          // default 1
	MaxStarted       int           // maxStartedAttempts, 0 = none
	DrainDelay       time.Duration // longest time between two looks at an idle queue, default 5 s
	MaxRateLimitWait time.Duration // longest time between two looks at a rate-limited queue, default 30 s
	KeepCompleted    *Keep
	KeepFailed       *Keep
	// Backoff, if set, decides the delay for backoff types that are neither fixed nor exponential. GiveUp fails the job
	// for good; 0 and what else is negative retries at once. Without it such jobs fail with a reason that names the type.
	Backoff func(attemptsMade int, kind string, err error, j *Job) time.Duration
	// MaxBackoff caps every computed delay; 0 = no cap. RetryAfter delays are not cut.
	MaxBackoff time.Duration
	// MetricsPoints is how many minutes of BullMQ's metrics are kept; 0 = none are written.
	MetricsPoints int
	// DeadLetter, if not "", is the queue (same prefix) that gets a copy of each job that failed for good.
	DeadLetter string
	Observer   Observer     // default none
	Logger     *slog.Logger // default none
}

func (o WorkerOptions) withDefaults() WorkerOptions {
	inherit(&o.Concurrency, 1, false)
	inherit(&o.LockDuration, 30*time.Second, false)
	inherit(&o.LockRenew, o.LockDuration/2, false)
	inherit(&o.StalledInterval, 30*time.Second, false)
	inherit(&o.DrainDelay, 5*time.Second, false)
	inherit(&o.MaxRateLimitWait, 30*time.Second, false)
	if o.MaxStalledCount == nil {
		one := 1
		o.MaxStalledCount = &one
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// validate checks options that have their defaults.
func (o WorkerOptions) validate() error {
	switch {
	case o.Queue == nil:
		return errors.New("worker: the queue is missing")
	case o.Handler == nil:
		return errors.New("worker: the handler is missing")
	case o.Blocking == nil:
		return errors.New("worker: the function for the blocking connection is missing")
	case o.Concurrency < 1:
		return invalid("concurrency", "concurrency must be a finite number greater than 0")
	case o.StalledInterval < time.Millisecond:
		return invalid("stalledInterval", "stalledInterval must be greater than 0")
	case *o.MaxStalledCount < 0:
		return invalid("maxStalledCount", "maxStalledCount must be greater or equal than 0")
	case o.MaxStarted < 0:
		return invalid("maxStartedAttempts", "maxStartedAttempts must be greater or equal than 0")
	case o.DrainDelay < 0:
		return invalid("drainDelay", "drainDelay must be greater than 0")
	case o.LockDuration < time.Millisecond:
		return invalid("lockDuration", "%s is too short", o.LockDuration)
	case o.LockRenew < 2*time.Nanosecond || o.LockRenew >= o.LockDuration:
		return invalid("lockRenewTime", "%s must be positive and shorter than the lock, %s", o.LockRenew, o.LockDuration)
	case o.MaxRateLimitWait < 0:
		return invalid("maximumRateLimitDelay", "%s is negative", o.MaxRateLimitWait)
	case o.DeadLetter == o.Queue.Name:
		return invalid("deadLetter", "a queue cannot be its own dead-letter queue")
	}
	return o.Limiter.validate()
}

func (l *Limiter) validate() error {
	if l != nil && (l.Max < 1 || l.Duration < time.Millisecond) {
		return invalid("limiter", "needs a positive max and a duration of at least a millisecond")
	}
	return nil
}

// Worker takes jobs of one queue and runs up to Concurrency handlers. One goroutine, the loop, owns all that changes;
// each round trip to Redis is made beside it, and what handlers have returned meanwhile is the next trip's batch.
type Worker struct {
	o   WorkerOptions
	q   *Queue
	id  string // start of every lock token
	log *slog.Logger

	// What can be changed while the worker runs.
	concurrency atomic.Int64
	limiter     atomic.Pointer[Limiter]
	judging     atomic.Pointer[rules]
	retention   atomic.Pointer[retention]

	running atomic.Int64
	healthy atomic.Bool
	manual  atomic.Int64 // tokens given out by NextJob

	life   sync.Mutex // guards the next two
	began  bool
	ended  bool
	orders chan func(*loop) // what others ask of the loop
	quit   chan struct{}    // closed when the loop has ended
	done   chan struct{}    // closed when everything has ended
	loop   *loop            // for others to read after done
}

// NewWorker validates o. It does not touch Redis.
func NewWorker(o WorkerOptions) (*Worker, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	w := &Worker{
		o: o, q: o.Queue, id: uuid.NewString(),
		log:    o.Logger.With("component", "worker", "queue", o.Queue.Name, "worker", o.Name),
		orders: make(chan func(*loop)),
		quit:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	w.concurrency.Store(int64(o.Concurrency))
	w.limiter.Store(o.Limiter)
	w.judging.Store(&rules{maxStarted: o.MaxStarted, backoff: o.Backoff, maxBackoff: o.MaxBackoff})
	w.retention.Store(&retention{o.KeepCompleted, o.KeepFailed})
	w.loop = newLoop(w)
	return w, nil
}

// Start begins taking jobs and returns at once. ctx only bounds the start. A worker starts once.
func (w *Worker) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start worker of %s: %w", w.q.Name, err)
	}
	w.life.Lock()
	defer w.life.Unlock()
	if w.began || w.ended {
		return fmt.Errorf("start worker of %s: it was started or stopped before", w.q.Name)
	}
	w.began = true
	go w.run()
	return nil
}

// run owns every goroutine of the worker but the handlers'.
func (w *Worker) run() {
	defer close(w.done)
	ctx, cancel := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	beside.Go(func() { w.watchStalls(ctx) })
	beside.Go(func() { w.loop.waker.run(ctx) })
	w.loop.run()
	close(w.quit)
	cancel()
	w.loop.waker.close()
	beside.Wait()
	w.healthy.Store(false)
}

// Stop takes no more jobs and waits for the running ones. When ctx ends first, their contexts are cancelled with the
// cause ErrStopping and what still runs is handed back to waiting (lock released, no attempt consumed); the ids are
// returned. Jobs that were on their way here go back unstarted and are not among them. The error names jobs whose end
// Redis could not be told: they will be recovered as stalled. Stop may be called more than once.
func (w *Worker) Stop(ctx context.Context) (handedBack []string, err error) {
	w.life.Lock()
	idle := !w.began
	w.ended = true
	w.life.Unlock()
	if idle {
		return nil, nil
	}
	w.order((*loop).stop)
	select {
	case <-w.done:
	case <-ctx.Done():
		w.order((*loop).abandon)
		<-w.done
	}
	return w.loop.handedBack, w.loop.unfinished()
}

// order has the loop do something, unless it has ended.
func (w *Worker) order(f func(*loop)) bool {
	select {
	case w.orders <- f:
		return true
	case <-w.quit:
		return false
	}
}

// Running is how many handlers run now.
func (w *Worker) Running() int { return int(w.running.Load()) }

// Healthy reports whether the loop runs and the last fetch did not fail.
func (w *Worker) Healthy() bool { return w.healthy.Load() }

// Concurrency is how many handlers may run at once.
func (w *Worker) Concurrency() int { return int(w.concurrency.Load()) }

// Cancel ends the context of the running attempt of a job with the given cause and reports whether there is one. What
// the handler then returns counts as usual (lifecycle 11.7).
func (w *Worker) Cancel(id string, cause error) bool {
	w.life.Lock()
	running := w.began
	w.life.Unlock()
	found := make(chan bool, 1)
	asked := running && w.order(func(l *loop) { found <- l.interrupt(id, cause) })
	return asked && <-found
}

// ConnectionName is what a worker's blocking connection is called, by which clients count workers (features 5).
func ConnectionName(prefix, queue, worker string) string {
	name := prefix + ":" + base64.StdEncoding.EncodeToString([]byte(queue))
	if worker == "" {
		return name
	}
	// Redis refuses names with anything but visible ASCII.
	return name + ":w:" + strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, worker)
}
