package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// UpdateProgress stores v as JSON, nil as null, and emits a progress event (lifecycle 8.15).
func (j *Job) UpdateProgress(ctx context.Context, v any) error {
	progress, err := encodeValue(v, "progress", "null")
	if err != nil {
		return err
	}
	code, err := j.queue.runner.UpdateProgress(ctx, j.queue.target, j.ID, string(progress))
	if err != nil {
		return fmt.Errorf("update progress of job %s: %w", j.ID, err)
	}
	if err := codeError(code, j.ID, "updateProgress", "", ""); err != nil {
		return err
	}
	j.Progress = progress
	return nil
}

// UpdateData replaces the job's data; v is encoded as in Queue.Add (lifecycle 8.15).
func (j *Job) UpdateData(ctx context.Context, v any) error {
	data, err := encodeData(v)
	if err != nil {
		return err
	}
	if err := j.queue.UpdateData(ctx, j.ID, data); err != nil {
		return err
	}
	j.Data = data
	return nil
}

// UpdateData replaces the data of a job, which must be valid JSON.
func (q *Queue) UpdateData(ctx context.Context, id string, data json.RawMessage) error {
	data, err := encodeData(data)
	if err != nil {
		return err
	}
	code, err := q.runner.UpdateData(ctx, q.target, id, string(data))
	if err != nil {
		return fmt.Errorf("update data of job %s: %w", id, err)
	}
	return codeError(code, id, "updateData", "", "")
}

// Log appends a row to the job's log, of which the newest Opts.KeepLogs are kept, and returns how many there are now.
func (j *Job) Log(ctx context.Context, row string) (int64, error) {
	return j.queue.AddLog(ctx, j.ID, row, j.Opts.KeepLogs)
}

// AddLog appends a row to a job's log and returns how many are kept: the newest keep, or all if keep is 0
// (lifecycle 8.15).
func (q *Queue) AddLog(ctx context.Context, id, row string, keep int) (int64, error) {
	kept, code, err := q.runner.AddLog(ctx, q.target, id, row, max(keep, 0))
	if err != nil {
		return 0, fmt.Errorf("log for job %s: %w", id, err)
	}
	return kept, codeError(code, id, "addLog", "", "")
}

// ClearLogs drops all but the newest keep rows of a job's log.
func (q *Queue) ClearLogs(ctx context.Context, id string, keep int) error {
	if err := q.runner.ClearLogs(ctx, q.target, id, max(keep, 0)); err != nil {
		return fmt.Errorf("clear logs of job %s: %w", id, err)
	}
	return nil
}

// Logs returns log rows start..end (inclusive, 0-based) and the total number kept; asc: oldest first, otherwise the
// indexes count from the newest.
func (q *Queue) Logs(ctx context.Context, id string, start, end int64, asc bool) (rows []string, total int64, err error) {
	rows, total, err = q.listRange(ctx, q.Queue.Logs(id), start, end, asc)
	if err != nil {
		return nil, 0, fmt.Errorf("read logs of job %s: %w", id, err)
	}
	return rows, total, nil
}

// The bounds of PeekLogs in bytes: what is kept of one row, and what is read in one go.
const (
	PeekedRow  = 16 << 10
	PeekedLogs = 4 << 20
)

// PeekLogs is Logs for a page: a row is cut to PeekedRow bytes, Size tells its length, and there are fewer rows than asked
// for where they would have more than PeekedLogs bytes, but always one. start and end are not negative.
func (q *Queue) PeekLogs(ctx context.Context, id string, start, end int64, asc bool) (rows []Text, total int64, err error) {
	found, total, err := q.runner.Logs(ctx, q.target, id, start, end, asc, PeekedRow, PeekedLogs)
	if err != nil {
		return nil, 0, fmt.Errorf("read logs of job %s: %w", id, err)
	}
	for _, row := range found {
		rows = append(rows, Text{Value: row.Text, Size: row.Size})
	}
	return rows, total, nil
}

// ChangeDelay makes a delayed job due d from now. ErrWrongState if it is not delayed (lifecycle 8.13).
func (q *Queue) ChangeDelay(ctx context.Context, id string, d time.Duration) error {
	if d < 0 {
		return invalid("delay", "is negative")
	}
	code, err := q.runner.ChangeDelay(ctx, q.target, q.clock(), id, d.Truncate(time.Millisecond))
	if err != nil {
		return fmt.Errorf("change delay of job %s: %w", id, err)
	}
	return codeError(code, id, "changeDelay", "delayed", "")
}

// ChangePriority gives a job another priority, 0..2097151, whatever its state; a waiting job takes its place behind its
// new peers, or before them with lifo (lifecycle 8.14).
func (q *Queue) ChangePriority(ctx context.Context, id string, priority int, lifo bool) error {
	if err := checkPriority(priority); err != nil {
		return err
	}
	code, err := q.runner.ChangePriority(ctx, q.target, id, int64(priority), lifo)
	if err != nil {
		return fmt.Errorf("change priority of job %s: %w", id, err)
	}
	return codeError(code, id, "changePriority", "", "")
}
