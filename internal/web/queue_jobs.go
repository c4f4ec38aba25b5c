package web

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// jobRows is how many jobs one page of a list shows. It keeps a page under 50 KB.
const jobRows = 25

// bigPayload is the size from which a list points it out.
const bigPayload = 1 << 20

// listing says how the jobs of one state are listed.
type listing struct {
	// asc is the natural order; the words name both.
	asc        bool
	ascWords   string
	descWords  string
	when       string // head of the time column
	run, text  string // heads of the optional columns
	rowAct     string // the act on each row, "" for none
	bulk       []string
	emptyTitle string
}

func listingOf(st keys.State) listing {
	switch st {
	case keys.Waiting:
		return listing{
			asc: true, ascWords: "Next to run first", descWords: "Last to run first", when: "Added", text: "Note",
			bulk: []string{"remove"}, emptyTitle: "No jobs wait",
		}
	case keys.Prioritized:
		return listing{
			asc: true, ascWords: "Next to run first: lowest number, then oldest", descWords: "Last to run first", when: "Added", run: "priority", text: "Note",
			bulk: []string{"remove"}, emptyTitle: "No prioritized jobs",
		}
	case keys.Active:
		return listing{asc: true, ascWords: "Longest running first", descWords: "Newest first", when: "Started", text: "Worker", emptyTitle: "No job is running"}
	case keys.Delayed:
		return listing{
			asc: true, ascWords: "Due next first", descWords: "Due last first", when: "Due", text: "Last error", rowAct: "promote",
			bulk: []string{"remove", "promote"}, emptyTitle: "No delayed jobs",
		}
	case keys.WaitingChildren:
		return listing{
			asc: true, ascWords: "Oldest first", descWords: "Newest first", when: "Added", text: "Note",
			bulk: []string{"remove"}, emptyTitle: "No job waits for children",
		}
	case keys.Completed:
		return listing{
			ascWords: "Oldest first", descWords: "Newest first", when: "Completed", run: "run", text: "Worker",
			bulk: []string{"remove", "retry"}, emptyTitle: "No completed jobs",
		}
	default:
		return listing{
			ascWords: "Oldest first", descWords: "Newest first", when: "Failed", run: "last run", text: "Error", rowAct: "retry",
			bulk: []string{"remove", "retry"}, emptyTitle: "No failed jobs",
		}
	}
}

// jobList reads one page of the jobs in a state.
func (s *Server) jobList(ctx context.Context, r viewRequest, q *monitor.Queue, t tab) templates.JobList {
	st, how := t.state, replayListing(q, t.state, listingOf(t.state))
	asc := how.asc
	switch r.query.Get("order") {
	case "asc":
		asc = true
	case "desc":
		asc = false
	}
	l := templates.JobList{State: templates.StateOf(t.name), Columns: templates.JobColumns{Run: how.run, Text: how.text}}
	l.Order, l.ReverseURL = how.descWords, r.with(s.o.BasePath, "order", "asc", "page", "", "from", "")
	if asc {
		l.Order, l.ReverseURL = how.ascWords, r.with(s.o.BasePath, "order", "desc", "page", "", "from", "")
	}
	if asc != how.asc { // back to the natural order, whose address has no "order"
		l.ReverseURL = r.with(s.o.BasePath, "order", "", "page", "", "from", "")
	}
	query, filter := s.listFilter(r, t)
	l.Filter, l.ExportURL = &filter, s.exportURL(q, t, query)
	if !query.Empty() {
		s.matchList(ctx, r, q, t, how, asc, query, &l)
		return l
	}
	page := pageNumber(r.query)
	rows, total, err := r.kept.read(s, q, t, func() ([]engine.Row, int64, error) {
		return s.tabRows(ctx, q, t, int64(page-1)*jobRows, jobRows, asc)
	})
	if err != nil {
		l.Trouble = &templates.Notice{Class: "s-failed", Icon: "h-crit", Strong: "These jobs cannot be read.", Text: strings.TrimSuffix(oneLine(err), ".") + ". The counts above are those of the last good read."}
		return l
	}
	if total > 0 { // as the list says, which is newer than the snapshot
		l.All = s.allActs(r, q, st)
	}
	if len(rows) == 0 {
		l.Empty = s.emptyList(r, q, how, total, page)
		return l
	}
	s.fillRows(r, q, st, how, asc, rows, &l)
	l.Pager = s.jobPager(r, page, len(rows), total, asc, t)
	l.Caption = fmt.Sprintf("%s jobs of %s, %s, %s", l.State.Label, q.Name, strings.ToLower(l.Order), l.Pager.Text)
	return l
}

// tabRows reads n rows of a tab from its start-th on, and how many it has.
func (s *Server) tabRows(ctx context.Context, q *monitor.Queue, t tab, start, n int64, asc bool) ([]engine.Row, int64, error) {
	eq, err := s.o.Queue(q.Queue)
	if err != nil {
		return nil, 0, err
	}
	if t.state != keys.Waiting || q.PausedList == 0 {
		return eq.Rows(ctx, t.state, start, start+n-1, asc)
	}
	first, total := t.first(q, asc), t.count(q)
	if n = min(n, total-start); n <= 0 {
		return nil, total, nil
	}
	rows, _, err := eq.Rows(ctx, t.state, first+start, first+start+n-1, asc)
	return rows, total, err
}

// mayAct reports whether buttons make sense for this viewer; the gate decides again.
func (s *Server) mayAct(r viewRequest, q *monitor.Queue) bool {
	return !s.o.ReadOnly && !q.Legacy && r.who.May(Operator, q.Queue)
}

func (s *Server) emptyList(r viewRequest, q *monitor.Queue, how listing, total int64, page int) *templates.EmptyState {
	if total > 0 && page > 1 {
		return &templates.EmptyState{
			Title: "Nothing on this page any more", Text: words.Plural(total, "job is", "jobs are") + " left.",
			Links: []templates.Link{{Label: "First page", URL: r.with(s.o.BasePath, "page", "")}},
		}
	}
	e := &templates.EmptyState{Title: how.emptyTitle}
	if q.Counts != nil {
		var most keys.State
		for _, st := range keys.States {
			if q.Counts[st] > q.Counts[most] {
				most = st
			}
		}
		if most != "" {
			look := templates.StateOf(string(most))
			e.Text = "Most of this queue's jobs are " + strings.ToLower(look.Label) + "."
			e.Links = []templates.Link{{Label: "Show " + strings.ToLower(look.Label), URL: s.links.queue(q.Queue) + "?state=" + string(most)}}
		}
	}
	return e
}

func (s *Server) jobPager(r viewRequest, page, shown int, total int64, asc bool, t tab) *templates.Pager {
	from := int64(page-1)*jobRows + 1
	to := from + int64(shown) - 1
	p := &templates.Pager{Label: "Pages of jobs", Text: words.Count(from) + "–" + words.Count(to) + " of " + words.Count(max(total, to)), PrevLabel: "Newer", NextLabel: "Older"}
	if asc {
		p.PrevLabel, p.NextLabel = "Earlier", "Later"
	}
	if page > 1 {
		p.PrevURL = r.with(s.o.BasePath, "page", pageText(page-1), "state", t.name)
	}
	if to < total {
		p.NextURL = r.with(s.o.BasePath, "page", pageText(page+1), "state", t.name)
	}
	return p
}

func jobHeads(how listing, st keys.State, asc bool, reverse string) []templates.Head {
	when := templates.Head{Label: how.when, Class: "n", URL: reverse, Sorted: "descending"}
	if asc {
		when.Sorted = "ascending"
	}
	// Waiting and prioritized jobs are ordered by when they run, not by this column; delayed ones by when they are due.
	if st == keys.Waiting || st == keys.Prioritized {
		when.URL, when.Sorted = "", ""
	} else if asc {
		when.Label += " ↑"
	} else {
		when.Label += " ↓"
	}
	heads := []templates.Head{{Label: "Job"}, {Label: "Name"}, when, {Label: "Attempts", Class: "n"}}
	if how.run != "" {
		heads = append(heads, templates.Head{Label: strings.ToUpper(how.run[:1]) + how.run[1:], Class: "n p1"})
	}
	return append(heads, templates.Head{Label: how.text}, templates.Head{Label: "Size", Class: "n p1"})
}

// jobRow is one job of a list. Text that jobs brought is made visible: no control characters, no direction marks.
func (s *Server) jobRow(r viewRequest, q *monitor.Queue, st keys.State, how listing, row engine.Row, mayAct bool) templates.JobRow {
	out := templates.JobRow{ID: row.ID, Shown: jsonview.Visible(row.ID), URL: s.links.job(q.Queue, row.ID), Name: words.Unknown, Attempts: words.Unknown, Run: words.Unknown, Size: words.Unknown}
	if how.rowAct != "" && mayAct {
		a := s.rowAct(q, how.rowAct, row.ID)
		a.Disabled = row.Missing
		out.Act = &a
	}
	if row.Missing {
		out.Gone, out.Text = true, "data missing: the job's record is gone from Redis"
		out.When = s.when(timeOf(st, row), r.now)
		return out
	}
	out.Name = jsonview.Visible(row.Name)
	if out.Name == "" {
		out.Name = "(no name)"
	}
	out.When = s.when(timeOf(st, row), r.now)
	out.Attempts = fmt.Sprintf("%d/%d", row.AttemptsMade, max(row.Attempts, 1))
	out.Size, out.Big = words.Bytes(row.DataSize), row.DataSize >= bigPayload
	switch {
	case st == keys.Prioritized:
		out.Run = words.Count(row.Priority)
	case !row.FinishedOn.IsZero() && !row.ProcessedOn.IsZero() && row.FinishedOn.After(row.ProcessedOn):
		out.Run = words.Exact(row.FinishedOn.Sub(row.ProcessedOn))
	}
	out.Text, out.Badges = rowText(st, row), rowBadges(st, row)
	return out
}

// timeOf is the time a list of this state shows.
func timeOf(st keys.State, row engine.Row) time.Time {
	switch st {
	case keys.Active:
		return row.ProcessedOn
	case keys.Delayed:
		return row.Due
	case keys.Completed, keys.Failed:
		return row.FinishedOn
	}
	return row.Timestamp
}

// rowText is the last column: the error, the worker, or what is odd about the job.
func rowText(st keys.State, row engine.Row) string {
	switch {
	case st == keys.Active || st == keys.Completed:
		return jsonview.Visible(row.ProcessedBy)
	case row.Deferred != "":
		return "will fail: " + jsonview.Visible(row.Deferred)
	case row.FailedReason != "":
		return jsonview.Visible(row.FailedReason)
	}
	return ""
}

func rowBadges(st keys.State, row engine.Row) []templates.BadgeView {
	var out []templates.BadgeView
	if st == keys.Failed && row.AttemptsMade < row.Attempts {
		out = append(out, templates.BadgeView{Class: "s-paused", Icon: "s-failed", Label: "will not retry"})
	}
	if st == keys.Active && !row.Locked {
		out = append(out, templates.BadgeView{Class: "s-delayed", Icon: "h-warn", Label: "no lock"})
	}
	if row.Stalls > 0 {
		out = append(out, templates.BadgeView{Class: "s-delayed", Icon: "h-warn", Label: "stalled " + words.Count(int64(row.Stalls)) + "×"})
	}
	if row.ParentKey != "" {
		out = append(out, templates.BadgeView{Class: "s-children", Icon: "s-children", Label: "child"})
	}
	return out
}
