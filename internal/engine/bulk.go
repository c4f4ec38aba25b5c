package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"
)

// bulkSize is how many jobs one script run of a bulk act takes, so that no run keeps Redis from other clients for long.
const bulkSize = 1000

// Refusal says why one job of a bulk act was left alone.
type Refusal struct {
	ID  string
	Err error
}

// Retry puts finished jobs (state Completed or Failed) back to waiting, honouring priority and parents; attempts are
// reset if resetAttempts. Jobs not in that state are refused, the others go on. At most 1000 ids per script run
// (lifecycle 8.20). On an error, done holds what is known to have been done.
func (q *Queue) Retry(ctx context.Context, s keys.State, ids []string, resetAttempts bool) (done []string, refused []Refusal, err error) {
	if s != keys.Completed && s != keys.Failed {
		return nil, nil, invalid("state", "only completed and failed jobs can be retried, not %s ones", s)
	}
	act := act{verb: "retry jobs", span: "retryJobs", kind: SpanProducer, options: slog.String(attrQueueOptions, `{"state":"`+string(s)+`"}`), command: "reprocessJob", state: string(s)}
	return q.inBatches(ctx, ids, act, func(batch []string) ([]scripts.Code, error) {
		return q.runner.Reprocess(ctx, q.target, s, batch, resetAttempts)
	})
}

// RetryJob is Retry for one job.
func (q *Queue) RetryJob(ctx context.Context, s keys.State, id string, resetAttempts bool) error {
	return single(q.Retry(ctx, s, []string{id}, resetAttempts))
}

// Promote makes delayed jobs ready now; ErrWrongState refuses those that are not delayed (lifecycle 8.12).
func (q *Queue) Promote(ctx context.Context, ids []string) (done []string, refused []Refusal, err error) {
	return q.promote(ctx, ids, true)
}

// PromoteJob is Promote for one job.
func (q *Queue) PromoteJob(ctx context.Context, id string) error {
	return single(q.promote(ctx, []string{id}, false))
}

func (q *Queue) promote(ctx context.Context, ids []string, many bool) (done []string, refused []Refusal, err error) {
	act := act{verb: "promote jobs", span: "promoteJobs", options: slog.String(attrQueueOptions, "{}"), command: "promote", state: string(keys.Delayed)}
	return q.inBatches(ctx, ids, act, func(batch []string) ([]scripts.Code, error) {
		return q.runner.Promote(ctx, q.target, batch, many)
	})
}

// Remove removes jobs with their logs and, if children, their unfinished and finished children. A job held by a worker,
// or above one that is, is refused with ErrLocked; one that does not exist counts as done (lifecycle 8.16).
func (q *Queue) Remove(ctx context.Context, ids []string, children bool) (done []string, refused []Refusal, err error) {
	act := act{verb: "remove jobs", span: "remove", options: removeOptions(children), command: "removeJob"}
	return q.inBatches(ctx, ids, act, func(batch []string) ([]scripts.Code, error) {
		return q.runner.Remove(ctx, q.target, batch, children)
	})
}

// RemoveFrom is Remove for jobs in one state: those in another state by now, or in none, are refused with ErrWrongState.
func (q *Queue) RemoveFrom(ctx context.Context, s keys.State, ids []string, children bool) (done []string, refused []Refusal, err error) {
	act := act{verb: "remove jobs", span: "remove", options: removeOptions(children), command: "removeJob", state: string(s)}
	return q.inBatches(ctx, ids, act, func(batch []string) ([]scripts.Code, error) {
		return q.runner.RemoveFrom(ctx, q.target, s, batch, children)
	})
}

// RemoveJob is Remove for one job.
func (q *Queue) RemoveJob(ctx context.Context, id string, children bool) error {
	return single(q.Remove(ctx, []string{id}, children))
}

// Clean removes jobs of a state older than grace, at most limit (0 = all of them), and returns their ids, those of a list
// newest first (lifecycle 8.18). On an error, the ids already removed are returned with it.
func (q *Queue) Clean(ctx context.Context, s keys.State, grace time.Duration, limit int) (ids []string, err error) {
	ctx, end := q.begin(ctx, "clean")
	defer end(&err)
	if grace < 0 || limit < 0 {
		return nil, invalid("grace", "grace and limit must not be negative")
	}
	ids, err = q.runner.Clean(ctx, q.target, s, q.clock().Add(-grace), limit)
	if err != nil {
		return ids, fmt.Errorf("clean %s jobs of %s: %w", s, q.Name, err)
	}
	return ids, nil
}

// act names a bulk act in errors and in traces, there with the options BullMQ tells.
type act struct {
	verb, command, state string
	span                 string
	kind                 SpanKind
	options              slog.Attr
}

func removeOptions(children bool) slog.Attr {
	return slog.String(attrJobOptions, fmt.Sprintf(`{"removeChildren":%t}`, children))
}

// inBatches runs an act on bulkSize ids at a time and sorts them by outcome.
func (q *Queue) inBatches(
	ctx context.Context, ids []string, a act, run func(batch []string) ([]scripts.Code, error),
) (done []string, refused []Refusal, err error) {
	about := slog.Int(attrBulkCount, len(ids))
	if len(ids) == 1 {
		about = slog.String(attrJobID, ids[0])
	}
	_, span := q.span(ctx, a.kind, a.span, q.Name, about, a.options)
	defer func() {
		failure := err
		if failure == nil && len(ids) == 1 && len(refused) > 0 {
			failure = refused[0].Err
		}
		span.End(failure)
	}()
	for batch := range slices.Chunk(ids, bulkSize) {
		codes, err := run(batch)
		for i, code := range codes {
			if err := codeError(code, batch[i], a.command, a.state, ""); err != nil {
				refused = append(refused, Refusal{batch[i], err})
				continue
			}
			done = append(done, batch[i])
		}
		if err != nil {
			return done, refused, fmt.Errorf("%s of %s: %w", a.verb, q.Name, err)
		}
	}
	return done, refused, nil
}

// single turns the outcome of a bulk act on one job into an error.
func single(_ []string, refused []Refusal, err error) error {
	if err == nil && len(refused) > 0 {
		return refused[0].Err
	}
	return err
}
