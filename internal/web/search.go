package web

import (
	"context"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/search"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

const (
	// searchFound is how many jobs one look of a search finds at most.
	searchFound = 100
	// longestID is the longest text that is looked up as an id.
	longestID = 1000
)

// visibleText is text of somebody else, made harmless to read.
func visibleText(s string) string { return jsonview.Visible(s) }

// searchPage answers a job id across all queues in one round trip, and anything else with a scan within limits.
func (s *Server) searchPage(ctx context.Context, r viewRequest) (view, error) {
	if r.stream {
		return view{}, nil // a search is looked at once; nothing of it is live
	}
	text := strings.TrimSpace(strings.Join(r.query["q"], " "))
	v := templates.SearchPage{Help: searchHelp()}
	answer := func(title, say string) (view, error) {
		v.Title, v.Say = title, say
		return view{title: title, nav: "/search", content: templates.SearchView(v), find: text}, nil
	}
	q, typed, problem := s.readTerms(r.query, r.now)
	v.Filter = s.filterBar(r, q, typed, problem)
	v.Filter.Verb = "Search"
	if text == "" {
		v.HelpOpen = true
		return answer("Search", "A job id is found in all queues at once. Anything else is looked for job by job.")
	}
	from, err := cursor(r.query)
	if err != nil {
		return view{}, err
	}
	if r.query.Get("from") == "" && r.query.Get("scan") == "" {
		if byID, err := s.findID(ctx, r, idOf(text, q)); err != nil {
			return view{}, err
		} else if len(byID) > 0 {
			s.foundByID(r, &v, byID, q, problem)
			return answer(foundTitle(int64(len(byID)), true), "By its id, in all queues at once.")
		}
	}
	if problem != nil {
		v.HelpOpen = true
		return answer("This search cannot be read", "Nothing has this text as its id either.")
	}
	if id, ok := q.ID(); ok {
		v.Empty = &templates.EmptyState{Title: "No job has the id " + visibleText(id), Text: "Looked in all " + words.Plural(int64(len(visibleQueues(r))), "queue", "queues") + ". It may have been removed. Ids are case-sensitive."}
		return answer("No job found", "")
	}
	found, total, err := s.searchAll(ctx, r, q, from)
	if err != nil && len(found.jobs) == 0 {
		return view{}, err
	}
	n, far := s.fillFound(r, &v, found, total)
	return answer(foundTitle(n, found.Next == nil), far)
}

// idOf is the id that a text may be: what stands after id:, or all of it.
func idOf(text string, q *search.Query) string {
	if id, ok := q.ID(); ok {
		return id
	}
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// findID looks for a job in all queues that the viewer may see, in one round trip, and reads what it finds.
func (s *Server) findID(ctx context.Context, r viewRequest, id string) ([]*search.Job, error) {
	if id == "" || len(id) > longestID {
		return nil, nil
	}
	visible := visibleQueues(r)
	queues := make([]*engine.Queue, 0, len(visible))
	for _, m := range visible {
		q, err := s.o.Queue(m.Queue)
		if err != nil {
			return nil, err
		}
		queues = append(queues, q)
	}
	held, err := engine.Holders(ctx, id, queues)
	if err != nil {
		return nil, err
	}
	var out []*search.Job
	for i, q := range queues {
		if !held[i] || len(out) == searchFound {
			continue
		}
		rows, err := q.RowsByID(ctx, []string{id})
		if err != nil {
			return nil, err
		}
		st, err := q.State(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, &search.Job{Queue: q.Queue, State: st, Row: rows[0]})
	}
	return out, nil
}

func (s *Server) foundByID(r viewRequest, v *templates.SearchPage, jobs []*search.Job, q *search.Query, problem error) {
	v.Groups = s.foundGroups(r, jobs)
	if _, only := q.ID(); only || problem != nil {
		v.Filter.Input, v.Filter.Problem = "", ""
		return
	}
	v.Progress = &templates.ScanProgress{Text: "The same text in names and errors was not looked for.", GoOnURL: r.with(s.o.BasePath, "scan", "1")}
}

// searchAll runs one look over all queues that the viewer may see.
func (s *Server) searchAll(ctx context.Context, r viewRequest, q *search.Query, from *search.Cursor) (foundJobs, int64, error) {
	lists, total, err := s.listsOf(searchable(visibleQueues(r)), q)
	if err != nil {
		return foundJobs{}, 0, err
	}
	l := lookLimits
	l.Found = searchFound
	found, err := s.scans.look(ctx, q, lists, from, l)
	return found, total, err
}

// searchable leaves out what is not known to be a queue of BullMQ.
func searchable(all []*monitor.Queue) []*monitor.Queue {
	out := make([]*monitor.Queue, 0, len(all))
	for _, q := range all {
		if q.Unreadable == "" {
			out = append(out, q)
		}
	}
	return out
}

// fillFound puts what was found on the page and returns how many jobs were found so far, and how far the search came.
func (s *Server) fillFound(r viewRequest, v *templates.SearchPage, f foundJobs, total int64) (n int64, far string) {
	looked, n := f.Looked+figureIn(r, "looked"), f.Found+figureIn(r, "found")
	took := f.Took + time.Duration(figureIn(r, "took"))*time.Millisecond
	v.Groups = s.foundGroups(r, f.jobs)
	for _, t := range f.Troubles {
		v.Troubles = append(v.Troubles, templates.Notice{
			Class: "s-delayed", Icon: "h-warn", Strong: "Some jobs could not be looked at.",
			Text: "The " + stateWord(string(t.State)) + " jobs of " + visibleText(s.queueName(t.Queue.Qualified())) + ": " + oneLine(t.Err) + ".",
		})
	}
	v.Progress = &templates.ScanProgress{Value: looked, Max: total, Auto: true}
	if f.Next != nil {
		v.Progress.GoOnURL = r.with(s.o.BasePath, "from", f.Next.String(), "scan", "1",
			"looked", strconv.FormatInt(looked, 10), "found", strconv.FormatInt(n, 10), "took", strconv.FormatInt(took.Milliseconds(), 10))
	}
	if len(v.Groups) == 0 {
		v.Empty = &templates.EmptyState{Title: "Nothing found", Text: "No job matches."}
		if f.Next != nil {
			v.Empty = &templates.EmptyState{Title: "Nothing found so far"}
		}
	}
	f.Took = took
	return n, s.howFar(f.Outcome, looked, total)
}

// figureIn is a count that an earlier look left in the address, for the running total.
func figureIn(r viewRequest, name string) int64 {
	n, err := strconv.ParseInt(r.query.Get(name), 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

func foundTitle(n int64, all bool) string {
	title := words.Plural(n, "job", "jobs") + " found"
	if n == 0 {
		title = "No job found"
	}
	if !all {
		title += " so far"
	}
	return title
}

// foundGroups puts jobs together by queue, in the order they were found.
func (s *Server) foundGroups(r viewRequest, jobs []*search.Job) []templates.FoundGroup {
	var out []templates.FoundGroup
	places := map[keys.Queue]int{}
	for _, j := range jobs {
		i, ok := places[j.Queue]
		if !ok {
			i = len(out)
			places[j.Queue] = i
			out = append(out, templates.FoundGroup{Queue: visibleText(s.queueName(j.Queue.Qualified())), URL: s.links.queue(j.Queue)})
		}
		out[i].Rows = append(out[i].Rows, s.foundRow(j, r.now))
	}
	return out
}

func (s *Server) foundRow(j *search.Job, now time.Time) templates.FoundRow {
	row := templates.FoundRow{
		ID: visibleText(j.ID), URL: s.links.job(j.Queue, j.ID), State: templates.StateOf(string(j.State)),
		Name: words.Unknown, Attempts: words.Unknown, When: s.when(timeOf(j.State, j.Row), now),
	}
	if j.Missing {
		row.Gone, row.Text = true, "data missing: the job's record is gone from Redis"
		return row
	}
	if row.Name = visibleText(j.Name); row.Name == "" {
		row.Name = "(no name)"
	}
	row.Attempts = strconv.Itoa(j.AttemptsMade) + "/" + strconv.Itoa(max(j.Attempts, 1))
	row.Text = rowText(j.State, j.Row)
	return row
}

func searchHelp() []templates.Example {
	return []templates.Example{
		{Code: `1842113`, Means: "the job with this id, in all queues at once"},
		{Code: `timeout "not found" -retry`, Means: "words in the id, the name or the error; all must be there, with - before it one must not"},
		{Code: `name:deliver error:refused`, Means: "in the name, in the first line of the error; name:=deliver is the whole name, * stands for any text"},
		{Code: `state:failed,delayed queue:web`, Means: "the state, the queue's name"},
		{Code: `data.customer.id:42`, Means: "a value in the data, by its path; data.items[0].sku:x, data.items[*].sku:x, data.total:>100, data.coupon:* for any"},
		{Code: `data:ada@mail.example`, Means: "in any value of the data"},
		{Code: `opts.priority:>0 attempts:>3`, Means: "options by BullMQ's names, attempts made"},
		{Code: `age:>1h`, Means: "time since it ended or, when it has not, since it was added; age:10min..1h, age:<2d"},
		{Code: `finished:14:00..14:10`, Means: "when it ended: times of today or dates, as 2026-03-12T14:00"},
	}
}
