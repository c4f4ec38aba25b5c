package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// RemoveDeduplicationKey frees a deduplication id, whoever owns it, and reports whether there was an owner
// (features 3.3).
func (q *Queue) RemoveDeduplicationKey(ctx context.Context, dedupID string) (bool, error) {
	return q.removeDedup(ctx, dedupID, "")
}

// RemoveDeduplicationKey frees the job's deduplication id if the job still owns it, and reports whether it did.
func (j *Job) RemoveDeduplicationKey(ctx context.Context) (bool, error) {
	if j.DeduplicationID == "" {
		return false, nil
	}
	return j.queue.removeDedup(ctx, j.DeduplicationID, j.ID)
}

func (q *Queue) removeDedup(ctx context.Context, dedupID, jobID string) (freed bool, err error) {
	ctx, span := q.span(ctx, SpanInternal, "removeDeduplicationKey", q.Name, slog.String(attrDedup, dedupID))
	defer func() { span.End(err) }()
	freed, err = q.runner.RemoveDedupKey(ctx, q.target, dedupID, jobID)
	if err != nil {
		return false, fmt.Errorf("free deduplication id %q of %s: %w", dedupID, q.Name, err)
	}
	return freed, nil
}

// GetDeduplicationJobID returns the id of the job that owns a deduplication id, "" if nobody does.
func (q *Queue) GetDeduplicationJobID(ctx context.Context, dedupID string) (string, error) {
	id, err := q.client.Get(ctx, q.Dedup(dedupID)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read owner of deduplication id %q of %s: %w", dedupID, q.Name, err)
	}
	return id, nil
}
