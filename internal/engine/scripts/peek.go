package scripts

import (
	"context"
	"strconv"
	"time"

	"bullpen/internal/engine/keys"
)

// Peeked is one job with every field cut to a length.
type Peeked struct {
	State  keys.State
	Locked time.Duration // what is left of its lock, negative without one
	Score  float64       // in the state's sorted set, 0 in a list
	Logs   int64
	// Children by how they stand: unfinished, completed, failed but ignored, failed.
	Pending, Processed, Ignored, Unsuccessful int64
	Fields                                    map[string]string
	Sizes                                     map[string]int64 // bytes of each field before it was cut
}

// peekCells is how many values stand before the fields.
const peekCells = 8

// Peek reads one job, of each field at most limit bytes, and nothing of a longer payload unless long. A job without a hash
// has no fields.
func (r *Runner) Peek(ctx context.Context, t Target, id string, limit int, long bool) (*Peeked, error) {
	reply, err := r.read(ctx, "getJob", t, args(id, limit, long))
	if err != nil {
		return nil, err
	}
	l := list(reply)
	if len(l) < peekCells {
		return nil, badReply("getJob", reply)
	}
	p := &Peeked{
		State: keys.State(text(l[0])), Locked: time.Duration(integer(l[1])) * time.Millisecond, Logs: integer(l[3]),
		Pending: integer(l[4]), Processed: integer(l[5]), Ignored: integer(l[6]), Unsuccessful: integer(l[7]),
		Fields: map[string]string{}, Sizes: map[string]int64{},
	}
	p.Score, _ = strconv.ParseFloat(text(l[2]), 64)
	for i := peekCells; i+2 < len(l); i += 3 {
		name := text(l[i])
		p.Sizes[name], p.Fields[name] = integer(l[i+1]), text(l[i+2])
	}
	return p, nil
}

// LogRow is the beginning of a log row and the length of all of it.
type LogRow struct {
	Text string
	Size int64
}

// Logs reads rows start..end (inclusive, 0-based) of a job's log and the number of all; asc: oldest first. Of each row at
// most each bytes are kept, and no further row is read after total bytes.
func (r *Runner) Logs(ctx context.Context, t Target, id string, start, end int64, asc bool, each, total int) (rows []LogRow, kept int64, err error) {
	reply, err := r.read(ctx, "getLogs", t, args(id, start, end, asc, each, total))
	if err != nil {
		return nil, 0, err
	}
	l := list(reply)
	if len(l) == 0 {
		return nil, 0, badReply("getLogs", reply)
	}
	for i := 1; i+1 < len(l); i += 2 {
		rows = append(rows, LogRow{Text: text(l[i+1]), Size: integer(l[i])})
	}
	return rows, integer(l[0]), nil
}

// Event is an entry of the event stream.
type Event struct {
	ID     string
	Fields map[string]string // cut to 300 bytes each
}

// JobEvents picks the events of one job out of at most budget entries of the stream between two times. oldest is the
// stream's first entry, "" when it is empty; whole says that the budget sufficed.
func (r *Runner) JobEvents(ctx context.Context, t Target, id string, from, to time.Time, budget int) (events []Event, oldest string, whole bool, err error) {
	reply, err := r.read(ctx, "getJobEvents", t, args(id, from, to, budget))
	if err != nil {
		return nil, "", false, err
	}
	l := list(reply)
	if len(l) < 2 {
		return nil, "", false, badReply("getJobEvents", reply)
	}
	for i := 2; i+1 < len(l); i += 2 {
		events = append(events, Event{ID: text(l[i]), Fields: pairs(l[i+1])})
	}
	return events, text(l[0]), integer(l[1]) == 1, nil
}
