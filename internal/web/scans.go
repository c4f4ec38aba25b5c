package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/search"
	"bullpen/internal/words"
	"bullpen/templates"
)

// The limits of one look for jobs. What they leave out can be looked at by going on.
var (
	// lookLimits are those of a page; it stops at the jobs that fit on it.
	lookLimits = search.Limits{Rows: 20_000, Payload: payloadLimit, Bytes: 8 << 20, Time: 800 * time.Millisecond}
	// previewLimits are those of the question before an act on all jobs that match.
	previewLimits = search.Limits{Rows: 50_000, Payload: payloadLimit, Bytes: 16 << 20, Time: 2 * time.Second}
)

const (
	// payloadLimit is the largest payload that is looked into.
	payloadLimit = 1 << 20
	// scansAtOnce is how many requests look through jobs at the same time; others wait.
	scansAtOnce = 2
	// keptScans bounds the results that are kept for live lists.
	keptScans = 64
)

// scans shares out the right to look through jobs, and keeps what was found for those who watch the same list.
type scans struct {
	slots chan struct{}

	mu   sync.Mutex
	kept map[string]foundJobs
	// touched is when somebody last acted: what was found before may have changed.
	touched time.Time
}

func newScans() *scans {
	return &scans{slots: make(chan struct{}, scansAtOnce), kept: map[string]foundJobs{}}
}

// foundJobs is the result of a look.
type foundJobs struct {
	at   time.Time
	jobs []*search.Job
	search.Outcome
}

// look runs a scan when its turn comes.
func (sc *scans) look(ctx context.Context, q *search.Query, lists []search.List, from *search.Cursor, l search.Limits) (foundJobs, error) {
	var f foundJobs
	err := sc.turn(ctx, func() (err error) {
		f.Outcome, err = q.Scan(ctx, lists, from, l, func(j *search.Job) { f.jobs = append(f.jobs, j) })
		return err
	})
	return f, err
}

// turn reads when there is room for one more that reads much.
func (sc *scans) turn(ctx context.Context, read func() error) error {
	select {
	case sc.slots <- struct{}{}:
		defer func() { <-sc.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return read()
}

// watch is look for a live list: the same list is looked through again only when somebody acted, or after twenty times
// as long as the last look took, whoever watches it.
func (sc *scans) watch(key string, now time.Time, fresh bool, look func() (foundJobs, error)) (foundJobs, error) {
	sc.mu.Lock()
	f, ok := sc.kept[key]
	ok = ok && !fresh && f.at.After(sc.touched) && now.Sub(f.at) < max(time.Second, 20*f.Took)
	sc.mu.Unlock()
	if ok {
		return f, nil
	}
	f, err := look()
	if err != nil {
		return f, err
	}
	f.at = now
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.kept) >= keptScans {
		clear(sc.kept)
	}
	sc.kept[key] = f
	return f, nil
}

// touch says that an act may have changed what lists hold.
func (sc *scans) touch(now time.Time) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.touched = now
}

// lastTouch is when somebody last acted.
func (sc *scans) lastTouch() time.Time {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.touched
}

// touch says that somebody acted: what was found and counted before may have changed.
func (s *Server) touch() {
	s.scans.touch(s.o.Clock())
	s.failures.Refresh()
	s.letters.Refresh()
}

// searchOptions are what the meaning of a query depends on here.
func (s *Server) searchOptions(now time.Time) search.Options {
	return search.Options{Now: now, Zone: s.o.Zone, Masked: s.o.Mask}
}

// parseQuery reads a query that a form or program sent; "q" may come more than once, and all of its terms count.
func (s *Server) parseQuery(v url.Values, now time.Time) (*search.Query, error) {
	q, err := search.Parse(strings.Join(v["q"], " "), s.searchOptions(now))
	if err != nil {
		return nil, &Problem{Status: http.StatusUnprocessableEntity, Title: "This search cannot be read", Detail: sentence(err.Error()), Field: "q", cause: err}
	}
	return q, nil
}

// cursor reads the place to go on from.
func cursor(v url.Values) (*search.Cursor, error) {
	c, err := search.ParseCursor(v.Get("from"))
	if err != nil {
		return nil, &Problem{Status: http.StatusBadRequest, Title: "Cannot go on", Detail: sentence(err.Error()), Field: "from", cause: err}
	}
	return c, nil
}

// filterBar is the form that narrows a list, with a chip for each term of q. typed is text that is not in force because
// of problem.
func (s *Server) filterBar(r viewRequest, q *search.Query, typed string, problem error) templates.FilterBar {
	f := templates.FilterBar{Label: "Search jobs", Hint: "name:  error:  data.customer.id:42", Verb: "Filter", URL: s.o.BasePath + r.path, Query: q.String(), Input: typed}
	if problem != nil {
		f.Problem = visibleText(sentence(problem.Error()))
	}
	for i, t := range q.Terms() {
		c := templates.Chip{Key: t.Key, Value: visibleText(t.Value), DropURL: r.with(s.o.BasePath, "q", q.Without(i), "from", "", "page", "", "scan", "", "looked", "", "found", "", "took", "")}
		if t.Not {
			c.Key = strings.TrimSpace("not " + t.Key)
		}
		f.Chips = append(f.Chips, c)
	}
	return f
}

// readTerms reads the terms of an address one "q" after the other, so that one that cannot be read spoils no other.
func (s *Server) readTerms(v url.Values, now time.Time) (q *search.Query, typed string, problem error) {
	o := s.searchOptions(now)
	q, _ = search.Parse("", o)
	for _, text := range v["q"] {
		both, err := search.Parse(strings.TrimSpace(q.String()+" "+text), o)
		if err != nil {
			typed, problem = text, err
			continue
		}
		q = both
	}
	return q, typed, problem
}

// howFar tells what a look covered and where it would go on, for people.
func (s *Server) howFar(out search.Outcome, looked, total int64) string {
	text := "Looked at " + words.Plural(looked, "job", "jobs")
	if out.Next != nil && total > looked {
		text = "Looked at " + words.Count(looked) + " of about " + words.Plural(total, "job", "jobs")
	}
	text += " in " + words.Exact(out.Took.Round(time.Millisecond)) + "."
	if out.Unread > 0 {
		text += " " + words.Plural(out.Unread, "payload", "payloads") + " over " + words.Bytes(payloadLimit) + " " + oneOrMany(out.Unread, "was", "were") + " not looked into."
	}
	if n := out.Next; n != nil {
		text += " Next: " + stateWord(string(n.State)) + " jobs of " + visibleText(s.queueName(n.Queue))
		if (n.State == keys.Completed || n.State == keys.Failed) && n.At > 0 {
			text += ", at " + time.UnixMilli(n.At).In(s.o.Zone).Format("2 January, 15:04:05")
		}
		text += "."
	}
	return text
}

func oneOrMany(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// listsOf are what a search of queues looks through, and about how many jobs that is.
func (s *Server) listsOf(queues []*monitor.Queue, q *search.Query) (lists []search.List, total int64, err error) {
	states := q.States()
	for _, m := range queues {
		if !q.In(m.Queue) {
			continue
		}
		for _, st := range states {
			n := m.Counts[st]
			if m.Counts != nil && n == 0 {
				continue
			}
			eq, err := s.o.Queue(m.Queue)
			if err != nil {
				return nil, 0, err
			}
			lists, total = append(lists, search.List{Queue: eq, State: st}), total+n
		}
	}
	return lists, total, nil
}
