// Package policy is the one policy of a queue: retries, concurrency, limits and retention as plain values. It does no
// I/O and imports the standard library only.
package policy

import (
	"fmt"
	"math"
	"time"
)

// Backoff says how long to wait before a retry.
type Backoff struct {
	Type   string        // "fixed" or "exponential"; "" = no backoff
	Delay  time.Duration // of the first retry
	Max    time.Duration // cap; 0 = none
	Jitter float64       // 0..1
}

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

// Policy of one queue. The zero value of a field means "not set"; Default fills in what BullMQ would do.
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
	if p.Attempts == 0 {
		p.Attempts = 1
	}
	if p.RetryAfter == nil {
		yes := true
		p.RetryAfter = &yes
	}
	if p.Concurrency == 0 {
		p.Concurrency = 1
	}
	if p.LockDuration == 0 {
		p.LockDuration = 30 * time.Second
	}
	if p.StalledInterval == 0 {
		p.StalledInterval = 30 * time.Second
	}
	if p.MaxStalled == nil {
		one := 1
		p.MaxStalled = &one
	}
	if p.WaitTarget == 0 {
		p.WaitTarget = 5 * time.Minute
	}
	if p.DeadLetterMax == 0 {
		p.DeadLetterMax = 100
	}
	if p.Limiter.Max > 0 && p.Limiter.Scope == "" {
		p.Limiter.Scope = "worker"
	}
	return p
}

// Over returns p with every field that p leaves unset taken from base.
func (p Policy) Over(base Policy) Policy { panic("stub") }

// Problem is a finding about a policy, naming the field in its YAML spelling.
type Problem struct {
	Field, Text string
	// Warning is false for an error.
	Warning bool
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s", p.Field, p.Text) }

// Validate returns every error and warning that can be told from the values alone.
func (p Policy) Validate() []Problem { panic("stub") }
