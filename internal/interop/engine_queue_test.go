package interop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"
)

func addEach(ctx context.Context, c call) (any, error) {
	var options []json.RawMessage
	if err := json.Unmarshal(c.Jobs, &options); err != nil {
		return nil, err
	}
	specs := make([]spec, len(options))
	for i, o := range options {
		n, _ := json.Marshal(i)
		specs[i] = spec{"job" + string(n), json.RawMessage(`{"i":` + string(n) + `}`), o}
	}
	return c.add(ctx, specs...)
}

func addBulk(ctx context.Context, c call) (any, error) {
	var given []spec
	if err := json.Unmarshal(c.Jobs, &given); err != nil {
		return nil, err
	}
	specs, err := c.specs(ctx, given)
	if err != nil {
		return nil, err
	}
	jobs, err := c.q.AddBulk(ctx, specs)
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		if j != nil {
			ids[i] = j.ID
		}
	}
	return ids, err
}

func removed(err error) (any, error) {
	if errors.Is(err, engine.ErrLocked) {
		return 0, nil
	}
	return 1, err
}

func updateProgress(ctx context.Context, c call) error {
	job, err := c.stored(ctx)
	if err != nil {
		return err
	}
	return job.UpdateProgress(ctx, orJSON(c.Value, "null"))
}

func logs(ctx context.Context, c call) (any, error) {
	end := int64(-1)
	if c.End != nil {
		end = *c.End
	}
	rows, total, err := c.q.Logs(ctx, c.Job, int64(c.Start), end, c.Asc)
	return map[string]any{"logs": list(rows), "count": total}, err
}

// keepLogs is the option of the job itself.
func (c call) keepLogs(ctx context.Context) int {
	job, err := c.q.Job(ctx, c.Job)
	if err != nil {
		return 0
	}
	return job.Opts.KeepLogs
}

// every is a limit that no scenario reaches.
const every = 1 << 20

func promoteJobs(ctx context.Context, c call) error {
	ids, err := c.q.IDs(ctx, keys.Delayed, 0, every, time.Time{})
	if err != nil {
		return err
	}
	_, _, err = c.q.Promote(ctx, ids)
	return err
}

func retryJobs(ctx context.Context, c call) (any, error) {
	var o struct{ Timestamp float64 }
	if err := json.Unmarshal(orJSON(c.Opts, "{}"), &o); err != nil {
		return nil, err
	}
	before := c.now
	if o.Timestamp > 0 {
		before = epoch.Add(ms(o.Timestamp - float64(epoch.UnixMilli())))
	}
	state := keys.State(or(c.State, "failed"))
	ids, err := c.q.IDs(ctx, state, 0, every, before)
	if err != nil {
		return nil, err
	}
	_, _, err = c.q.Retry(ctx, state, ids, false)
	return nil, err
}

func finished(ctx context.Context, c call) (any, error) {
	state, _, code, err := c.runner.Finished(ctx, c.target(), c.Job)
	if err != nil {
		return nil, err
	}
	switch {
	case code == scripts.JobMissing:
		return -1, nil
	case state == keys.Completed:
		return 1, nil
	case state == keys.Failed:
		return 2, nil
	}
	return 0, nil
}

func count(ctx context.Context, c call) (any, error) {
	n, err := c.q.Counts(ctx)
	return n[keys.Waiting] + n[keys.Delayed] + n[keys.Prioritized] + n[keys.WaitingChildren], err
}

// settings are the meta hash as the driver shows it.
func settings(ctx context.Context, c call) (any, error) {
	s, err := c.q.Settings(ctx)
	v := map[string]any{"paused": s.Paused}
	for name, n := range map[string]int64{
		"concurrency": s.Concurrency, "max": int64(s.Limiter.Max), "duration": s.Limiter.Duration.Milliseconds(),
		"maxLenEvents": s.MaxEvents,
	} {
		if n > 0 {
			v[name] = n
		}
	}
	return v, err
}

func countsPerPriority(ctx context.Context, c call) (any, error) {
	counts := map[int]int64{}
	for _, p := range c.Priorities {
		n, err := c.q.CountPriority(ctx, p)
		if err != nil {
			return nil, err
		}
		counts[p] = n
	}
	return counts, nil
}

func ranges(ctx context.Context, c call) (any, error) {
	var states []string
	if err := json.Unmarshal(c.States, &states); err != nil {
		return nil, err
	}
	end := int64(-1)
	if c.End != nil {
		end = *c.End
	}
	ids := []string{}
	for _, s := range states {
		rows, _, err := c.q.Rows(ctx, stateNamed(s), int64(c.Start), end, c.Asc)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

// redisWords runs a raw command in the middle of a handler.
func redisWords(ctx context.Context, c call) error {
	words := make([]any, len(c.Words))
	for i, w := range c.Words {
		words[i] = w
	}
	return c.client.Do(ctx, words...).Err()
}
