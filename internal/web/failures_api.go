package web

import (
	"context"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/failures"
)

// groupJSON is a group of failed jobs as the API tells it.
type groupJSON struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Error string `json:"error"`
	Count int64  `json:"count"`
	// Unrecoverable counts those that failed for good with attempts left.
	Unrecoverable int64 `json:"unrecoverable"`
	// Trend is how many failed in each of the last 24 hours, the present one last.
	Trend  [failures.Hours]int64 `json:"trend" doc:"how many failed in each of the last 24 hours, the present one last"`
	First  time.Time             `json:"firstSeen"`
	Last   time.Time             `json:"lastSeen"`
	Sample struct {
		Queue string `json:"queue"`
		ID    string `json:"id"`
		Error string `json:"error"`
	} `json:"sample"`
	Queues map[string]int64 `json:"queues"`
}

// groupsJSON are groups of failed jobs, and how many of the failed jobs they are made of.
type groupsJSON struct {
	At       time.Time   `json:"at"`
	Seen     int64       `json:"seen"`
	Total    int64       `json:"total"`
	Complete bool        `json:"complete"`
	Groups   []groupJSON `json:"groups"`
}

// apiFailures lists the groups of failed jobs: ?q=, ?within=1h|24h, ?sort=newest|rising.
func (s *Server) apiFailures(ctx context.Context, r viewRequest) (any, error) {
	return s.apiGroups(ctx, r, s.failedGrouping())
}

// apiLetters lists the groups of dead letters likewise.
func (s *Server) apiLetters(ctx context.Context, r viewRequest) (any, error) {
	return s.apiGroups(ctx, r, s.letterGrouping())
}

func (s *Server) apiGroups(ctx context.Context, r viewRequest, of grouping) (any, error) {
	rep := of.report(ctx, r.snap)
	visible := func(q keys.Queue) bool { return r.who.May(Viewer, q) }
	seen, total := rep.Seen(visible)
	out := []groupJSON{}
	for _, g := range s.filterGroups(r, rep.Groups(visible)) {
		x := groupJSON{ID: g.ID, Name: g.Name, Error: g.Error, Count: g.Count, Unrecoverable: g.Final, Trend: g.Trend, First: g.First, Last: g.Last, Queues: map[string]int64{}}
		x.Sample.Queue, x.Sample.ID, x.Sample.Error = g.Sample.Queue.Qualified(), g.Sample.ID, g.Sample.Error
		for _, q := range g.Queues {
			x.Queues[q.Queue.Qualified()] = q.Count
		}
		out = append(out, x)
	}
	return groupsJSON{rep.At, seen, total, seen >= total, out}, nil
}
