package scripts

import (
	"context"
	"strconv"

	"bullpen/internal/engine/keys"
)

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
	reply, err := r.read(ctx, "getRange", t, args(string(s), start, end, asc))
	if err != nil {
		return nil, 0, err
	}
	l := list(reply)
	if len(l) == 0 {
		return nil, 0, badReply("getRange", reply)
	}
	for i := 1; i+1 < len(l); i += 2 {
		row := newRow(texts(l[i+1]))
		row.Locked = row.Locked && s == keys.Active
		row.Score, _ = strconv.ParseFloat(text(l[i]), 64)
		rows = append(rows, row)
	}
	return rows, integer(l[0]), nil
}

// RowsByID reads the rows of the given ids, in order.
func (r *Runner) RowsByID(ctx context.Context, t Target, ids []string) ([]Row, error) {
	reply, err := r.read(ctx, "getRows", t, args().texts(ids))
	if err != nil {
		return nil, err
	}
	l := list(reply)
	out := make([]Row, len(l))
	for i, cells := range l {
		out[i] = newRow(texts(cells))
	}
	return out, nil
}

// newRow reads the cells of includes/row.lua.
func newRow(cells []string) Row {
	c := make([]string, rowCells)
	copy(c, cells)
	return Row{
		ID: c[0], Missing: c[1] != "1", Locked: c[2] == "1", DataSize: integer(c[3]), Attempts: integer(c[4]),
		FailedReason: c[5], Name: c[6], Timestamp: integer(c[7]), Delay: integer(c[8]), ProcessedOn: integer(c[9]),
		FinishedOn: integer(c[10]), Priority: integer(c[11]), AttemptsMade: attemptsMade(c[12], c[13]), AttemptsStarted: integer(c[14]),
		Stalls: max(integer(c[15]), integer(c[16])), ProcessedBy: c[17], Deferred: c[18], ParentKey: c[19],
	}
}

// attemptsMade adds what very old versions counted in a field of their own to what has been counted since.
func attemptsMade(now, old string) int64 { return max(integer(now), 0) + max(integer(old), 0) }

// rowCells is how many cells a row has.
const rowCells = 20
