package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// overviewRows is how many queues one page shows.
const overviewRows = 100

// overview is the page of all queues.
func (s *Server) overview(_ context.Context, r viewRequest) (view, error) {
	v := s.overviewModel(r)
	return view{
		title: v.Title, nav: "/", content: templates.OverviewPage(v),
		live: []region{
			{"finding", templates.OverviewFinding(v)},
			{"totals", templates.OverviewTotals(v)},
			{"queues", templates.OverviewQueues(v)},
		},
	}, nil
}

func (s *Server) overviewModel(r viewRequest) templates.Overview {
	all := visibleQueues(r)
	match := filterQueues(all, r.query.Get("q"))
	grouped := r.query.Get("group") != ""
	order := queueOrder(r.query.Get("sort"))
	slices.SortStableFunc(match, order.less)
	if grouped {
		slices.SortStableFunc(match, func(a, b *monitor.Queue) int { return cmp.Compare(s.groupOf(a), s.groupOf(b)) })
	}
	title, say := overviewFinding(all)
	v := templates.Overview{
		Title: title, Say: say, Filter: s.queueFilter(r, order, grouped), Totals: s.totals(r, all),
		Worst: s.worstNotice(all), Heads: s.overviewHeads(r, order), Aged: s.stale(r.snap, r.now),
	}
	if r.snap.Dropped > 0 {
		v.Say += " " + words.Plural(int64(r.snap.Dropped), "more queue is", "more queues are") + " left out because of queues_max."
	}
	switch {
	case len(all) == 0:
		v.Empty = s.noQueues(r)
	case len(match) == 0:
		v.Empty = &templates.EmptyState{
			Title: "No queue matches “" + r.query.Get("q") + "”", Text: "Looked at all " + words.Count(int64(len(all))) + ".",
			Links: []templates.Link{{Label: "Drop the filter", URL: r.with(s.o.BasePath, "q", "", "page", "")}},
		}
	default:
		rows, pager := pageOf(s, r, match, overviewRows, "queues")
		v.Groups, v.Pager = s.queueGroups(r, rows, match, order, grouped), pager
	}
	return v
}

func (s *Server) noQueues(r viewRequest) *templates.EmptyState {
	if r.snap.At.IsZero() {
		return &templates.EmptyState{Title: "No figures yet"}
	}
	e := &templates.EmptyState{
		Title: "No queue yet",
		Text:  "Redis " + s.o.Alias + " has no queues under " + s.o.Prefix + ":. A queue appears here with its first job.",
	}
	if r.snap.DiscoveryErr != "" {
		e.Title, e.Text = "Queues unknown", "Redis does not let Bullpen look for queues: "+r.snap.DiscoveryErr+". Name them in bullpen.yaml to see them."
	}
	return e
}

// visibleQueues are the queues the viewer may see, in the snapshot's order.
func visibleQueues(r viewRequest) []*monitor.Queue {
	out := make([]*monitor.Queue, 0, len(r.snap.Queues))
	for _, q := range r.snap.Queues {
		if r.who.May(Viewer, q.Queue) {
			out = append(out, q)
		}
	}
	return out
}

func filterQueues(all []*monitor.Queue, q string) []*monitor.Queue {
	q = strings.ToLower(strings.TrimSpace(q))
	if q == "" {
		return slices.Clone(all)
	}
	var out []*monitor.Queue
	for _, m := range all {
		if strings.Contains(strings.ToLower(m.Name), q) {
			out = append(out, m)
		}
	}
	return out
}

// ordering is a way to order queues.
type ordering struct {
	name, label string
	less        func(a, b *monitor.Queue) int
	// descending says that large figures come first.
	descending bool
}

func most(figure func(*monitor.Queue) int64) func(a, b *monitor.Queue) int {
	return func(a, b *monitor.Queue) int { return cmp.Compare(figure(b), figure(a)) }
}

func orderings() []ordering {
	return []ordering{
		{"health", "By health", worstFirst, false},
		{"name", "By name", func(a, b *monitor.Queue) int { return 0 }, false}, // the snapshot's order
		{"waiting", "By waiting", most(func(q *monitor.Queue) int64 { return q.Counts[keys.Waiting] + q.Counts[keys.Prioritized] }), true},
		{"active", "By active", most(func(q *monitor.Queue) int64 { return q.Counts[keys.Active] }), true},
		{"failed", "By failed", most(func(q *monitor.Queue) int64 { return q.Counts[keys.Failed] }), true},
		{"oldest", "By oldest wait", most(func(q *monitor.Queue) int64 { return int64(q.OldestWait) }), true},
		{"rate", "By finished per minute", func(a, b *monitor.Queue) int { return cmp.Compare(finishedRate(b), finishedRate(a)) }, true},
	}
}

// worstFirst orders by verdict, and within one by how long the oldest job waits.
func worstFirst(a, b *monitor.Queue) int {
	return cmp.Or(cmp.Compare(a.Health, b.Health), cmp.Compare(b.OldestWait, a.OldestWait), cmp.Compare(b.Backlog(), a.Backlog()))
}

func queueOrder(name string) ordering {
	all := orderings()
	for _, o := range all {
		if o.name == name {
			return o
		}
	}
	return all[0]
}

func finishedRate(q *monitor.Queue) float64 { return q.Rate.Completed + q.Rate.Failed + q.Rate.Retried }

func (s *Server) queueFilter(r viewRequest, order ordering, grouped bool) templates.QueueFilter {
	f := templates.QueueFilter{URL: s.links.to("/"), Query: r.query.Get("q"), Grouped: grouped, Group: "Group by “" + s.o.GroupSeparator + "”"}
	for _, o := range orderings() {
		f.Sorts = append(f.Sorts, templates.Option{Value: o.name, Label: o.label, Chosen: o.name == order.name})
	}
	return f
}

// groupOf is the part of a queue's name before the separator; names without one stand alone.
func (s *Server) groupOf(q *monitor.Queue) string {
	if head, _, ok := strings.Cut(q.Name, s.o.GroupSeparator); ok {
		return head
	}
	return ""
}

// verdict is a heading of the table and the verdicts under it.
type verdict struct {
	label string
	holds []monitor.Health
}

func verdicts() []verdict {
	return []verdict{
		{"Needs attention", []monitor.Health{monitor.NeedsAttention}},
		{"Watch", []monitor.Health{monitor.Watch}},
		{"Healthy", []monitor.Health{monitor.Healthy}},
		{"Paused or quiet", []monitor.Health{monitor.PausedHealth, monitor.Quiet}},
		{"Unknown", []monitor.Health{monitor.UnknownHealth}},
	}
}

// queueGroups puts the rows of a page under their headings; the counts are those of all that match.
func (s *Server) queueGroups(r viewRequest, rows, match []*monitor.Queue, order ordering, grouped bool) []templates.QueueGroup {
	label := func(*monitor.Queue) string { return "" }
	switch {
	case grouped:
		label = func(q *monitor.Queue) string {
			if g := s.groupOf(q); g != "" {
				return g
			}
			return "No group"
		}
	case order.name == "health":
		label = func(q *monitor.Queue) string {
			for _, v := range verdicts() {
				if slices.Contains(v.holds, q.Health) {
					return v.label
				}
			}
			return "Unknown"
		}
	}
	counts := map[string]int64{}
	for _, q := range match {
		counts[label(q)]++
	}
	var out []templates.QueueGroup
	for _, q := range rows {
		l := label(q)
		if len(out) == 0 || out[len(out)-1].Label != l {
			out = append(out, templates.QueueGroup{Label: l, Count: words.Count(counts[l])})
		}
		g := &out[len(out)-1]
		g.Rows = append(g.Rows, s.queueRow(r, q))
	}
	return out
}

// overviewHeads are the columns; those the table can be ordered by are links.
func (s *Server) overviewHeads(r viewRequest, order ordering) []templates.Head {
	head := func(label, sort, class string) templates.Head {
		h := templates.Head{Label: label, Class: class}
		if sort == "" {
			return h
		}
		h.URL = r.with(s.o.BasePath, "sort", sort, "page", "")
		if sort == order.name {
			h.Sorted = "ascending"
			if order.descending {
				h.Sorted = "descending"
				h.Label += " ↓"
			}
		}
		return h
	}
	state := func(st keys.State, sort, class string) templates.Head {
		look := templates.StateOf(string(st))
		h := head(look.Short, sort, class)
		h.State = look
		return h
	}
	first := "Queue"
	if order.name == "health" {
		first = "Queue, worst first"
	}
	name := head(first, order.name, "")
	if name.Sorted = ""; order.name == "health" || order.name == "name" {
		name.Sorted = "ascending"
	}
	name.URL = r.with(s.o.BasePath, "sort", map[bool]string{true: "name", false: "health"}[order.name == "health"], "page", "")
	return []templates.Head{
		name, head("Why", "", ""), head("Last hour", "", "p1"), head("Finished/min", "rate", "n"), head("Failing", "", "n"),
		head("Oldest wait", "oldest", "n"), state(keys.Waiting, "waiting", "n"), state(keys.Prioritized, "", "n p2"),
		state(keys.Active, "active", "n"), state(keys.Delayed, "", "n p1"), state(keys.WaitingChildren, "", "n p2"),
		state(keys.Completed, "", "n p3"), state(keys.Failed, "failed", "n"), head("Workers", "", "n p2"),
	}
}

// pageOf cuts the page the address asks for out of a list; the pager is nil when one page holds it all.
func pageOf[T any](s *Server, r viewRequest, all []T, size int, what string) ([]T, *templates.Pager) {
	page := pageNumber(r.query)
	pages := (len(all) + size - 1) / size
	page = max(min(page, pages), 1)
	from, to := (page-1)*size, min(page*size, len(all))
	if pages <= 1 {
		return all, nil
	}
	p := &templates.Pager{
		Label: "Pages of " + what, PrevLabel: "Previous", NextLabel: "Next",
		Text: words.Count(int64(from+1)) + "–" + words.Count(int64(to)) + " of " + words.Count(int64(len(all))) + " " + what,
	}
	if page > 1 {
		p.PrevURL = r.with(s.o.BasePath, "page", pageText(page-1))
	}
	if page < pages {
		p.NextURL = r.with(s.o.BasePath, "page", pageText(page+1))
	}
	return all[from:to], p
}

// pageNumber reads "page" of a query; anything odd is the first.
func pageNumber(q url.Values) int {
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil || n < 1 || n > 1e9 {
		return 1
	}
	return n
}

// pageText is the value of "page"; the first page has none.
func pageText(n int) string {
	if n <= 1 {
		return ""
	}
	return strconv.Itoa(n)
}
