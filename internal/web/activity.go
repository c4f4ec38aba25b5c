package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"bullpen/internal/audit"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// activityRows is how many entries a page of the activity shows.
const activityRows = 50

// activityPage shows who did what, newest first.
func (s *Server) activityPage(ctx context.Context, r viewRequest) (view, error) {
	text, result := strings.TrimSpace(r.query.Get("q")), r.query.Get("result")
	v := templates.ActivityPage{
		Title: "Activity", Say: "What people did and tried, through every Bullpen on this Redis. About the last " + words.Count(audit.Kept) + " entries are kept.",
		Filter: templates.ActivityFilter{URL: s.links.to("/activity"), Query: text, Outcomes: outcomeOptions(result)},
	}
	before, after := r.query.Get("before"), r.query.Get("after")
	p, err := s.readActivity(ctx, r.who, audit.Query{Before: before, After: after, Match: s.activityMatch(r.who, text, result)})
	switch {
	case errors.Is(err, audit.ErrCursor):
		return view{}, problem(http.StatusBadRequest, "No such page", "%q is not a place in the activity log.", clip(before+after, 60))
	case err != nil:
		v.Trouble = &templates.Notice{Class: "s-failed", Icon: "h-crit", Strong: "The activity cannot be read.", Text: sentenceStart(oneLine(err)) + "."}
	}
	for _, e := range p.Entries {
		v.Rows = append(v.Rows, s.activityRow(e, r))
	}
	if len(v.Rows) == 0 && err == nil {
		v.Empty = s.noActivity(before, text+result != "", p)
	}
	if before+after != "" || p.Next != "" {
		v.Pager = &templates.Pager{Label: "Pages of activity", Text: words.Plural(int64(len(v.Rows)), "entry", "entries"), PrevLabel: "Newer", NextLabel: "Older"}
		if before+after != "" {
			newest := before + after
			if len(p.Entries) > 0 {
				newest = p.Entries[0].ID
			}
			v.Pager.PrevURL = r.with(s.links.base, "before", "", "after", newest)
		}
		if p.Next != "" {
			v.Pager.NextURL = r.with(s.links.base, "after", "", "before", p.Next)
		}
	}
	return view{title: "Activity", nav: "/activity", content: templates.ActivityView(v)}, nil
}

// outcomes are the results the activity can be narrowed to.
var outcomes = []string{audit.Started, audit.Done, audit.Cancelled, audit.Interrupted, audit.Refused, audit.Failed}

func outcomeOptions(chosen string) []templates.Option {
	options := []templates.Option{{Label: "All results"}}
	for _, o := range outcomes {
		options = append(options, templates.Option{Value: o, Label: o})
	}
	for i := range options {
		options[i].Chosen = options[i].Value == chosen
	}
	return options
}

// readActivity reads a page of the log as a person sees it.
func (s *Server) readActivity(ctx context.Context, who Identity, q audit.Query) (audit.Page, error) {
	q.Limit = activityRows
	p, err := s.o.Audit.Read(ctx, q)
	for i, e := range p.Entries {
		p.Entries[i], _ = s.seenEntry(who, e)
	}
	return p, err
}

// activityMatch chooses what the viewer may see and asked for.
func (s *Server) activityMatch(who Identity, text, result string) func(Entry) bool {
	text = strings.ToLower(text)
	return func(e Entry) bool {
		e, ok := s.seenEntry(who, e)
		if !ok || result != "" && e.Outcome != result {
			return false
		}
		return slices.ContainsFunc(append([]string{e.Who, e.Action, e.Queue, e.Target, e.Message}, slices.Concat(e.Jobs, e.Queues)...), func(part string) bool {
			return strings.Contains(strings.ToLower(part), text)
		})
	}
}

// seenEntry is an entry as a person sees it, if at all. The message of an act on several queues may be about those that
// are hidden.
func (s *Server) seenEntry(who Identity, e Entry) (_ Entry, ok bool) {
	if len(e.Queues) == 0 {
		return e, e.Queue == "" || who.May(Viewer, s.links.parseQueue(e.Queue))
	}
	all := len(e.Queues)
	e.Queues = s.visibleQueues(who, e.Queues)
	if hidden := all - len(e.Queues); hidden > 0 {
		e.Jobs, e.Message = nil, "On "+words.Plural(int64(all), "queue", "queues")+", of which you may not see "+words.Count(int64(hidden))+"."
	}
	return e, len(e.Queues) > 0
}

func (s *Server) noActivity(before string, filtered bool, p audit.Page) *templates.EmptyState {
	e := &templates.EmptyState{Title: "Nobody has changed anything yet", Text: "Retries, removals, pauses and everything else that writes appears here."}
	switch {
	case p.Next != "":
		e.Title, e.Text = "Nothing that matches among "+words.Count(int64(p.Read))+" entries", "There are older ones."
	case before != "":
		e.Title, e.Text = "Nothing older", "The log ends here."
	case filtered:
		e.Title, e.Text = "Nothing that matches", words.Plural(int64(p.Read), "entry was", "entries were")+" looked at."
		e.Links = []templates.Link{{Label: "Show all", URL: s.links.to("/activity")}}
	}
	return e
}

func (s *Server) activityRow(e Entry, r viewRequest) templates.ActivityRow {
	row := templates.ActivityRow{
		When: s.when(e.At, r.now), Who: jsonview.Visible(e.Who), Role: e.Role, Action: jsonview.Visible(sentenceStart(e.Action)),
		Outcome: outcomeLook(e.Outcome), Message: jsonview.Visible(e.Message),
	}
	if e.Who == "" {
		row.Who = "somebody unknown"
	}
	if e.Remote != "" {
		row.Remote = ", from " + jsonview.Visible(e.Remote)
	}
	if e.Operation != "" {
		row.Operation = &templates.Link{Label: "Operation " + e.Operation, URL: s.links.to("/operations/" + escapeSegment(e.Operation))}
	}
	if e.Queue == "" {
		if e.Target != "" {
			row.Target = &templates.Link{Label: jsonview.Visible(e.Target)}
		}
		return row
	}
	q := s.links.parseQueue(e.Queue)
	row.Queue = &templates.Link{Label: jsonview.Visible(s.queueName(e.Queue)), URL: s.links.queue(q)}
	if len(e.Jobs) == 0 {
		row.Target = s.activityTarget(q, e)
	}
	for _, id := range e.Jobs {
		row.Jobs = append(row.Jobs, templates.Link{Label: jsonview.Visible(id), URL: s.links.job(q, id)})
	}
	if more := e.Done + e.Refused - int64(len(e.Jobs)); more > 0 && len(e.Jobs) > 0 {
		row.More = " and " + words.Count(more) + " more"
	}
	return row
}

// activityTarget is the job, the scheduler or the state that was acted on; nil when it was the queue itself.
func (s *Server) activityTarget(q keys.Queue, e Entry) *templates.Link {
	target := e.Target
	switch {
	case target != "" && strings.HasSuffix(e.Action, " scheduler"):
		return &templates.Link{Label: jsonview.Visible(target), URL: s.links.queue(q, "schedulers", target)}
	case target == "":
		return nil
	case templates.StateOf(target).Label != "Unknown":
		return &templates.Link{Label: "all that were " + stateWord(target)}
	}
	return &templates.Link{Label: jsonview.Visible(target), URL: s.links.job(q, target)}
}

func outcomeLook(outcome string) templates.Health {
	switch outcome {
	case audit.Started:
		return templates.Health{Label: outcome, Class: "s-active", Icon: "s-active"}
	case audit.Cancelled, audit.Interrupted:
		return templates.Health{Label: outcome, Class: "s-paused", Icon: "s-paused"}
	case audit.Done:
		return templates.Health{Label: outcome, Class: "s-completed", Icon: "s-completed"}
	case audit.Refused:
		return templates.Health{Label: outcome, Class: "s-delayed", Icon: "h-warn"}
	case audit.Failed:
		return templates.Health{Label: outcome, Class: "s-failed", Icon: "s-failed"}
	}
	return templates.Health{Label: "unknown", Class: "h-idle", Icon: "h-unknown"}
}
