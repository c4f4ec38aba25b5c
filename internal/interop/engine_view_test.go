package interop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"bullpen/internal/engine"
)

// jobView is a job as the driver shows it.
func jobView(ctx context.Context, c call) (any, error) {
	j, err := c.q.Job(ctx, c.Job)
	if errors.Is(err, engine.ErrJobNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := map[string]any{
		"id": j.ID, "name": j.Name, "data": j.Data, "opts": j.PublicOptions(), "progress": orJSON(j.Progress, "0"),
		"returnvalue": orJSON(j.ReturnValue, "null"), "stacktrace": list(j.Stacktrace), "delay": j.Delay.Milliseconds(),
		"priority": j.Priority, "attemptsStarted": j.AttemptsStarted, "attemptsMade": j.AttemptsMade,
		"stalledCounter": j.StalledCount, "timestamp": j.Timestamp.UnixMilli(),
	}
	for name, t := range map[string]time.Time{"processedOn": j.ProcessedOn, "finishedOn": j.FinishedOn} {
		if !t.IsZero() {
			v[name] = t.UnixMilli()
		}
	}
	for name, text := range map[string]string{
		"failedReason": j.FailedReason, "processedBy": j.ProcessedBy, "parentKey": j.ParentKey,
		"repeatJobKey": j.SchedulerID, "deduplicationId": j.DeduplicationID, "deferredFailure": j.DeferredFailure,
	} {
		if text != "" {
			v[name] = text
		}
	}
	if j.Parent != nil {
		v["parent"] = json.RawMessage(j.Parent)
	}
	return v, nil
}
