package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"
	"bullpen/internal/search"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// queuePage is the page of one queue.
func (s *Server) queuePage(ctx context.Context, r viewRequest) (view, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return view{}, err
	}
	t, err := tabOf(r, q)
	if err != nil {
		return view{}, err
	}
	v := templates.QueuePage{
		Crumbs: []templates.Crumb{{Label: "Overview", URL: s.links.to("/")}, {Label: jsonview.Visible(q.Name)}},
		Name:   jsonview.Visible(q.Name), Health: healthLook(q.Health), Badges: s.queueBadges(q),
		Finding: q.Reason + ".", Say: queueSay(q), Aged: s.stale(r.snap, r.now),
		Facts: s.queueFacts(q), Plots: s.queuePlots(q, r.now), Tabs: s.queueTabs(q, t),
		List: s.jobList(ctx, r, q, t),
	}
	if q.Counts == nil {
		v.Finding = "Counts unknown: " + q.Unreadable + "."
	}
	s.queueActs(r, q, &v)
	return view{
		title: v.Name + titleCount(q, t), nav: "/", content: templates.QueueView(v),
		live: []region{
			{"head", templates.QueueHead(v)},
			{"facts", templates.QueueFacts(v)},
			{"plots", templates.QueuePlots(v)},
			{"tabs", templates.QueueTabs(v.Tabs)},
			{"all", templates.AllActs(v.List.All)},
			{"jobs", templates.JobTable(v.List)},
		},
	}, nil
}

// titleCount is what the browser's tab says beside the name: ": 2,310 failed".
func titleCount(q *monitor.Queue, t tab) string {
	if q.Counts == nil {
		return ""
	}
	return ": " + words.Count(t.count(q)) + " " + strings.ToLower(templates.StateOf(t.name).Label)
}

// tab is a list of a queue's page: a state, or the part of waiting that BullMQ 5 keeps apart while a queue is paused.
type tab struct {
	name  string // as in the address
	state keys.State
}

// pausedTab is the name of the tab of BullMQ 5's paused list. It is there only while that list has jobs.
const pausedTab = "paused"

// count is how many jobs the tab has; the counts of all tabs add up to the jobs of the queue.
func (t tab) count(q *monitor.Queue) int64 {
	switch {
	case t.name == pausedTab:
		return q.PausedList
	case t.state == keys.Waiting:
		return max(q.Counts[keys.Waiting]-q.PausedList, 0)
	}
	return q.Counts[t.state]
}

// first is where the tab starts in the engine's list of its state: the paused list runs before the rest of waiting.
func (t tab) first(q *monitor.Queue, asc bool) int64 {
	switch {
	case t.name == pausedTab && !asc:
		return max(q.Counts[keys.Waiting]-q.PausedList, 0)
	case t.name == string(keys.Waiting) && asc:
		return q.PausedList
	}
	return 0
}

// list is what a search of the tab looks through.
func (t tab) list(eq *engine.Queue, q *monitor.Queue, oldest bool) search.List {
	l := search.List{Queue: eq, State: t.state, Oldest: oldest}
	if t.state == keys.Waiting && q.PausedList > 0 {
		l.Part = &search.Part{First: t.first(q, oldest), Count: t.count(q)}
	}
	return l
}

// tabsOf are the tabs of a queue, in order.
func tabsOf(q *monitor.Queue) []tab {
	var out []tab
	for _, st := range keys.States {
		out = append(out, tab{string(st), st})
		if st == keys.Waiting && q.PausedList > 0 {
			out = append(out, tab{pausedTab, st})
		}
	}
	return out
}

// tabOf is the tab the address asks for; without one, the first that has jobs worth looking at.
func tabOf(r viewRequest, q *monitor.Queue) (tab, error) {
	asked := r.query.Get("state")
	if asked == "" {
		for _, st := range []keys.State{keys.Failed, keys.Active, keys.Waiting, keys.Prioritized, keys.Delayed, keys.WaitingChildren, keys.Completed} {
			if q.Counts[st] > 0 {
				return tab{string(st), st}, nil
			}
		}
		return tab{string(keys.Waiting), keys.Waiting}, nil
	}
	if asked == pausedTab {
		return tab{pausedTab, keys.Waiting}, nil
	}
	for _, t := range tabsOf(q) {
		if t.name == asked {
			return t, nil
		}
	}
	return tab{}, problem(http.StatusNotFound, "No such state", "Jobs are waiting, prioritized, active, delayed, waiting-children, completed or failed; %q is none of these.", asked)
}

// queueSay goes on where the finding ends: the backlog and what it does.
func queueSay(q *monitor.Queue) string {
	if q.Counts == nil {
		return ""
	}
	var parts []string
	switch b := q.Backlog(); {
	case q.Paused && b > 0:
		parts = append(parts, words.Plural(b, "job is", "jobs are")+" held until it is resumed.")
	case b > 0:
		line := words.Plural(b, "job waits", "jobs wait")
		if q.OldestWait > 0 {
			line += ", the oldest for " + oldest(q)
		}
		parts = append(parts, line+".")
	}
	if q.Rate.Known {
		rate := "Nothing finished in the last minute."
		if f := finishedRate(q); f > 0 {
			rate = words.Rate(f) + " finish"
			switch {
			case q.Rate.Growth > 0.05:
				rate += ", and the backlog grows by " + words.PerMinute(q.Rate.Growth)
			case q.Rate.Growth < -0.05:
				rate += ", and the backlog shrinks by " + words.PerMinute(-q.Rate.Growth)
			}
			rate += "."
		}
		parts = append(parts, rate)
	}
	return strings.Join(parts, " ")
}

// queueTabs are the states with their counts.
func (s *Server) queueTabs(q *monitor.Queue, current tab) []templates.Tab {
	var out []templates.Tab
	for i, t := range tabsOf(q) {
		count := words.Unknown
		if q.Counts != nil {
			count = words.Count(t.count(q))
		}
		out = append(out, templates.Tab{
			State: templates.StateOf(t.name), Count: count, Current: t == current, Key: string(rune('1' + i)),
			URL: s.links.queue(q.Queue) + "?state=" + t.name,
		})
	}
	return out
}

// queueFacts set the policy beside what is there.
func (s *Server) queueFacts(q *monitor.Queue) []templates.Fact {
	p := s.o.Monitor.Policy(q.Queue)
	facts := []templates.Fact{activeFact(q), workersFact(q)}
	if f := limiterFact(q); f.Value != "" {
		facts = append(facts, f)
	}
	if q.GlobalConcurrency > 0 {
		facts = append(facts, templates.Fact{Label: "Whole fleet", Value: words.Count(q.GlobalConcurrency) + " at once"})
	}
	if q.Declared {
		facts = append(facts, declaredFacts(p)...)
		if p.DeadLetter != "" {
			dl := keys.Queue{Prefix: q.Prefix, Name: p.DeadLetter}
			facts = append(facts, templates.Fact{Label: "Dead letter", Value: p.DeadLetter, URL: s.links.queue(dl)})
		}
	} else {
		facts = append(facts, templates.Fact{Label: "Attempts", Value: "as each job says", Small: "the queue is not in bullpen.yaml"})
	}
	if q.Version != "" {
		facts = append(facts, templates.Fact{Label: "Written by", Value: visibleText(strings.Replace(q.Version, ":", " ", 1))})
	}
	facts = append(facts, schedulersFact(q, s.links.queue(q.Queue, "schedulers")))
	if s.has("/queues/:queue/policy") {
		facts = append(facts, templates.Fact{Label: "Sizing and limits", Value: "Policy", URL: s.links.queue(q.Queue, "policy"), Last: true})
	}
	return facts
}

// schedulersFact leads to the queue's schedulers, also where there are none yet.
func schedulersFact(q *monitor.Queue, url string) templates.Fact {
	f := templates.Fact{Label: "Schedulers", Value: "none", URL: url}
	if q.Schedulers > 0 {
		f.Value = words.Count(q.Schedulers)
	}
	return f
}

func activeFact(q *monitor.Queue) templates.Fact {
	f := templates.Fact{Label: "Active of ceiling", Value: words.Unknown}
	if q.Counts == nil {
		return f
	}
	n := q.Counts[keys.Active]
	f.Value = words.Count(n)
	if !q.CeilingKnown {
		f.Small = "ceiling unknown"
		return f
	}
	f.Value += " of " + words.Count(q.Ceiling)
	if q.Ceiling > 0 {
		f.Meter = &templates.Meter{Class: meterClass(n, q.Ceiling), Value: n, Max: q.Ceiling}
	}
	return f
}

func workersFact(q *monitor.Queue) templates.Fact {
	f := templates.Fact{Label: "Workers", Value: words.Unknown, Small: "Redis does not let Bullpen list clients"}
	if !q.WorkersKnown {
		return f
	}
	f.Value, f.Small = words.Count(q.Workers), ""
	switch {
	case q.Workers == 0 && q.DeadLetter:
		f.Small = "none expected"
	case q.BullpenWorkers > 0 && q.BullpenWorkers == q.Workers:
		if f.Small = "with " + words.Count(q.Announced) + " at once"; q.Workers > 1 {
			f.Small += " between them"
		}
	case q.BullpenWorkers > 0:
		f.Small = words.Count(q.BullpenWorkers) + " of them Bullpen's"
	}
	return f
}

func limiterFact(q *monitor.Queue) templates.Fact {
	l := q.Limiter
	f := templates.Fact{Label: "Limiter"}
	if l.Max > 0 {
		f.Value = words.Count(l.Max) + " per " + words.Exact(l.Duration)
		f.Small = "open"
	}
	if l.Closed {
		f.Class = "s-delayed"
		f.Small = "full"
		if l.Manual {
			f.Small = "closed by a rate limit"
		}
		if f.Value == "" {
			f.Value = "closed"
		}
		if l.TTL > 0 {
			f.Small += ", opens in " + words.Exact(l.TTL)
		}
	}
	return f
}

// declaredFacts are the parts of a policy that the file sets.
func declaredFacts(p policy.Policy) []templates.Fact {
	p = p.WithDefaults()
	facts := []templates.Fact{{Label: "Attempts", Value: words.Count(int64(p.Attempts)), Small: backoffWords(p.Backoff)}}
	if p.Timeout > 0 {
		facts = append(facts, templates.Fact{Label: "Timeout", Value: words.Exact(p.Timeout)})
	}
	if p.KeepFailed.Set {
		facts = append(facts, templates.Fact{Label: "Failed jobs kept", Value: keepWords(p.KeepFailed)})
	}
	if p.KeepCompleted.Set {
		facts = append(facts, templates.Fact{Label: "Completed jobs kept", Value: keepWords(p.KeepCompleted)})
	}
	return facts
}

func backoffWords(b policy.Backoff) string {
	if b.Type == "" {
		return "retried at once"
	}
	text := b.Type + ", " + words.Exact(b.Delay)
	if b.Max > 0 {
		text += " to " + words.Exact(b.Max)
	}
	if b.Jitter > 0 {
		text += ", jitter " + strconv.FormatFloat(b.Jitter, 'g', 2, 64)
	}
	return text
}

func keepWords(k policy.Keep) string {
	var parts []string
	switch {
	case k.Count == 0 && k.Age == 0:
		return "none"
	case k.Count > 0:
		parts = append(parts, "the last "+words.Count(k.Count))
	}
	if k.Age > 0 {
		parts = append(parts, words.Roughly(k.Age))
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ", ")
}
