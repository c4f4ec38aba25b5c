// Package policy is the one policy of a queue: retries, concurrency, limits and retention as plain values. It does no
// I/O and imports the standard library only.
package policy

import (
	"math"
	"time"
)

// Limiter bounds the jobs started per window across all workers and replicas.
type Limiter struct {
	Max      int
	Duration time.Duration
	// Scope is "worker" (default) or "queue": also written to the queue's meta.
	Scope string
}

// Keep is a retention rule for finished jobs. The zero value keeps all.
type Keep struct {
	Set   bool
	Count int64 // jobs kept; negative = all, 0 = none
	Age   time.Duration
	Limit int64
}

// Policy of one queue. The zero value of a field means "not set"; WithDefaults fills in what BullMQ would do.
type Policy struct {
	Attempts           int
	Backoff            Backoff
	RetryAfter         *bool
	Concurrency        int
	GlobalConcurrency  int  // 0 = not named
	ClearGlobal        bool // "none" was written: remove the bound
	Limiter            Limiter
	LockDuration       time.Duration
	LockRenew          time.Duration
	StalledInterval    time.Duration
	MaxStalled         *int
	KeepCompleted      Keep
	KeepFailed         Keep
	DeadLetter         string
	MaxStartedAttempts int
	Timeout            time.Duration
	WaitTarget         time.Duration
	ProcessingTarget   time.Duration
	AttemptFailure     float64
	FailedBudget       float64
	DeadLetterMax      int
	WorkersExpected    int
	WorkerConcurrency  int
}

// WithDefaults returns p with every unset field at its documented default.
func (p Policy) WithDefaults() Policy {
	if p.AttemptFailure == 0 {
		p.AttemptFailure = 0.1
	}
	if p.FailedBudget == 0 {
		p.FailedBudget = 0.01
		if p.Attempts >= 2 {
			p.FailedBudget = max(math.Pow(p.AttemptFailure, float64(p.Attempts)), 0.0001)
		}
	}
	if p.RetryAfter == nil {
		yes := true
		p.RetryAfter = &yes
	}
	if p.MaxStalled == nil {
		one := 1
		p.MaxStalled = &one
	}
	if p.Limiter.Max > 0 {
		fill(&p.Limiter.Scope, "worker")
	}
	fill(&p.Attempts, 1)
	fill(&p.Concurrency, 1)
	fill(&p.LockDuration, 30*time.Second)
	fill(&p.StalledInterval, 30*time.Second)
	fill(&p.WaitTarget, 5*time.Minute)
	fill(&p.DeadLetterMax, 100)
	return p
}

// Over returns p with every field that p leaves unset taken from base. Retention rules are taken whole. A backoff that
// names a type stands alone; one that does not adjusts base's backoff field by field.
func (p Policy) Over(base Policy) Policy {
	if p.Backoff.Type == "" {
		p.Backoff = p.Backoff.over(base.Backoff)
	}
	if p.GlobalConcurrency == 0 && !p.ClearGlobal {
		p.GlobalConcurrency, p.ClearGlobal = base.GlobalConcurrency, base.ClearGlobal
	}
	fill(&p.Attempts, base.Attempts)
	fill(&p.RetryAfter, base.RetryAfter)
	fill(&p.Concurrency, base.Concurrency)
	fill(&p.Limiter.Max, base.Limiter.Max)
	fill(&p.Limiter.Duration, base.Limiter.Duration)
	fill(&p.Limiter.Scope, base.Limiter.Scope)
	fill(&p.LockDuration, base.LockDuration)
	fill(&p.LockRenew, base.LockRenew)
	fill(&p.StalledInterval, base.StalledInterval)
	fill(&p.MaxStalled, base.MaxStalled)
	fill(&p.KeepCompleted, base.KeepCompleted)
	fill(&p.KeepFailed, base.KeepFailed)
	fill(&p.DeadLetter, base.DeadLetter)
	fill(&p.MaxStartedAttempts, base.MaxStartedAttempts)
	fill(&p.Timeout, base.Timeout)
	fill(&p.WaitTarget, base.WaitTarget)
	fill(&p.ProcessingTarget, base.ProcessingTarget)
	fill(&p.AttemptFailure, base.AttemptFailure)
	fill(&p.FailedBudget, base.FailedBudget)
	fill(&p.DeadLetterMax, base.DeadLetterMax)
	fill(&p.WorkersExpected, base.WorkersExpected)
	fill(&p.WorkerConcurrency, base.WorkerConcurrency)
	return p
}

// fill sets *field to value where *field is not set.
func fill[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}
