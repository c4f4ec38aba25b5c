package engine

import "time"

// Observer is told what a worker does. Calls come from the worker's goroutines and must not block.
type Observer interface {
	// JobStarted is called for every attempt, also one that fails without calling the handler.
	JobStarted(queue string)
	// JobFinished is called when Redis knows how the attempt ended, or never will; run is the handler's time.
	JobFinished(queue string, outcome Outcome, run time.Duration)
	// LockLost says that n running jobs lost their locks.
	LockLost(queue string, n int)
	// Fetched is called after every fetch that Redis answered, jobs or not.
	Fetched(queue string, at time.Time)
}

// Outcome is how an attempt ended.
type Outcome string

// The outcomes of an attempt.
const (
	OutcomeCompleted   Outcome = "completed"
	OutcomeFailed      Outcome = "failed"       // for good
	OutcomeRetried     Outcome = "retried"      // failed, with attempts left
	OutcomeRateLimited Outcome = "rate_limited" // back to waiting, no attempt consumed
	OutcomeDelayed     Outcome = "delayed"      // moved by the handler's decision, no attempt consumed
	OutcomeLost        Outcome = "lost"         // the lock was lost or Redis refused the result: another worker will run it
	OutcomeHandedBack  Outcome = "handed_back"  // the worker stopped, no attempt consumed
)

// nobody observes nothing.
type nobody struct{}

func (nobody) JobStarted(string)                          {}
func (nobody) JobFinished(string, Outcome, time.Duration) {}
func (nobody) LockLost(string, int)                       {}
func (nobody) Fetched(string, time.Time)                  {}
