package engine

import (
	"context"
	"fmt"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"
)

// Row is one line of a list: named fields only, never the payload.
type Row struct {
	ID              string
	Missing         bool   // the id is listed but its hash is gone
	Name            string // like all texts here, its first 1,000 bytes
	Timestamp       time.Time
	ProcessedOn     time.Time // zero when absent, as below
	FinishedOn      time.Time
	Due             time.Time // delayed jobs listed by Rows: when they become ready
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
	found, total, err := q.runner.Rows(ctx, q.target, s, start, end, asc)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s jobs of %s: %w", s, q.Name, err)
	}
	rows = decodeRows(found)
	if s == keys.Delayed {
		for i := range rows {
			rows[i].Due = dueTime(found[i].Score)
		}
	}
	return rows, total, nil
}

// RowsByID reads the rows of the given ids, in their order.
func (q *Queue) RowsByID(ctx context.Context, ids []string) ([]Row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := q.runner.RowsByID(ctx, q.target, ids)
	if err != nil {
		return nil, fmt.Errorf("read jobs of %s: %w", q.Name, err)
	}
	return decodeRows(found), nil
}

func decodeRows(found []scripts.Row) []Row {
	rows := make([]Row, len(found))
	for i, r := range found {
		rows[i] = Row{
			ID: r.ID, Missing: r.Missing, Name: r.Name,
			Timestamp:   instant(float64(r.Timestamp)),
			ProcessedOn: instant(float64(r.ProcessedOn)),
			FinishedOn:  instant(float64(r.FinishedOn)),
			Priority:    r.Priority, AttemptsMade: int(r.AttemptsMade), AttemptsStarted: int(r.AttemptsStarted),
			Attempts:     int(max(r.Attempts, 1)),
			FailedReason: firstLine(r.FailedReason, 300),
			ProcessedBy:  r.ProcessedBy, DataSize: r.DataSize, Locked: r.Locked, Stalls: int(r.Stalls),
			ParentKey: r.ParentKey, Deferred: r.Deferred,
		}
	}
	return rows
}
