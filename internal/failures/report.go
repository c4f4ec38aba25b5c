package failures

import (
	"cmp"
	"slices"
	"time"

	"bullpen/internal/engine/keys"
)

// Hours is how many hours a group's trend covers.
const Hours = 24

// Report is what a pass found. It does not change.
type Report struct {
	// At is when the pass ended, Took how long it lasted.
	At   time.Time
	Took time.Duration
	// Queues are the queues with failed jobs.
	Queues []QueueReport
}

// QueueReport is what is known of one queue's failed jobs.
type QueueReport struct {
	Queue keys.Queue
	// Seen of Total failed jobs were looked at, the newest ones.
	Seen, Total int64
	// Since is when the oldest of them failed; zero when none was seen.
	Since time.Time
	// Err says why the queue could not be read this time; the figures are then those of an earlier pass.
	Err   error
	parts []part
}

// part is a group's share in one queue.
type part struct {
	kind        kind
	id          string
	jobs        int64
	final       int64
	hours       [Hours]int64
	first, last time.Time
	sample      Sample
}

// kind is what the jobs of a group have in common.
type kind struct{ name, text string }

// Group is failed jobs with one name and one folded error.
type Group struct {
	// ID names the group, the same in every process.
	ID string
	// Name is the name of its jobs, Error their folded error; both can be empty.
	Name, Error string
	Count       int64
	// Final is how many failed for good although attempts were left.
	Final int64
	// Trend is how many failed in each of the last 24 hours, oldest first. The last one is the hour under way.
	Trend       [Hours]int64
	First, Last time.Time
	Sample      Sample
	// Queues are those it was seen in, most first.
	Queues []Share
}

// Share is how many of a group are in a queue.
type Share struct {
	Queue keys.Queue
	Count int64
}

// Sample is a job of a group, with its error as it is. It may have left since.
type Sample struct {
	Queue keys.Queue
	ID    string
	Error string
	At    time.Time
}

// Groups merges the queues that may be seen into groups, the largest first.
func (r *Report) Groups(visible func(keys.Queue) bool) []Group {
	byID := map[string]*Group{}
	for _, q := range r.Queues {
		if !visible(q.Queue) {
			continue
		}
		for _, p := range q.parts {
			g := byID[p.id]
			if g == nil {
				g = &Group{ID: p.id, Name: p.kind.name, Error: p.kind.text, First: p.first}
				byID[p.id] = g
			}
			g.add(q.Queue, p)
		}
	}
	out := make([]Group, 0, len(byID))
	for _, g := range byID {
		slices.SortFunc(g.Queues, func(a, b Share) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Queue.Qualified(), b.Queue.Qualified()))
		})
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID)) })
	return out
}

func (g *Group) add(q keys.Queue, p part) {
	g.Count += p.jobs
	g.Final += p.final
	for i, n := range p.hours {
		g.Trend[i] += n
	}
	if p.first.Before(g.First) {
		g.First = p.first
	}
	if p.last.After(g.Last) {
		g.Last = p.last
	}
	if p.sample.At.After(g.Sample.At) {
		g.Sample = p.sample
	}
	g.Queues = append(g.Queues, Share{q, p.jobs})
}

// Seen sums up how many failed jobs the groups are made of, of how many there are.
func (r *Report) Seen(visible func(keys.Queue) bool) (seen, total int64) {
	for _, q := range r.Queues {
		if visible(q.Queue) {
			seen, total = seen+q.Seen, total+q.Total
		}
	}
	return seen, total
}
