package engine

import (
	"encoding/json"
	"time"

	"bullpen/internal/engine/policy"
)

// Backoff says how long to wait before a retry (lifecycle 8.8).
type Backoff struct {
	Type   string        // "fixed", "exponential", or the name of a custom strategy
	Delay  time.Duration // stored in milliseconds
	Jitter float64       // 0..1
}

// Keep is a retention rule for finished jobs (lifecycle 8.6.3).
//
// With Count alone it is stored in BullMQ's short spelling: 0 as true (remove at once), -1 as false (keep, whatever the
// worker's own rule says), any other as the number. With Age or Limit, or empty, it is stored as an object.
type Keep struct {
	Count *int64         // jobs kept; 0 = none, negative or nil = all
	Age   *time.Duration // stored in seconds
	Limit *int64         // at most this many evicted per finished job; default 1000
}

// KeepCount keeps the newest n jobs: 0 none, -1 all.
func KeepCount(n int64) *Keep { return &Keep{Count: &n} }

// KeepAge keeps jobs that finished within the last d.
func KeepAge(d time.Duration) *Keep { return &Keep{Age: &d} }

// Given marks options that are given although their value in JobOptions is the zero value. BullMQ keeps an explicit
// "delay": 0 or "lifo": false in the stored options, and it overrides a default.
type Given uint16

// The options whose zero value can be given explicitly. Those of pointer type need no mark; attempts is always stored.
const (
	GivenAttempts Given = 1 << iota
	GivenDelay
	GivenPriority
	GivenLIFO
	GivenKeepLogs
	GivenSizeLimit
	GivenOmitContext
)

// The options that say what a child's failure for good does to its parent (features 2.5); at most one may be given.
const (
	FailParentOnFailure       = "failParentOnFailure"
	ContinueParentOnFailure   = "continueParentOnFailure"
	IgnoreDependencyOnFailure = "ignoreDependencyOnFailure"
	RemoveDependencyOnFailure = "removeDependencyOnFailure"
)

// JobOptions are the options of a job (lifecycle 3); the zero value of each means "not given" unless Given marks it.
type JobOptions struct {
	// ID is a custom job id: not an integer, without ':' unless it has exactly two, and none of the queue's own keys.
	ID       string
	Attempts int // total attempts allowed; 0 and 1 are the same
	Backoff  *Backoff
	Delay    time.Duration // until the job becomes ready, from Timestamp; whole milliseconds
	// Priority orders jobs, lower first, 1..2097151. Jobs with 0 run before all that have one.
	Priority int
	LIFO     bool // next to be taken
	// Timestamp is the job's creation time; default now. Delay counts from it.
	Timestamp       time.Time
	KeepCompleted   *Keep // removeOnComplete
	KeepFailed      *Keep // removeOnFail
	KeepLogs        int   // newest log rows kept; 0 = all
	StackTraceLimit *int  // newest stack traces kept; 0 = none, nil = all
	SizeLimit       int   // largest data in bytes; 0 = no limit. Checked when the job is added.
	Parent          *ParentRef
	Deduplication   *Deduplication
	// TelemetryContext is telemetry.metadata, the trace context for the worker.
	TelemetryContext string
	OmitContext      bool // telemetry.omitContext
	// OnFailure is one of FailParentOnFailure, ContinueParentOnFailure, IgnoreDependencyOnFailure,
	// RemoveDependencyOnFailure, or "".
	OnFailure string
	// Given marks options that are given with their zero value.
	Given Given
	// Extra holds options this engine does not know, by public name, and known ones whose stored value makes no sense;
	// they are stored and given back unchanged.
	Extra map[string]json.RawMessage
}

// ParentRef names the parent of a child job.
type ParentRef struct {
	ID    string
	Queue string // qualified name "prefix:queue"
}

// Key is the full key of the parent's hash.
func (p ParentRef) Key() string { return p.Queue + ":" + p.ID }

// Deduplication is the deduplication option (features 3).
type Deduplication struct {
	ID               string
	TTL              time.Duration // stored in milliseconds; 0 = until the job has finished
	Extend           bool
	Replace          bool
	Reschedule       bool
	KeepLastIfActive bool
}

// Over returns o with every option that o does not give taken from base. Extra is merged by name.
func (o JobOptions) Over(base JobOptions) JobOptions {
	given := func(mark Given) bool { return o.Given&mark != 0 }
	inherit(&o.Attempts, base.Attempts, given(GivenAttempts))
	inherit(&o.Delay, base.Delay, given(GivenDelay))
	inherit(&o.Priority, base.Priority, given(GivenPriority))
	inherit(&o.LIFO, base.LIFO, given(GivenLIFO))
	inherit(&o.KeepLogs, base.KeepLogs, given(GivenKeepLogs))
	inherit(&o.SizeLimit, base.SizeLimit, given(GivenSizeLimit))
	inherit(&o.OmitContext, base.OmitContext, given(GivenOmitContext))
	inherit(&o.ID, base.ID, false)
	inherit(&o.Backoff, base.Backoff, false)
	inherit(&o.KeepCompleted, base.KeepCompleted, false)
	inherit(&o.KeepFailed, base.KeepFailed, false)
	inherit(&o.StackTraceLimit, base.StackTraceLimit, false)
	inherit(&o.Parent, base.Parent, false)
	inherit(&o.Deduplication, base.Deduplication, false)
	inherit(&o.TelemetryContext, base.TelemetryContext, false)
	inherit(&o.OnFailure, base.OnFailure, false)
	if o.Timestamp.IsZero() {
		o.Timestamp = base.Timestamp
	}
	o.Given |= base.Given
	if len(base.Extra) > 0 {
		merged := make(map[string]json.RawMessage, len(base.Extra)+len(o.Extra))
		for _, extra := range []map[string]json.RawMessage{base.Extra, o.Extra} {
			for name, value := range extra {
				merged[name] = value
			}
		}
		o.Extra = merged
	}
	return o
}

func inherit[T comparable](field *T, base T, given bool) {
	var none T
	if *field == none && !given {
		*field = base
	}
}

// policy returns b in the form that computes delays; limit caps them.
func (b Backoff) policy(limit time.Duration) policy.Backoff {
	return policy.Backoff{Type: b.Type, Delay: b.Delay, Max: limit, Jitter: b.Jitter}
}
