package web

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/search"
	"bullpen/internal/words"
	"bullpen/templates"
)

// listFilter is the form above a queue's list, and the terms that are in force.
func (s *Server) listFilter(r viewRequest, t tab) (*search.Query, templates.FilterBar) {
	q, typed, problem := s.readTerms(r.query, r.now)
	f := s.filterBar(r, q, typed, problem)
	f.Label = "Filter " + strings.ToLower(templates.StateOf(t.name).Label) + " jobs"
	f.Fields = []templates.Field{{Name: "state", Value: t.name}}
	if order := r.query.Get("order"); order != "" {
		f.Fields = append(f.Fields, templates.Field{Name: "order", Value: order})
	}
	return q, f
}

// matchList fills a list with the jobs of a tab that meet a query, as far as one look goes.
func (s *Server) matchList(ctx context.Context, r viewRequest, q *monitor.Queue, t tab, how listing, asc bool, query *search.Query, l *templates.JobList) {
	f, err := s.matches(ctx, r, q, t, asc, query)
	if err != nil && len(f.jobs) == 0 {
		l.Trouble = &templates.Notice{Class: "s-failed", Icon: "h-crit", Strong: "These jobs cannot be searched.", Text: strings.TrimSuffix(oneLine(err), ".") + "."}
		return
	}
	rows := make([]engine.Row, len(f.jobs))
	for i, j := range f.jobs {
		rows[i] = j.Row
	}
	more, first := "", ""
	if f.Next != nil {
		more = r.with(s.o.BasePath, "from", f.Next.String(), "state", t.name)
	}
	if r.query.Get("from") != "" {
		first = r.with(s.o.BasePath, "from", "")
	}
	if len(rows) > 0 || more+first != "" { // nothing can be done with nothing
		l.All = s.matchActs(r, q, t.state, query)
	}
	l.Progress = &templates.ScanProgress{Text: s.howFar(f.Outcome, f.Looked, t.count(q))}
	if len(rows) == 0 {
		l.Empty = &templates.EmptyState{Title: "No " + strings.ToLower(l.State.Label) + " job matches", Links: []templates.Link{{Label: "Drop the filter", URL: r.with(s.o.BasePath, "q", "", "from", "")}}}
		if more != "" {
			l.Empty.Title += " so far"
		}
		l.Progress.GoOnURL = more
		return
	}
	s.fillRows(r, q, t.state, how, asc, rows, l)
	l.Pager = &templates.Pager{
		Label: "Pages of jobs", Text: words.Plural(int64(len(rows)), "job that matches", "jobs that match"),
		PrevURL: first, PrevLabel: "First", NextURL: more, NextLabel: "Go on",
	}
	l.Caption = fmt.Sprintf("%s jobs of %s that match, %s", l.State.Label, q.Name, strings.ToLower(l.Order))
}

// matches looks for jobs of a tab. Those who watch the same list share the result.
func (s *Server) matches(ctx context.Context, r viewRequest, q *monitor.Queue, t tab, asc bool, query *search.Query) (foundJobs, error) {
	from, err := cursor(r.query)
	if err != nil {
		return foundJobs{}, err
	}
	eq, err := s.o.Queue(q.Queue)
	if err != nil {
		return foundJobs{}, err
	}
	limits := lookLimits
	limits.Found = jobRows
	key := fmt.Sprintf("%s %s %t %q %s", q.Qualified(), t.name, asc, query.String(), r.query.Get("from"))
	return s.scans.watch(key, r.now, !r.stream, func() (foundJobs, error) {
		return s.scans.look(ctx, query, []search.List{t.list(eq, q, asc)}, from, limits)
	})
}

// fillRows puts rows into a list, with what can be done with them.
func (s *Server) fillRows(r viewRequest, q *monitor.Queue, st keys.State, how listing, asc bool, rows []engine.Row, l *templates.JobList) {
	l.Heads = jobHeads(how, st, asc, l.ReverseURL)
	mayAct := s.mayAct(r, q)
	for _, row := range rows {
		l.Rows = append(l.Rows, s.jobRow(r, q, st, how, row, mayAct))
	}
	if mayAct {
		for _, name := range how.bulk {
			l.Bulk = append(l.Bulk, s.bulkAct(q, name))
		}
	}
	l.Fields = []templates.Field{{Name: "state", Value: string(st)}, {Name: "seen", Value: string(st)}, {Name: "back", Value: r.self()}}
	l.UntickURL = r.with(s.o.BasePath)
}

// matchActs are the acts on every job that matches the filter.
func (s *Server) matchActs(r viewRequest, q *monitor.Queue, st keys.State, terms *search.Query) []templates.Act {
	if !s.mayAct(r, q) {
		return nil
	}
	query := r.asking("all", "1", "state", string(st), "q", terms.String())
	act := func(verb, label, icon string) templates.Act {
		return templates.Act{Label: label, Icon: icon, URL: s.links.queue(q.Queue, verb) + query}
	}
	var out []templates.Act
	if replays(q, st) {
		out = append(out, act("replay", "Replay all that match…", "i-retry"))
	}
	switch st {
	case keys.Failed, keys.Completed:
		out = append(out, act("retry", "Retry all that match…", "i-retry"))
	case keys.Delayed:
		out = append(out, act("promote", "Promote all that match…", "s-active"))
	case keys.Active:
		return nil
	}
	if st == keys.Waiting && q.PausedList > 0 { // acts know the state alone
		return append(out, act("remove", "Remove all that match, waiting and paused…", "i-bin"))
	}
	return append(out, act("remove", "Remove all that match…", "i-bin"))
}

// exportURL is where the jobs of a list are downloaded.
func (s *Server) exportURL(q *monitor.Queue, t tab, terms *search.Query) string {
	v := url.Values{"state": {t.name}}
	if !terms.Empty() {
		v.Set("q", terms.String())
	}
	return withQuery(s.links.queue(q.Queue, "export"), v)
}
