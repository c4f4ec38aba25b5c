package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/operation"

	"github.com/labstack/echo/v4"
)

// apiVersion is where the API is mounted. Acts are there under the paths they have for people.
const apiVersion = "/api/v1"

// apiReads are the API's reads by route pattern below apiVersion.
func (s *Server) apiReads() map[string]apiFunc {
	return map[string]apiFunc{
		"/queues":                  s.apiQueues,
		"/queues/:queue":           s.apiQueue,
		"/queues/:queue/jobs":      s.apiJobs,
		"/queues/:queue/jobs/:id":  s.apiJob,
		"/queues/:queue/policy":    s.apiPolicy,
		"/search":                  s.apiSearch,
		"/failures":                s.apiFailures,
		"/failures/letters":        s.apiLetters,
		"/operations":              s.apiOperations,
		"/operations/:op":          s.apiOperation,
		"/operations/:op/refusals": s.apiRefusals,
	}
}

// apiFunc answers a read with a value that becomes JSON.
type apiFunc func(ctx context.Context, r viewRequest) (any, error)

func (s *Server) serveAPI(f apiFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := s.identify(c.Request())
		if err != nil {
			return err
		}
		v, err := f(c.Request().Context(), s.viewRequest(c, who))
		if err != nil {
			return err
		}
		s.answer(c, http.StatusOK, echo.MIMEApplicationJSON, v)
		return nil
	}
}

// queueJSON is a queue as the API tells it. Figures that are not known are left out.
type queueJSON struct {
	Name       string               `json:"name"`
	Prefix     string               `json:"prefix"`
	Health     string               `json:"health"`
	Reason     string               `json:"reason"`
	Paused     bool                 `json:"paused"`
	Counts     map[keys.State]int64 `json:"counts,omitempty"`
	Backlog    *int64               `json:"backlog,omitempty"`
	OldestWait *float64             `json:"oldestWaitSeconds,omitempty"`
	Overdue    int64                `json:"overdue"`
	Workers    *int64               `json:"workers,omitempty"`
	Ceiling    *int64               `json:"ceiling,omitempty"`
	Limited    bool                 `json:"limited"`
	Rates      *ratesJSON           `json:"ratesPerSecond,omitempty"`
}

type ratesJSON struct {
	Added     float64 `json:"added"`
	Completed float64 `json:"completed"`
	Failed    float64 `json:"failed"`
	Retried   float64 `json:"retried"`
	Growth    float64 `json:"growth"`
}

func toQueueJSON(q *monitor.Queue) queueJSON {
	out := queueJSON{Name: q.Name, Prefix: q.Prefix, Health: healthName(q.Health), Reason: q.Reason, Paused: q.Paused, Counts: q.Counts, Overdue: q.Overdue, Limited: q.Limiter.Closed}
	if q.Counts != nil {
		out.Backlog = ptr(q.Backlog())
		out.OldestWait = ptr(q.OldestWait.Seconds())
	}
	if q.WorkersKnown {
		out.Workers = &q.Workers
	}
	if q.CeilingKnown {
		out.Ceiling = &q.Ceiling
	}
	if r := q.Rate; r.Known {
		out.Rates = &ratesJSON{r.Added, r.Completed, r.Failed, r.Retried, r.Growth}
	}
	return out
}

func ptr[T any](v T) *T { return &v }

func healthName(h monitor.Health) string {
	switch h {
	case monitor.NeedsAttention:
		return "needs-attention"
	case monitor.Watch:
		return "watch"
	case monitor.Healthy:
		return "healthy"
	case monitor.PausedHealth:
		return "paused"
	case monitor.Quiet:
		return "quiet"
	}
	return "unknown"
}

func (s *Server) apiQueues(_ context.Context, r viewRequest) (any, error) {
	match := filterQueues(visibleQueues(r), r.query.Get("q"))
	slices.SortStableFunc(match, queueOrder(r.query.Get("sort")).less)
	out := make([]queueJSON, 0, len(match))
	for _, q := range match {
		out = append(out, toQueueJSON(q))
	}
	return map[string]any{"at": r.snap.At, "stale": s.stale(r.snap, r.now), "queues": out}, nil
}

func (s *Server) apiQueue(_ context.Context, r viewRequest) (any, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	return toQueueJSON(q), nil
}

// rowJSON is one job of a list: no payload, only its size.
type rowJSON struct {
	ID           string     `json:"id"`
	Missing      bool       `json:"missing,omitempty"`
	Name         string     `json:"name,omitempty"`
	Timestamp    *time.Time `json:"timestamp,omitempty"`
	ProcessedOn  *time.Time `json:"processedOn,omitempty"`
	FinishedOn   *time.Time `json:"finishedOn,omitempty"`
	Due          *time.Time `json:"due,omitempty"`
	Priority     int64      `json:"priority,omitempty"`
	AttemptsMade int        `json:"attemptsMade"`
	Attempts     int        `json:"attempts"`
	FailedReason string     `json:"failedReason,omitempty"`
	ProcessedBy  string     `json:"processedBy,omitempty"`
	DataSize     int64      `json:"dataSize"`
}

// known is a time as JSON, left out when it is not known.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func toRowJSON(r engine.Row) rowJSON {
	return rowJSON{
		ID: r.ID, Missing: r.Missing, Name: r.Name, Timestamp: known(r.Timestamp), ProcessedOn: known(r.ProcessedOn),
		FinishedOn: known(r.FinishedOn), Due: known(r.Due), Priority: r.Priority, AttemptsMade: r.AttemptsMade, Attempts: r.Attempts,
		FailedReason: r.FailedReason, ProcessedBy: r.ProcessedBy, DataSize: r.DataSize,
	}
}

// apiJobs lists jobs of one state: ?state=, ?order=asc|desc, ?page=, ?size= up to 100, ?q= for those that match.
func (s *Server) apiJobs(ctx context.Context, r viewRequest) (any, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	t, err := tabOf(r, q)
	if err != nil {
		return nil, err
	}
	size, asc := sizeOf(r), listingOf(t.state).asc
	if o := r.query.Get("order"); o != "" {
		asc = o == "asc"
	}
	query, err := s.parseQuery(r.query, r.now)
	if err != nil {
		return nil, err
	}
	if !query.Empty() {
		return s.apiMatches(ctx, r, q, t, query, size, asc)
	}
	page := int64(pageNumber(r.query))
	rows, total, err := s.tabRows(ctx, q, t, (page-1)*size, size, asc)
	if err != nil {
		return nil, err
	}
	out := make([]rowJSON, 0, len(rows))
	for _, row := range rows {
		out = append(out, toRowJSON(row))
	}
	return map[string]any{"state": t.name, "total": total, "page": page, "size": size, "jobs": out}, nil
}

// jobJSON is one job with its payloads, masked; a payload over the limit is left out and its size told.
type jobJSON struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	State           keys.State       `json:"state"`
	Data            json.RawMessage  `json:"data,omitempty"`
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
	FailedReason    string           `json:"failedReason,omitempty"`
	Stacktrace      []string         `json:"stacktrace,omitempty"`
	ProcessedBy     string           `json:"processedBy,omitempty"`
	Logs            int64            `json:"logs"`
	Sizes           map[string]int64 `json:"sizes"`
}

func (s *Server) apiJob(ctx context.Context, r viewRequest) (any, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	j, err := s.peek(ctx, r, q, r.params["id"])
	if err != nil {
		return nil, err
	}
	return jobJSON{
		ID: j.ID, Name: j.Name, State: j.State, Data: s.whole(j, "data"), ReturnValue: s.whole(j, "returnvalue"), Progress: s.whole(j, "progress"),
		Timestamp: known(j.Timestamp), ProcessedOn: known(j.ProcessedOn), FinishedOn: known(j.FinishedOn), Due: known(j.Due),
		Priority: j.Priority, AttemptsMade: j.AttemptsMade, AttemptsStarted: j.AttemptsStarted, Attempts: j.AttemptsAllowed(),
		FailedReason: j.FailedReason, Stacktrace: j.Stacktrace, ProcessedBy: j.ProcessedBy, Logs: j.Logs, Sizes: j.Sizes,
	}, nil
}

// whole is a stored field as JSON: nothing when it is absent or was cut, a string when it is not JSON.
func (s *Server) whole(j *engine.Peek, field string) json.RawMessage {
	text, ok := j.Fields[field]
	if !ok || int64(len(text)) < j.Sizes[field] {
		return nil
	}
	return s.asJSON([]byte(text))
}

func (s *Server) apiOperations(_ context.Context, r viewRequest) (any, error) {
	out := []operation.Status{}
	for _, st := range s.ops.List() {
		if s.mayOperation(r.who, Viewer, st) {
			out = append(out, st)
		}
	}
	return map[string]any{"operations": out}, nil
}

// operationOf finds an operation the caller may see.
func (s *Server) operationOf(r viewRequest) (*operation.Operation, error) {
	op, err := s.findOperation(r.params["op"])
	if err == nil && !s.mayOperation(r.who, Viewer, op.Status()) {
		return nil, s.noOperation(r.params["op"])
	}
	return op, err
}

func (s *Server) apiOperation(_ context.Context, r viewRequest) (any, error) {
	op, err := s.operationOf(r)
	if err != nil {
		return nil, err
	}
	return op.Status(), nil
}

func (s *Server) apiRefusals(_ context.Context, r viewRequest) (any, error) {
	op, err := s.operationOf(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"refusals": op.Refusals()}, nil
}
