package scripts

import (
	"context"

	"bullpen/internal/engine/keys"
)

// States tells in which state each job is, keys.Unknown if in none (lifecycle 9).
func (r *Runner) States(ctx context.Context, t Target, ids []string) ([]keys.State, error) {
	panic("stub")
}

// Finished tells how a job ended and gives its return value (JSON) or failure reason; s is keys.Unknown while it has
// not ended. Code: JobMissing.
func (r *Runner) Finished(ctx context.Context, t Target, id string) (s keys.State, result string, c Code, err error) {
	panic("stub")
}

// Counts is how many jobs are in each state; the list of BullMQ 5.x for paused queues counts as waiting.
func (r *Runner) Counts(ctx context.Context, t Target) (map[keys.State]int64, error) { panic("stub") }

// Row is what a list shows of a job. Times are milliseconds, 0 when absent.
type Row struct {
	ID              string
	Missing         bool // the id is listed but its hash is gone
	Name            string
	Timestamp       int64
	Delay           int64
	ProcessedOn     int64
	FinishedOn      int64
	Priority        int64
	AttemptsMade    int64
	AttemptsStarted int64
	Attempts        int64 // total allowed, 0 when the options do not say or are too large to look into
	Stalls          int64
	ProcessedBy     string
	Deferred        string
	FailedReason    string // at most 300 bytes, cut anywhere
	ParentKey       string
	DataSize        int64   // bytes
	Locked          bool    // active jobs only
	Score           float64 // in the state's sorted set, 0 in a list
}

// Rows reads entries start..end (inclusive, 0-based) of a state and the number of all its entries. asc: next to run or
// oldest first; otherwise newest first (lifecycle 9).
func (r *Runner) Rows(ctx context.Context, t Target, s keys.State, start, end int64, asc bool) (rows []Row, total int64, err error) {
	panic("stub")
}

// RowsByID reads the rows of the given ids, in order.
func (r *Runner) RowsByID(ctx context.Context, t Target, ids []string) ([]Row, error) { panic("stub") }
