package web

import (
	"context"
	"encoding/json"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

// jobJSON is one job with its payloads, masked; a payload over the limit is left out and its size told.
type jobJSON struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	State           keys.State       `json:"state"`
	Data            json.RawMessage  `json:"data,omitempty"`
	Options         json.RawMessage  `json:"opts,omitempty" doc:"under BullMQ's names"`
	ReturnValue     json.RawMessage  `json:"returnvalue,omitempty"`
	Progress        json.RawMessage  `json:"progress,omitempty"`
	Timestamp       *time.Time       `json:"timestamp,omitempty"`
	ProcessedOn     *time.Time       `json:"processedOn,omitempty"`
	FinishedOn      *time.Time       `json:"finishedOn,omitempty"`
	Due             *time.Time       `json:"due,omitempty"`
	Priority        int64            `json:"priority"`
	AttemptsMade    int              `json:"attemptsMade"`
	AttemptsStarted int              `json:"attemptsStarted"`
	Attempts        int              `json:"attempts"`
	Stalled         int              `json:"stalled"`
	FailedReason    string           `json:"failedReason,omitempty"`
	Deferred        string           `json:"willFail,omitempty" doc:"why it fails when a worker takes it"`
	Stacktrace      []string         `json:"stacktrace,omitempty"`
	ProcessedBy     string           `json:"processedBy,omitempty"`
	ParentKey       string           `json:"parentKey,omitempty"`
	Children        *childrenJSON    `json:"children,omitempty"`
	Logs            int64            `json:"logs"`
	Sizes           map[string]int64 `json:"sizes" doc:"bytes of each stored field"`
}

// childrenJSON counts the children of a job by how they stand.
type childrenJSON struct {
	Pending   int64 `json:"pending"`
	Completed int64 `json:"completed"`
	Ignored   int64 `json:"ignored"`
	Failed    int64 `json:"failed"`
}

func (s *Server) apiJob(ctx context.Context, r viewRequest) (any, error) {
	j, err := s.peekOf(ctx, r)
	if err != nil {
		return nil, err
	}
	out := jobJSON{
		ID: j.ID, Name: j.Name, State: j.State, Data: s.whole(j, "data"), ReturnValue: s.whole(j, "returnvalue"), Progress: s.whole(j, "progress"),
		Timestamp: known(j.Timestamp), ProcessedOn: known(j.ProcessedOn), FinishedOn: known(j.FinishedOn), Due: known(j.Due),
		Priority: j.Priority, AttemptsMade: j.AttemptsMade, AttemptsStarted: j.AttemptsStarted, Attempts: j.AttemptsAllowed(), Stalled: j.StalledCount,
		FailedReason: j.FailedReason, Deferred: j.DeferredFailure, Stacktrace: j.Stacktrace, ProcessedBy: j.ProcessedBy, ParentKey: visibleKey(r.who, j.ParentKey),
		Logs: j.Logs, Sizes: j.Sizes,
	}
	if raw := s.whole(j, "opts"); raw != nil {
		out.Options = s.asJSON(visibleOptions(r.who, j.Queue().Prefix, engine.PublicOptions(raw)))
	}
	if c := (childrenJSON{j.Pending, j.Processed, j.Ignored, j.Unsuccessful}); c != (childrenJSON{}) {
		out.Children = &c
	}
	return out, nil
}

// whole is a stored field as JSON: nothing when it is absent or was cut, a string when it is not JSON.
func (s *Server) whole(j *engine.Peek, field string) json.RawMessage {
	text, ok := j.Fields[field]
	if !ok || int64(len(text)) < j.Sizes[field] {
		return nil
	}
	return s.asJSON([]byte(text))
}

// logsJSON is a page of a job's log rows.
type logsJSON struct {
	Total int64    `json:"total"`
	Page  int64    `json:"page"`
	Size  int64    `json:"size"`
	Rows  []string `json:"rows" doc:"each cut at 2,000 bytes"`
	Left  int64    `json:"leftOut,omitempty" doc:"rows of the page that are left out because those before them have 4 MB; a smaller size reaches them"`
}

func (s *Server) apiLogs(ctx context.Context, r viewRequest) (any, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	queue, err := s.engineOf(q.Queue)
	if err != nil {
		return nil, err
	}
	page, size := int64(pageNumber(r.query)), sizeOf(r)
	rows, total, err := queue.PeekLogs(ctx, r.params["id"], (page-1)*size, page*size-1, r.query.Get("order") == "asc")
	if err != nil {
		return nil, err
	}
	out := logsJSON{Total: total, Page: page, Size: size, Rows: make([]string, len(rows))}
	out.Left = max(min(size, total-(page-1)*size)-int64(len(rows)), 0)
	for i, row := range rows {
		out.Rows[i] = logRow(s.maskedRow(row), row.Size)
	}
	return out, nil
}
