package scripts

import "context"

// UpdateProgress stores progress, which is JSON, and announces it (lifecycle 8.15). Code: JobMissing.
func (r *Runner) UpdateProgress(ctx context.Context, t Target, id, progress string) (Code, error) {
	return r.code(ctx, "updateProgress", t, args(id, progress))
}

// UpdateData replaces the data of a job, which is JSON (lifecycle 8.15). Code: JobMissing.
func (r *Runner) UpdateData(ctx context.Context, t Target, id, data string) (Code, error) {
	return r.code(ctx, "updateData", t, args(id, data))
}

// AddLog appends a row to a job's log, keeps the newest keep rows (0 = all) and returns how many are kept. Code:
// JobMissing.
func (r *Runner) AddLog(ctx context.Context, t Target, id, row string, keep int) (kept int64, c Code, err error) {
	reply, err := r.write(ctx, "addLog", t, args(id, row, keep))
	if n := integer(reply); n < 0 {
		return 0, Code(n), err
	}
	return integer(reply), OK, err
}

// ClearLogs drops all but the newest keep rows of a job's log.
func (r *Runner) ClearLogs(ctx context.Context, t Target, id string, keep int) error {
	_, err := r.write(ctx, "clearLogs", t, args(id, keep))
	return err
}
