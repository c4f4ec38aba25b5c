package web

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

const (
	// workerQueues is how many queues a page of workers shows.
	workerQueues = 20
	// activeRead is how many active jobs of a queue are looked at to say who runs them.
	activeRead = 100
)

// workersPage shows who takes jobs.
func (s *Server) workersPage(ctx context.Context, r viewRequest) (view, error) {
	text := strings.TrimSpace(r.query.Get("q"))
	v := templates.WorkersPage{Query: text, URL: s.links.to("/workers"), Aged: s.stale(r.snap, r.now)}
	shown := s.visibleWorkers(r, text)
	v.Title, v.Say = s.workersFinding(r, shown)
	if why := r.snap.WorkersErr; why != "" {
		v.Unknown = &templates.Notice{Class: "s-delayed", Icon: "h-unknown", Strong: "Workers of BullMQ are unknown.", Text: sentenceStart(why) + ". Those of Bullpen announce themselves and are shown."}
	}
	queues := queuesOf(shown)
	page := max(1, min(pageNumber(r.query), (len(queues)+workerQueues-1)/workerQueues))
	first, last := (page-1)*workerQueues, min(page*workerQueues, len(queues))
	for _, q := range queues[first:last] {
		v.Groups = append(v.Groups, s.workerGroup(ctx, r, q, shown[q]))
	}
	switch {
	case len(queues) == 0 && text != "":
		v.Empty = &templates.EmptyState{Title: "No worker matches", Links: []templates.Link{{Label: "Show all", URL: s.links.to("/workers")}}}
	case len(queues) == 0 && v.Unknown == nil:
		v.Empty = &templates.EmptyState{Title: "No worker is connected", Text: "A worker appears as soon as it waits for jobs."}
	case len(queues) == 0:
		v.Empty = &templates.EmptyState{Title: "No worker of Bullpen is running", Text: "Whether others are is unknown."}
	}
	if len(queues) > workerQueues {
		v.Pager = workerPager(r, s.links.base, page, first, last, len(queues))
	}
	return view{
		title: v.Title, nav: "/workers", content: templates.WorkersView(v),
		live: []region{{"finding", templates.WorkersFinding(v)}, {"workers", templates.WorkersTable(v)}},
	}, nil
}

// visibleWorkers are the workers that match a text, by queue.
func (s *Server) visibleWorkers(r viewRequest, text string) map[keys.Queue][]monitor.Worker {
	out := map[keys.Queue][]monitor.Worker{}
	text = strings.ToLower(text)
	for _, w := range r.snap.Workers {
		about := strings.ToLower(strings.Join([]string{w.Queue.Name, w.Name, w.Host, w.Addr}, "\x00"))
		if r.who.May(Viewer, w.Queue) && strings.Contains(about, text) {
			out[w.Queue] = append(out[w.Queue], w)
		}
	}
	return out
}

func queuesOf(shown map[keys.Queue][]monitor.Worker) []keys.Queue {
	queues := make([]keys.Queue, 0, len(shown))
	for q := range shown {
		queues = append(queues, q)
	}
	slices.SortFunc(queues, func(a, b keys.Queue) int { return strings.Compare(a.Name+":"+a.Prefix, b.Name+":"+b.Prefix) })
	return queues
}

func workerPager(r viewRequest, base string, page, first, last, all int) *templates.Pager {
	p := &templates.Pager{
		Label: "Pages of workers", PrevLabel: "Previous", NextLabel: "Next",
		Text: words.Count(int64(first+1)) + "–" + words.Count(int64(last)) + " of " + words.Plural(int64(all), "queue", "queues"),
	}
	if page > 1 {
		p.PrevURL = r.with(base, "page", pageText(page-1))
	}
	if last < all {
		p.NextURL = r.with(base, "page", pageText(page+1))
	}
	return p
}

// workersFinding counts workers, and the queues that have jobs and none.
func (s *Server) workersFinding(r viewRequest, shown map[keys.Queue][]monitor.Worker) (title, say string) {
	var all, own, alone int64
	for _, list := range shown {
		all += int64(len(list))
		for _, w := range list {
			if w.Bullpen {
				own++
			}
		}
	}
	for _, q := range r.snap.Queues {
		if q.WorkersKnown && q.Workers == 0 && !q.DeadLetter && !q.Paused && q.Backlog() > 0 && r.who.May(Viewer, q.Queue) {
			alone++
		}
	}
	title = words.Plural(all, "worker", "workers")
	if r.snap.WorkersErr != "" {
		title += " of Bullpen"
	}
	say = words.Plural(int64(len(shown)), "queue has", "queues have") + " workers; " + words.Count(own) + " of the workers are Bullpen's."
	if alone > 0 {
		say += " " + words.Plural(alone, "queue has", "queues have") + " jobs and no worker."
	}
	return title, say
}

// runs is what a worker does now.
type runs struct {
	active int64
	oldest time.Time
}

// workerGroup is a queue's part of the table.
func (s *Server) workerGroup(ctx context.Context, r viewRequest, id keys.Queue, workers []monitor.Worker) templates.WorkerGroup {
	g := templates.WorkerGroup{Name: jsonview.Visible(s.queueName(id.Qualified())), URL: s.links.queue(id), Note: words.Plural(int64(len(workers)), "worker", "workers")}
	q := r.snap.Queue(id.Prefix, id.Name)
	var by map[string]runs
	complete := false
	if q != nil && q.Counts != nil {
		g.Note += ", " + words.Count(q.Counts[keys.Active]) + " active"
		if q.CeilingKnown {
			g.Note += " of " + words.Count(q.Ceiling)
		}
		if q.OldestActive > 0 {
			g.Note += ", the longest running for " + words.Duration(q.OldestActive)
		}
		by, complete = s.runsByWorker(ctx, q)
	}
	usual := usualPolicy(workers)
	named := map[string]int{}
	for _, w := range workers {
		named[w.Name]++
	}
	for _, w := range workers {
		row := workerRow(w, usual)
		if now, ok := by[w.Name]; by != nil && w.Name != "" && named[w.Name] == 1 {
			row.Active = words.Count(now.active)
			if !complete {
				row.Active = "at least " + row.Active
			}
			if ok && !now.oldest.IsZero() {
				row.Longest = words.Duration(r.now.Sub(now.oldest).Truncate(time.Second))
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// runsByWorker shares a queue's active jobs out among the names of those who run them; not complete when there are more
// jobs than are looked at, nil when they cannot be read.
func (s *Server) runsByWorker(ctx context.Context, q *monitor.Queue) (by map[string]runs, complete bool) {
	if q.Counts[keys.Active] == 0 {
		return map[string]runs{}, true
	}
	eq, err := s.engineOf(q.Queue)
	if err != nil {
		return nil, false
	}
	rows, total, err := eq.Rows(ctx, keys.Active, 0, activeRead-1, true)
	if err != nil {
		return nil, false
	}
	by = map[string]runs{}
	for _, job := range rows {
		now := by[job.ProcessedBy]
		now.active++
		if !job.ProcessedOn.IsZero() && (now.oldest.IsZero() || job.ProcessedOn.Before(now.oldest)) {
			now.oldest = job.ProcessedOn
		}
		by[job.ProcessedBy] = now
	}
	return by, total <= activeRead
}

func workerRow(w monitor.Worker, usual string) templates.WorkerRow {
	row := templates.WorkerRow{
		ID:   strings.Join([]string{w.Queue.Qualified(), w.Name, w.Host, strconv.Itoa(w.PID), w.Addr}, " "),
		Name: jsonview.Visible(w.Name), Kind: "BullMQ", Where: jsonview.Visible(w.Addr), Connected: words.Unknown, Idle: words.Unknown,
		Active: words.Unknown, Concurrency: words.Unknown, Longest: words.Unknown, Version: words.Unknown, Policy: words.Unknown,
	}
	if w.Name == "" {
		row.Name = "no name"
	}
	if w.Addr != "" {
		row.Connected, row.Idle = words.Duration(w.Connected), words.Duration(w.Idle)
	}
	if !w.Bullpen {
		return row
	}
	row.Kind, row.Where = "Bullpen", jsonview.Visible(w.Host)+", process "+strconv.Itoa(w.PID)
	row.Concurrency, row.Version, row.Policy = words.Count(int64(w.Concurrency)), visibleText(w.Version), visibleText(w.PolicyHash)
	if w.Revision > 0 {
		row.Policy += ", revision " + words.Count(w.Revision)
	}
	if w.PolicyHash != usual {
		row.Badges = append(row.Badges, templates.BadgeView{Class: "s-delayed", Icon: "h-warn", Label: "policy differs"})
	}
	return row
}

// usualPolicy is the hash of the policy that most of a queue's workers act by.
func usualPolicy(workers []monitor.Worker) string {
	count, usual := map[string]int{}, ""
	for _, w := range workers {
		if !w.Bullpen {
			continue
		}
		if count[w.PolicyHash]++; count[w.PolicyHash] > count[usual] {
			usual = w.PolicyHash
		}
	}
	return usual
}
