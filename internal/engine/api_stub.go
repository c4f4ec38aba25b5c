package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// This file is the agreed surface; its declarations move to their own files as they are built.

// QueueOptions configure NewQueue.
type QueueOptions struct {
	// Client talks to the Redis that holds the queue. Required.
	Client redis.UniversalClient
	// Prefix is the key prefix; default "bull".
	Prefix string
	// Name is the queue's name. Required, without ':'.
	Name string
	// Defaults are merged under the options of every job added through this Queue.
	Defaults JobOptions
	// LegacyPause selects the storage of BullMQ 5.x for paused queues (lifecycle 12.1); default false, as BullMQ 6.
	LegacyPause bool
	// Clock returns the time written to Redis; default time.Now.
	Clock func() time.Time
}

// Queue adds jobs to one queue and administers it. It is safe for concurrent use and holds no connection of its own.
type Queue struct {
	keys.Queue
}

// NewQueue validates o and returns the queue. It does not touch Redis.
func NewQueue(o QueueOptions) (*Queue, error) { panic("stub") }

// Backoff says how long to wait before a retry (lifecycle 8.8).
type Backoff struct {
	Type   string        // "fixed", "exponential", or the name of a custom strategy
	Delay  time.Duration // stored in milliseconds
	Jitter float64       // 0..1
}

// Keep is a retention rule (lifecycle 8.6.3).
type Keep struct {
	Count *int64         // jobs kept; 0 = none, negative or nil = all
	Age   *time.Duration // stored in seconds
	Limit *int64         // at most this many evicted per finished job; default 1000
}

// JobOptions are the options of a job; the zero value of each means "not given".
type JobOptions struct {
	ID               string
	Attempts         int
	Backoff          *Backoff
	Delay            time.Duration
	Priority         int
	LIFO             bool
	Timestamp        time.Time
	KeepCompleted    *Keep // removeOnComplete
	KeepFailed       *Keep // removeOnFail
	KeepLogs         int
	StackTraceLimit  *int
	SizeLimit        int
	Parent           *ParentRef
	Deduplication    *Deduplication
	TelemetryContext string // telemetry.metadata
	OmitContext      bool
	// one of: FailParentOnFailure, ContinueParentOnFailure, IgnoreDependencyOnFailure, RemoveDependencyOnFailure
	OnFailure string
	// Extra holds options this engine does not know, by public name; they are stored and given back unchanged.
	Extra map[string]json.RawMessage
}

// ParentRef names the parent of a child job.
type ParentRef struct {
	ID    string
	Queue string // qualified name "prefix:queue"
}

// Deduplication is the deduplication option (features 3).
type Deduplication struct {
	ID               string
	TTL              time.Duration
	Extend           bool
	Replace          bool
	Reschedule       bool
	KeepLastIfActive bool
}

// JobSpec is one job of AddBulk.
type JobSpec struct {
	Name    string
	Data    any // encoded as JSON; json.RawMessage is stored byte for byte
	Options JobOptions
}

// Add adds one job and returns it. data is encoded as JSON; a json.RawMessage is stored byte for byte.
func (q *Queue) Add(ctx context.Context, name string, data any, o JobOptions) (*Job, error) {
	panic("stub")
}

// AddBulk adds many jobs in as few round trips as possible; the result has the order of specs.
func (q *Queue) AddBulk(ctx context.Context, specs []JobSpec) ([]*Job, error) { panic("stub") }

// Job reads one job whole, payload included. ErrJobNotFound if it has no hash.
func (q *Queue) Job(ctx context.Context, id string) (*Job, error) { panic("stub") }

// State returns the state of a job, keys.Unknown if it is in none.
func (q *Queue) State(ctx context.Context, id string) (keys.State, error) { panic("stub") }

// Counts returns how many jobs are in each state. The legacy paused list counts as waiting.
func (q *Queue) Counts(ctx context.Context) (map[keys.State]int64, error) { panic("stub") }

// Row is one line of a list: named fields only, never the payload.
type Row struct {
	ID              string
	Missing         bool // the id is listed but its hash is gone
	Name            string
	Timestamp       time.Time
	ProcessedOn     time.Time // zero when absent, as below
	FinishedOn      time.Time
	Due             time.Time // delayed jobs: when they become ready
	Priority        int64
	AttemptsMade    int
	AttemptsStarted int
	Attempts        int    // total allowed, at least 1
	FailedReason    string // first line, at most 300 bytes of valid UTF-8
	ProcessedBy     string
	DataSize        int64 // bytes
	Locked          bool  // active jobs: the lock exists
	Stalls          int
	ParentKey       string
	Deferred        string // failure that the next worker will record
}

// Rows lists ids start..end (inclusive, 0-based) of a state. asc: next to run or oldest first; otherwise newest first.
// One round trip; the total is the length of the whole list.
func (q *Queue) Rows(ctx context.Context, s keys.State, start, end int64, asc bool) (rows []Row, total int64, err error) {
	panic("stub")
}

// RowsByID reads the rows of the given ids.
func (q *Queue) RowsByID(ctx context.Context, ids []string) ([]Row, error) { panic("stub") }

// Refusal says why one job of a bulk act was left alone.
type Refusal struct {
	ID  string
	Err error
}

// Retry puts finished jobs (state Completed or Failed) back to waiting, honouring priority and parents; attempts are
// reset if resetAttempts. Jobs not in that state are refused, the others go on. At most 1000 ids per script run.
func (q *Queue) Retry(ctx context.Context, s keys.State, ids []string, resetAttempts bool) (done []string, refused []Refusal, err error) {
	panic("stub")
}

// Promote makes delayed jobs ready now.
func (q *Queue) Promote(ctx context.Context, ids []string) (done []string, refused []Refusal, err error) {
	panic("stub")
}

// Remove removes jobs with their logs and, if children, their unfinished and finished children.
func (q *Queue) Remove(ctx context.Context, ids []string, children bool) (done []string, refused []Refusal, err error) {
	panic("stub")
}

// IDs returns at most limit ids of a state, oldest first, starting after offset entries; finished ones are bounded to
// FinishedOn <= before when before is not zero.
func (q *Queue) IDs(ctx context.Context, s keys.State, offset, limit int64, before time.Time) ([]string, error) {
	panic("stub")
}

// Clean removes jobs of a state older than grace, at most limit (0 = all of them), and returns their ids (lifecycle 8.18).
func (q *Queue) Clean(ctx context.Context, s keys.State, grace time.Duration, limit int) ([]string, error) {
	panic("stub")
}

// Drain removes waiting and prioritized jobs, and delayed ones if asked.
func (q *Queue) Drain(ctx context.Context, delayed bool) error { panic("stub") }

// Obliterate deletes the queue and everything in it. The queue is paused first and, on refusal, stays paused.
func (q *Queue) Obliterate(ctx context.Context, force bool) error { panic("stub") }

// Pause stops all workers of the queue from taking jobs; running ones go on.
func (q *Queue) Pause(ctx context.Context) error { panic("stub") }

// Resume undoes Pause.
func (q *Queue) Resume(ctx context.Context) error { panic("stub") }

// IsPaused reports whether the queue is paused.
func (q *Queue) IsPaused(ctx context.Context) (bool, error) { panic("stub") }

// RateLimit stops every worker of the queue for d (manual limit, lifecycle 4.2); RemoveRateLimit lifts it.
func (q *Queue) RateLimit(ctx context.Context, d time.Duration) error { panic("stub") }

// RemoveRateLimit lifts the limiter's present window or manual limit.
func (q *Queue) RemoveRateLimit(ctx context.Context) error { panic("stub") }

// SetGlobalConcurrency bounds the active jobs of the whole fleet; n <= 0 removes the bound.
func (q *Queue) SetGlobalConcurrency(ctx context.Context, n int) error { panic("stub") }

// SetGlobalRateLimit writes the queue's limiter to meta; max <= 0 removes it.
func (q *Queue) SetGlobalRateLimit(ctx context.Context, max int, window time.Duration) error {
	panic("stub")
}

// Logs returns log rows start..end and the total number kept.
func (q *Queue) Logs(ctx context.Context, id string, start, end int64, asc bool) (rows []string, total int64, err error) {
	panic("stub")
}

// Job is one job as read from Redis, or as given to a Handler.
type Job struct {
	ID              string
	Name            string
	Data            json.RawMessage // as stored
	Opts            JobOptions
	RawOpts         json.RawMessage // as stored, short names
	Timestamp       time.Time
	Delay           time.Duration
	Priority        int64
	ProcessedOn     time.Time // zero when absent
	FinishedOn      time.Time // zero when absent
	AttemptsMade    int
	AttemptsStarted int
	StalledCount    int
	Progress        json.RawMessage // nil when absent
	ReturnValue     json.RawMessage // nil when absent
	FailedReason    string
	Stacktrace      []string // oldest first
	ProcessedBy     string
	ParentKey       string
	Parent          json.RawMessage
	SchedulerID     string
	DeduplicationID string
	DeferredFailure string
	// Fields is the whole hash as Redis holds it, for fields the engine does not know.
	Fields map[string]string
}

// UpdateProgress stores v as JSON and emits a progress event.
func (j *Job) UpdateProgress(ctx context.Context, v any) error { panic("stub") }

// UpdateData replaces the job's data.
func (j *Job) UpdateData(ctx context.Context, v any) error { panic("stub") }

// Log appends a log row and returns how many are kept.
func (j *Job) Log(ctx context.Context, row string) (int64, error) { panic("stub") }

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
