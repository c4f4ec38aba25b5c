package web

import (
	"context"
	"slices"
	"strings"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

const (
	// schedulerRows is how many schedulers a page shows.
	schedulerRows = 25
	// firingsShown is how many of the next firings are shown.
	firingsShown = 5
	// templateShown is the size up to which a list shows the data of a scheduler's jobs.
	templateShown = 4 << 10
)

// scheduled is a scheduler with what became of its jobs.
type scheduled struct {
	engine.Scheduler
	// current is the state of the job of the current firing, last that of the one before.
	current, last keys.State
}

// readSchedulers reads a part of a queue's schedulers, next to fire first, and counts all.
func (s *Server) readSchedulers(ctx context.Context, id keys.Queue, start, end int64) ([]scheduled, int64, error) {
	q, err := s.o.Queue(id)
	if err != nil {
		return nil, 0, err
	}
	found, total, err := q.Schedulers(ctx, start, end, true)
	if err != nil {
		return nil, 0, err
	}
	all, err := withJobs(ctx, q, found)
	return all, total, err
}

// withJobs looks up the states of the jobs of some schedulers.
func withJobs(ctx context.Context, q *engine.Queue, found []engine.Scheduler) ([]scheduled, error) {
	if len(found) == 0 {
		return nil, nil
	}
	ids := make([]string, 0, 2*len(found))
	for _, f := range found {
		_, last := f.LastRun()
		ids = append(ids, f.JobID, last)
	}
	states, err := q.States(ctx, ids)
	if err != nil {
		return nil, err
	}
	all := make([]scheduled, len(found))
	for i, f := range found {
		all[i] = scheduled{f, states[2*i], states[2*i+1]}
	}
	return all, nil
}

// queueSchedulers is the list of a queue's schedulers.
func (s *Server) queueSchedulers(ctx context.Context, r viewRequest) (view, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return view{}, err
	}
	name := jsonview.Visible(q.Name)
	v := templates.SchedulersPage{
		Crumbs: []templates.Crumb{{Label: "Overview", URL: s.links.to("/")}, {Label: name, URL: s.links.queue(q.Queue)}, {Label: "Schedulers"}},
		Title:  "Schedulers of " + name, Aged: s.stale(r.snap, r.now),
	}
	if s.mayAct(r, q) {
		v.Links = []templates.Act{s.newScheduler(r, q.Queue)}
	}
	page := pageNumber(r.query)
	first := int64(page-1) * schedulerRows
	g, all, total := s.schedulerGroup(ctx, r, q, first, first+schedulerRows-1)
	v.Groups = []templates.SchedulerGroup{g}
	v.Say = s.schedulersSay(all, r)
	switch {
	case g.Trouble != nil:
	case total == 0:
		v.Empty = &templates.EmptyState{Title: "No scheduler", Text: "A scheduler adds a job again and again, in intervals or by a cron pattern."}
	case len(g.Rows) == 0:
		v.Empty = &templates.EmptyState{Title: "Nothing on this page", Links: []templates.Link{{Label: "First page", URL: r.with(s.o.BasePath, "page", "")}}}
	}
	v.Pager = schedulerPager(r, s.links.base, page, total)
	return schedulersView(v, "/schedulers"), nil
}

// schedulersPage is the list of all schedulers that the viewer may see, by queue.
func (s *Server) schedulersPage(ctx context.Context, r viewRequest) (view, error) {
	queues, total := scheduledQueues(r)
	v := templates.SchedulersPage{
		Title: words.Plural(total, "scheduler", "schedulers"), Aged: s.stale(r.snap, r.now),
	}
	var all []scheduled
	page := pageNumber(r.query)
	for _, cut := range cutQueues(queues, int64(page-1)*schedulerRows, schedulerRows) {
		g, read, n := s.schedulerGroup(ctx, r, cut.q, cut.first, cut.last)
		g.Name, g.URL = jsonview.Visible(s.queueName(cut.q.Qualified())), s.links.queue(cut.q.Queue, "schedulers")
		g.Note = words.Plural(n, "scheduler", "schedulers")
		v.Groups = append(v.Groups, g)
		all = append(all, read...)
	}
	if total == 0 {
		v.Title = "No scheduler"
		v.Empty = &templates.EmptyState{Title: "No queue has a scheduler", Text: "A scheduler adds a job again and again, in intervals or by a cron pattern. A queue’s page leads to a new one."}
	} else {
		v.Say = "In " + words.Plural(int64(len(queues)), "queue", "queues") + ". " + s.schedulersSay(all, r)
	}
	v.Pager = schedulerPager(r, s.links.base, page, total)
	return schedulersView(v, "/schedulers"), nil
}

func schedulersView(v templates.SchedulersPage, nav string) view {
	return view{
		title: v.Title, nav: nav, content: templates.SchedulersView(v),
		live: []region{{"head", templates.SchedulersHead(v)}, {"schedulers", templates.SchedulersTable(v)}},
	}
}

// scheduledQueues are the queues with schedulers that the viewer may see, by name, and how many schedulers they have.
func scheduledQueues(r viewRequest) (queues []*monitor.Queue, total int64) {
	for _, q := range visibleQueues(r) {
		if q.Schedulers > 0 {
			queues = append(queues, q)
			total += q.Schedulers
		}
	}
	slices.SortFunc(queues, func(a, b *monitor.Queue) int { return strings.Compare(a.Name+":"+a.Prefix, b.Name+":"+b.Prefix) })
	return queues, total
}

// queueCut is a part of a queue's schedulers; both ends are included.
type queueCut struct {
	q           *monitor.Queue
	first, last int64
}

// cutQueues cuts n schedulers out of all those of the queues, one queue after the other.
func cutQueues(queues []*monitor.Queue, from, n int64) (cuts []queueCut) {
	for _, q := range queues {
		if first, last := max(from, 0), min(from+n, q.Schedulers)-1; first <= last {
			cuts = append(cuts, queueCut{q, first, last})
		}
		from -= q.Schedulers
	}
	return cuts
}

// schedulerGroup reads a queue's part of the list, as rows and as it is, and how many schedulers the queue has.
func (s *Server) schedulerGroup(
	ctx context.Context, r viewRequest, q *monitor.Queue, first, last int64,
) (templates.SchedulerGroup, []scheduled, int64) {
	all, total, err := s.readSchedulers(ctx, q.Queue, first, last)
	if err != nil {
		return templates.SchedulerGroup{Trouble: &templates.Notice{
			Class: "s-failed", Icon: "h-crit", Strong: "The schedulers of " + jsonview.Visible(q.Name) + " cannot be read.", Text: oneLine(err) + ".",
		}}, nil, q.Schedulers
	}
	g := templates.SchedulerGroup{}
	for _, f := range all {
		g.Rows = append(g.Rows, s.schedulerRow(r, q, f))
	}
	return g, all, total
}

func schedulerPager(r viewRequest, base string, page int, total int64) *templates.Pager {
	first := int64(page-1) * schedulerRows
	last := min(first+schedulerRows, total)
	if total <= schedulerRows && page == 1 {
		return nil
	}
	p := &templates.Pager{
		Label: "Pages of schedulers", PrevLabel: "Previous", NextLabel: "Next",
		Text: words.Count(min(first+1, total)) + "–" + words.Count(last) + " of " + words.Plural(total, "scheduler", "schedulers"),
	}
	if page > 1 {
		p.PrevURL = r.with(base, "page", pageText(page-1))
	}
	if last < total {
		p.NextURL = r.with(base, "page", pageText(page+1))
	}
	return p
}

// newScheduler is the way to the form for a new one.
func (s *Server) newScheduler(r viewRequest, q keys.Queue) templates.Act {
	return templates.Act{Label: "New scheduler…", Icon: "i-plus", URL: s.links.queue(q, "schedule") + r.asking()}
}

// schedulerRow is one scheduler of a list.
func (s *Server) schedulerRow(r viewRequest, q *monitor.Queue, f scheduled) templates.SchedulerRow {
	key := jsonview.Visible(f.ID)
	row := templates.SchedulerRow{
		Key: key, URL: s.links.queue(q.Queue, "schedulers", f.ID), Badges: schedulerBadges(f, r.now),
		Rhythm: sentenceStart(rhythm(f)), Rule: jsonview.Visible(f.Repeat.Pattern), Zone: zoneWords(f), Bounds: s.boundWords(f),
		Last: s.lastRun(r, q.Queue, f), Next: s.nextRun(r, q, f), Count: firingCount(f),
		Acts: s.schedulerActs(r, q, f, true), Firings: s.firings(r, f),
	}
	if f.Repeat.Every > 0 {
		row.Rule = words.Count(f.Repeat.Every.Milliseconds()) + "\u00a0ms"
	}
	if f.Name != f.ID {
		row.Job = jsonview.Visible(f.Name)
	}
	if size := len(f.Data); size > templateShown {
		row.Away = "It has " + words.Bytes(int64(size)) + "."
	} else {
		row.Template = s.templatePayload("p-data", "Data", "None: its jobs get {}.", f.Data)
	}
	return row
}

// schedulerActs are the buttons on a scheduler; those of other versions are left alone.
func (s *Server) schedulerActs(r viewRequest, q *monitor.Queue, f scheduled, quiet bool) []templates.Act {
	if !s.mayAct(r, q) || f.Origin != engine.OriginBullMQ {
		return nil
	}
	to := func(verb string) string { return s.links.queue(q.Queue, "schedulers", f.ID, verb) }
	about := jsonview.Visible(f.ID)
	back := map[string][]string{"back": {r.self()}}
	acts := []templates.Act{
		{
			Label: "Run now", Icon: "s-active", URL: to("run"), About: about,
			Fields: []templates.Field{{Name: "back", Value: r.self()}, {Name: "seen", Value: schedulerVersion(&f.Scheduler)}},
		},
		{Label: "Edit…", Icon: "i-edit", URL: withQuery(to("edit"), back), About: about},
		{Label: "Remove…", Icon: "i-bin", Class: "bad", URL: withQuery(to("remove"), back), About: about},
	}
	if quiet {
		acts[0].Leaves = true
		for i := range acts {
			acts[i].Class = "quiet"
		}
	}
	return acts
}
