package monitor

import "bullpen/internal/engine/keys"

// EventTotals counts what happened to the jobs of a queue since it was first seen. Each figure only grows; it falls
// back to a smaller value when the queue is obliterated or Redis is flushed.
type EventTotals struct {
	// Added counts add calls, including those that were refused as duplicates.
	Added uint64
	// Started counts attempts, Completed the jobs that finished well.
	Started, Completed uint64
	// Jobs that failed for good: all attempts used, an unrecoverable error, or stalled more often than allowed.
	FailedExhausted, FailedUnrecoverable, FailedStalled uint64
	// Attempts that failed and were put back, at once or after a backoff.
	RetriedImmediate, RetriedBackoff uint64
	// Moves to delayed: at add time, for a backoff, or by the processor or a person.
	DelayedScheduled, DelayedBackoff, DelayedManual uint64
	// Promoted counts delayed jobs that became ready, Stalled recoveries, Removed jobs removed one by one.
	Promoted, Stalled, Removed uint64
	// Adds that stored nothing: the id existed, or the deduplication id did.
	Duplicated, Deduplicated uint64
	// Attempts started within the policy's wait target, jobs finished within its processing target.
	StartedWithinTarget, FinishedWithinTarget uint64
}

// Failed counts the jobs that failed for good, whatever the reason.
func (t EventTotals) Failed() uint64 {
	return t.FailedExhausted + t.FailedUnrecoverable + t.FailedStalled
}

// Retried counts the attempts that failed and were put back.
func (t EventTotals) Retried() uint64 { return t.RetriedImmediate + t.RetriedBackoff }

// totalsSource is what the collector takes from the followers of the event streams. Its methods are called once per
// queue and tick, must not block, and be safe for concurrent use.
type totalsSource interface {
	// Totals returns the totals of q; false while nothing follows its stream.
	Totals(q keys.Queue) (EventTotals, bool)
	// Minutes returns the closed minutes of q the follower has seen, oldest first, at most 60.
	Minutes(q keys.Queue) []Minute
	// Stat returns what this process did with the stream of q.
	Stat(q keys.Queue) FollowerStat
	// Part says how following went last.
	Part() Part
}
