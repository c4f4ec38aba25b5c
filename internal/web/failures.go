package web

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/failures"
	"bullpen/internal/fold"
	"bullpen/internal/web/chart"
	"bullpen/internal/words"
	"bullpen/templates"
)

const (
	// failureRows is how many groups one page shows.
	failureRows = 50
	// failureQueues is how many queues a group names.
	failureQueues = 3
	// shareBars is how many groups the bar on top tells apart.
	shareBars = 30
)

// failuresPage shows the failed jobs of all queues by kind.
func (s *Server) failuresPage(ctx context.Context, r viewRequest) (view, error) {
	return s.groupsPage(ctx, r, s.failedGrouping())
}

// lettersPage shows the dead letters of all queues by kind.
func (s *Server) lettersPage(ctx context.Context, r viewRequest) (view, error) {
	return s.groupsPage(ctx, r, s.letterGrouping())
}

func (s *Server) groupsPage(ctx context.Context, r viewRequest, of grouping) (view, error) {
	rep := of.report(ctx, r.snap)
	visible := func(q keys.Queue) bool { return r.who.May(Viewer, q) }
	all := rep.Groups(visible)
	match := s.filterGroups(r, all)
	v := templates.FailuresPage{
		Views: s.groupingViews(r, of), Filter: s.failureFilter(r), Shares: shares(match), Note: s.counted(r, of, rep), Troubles: s.failureTroubles(of, rep, visible),
	}
	v.Title, v.Finding, v.Say = s.failureFinding(r, of, rep, all)
	switch {
	case len(all) == 0:
		v.Empty = &templates.EmptyState{Title: "No " + of.many, Text: "No queue has any."}
	case len(match) == 0:
		v.Empty = &templates.EmptyState{
			Title: "No group matches", Text: "Looked at all " + words.Count(int64(len(all))) + ".",
			Links: []templates.Link{{Label: "Drop the filter", URL: s.links.to(of.path)}},
		}
	default:
		rows, pager := pageOf(s, r, match, failureRows, "groups")
		v.Heads, v.Pager = s.failureHeads(r), pager
		whole := whole(rep)
		for _, g := range rows {
			v.Groups = append(v.Groups, s.failureRow(r, of, g, whole))
		}
	}
	return view{
		title: v.Title, nav: "/failures", content: templates.FailuresView(v),
		live: []region{
			{"finding", templates.FailuresFinding(v)},
			{"shares", templates.FailureShares(v.Shares)},
			{"groups", templates.FailureGroups(v)},
		},
	}, nil
}

// whole tells of which queues every failed job was seen.
func whole(rep *failures.Report) map[keys.Queue]bool {
	out := map[keys.Queue]bool{}
	for _, q := range rep.Queues {
		out[q.Queue] = q.Err == nil && q.Seen >= q.Total
	}
	return out
}

// orders of groups, by the word in the address.
func groupOrder(name string) func(a, b failures.Group) int {
	switch name {
	case "newest":
		return func(a, b failures.Group) int { return b.Last.Compare(a.Last) }
	case "rising":
		return func(a, b failures.Group) int { return cmp.Compare(rise(b), rise(a)) }
	}
	return func(a, b failures.Group) int { return cmp.Compare(b.Count, a.Count) }
}

// rise is how many more jobs failed in the last hour than in a usual one of the day.
func rise(g failures.Group) int64 {
	var before int64
	for _, n := range g.Trend[:failures.Hours-1] {
		before += n
	}
	return g.Trend[failures.Hours-1] - before/(failures.Hours-1)
}

func within(name string) time.Duration {
	switch name {
	case "1h":
		return time.Hour
	case "24h":
		return 24 * time.Hour
	}
	return 0
}

// filterGroups are the groups that the address asks for, in its order.
func (s *Server) filterGroups(r viewRequest, all []failures.Group) []failures.Group {
	text, span := strings.ToLower(strings.TrimSpace(r.query.Get("q"))), within(r.query.Get("within"))
	var out []failures.Group
	for _, g := range all {
		if span > 0 && r.now.Sub(g.Last) > span {
			continue
		}
		if text == "" || strings.Contains(strings.ToLower(g.Error), text) || strings.Contains(strings.ToLower(g.Name), text) ||
			strings.Contains(strings.ToLower(g.Sample.Error), text) {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, groupOrder(r.query.Get("sort")))
	return out
}

func (s *Server) failureFilter(r viewRequest) templates.FailureFilter {
	choices := func(name string, options ...templates.Option) []templates.Option {
		for i := range options {
			options[i].Chosen = r.query.Get(name) == options[i].Value
		}
		return options
	}
	return templates.FailureFilter{
		URL: s.o.BasePath + r.path, Query: r.query.Get("q"),
		Within: choices("within", templates.Option{Label: "Any time"}, templates.Option{Value: "1h", Label: "Last hour"}, templates.Option{Value: "24h", Label: "Last 24 h"}),
		Sort:   choices("sort", templates.Option{Label: "Most jobs"}, templates.Option{Value: "newest", Label: "Newest"}, templates.Option{Value: "rising", Label: "Rising"}),
	}
}

func (s *Server) failureHeads(r viewRequest) []templates.Head {
	sorted := func(label, class, order string) templates.Head {
		h := templates.Head{Label: label, Class: class, URL: r.with(s.o.BasePath, "sort", order, "page", "")}
		if r.query.Get("sort") == order {
			h.Label, h.Sorted = label+" ↓", "descending"
		}
		return h
	}
	return []templates.Head{
		sorted("Jobs", "n", ""),
		{Label: "Error, with its changing parts folded"},
		{Label: "Last 24 h", Class: "p1"},
		{Label: "First seen", Class: "n p1"},
		sorted("Last seen", "n", "newest"),
	}
}

// failureFinding is the headline and what stands out.
func (s *Server) failureFinding(r viewRequest, of grouping, rep *failures.Report, all []failures.Group) (title, finding, say string) {
	seen, total := rep.Seen(func(q keys.Queue) bool { return r.who.May(Viewer, q) })
	if len(all) == 0 {
		return "No " + of.many, "", ""
	}
	title = of.count(total) + " in " + words.Plural(int64(len(all)), "group", "groups")
	if seen < total {
		title = of.count(total) + ", the newest " + words.Count(seen) + " in " + words.Plural(int64(len(all)), "group", "groups")
	}
	again, recent := int64(0), int64(0)
	for _, st := range s.ops.List() {
		if st.Group != "" && st.Verb == of.verb && !st.State.Ended() && s.mayOperation(r.who, Viewer, st) {
			again += max(st.Matched, 1)
		}
	}
	for _, g := range all {
		recent += g.Trend[failures.Hours-1]
	}
	if again > 0 {
		finding = words.Count(again) + " of them are under way: " + strings.ToLower(verbs(of.verb).doing) + "."
	}
	top := all[0]
	say = words.Percent(float64(top.Count)/float64(seen)) + " have one error in common, in " + s.shareNames(top) + "."
	if len(all) == 1 {
		say = "All have one error in common, in " + s.shareNames(top) + "."
	}
	switch recent {
	case 0:
		say += " None failed in the last hour."
	default:
		say += " " + words.Count(recent) + " failed in the last hour."
	}
	return title, finding, say
}

// shareNames names the queues of a group.
func (s *Server) shareNames(g failures.Group) string {
	var names []string
	for _, q := range g.Queues {
		names = append(names, q.Queue.Qualified())
	}
	return strings.Join(s.queueNames(names, failureQueues), ", ")
}

// counted says what the groups are made of.
func (s *Server) counted(r viewRequest, of grouping, rep *failures.Report) string {
	seen, total := rep.Seen(func(q keys.Queue) bool { return r.who.May(Viewer, q) })
	if total == 0 {
		return ""
	}
	text := "Counted over all " + of.count(total)
	if seen < total {
		text = "Counted over the newest " + words.Count(seen) + " of " + of.count(total) + "; older ones follow with every look, up to a limit"
	}
	return text + ", at " + rep.At.In(s.o.Zone).Format("15:04:05") + " in " + words.Exact(rep.Took.Round(time.Millisecond)) +
		". A group is one error text and one job name; numbers, ids, addresses and quoted parts are folded."
}

func (s *Server) failureTroubles(of grouping, rep *failures.Report, visible func(keys.Queue) bool) []templates.Notice {
	var out []templates.Notice
	for _, q := range rep.Queues {
		if q.Err != nil && visible(q.Queue) && len(out) < 3 {
			out = append(out, templates.Notice{
				Class: "s-delayed", Icon: "h-warn", Strong: "The " + of.many + " of " + visibleText(s.queueName(q.Queue.Qualified())) + " cannot be read.",
				Text: oneLine(q.Err) + ". What is shown of them is what was seen before.",
			})
		}
	}
	return out
}

// failureRow is one group.
func (s *Server) failureRow(r viewRequest, of grouping, g failures.Group, whole map[keys.Queue]bool) templates.FailureRow {
	row := templates.FailureRow{
		ID: g.ID, Count: words.Count(g.Count), Sample: visibleText(g.Sample.Error), Name: visibleText(g.Name), URL: s.groupURL(of, g),
		First: s.when(g.First, r.now), Last: s.when(g.Last, r.now), Says: "Failed per hour, last 24 hours: " + trendWords(g.Trend),
	}
	if row.Name == "" {
		row.Name = "(no name)"
	}
	for _, p := range fold.Parts(g.Error) {
		row.Error = append(row.Error, templates.ErrorPart{Text: visibleText(p.Text), Mark: p.Mark})
	}
	if g.Error == "" {
		row.Error = []templates.ErrorPart{{Text: "(no reason given)"}}
	}
	var none [failures.Hours]int64
	_, row.Trend = chart.Spark(none[:], g.Trend[:])
	for i, q := range g.Queues {
		if i == failureQueues {
			row.More = "and " + words.Count(int64(len(g.Queues)-i)) + " more"
			break
		}
		row.Queues = append(row.Queues, templates.Link{Label: visibleText(s.queueName(q.Queue.Qualified())), URL: s.links.queue(q.Queue) + "?state=" + string(of.state)})
	}
	complete := true
	for _, q := range g.Queues {
		complete = complete && whole[q.Queue]
	}
	if r.now.Sub(g.First) < time.Hour && complete {
		row.Badges = append(row.Badges, templates.BadgeView{Class: "s-failed", Icon: "i-plus", Label: "new"})
	}
	if of.final(g) {
		row.Badges = append(row.Badges, templates.BadgeView{Class: "s-paused", Icon: "s-failed", Label: "not retryable"})
	}
	s.groupActs(r, of, g, complete, &row)
	return row
}

func trendWords(trend [failures.Hours]int64) string {
	var all, last int64
	for _, n := range trend {
		all += n
	}
	last = trend[failures.Hours-1]
	return words.Count(all) + ", of these " + words.Count(last) + " in the last hour"
}

// groupURL leads to the jobs of a group.
func (s *Server) groupURL(of grouping, g failures.Group) string {
	q := of.key + ":" + g.ID
	if len(g.Queues) == 1 {
		return withQuery(s.links.queue(g.Queues[0].Queue), map[string][]string{"state": {string(of.state)}, "q": {q}})
	}
	return withQuery(s.links.to("/search"), map[string][]string{"q": {q}})
}

// groupActs fills what can be done with a group: one act that suits it, the rest in a menu.
func (s *Server) groupActs(r viewRequest, of grouping, g failures.Group, complete bool, row *templates.FailureRow) {
	row.Menu = []templates.Act{{Label: "Show the jobs", URL: row.URL}, {Label: "Open one of them", URL: s.links.job(g.Sample.Queue, g.Sample.ID)}}
	may := !s.o.ReadOnly && slices.ContainsFunc(g.Queues, func(q failures.Share) bool { return r.who.May(Operator, q.Queue) })
	if !may {
		return
	}
	back, again := templates.Field{Name: "back", Value: r.self()}, sentenceStart(of.verb)
	url := func(verb string) string { return s.links.to(of.path + "/" + g.ID + "/" + verb) }
	asking := r.asking()
	run := templates.Act{Label: again + " " + row.Count, Icon: "i-retry", URL: url(of.verb), Fields: []templates.Field{back}}
	if g.Count > sampleFrom || !complete {
		run.Asks, run.Fields, run.URL = true, nil, run.URL+asking
		run.Label += "…"
	}
	remove := templates.Act{Label: "Remove " + row.Count + "…", Class: "bad", URL: url("remove") + asking, Asks: true}
	row.Running = s.runningOn(r, of, g.ID)
	act, other := run, remove
	if of.final(g) {
		act, other = remove, run
		other.Label, other.Icon = again+" anyway", ""
	}
	row.Act = &act
	if g.Count > 1 && r.who.May(Operator, g.Sample.Queue) {
		row.Menu = append(row.Menu, templates.Act{
			Label: again + " one first", URL: s.links.job(g.Sample.Queue, g.Sample.ID, of.verb), Fields: []templates.Field{{Name: "seen", Value: string(of.state)}, back},
		})
	}
	row.Menu = append(row.Menu, other)
}

// runningOn is the operation under way on a group.
func (s *Server) runningOn(r viewRequest, of grouping, group string) *templates.RunningAct {
	for _, st := range s.ops.List() {
		if st.Group == group && st.Subject == of.many && !st.State.Ended() && s.mayOperation(r.who, Viewer, st) {
			return &templates.RunningAct{
				Text: verbs(st.Verb).doing + ", " + progressPercent(st) + " done", URL: s.links.to("/operations/" + strconv.FormatInt(st.ID, 10)),
				Max: st.Matched, Value: st.Done + st.Refused,
			}
		}
	}
	return nil
}
