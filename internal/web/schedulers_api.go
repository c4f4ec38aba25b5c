package web

import (
	"context"
	"encoding/json"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/web/openapi"
)

// schedulerJSON is a scheduler as the API tells it: data masked, options with BullMQ's public names.
type schedulerJSON struct {
	Key        string       `json:"key"`
	Queue      string       `json:"queue"`
	Origin     string       `json:"origin" enum:"scheduler,repeatable,legacy,unknown"`
	Pending    bool         `json:"pending"`
	Overdue    bool         `json:"overdue"`
	Rhythm     string       `json:"rhythm"`
	Pattern    string       `json:"pattern,omitempty"`
	TZ         string       `json:"tz,omitempty"`
	Every      int64        `json:"every,omitempty" doc:"milliseconds"`
	Offset     int64        `json:"offset,omitempty" doc:"milliseconds"`
	Limit      *int64       `json:"limit,omitempty"`
	StartDate  *time.Time   `json:"startDate,omitempty"`
	EndDate    *time.Time   `json:"endDate,omitempty"`
	Iterations int64        `json:"iterationCount"`
	Count      int64        `json:"count"`
	Next       *time.Time   `json:"next,omitempty"`
	Job        *firedJSON   `json:"job,omitempty"`
	Last       *firedJSON   `json:"last,omitempty"`
	Firings    []time.Time  `json:"firings"`
	Template   templateJSON `json:"template"`
	Version    string       `json:"version" doc:"goes into seen and version of the acts on it"`
}

// schedulersJSON is a page of schedulers.
type schedulersJSON struct {
	Total      int64           `json:"total"`
	Page       int64           `json:"page"`
	Size       int64           `json:"size"`
	Schedulers []schedulerJSON `json:"schedulers"`
}

// firedJSON is a firing and its job.
type firedJSON struct {
	At    *time.Time `json:"at,omitempty"`
	JobID string     `json:"jobId,omitempty"`
	State keys.State `json:"state"`
}

type templateJSON struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"`
	Opts json.RawMessage `json:"opts"`
}

var originNames = map[engine.Origin]string{
	engine.OriginBullMQ: "scheduler", engine.OriginRepeatable: "repeatable", engine.OriginLegacy: "legacy", engine.OriginUnknown: "unknown",
}

func (s *Server) toSchedulerJSON(q keys.Queue, f scheduled, now time.Time) schedulerJSON {
	r := f.Repeat
	out := schedulerJSON{
		Key: f.ID, Queue: q.Qualified(), Origin: originNames[f.Origin], Pending: f.Pending, Overdue: f.overdue(now), Rhythm: rhythm(f),
		Pattern: r.Pattern, TZ: r.TZ, Every: r.Every.Milliseconds(), Offset: r.Offset.Milliseconds(), Limit: r.Limit,
		StartDate: known(r.StartDate), EndDate: known(r.EndDate), Iterations: f.Iterations, Count: f.Count, Next: known(f.Next),
		Template: templateJSON{Name: f.Name, Opts: f.PublicOptions()}, Version: schedulerVersion(&f.Scheduler), Firings: []time.Time{},
	}
	if f.current != keys.Unknown {
		out.Job = &firedJSON{At: known(f.Next), JobID: f.JobID, State: f.current}
	}
	if at, id := f.LastRun(); !at.IsZero() && !at.After(now) {
		out.Last = &firedJSON{At: &at, JobID: id, State: f.last}
	}
	if runs, err := f.NextRuns(now, firingsShown); err == nil && runs != nil {
		out.Firings = runs
	}
	if len(f.Data) > 0 {
		out.Template.Data = s.asJSON(f.Data)
	}
	if s.o.Mask != nil {
		out.Template.Opts = jsonview.Redact(out.Template.Opts, s.o.Mask)
	}
	return out
}

// schedulerReads are the reads of the API about schedulers.
func (s *Server) schedulerReads() []apiRead {
	paged := []openapi.Field{askPage, askSize}
	return []apiRead{
		{path: "/schedulers", about: "Schedulers of all queues, one queue after the other.", query: paged, body: schedulersJSON{}, do: s.apiSchedulers},
		{path: "/queues/:queue/schedulers", about: "Schedulers of a queue, next to fire first.", query: paged, body: schedulersJSON{}, do: s.apiQueueSchedulers},
		{path: "/queues/:queue/schedulers/:scheduler", about: "One scheduler, with its next firings.", body: schedulerJSON{}, do: s.apiScheduler},
	}
}

// newSchedule are the members of a scheduler to be saved.
func newSchedule(made bool) []openapi.Field {
	out := []openapi.Field{
		{Name: "every", Type: "string", About: "such as 30s or 12h, instead of pattern"},
		{Name: "pattern", Type: "string", About: "a cron pattern of up to six fields, seconds first"},
		{Name: "tz", Type: "string", About: "zone of the pattern; default UTC"},
		{Name: "start", Type: "string", About: "not before, such as 2027-01-31 18:00 in that zone"},
		{Name: "end", Type: "string", About: "not after, likewise"},
		{Name: "limit", Type: "integer", About: "at most so many firings from now on"},
		{Name: "name", Type: "string", About: "name of its jobs; default the key"},
		{Name: "attempts", Type: "integer"},
		{Name: "priority", Type: "integer", About: "1 runs first; 0 is none"},
		takeData,
	}
	if made {
		return append([]openapi.Field{{Name: "key", Type: "string", About: "names it for ever", Required: true}}, append(out,
			openapi.Field{Name: "immediately", Type: "boolean", About: "a pattern fires at once as well"})...)
	}
	return append(out, openapi.Field{Name: "version", Type: "string", About: "as told when it was read; the act asks again when it has changed since"})
}

// apiQueueSchedulers lists the schedulers of a queue, next to fire first: ?page=, ?size= up to 100.
func (s *Server) apiQueueSchedulers(ctx context.Context, r viewRequest) (any, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	page, size := int64(pageNumber(r.query)), sizeOf(r)
	all, total, err := s.readSchedulers(ctx, q.Queue, (page-1)*size, page*size-1)
	if err != nil {
		return nil, err
	}
	out := make([]schedulerJSON, 0, len(all))
	for _, f := range all {
		out = append(out, s.toSchedulerJSON(q.Queue, f, r.now))
	}
	return schedulersJSON{total, page, size, out}, nil
}

// apiSchedulers lists the schedulers of all queues, one queue after the other: ?page=, ?size= up to 100.
func (s *Server) apiSchedulers(ctx context.Context, r viewRequest) (any, error) {
	queues, total := scheduledQueues(r)
	page, size := int64(pageNumber(r.query)), sizeOf(r)
	out := []schedulerJSON{}
	for _, cut := range cutQueues(queues, (page-1)*size, size) {
		all, _, err := s.readSchedulers(ctx, cut.q.Queue, cut.first, cut.last)
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			out = append(out, s.toSchedulerJSON(cut.q.Queue, f, r.now))
		}
	}
	return schedulersJSON{total, page, size, out}, nil
}

// apiScheduler is one scheduler.
func (s *Server) apiScheduler(ctx context.Context, r viewRequest) (any, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	f, err := s.schedulerOf(ctx, r, q)
	if err != nil {
		return nil, err
	}
	return s.toSchedulerJSON(q.Queue, f, r.now), nil
}
