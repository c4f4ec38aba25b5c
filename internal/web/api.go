package web

import (
	"context"
	"slices"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
)

// apiVersion is where the API is mounted. Acts are there under the paths they have for people.
const apiVersion = "/api/v1"

// queueJSON is a queue as the API tells it. Figures that are not known are left out.
type queueJSON struct {
	Name       string               `json:"name"`
	Prefix     string               `json:"prefix"`
	Health     string               `json:"health" enum:"needs-attention,watch,healthy,paused,quiet,unknown"`
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

// queuesJSON are the queues at a time; stale says that no new figures have come since.
type queuesJSON struct {
	At     time.Time   `json:"at"`
	Stale  bool        `json:"stale" doc:"Redis has not answered since"`
	Queues []queueJSON `json:"queues"`
}

// queueDetailJSON is a queue and its last hour, oldest minute first.
type queueDetailJSON struct {
	queueJSON
	Minutes []minuteJSON `json:"minutes"`
}

// minuteJSON is what happened in a minute. Times are milliseconds, 0 when nothing was seen.
type minuteJSON struct {
	Start     time.Time `json:"start"`
	Added     int64     `json:"added"`
	Completed int64     `json:"completed"`
	Failed    int64     `json:"failed"`
	Retried   int64     `json:"retried"`
	Stalled   int64     `json:"stalled"`
	WaitP50   float64   `json:"waitP50Milliseconds"`
	WaitP95   float64   `json:"waitP95Milliseconds"`
	RunP50    float64   `json:"runP50Milliseconds"`
	RunP95    float64   `json:"runP95Milliseconds"`
	Seen      int64     `json:"seen" doc:"how many attempts the percentiles are made of"`
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
	return queuesJSON{r.snap.At, s.stale(r.snap, r.now), out}, nil
}

func (s *Server) apiQueue(_ context.Context, r viewRequest) (any, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	out := queueDetailJSON{toQueueJSON(q), make([]minuteJSON, 0, len(q.History))}
	for _, m := range q.History {
		out.Minutes = append(out.Minutes, minuteJSON{
			m.Start, m.Added, m.Completed, m.Failed, m.Retried, m.Stalled, m.WaitP50, m.WaitP95, m.RunP50, m.RunP95, m.Seen,
		})
	}
	return out, nil
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

// jobListJSON is a page of the jobs in a state.
type jobListJSON struct {
	State string    `json:"state"`
	Total int64     `json:"total"`
	Page  int64     `json:"page"`
	Size  int64     `json:"size"`
	Jobs  []rowJSON `json:"jobs"`
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
	return jobListJSON{t.name, total, page, size, out}, nil
}
