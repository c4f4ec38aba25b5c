package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// This file is the agreed surface; its declarations move to their own files as they are built.

// Handler runs one attempt. Its result is stored as JSON (json.RawMessage byte for byte, nil as null). Its error fails
// the attempt; Unrecoverable, RetryAfter, RateLimit and DelayJob carry a decision. ctx ends when the attempt must stop;
// context.Cause tells why.
type Handler func(ctx context.Context, j *Job) (any, error)

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
	DrainDelay       time.Duration // default 5 s
	MaxRateLimitWait time.Duration // default 30 s
	KeepCompleted    *Keep
	KeepFailed       *Keep
	// Backoff, if set, decides the delay for backoff types that are neither fixed nor exponential. A negative result
	// fails the job for good; 0 retries at once. Without it such jobs fail with a reason that names the type.
	Backoff func(attemptsMade int, kind string, err error, j *Job) time.Duration
	// MaxBackoff caps every computed delay; 0 = no cap. RetryAfter delays are not cut.
	MaxBackoff time.Duration
	// MetricsPoints is how many minutes of BullMQ's metrics are kept; 0 = none are written.
	MetricsPoints int
	// DeadLetter, if not "", is the queue (same prefix) that gets a copy of each job that failed for good.
	DeadLetter string
	Observer   Observer
	Logger     *slog.Logger
}

// Observer is told what a worker does. Calls come from the worker's goroutines and must not block.
type Observer interface {
	JobStarted(queue string)
	JobFinished(queue string, outcome Outcome, run time.Duration)
	LockLost(queue string, n int)
	Fetched(queue string, at time.Time)
}

// Outcome is how an attempt ended.
type Outcome string

// The outcomes of an attempt.
const (
	OutcomeCompleted   Outcome = "completed"
	OutcomeFailed      Outcome = "failed"
	OutcomeRetried     Outcome = "retried"
	OutcomeRateLimited Outcome = "rate_limited"
	OutcomeDelayed     Outcome = "delayed"
	OutcomeLost        Outcome = "lost"
)

// Worker takes jobs of one queue and runs up to Concurrency handlers.
type Worker struct{}

// NewWorker validates o. It does not touch Redis.
func NewWorker(o WorkerOptions) (*Worker, error) { panic("stub") }

// Start begins taking jobs and returns at once. ctx only bounds the start.
func (w *Worker) Start(ctx context.Context) error { panic("stub") }

// Running is how many handlers run now.
func (w *Worker) Running() int { panic("stub") }

// Healthy reports whether the loop runs and the last fetch did not fail.
func (w *Worker) Healthy() bool { panic("stub") }

// SetConcurrency changes how many handlers may run at once, without interrupting any.
func (w *Worker) SetConcurrency(n int) { panic("stub") }

// Stop takes no more jobs and waits for the running ones. When ctx ends first, their contexts are cancelled and what
// still runs is handed back to waiting (lock released, no attempt consumed); the ids are returned.
func (w *Worker) Stop(ctx context.Context) (handedBack []string, err error) { panic("stub") }
