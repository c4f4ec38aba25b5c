package engine

import (
	"errors"
	"fmt"
	"time"
)

// Errors a caller may test with errors.Is.
var (
	// ErrJobNotFound means the job's hash does not exist (code -1, lifecycle 10).
	ErrJobNotFound = errors.New("job not found")
	// ErrLockMissing means the lock of an active job has expired (code -2).
	ErrLockMissing = errors.New("lock missing")
	// ErrWrongState means the job was not in the state the transition starts from (code -3).
	ErrWrongState = errors.New("job is not in the expected state")
	// ErrPendingChildren means children of the job have not finished (code -4).
	ErrPendingChildren = errors.New("job has pending dependencies")
	// ErrParentNotFound means the parent's hash does not exist (code -5).
	ErrParentNotFound = errors.New("parent job not found")
	// ErrLockMismatch means another worker holds the job's lock (code -6).
	ErrLockMismatch = errors.New("lock mismatch")
	// ErrParentReplaced means the job already has another living parent (code -7).
	ErrParentReplaced = errors.New("parent job cannot be replaced")
	// ErrSchedulerOwned means the job is the current iteration of a scheduler (code -8).
	ErrSchedulerOwned = errors.New("job belongs to a job scheduler")
	// ErrFailedChildren means a child's failure keeps the job from completing (code -9).
	ErrFailedChildren = errors.New("job has at least one failed child")
	// ErrSlotTaken means that the job of a scheduler's next firing exists and runs or has ended (codes -10, -11).
	ErrSlotTaken = errors.New("job of the next firing exists")
	// ErrLegacyScheduler means that an id belongs to a repeatable job of Bull or of an older BullMQ.
	ErrLegacyScheduler = errors.New("repeatable job of an older version, left alone")
	// ErrLocked means a worker holds the job, so it cannot be removed now.
	ErrLocked = errors.New("job is locked by a worker")
	// ErrMoved is returned by a handler that has moved its job itself (Job.MoveToDelayed, MoveToWait,
	// MoveToWaitingChildren): the worker then neither completes nor fails it.
	ErrMoved = errors.New("job was moved by its handler")
	// ErrStopping is the cause of a handler's cancelled context when its worker stops; the job is handed back.
	ErrStopping = errors.New("worker is stopping")
	// ErrLockLost is the cause of a handler's cancelled context when the job's lock is gone: another worker may have it.
	ErrLockLost = errors.New("lock of the job was lost")
	// ErrDamaged means a key or field of the job has a type or content that no transition can work on.
	ErrDamaged = errors.New("job is damaged")
	// ErrInvalid means an argument was refused before anything was written. The wrapping *FieldError names the field.
	ErrInvalid = errors.New("invalid argument")
)

// FieldError reports an argument that was refused. It matches ErrInvalid.
type FieldError struct {
	// Field is the option or argument at fault, in BullMQ's public spelling ("jobId", "priority").
	Field string
	// Problem says what is wrong and what would be right.
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Is makes every FieldError match ErrInvalid.
func (e *FieldError) Is(target error) bool { return target == ErrInvalid }

// CodeError is a negative return code of a transition (lifecycle 10), with the text BullMQ's users see. It unwraps to
// the sentinel of its code.
type CodeError struct {
	Code    int
	JobID   string
	Message string
	cause   error
}

func (e *CodeError) Error() string { return e.Message }

func (e *CodeError) Unwrap() error { return e.cause }

// UnrecoverableError makes an attempt fail for good, whatever attempts are left.
type UnrecoverableError struct{ Err error }

// Unrecoverable wraps err so that the job fails without another attempt.
func Unrecoverable(err error) error { return &UnrecoverableError{Err: err} }

func (e *UnrecoverableError) Error() string { return e.Err.Error() }

func (e *UnrecoverableError) Unwrap() error { return e.Err }

// RetryAfterError makes an attempt fail and decides the delay before the next one.
type RetryAfterError struct {
	Delay time.Duration
	Err   error
}

// RetryAfter wraps err so that the job, if attempts remain, is retried after exactly d (at most 24 h) and not after
// its backoff.
func RetryAfter(d time.Duration, err error) error { return &RetryAfterError{Delay: d, Err: err} }

func (e *RetryAfterError) Error() string { return e.Err.Error() }

func (e *RetryAfterError) Unwrap() error { return e.Err }

// RateLimitError puts the job back to waiting without consuming an attempt and stops the whole queue for Delay.
type RateLimitError struct{ Delay time.Duration }

// RateLimit returns the error with which a handler limits its queue for d, on all workers and replicas.
func RateLimit(d time.Duration) error { return &RateLimitError{Delay: d} }

func (e *RateLimitError) Error() string { return fmt.Sprintf("queue rate limited for %s", e.Delay) }

// DelayError puts the job into delayed for Delay without consuming an attempt.
type DelayError struct{ Delay time.Duration }

// DelayJob returns the error with which a handler postpones its own job by d; no attempt is consumed.
func DelayJob(d time.Duration) error { return &DelayError{Delay: d} }

func (e *DelayError) Error() string { return fmt.Sprintf("job delayed by %s", e.Delay) }

// Stacktracer is implemented by errors that carry the text for the job's stacktrace (one entry per failed attempt).
// Other errors are recorded as "Error: <message>", unrecoverable ones as "UnrecoverableError: <message>".
type Stacktracer interface{ Stacktrace() string }
