package web

import (
	"context"
	"strconv"
	"strings"

	"bullpen/internal/monitor"
	"bullpen/internal/search"
)

// foundJSON is a job that was found.
type foundJSON struct {
	Queue string `json:"queue"`
	State string `json:"state"`
	rowJSON
}

// lookJSON is what one look found and how far it came.
type lookJSON struct {
	// By is "id" when the text was found as an id, else "scan".
	By     string      `json:"by" enum:"id,scan"`
	Jobs   []foundJSON `json:"jobs"`
	Looked int64       `json:"looked"`
	// Total is about how many jobs there are to look at.
	Total int64 `json:"total"`
	// Unread counts payloads that were too large to be looked into.
	Unread   int64 `json:"unread"`
	Complete bool  `json:"complete"`
	// Next goes into "from" to go on.
	Next     string        `json:"next,omitempty"`
	Troubles []troubleJSON `json:"troubles,omitempty"`
}

type troubleJSON struct {
	Queue string `json:"queue"`
	State string `json:"state"`
	Error string `json:"error"`
}

func toLookJSON(f foundJobs, total int64) lookJSON {
	out := lookJSON{By: "scan", Jobs: toFoundJSON(f.jobs), Looked: f.Looked, Total: total, Unread: f.Unread, Complete: f.Next == nil}
	if f.Next != nil {
		out.Next = f.Next.String()
	}
	for _, t := range f.Troubles {
		out.Troubles = append(out.Troubles, troubleJSON{t.Queue.Qualified(), string(t.State), oneLine(t.Err)})
	}
	return out
}

func toFoundJSON(jobs []*search.Job) []foundJSON {
	out := make([]foundJSON, 0, len(jobs))
	for _, j := range jobs {
		out = append(out, foundJSON{j.Queue.Qualified(), string(j.State), toRowJSON(j.Row)})
	}
	return out
}

// apiSearch searches all queues: ?q=, ?from= to go on, ?scan=1 to look for the text of an id elsewhere too.
func (s *Server) apiSearch(ctx context.Context, r viewRequest) (any, error) {
	from, err := cursor(r.query)
	if err != nil {
		return nil, err
	}
	q, _, problem := s.readTerms(r.query, r.now)
	text := strings.TrimSpace(strings.Join(r.query["q"], " "))
	if from == nil && r.query.Get("scan") == "" {
		byID, err := s.findID(ctx, r, idOf(text, q))
		if err != nil {
			return nil, err
		}
		if _, only := q.ID(); len(byID) > 0 || only && problem == nil {
			return lookJSON{By: "id", Jobs: toFoundJSON(byID), Complete: true}, nil
		}
	}
	if q, err = s.parseQuery(r.query, r.now); err != nil {
		return nil, err
	}
	found, total, err := s.searchAll(ctx, r, q, from)
	if err != nil && len(found.jobs) == 0 {
		return nil, err
	}
	return toLookJSON(found, total), nil
}

// matchListJSON are the jobs in a state that match, as far as one look reached.
type matchListJSON struct {
	State string `json:"state"`
	Size  int64  `json:"size"`
	lookJSON
}

// apiMatches lists the jobs of a tab that match: ?q=, ?from=, ?size= up to 100.
func (s *Server) apiMatches(ctx context.Context, r viewRequest, q *monitor.Queue, t tab, query *search.Query, size int64, oldest bool) (any, error) {
	from, err := cursor(r.query)
	if err != nil {
		return nil, err
	}
	eq, err := s.o.Queue(q.Queue)
	if err != nil {
		return nil, err
	}
	limits := lookLimits
	limits.Found = size
	found, err := s.scans.look(ctx, query, []search.List{t.list(eq, q, oldest)}, from, limits)
	if err != nil {
		return nil, err
	}
	return matchListJSON{t.name, size, toLookJSON(found, t.count(q))}, nil
}

// sizeOf is how many jobs a page of the API has.
func sizeOf(r viewRequest) int64 {
	if n, err := strconv.ParseInt(r.query.Get("size"), 10, 64); err == nil && n > 0 {
		return min(n, 100)
	}
	return jobRows
}
