package web

import (
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// queueActs fills the buttons of a queue's page with what the viewer may do.
func (s *Server) queueActs(r viewRequest, q *monitor.Queue, v *templates.QueuePage) {
	if !s.mayAct(r, q) {
		return
	}
	back := templates.Field{Name: "back", Value: r.self()}
	pause := templates.Act{Label: "Pause", Icon: "s-paused", URL: s.links.queue(q.Queue, "pause"), Fields: []templates.Field{back, {Name: "seen", Value: running}}}
	if q.Paused {
		pause = templates.Act{Label: "Resume", Icon: "s-active", Class: "go", URL: s.links.queue(q.Queue, "resume"), Fields: []templates.Field{back, {Name: "seen", Value: paused}}}
	}
	v.Acts = []templates.Act{pause}
	if lift := s.limitAct(r, q); lift != nil {
		v.Acts = append(v.Acts, *lift)
	}
	v.Links = []templates.Act{{Label: "Add job", Icon: "i-plus", URL: s.links.queue(q.Queue, "jobs") + r.asking()}}
	ask := func(label, note, class, verb string, about ...string) templates.Act {
		return templates.Act{Label: label, Note: note, Class: class, URL: s.links.queue(q.Queue, verb) + r.asking(about...)}
	}
	if n := q.Counts[keys.Failed]; n > 0 {
		v.Menu = append(v.Menu, ask("Retry all failed…", words.Plural(n, "job", "jobs")+" back to waiting", "", "retry", "all", "1", "state", "failed"))
	}
	if n := q.Counts[keys.Delayed]; n > 0 {
		v.Menu = append(v.Menu, ask("Promote all delayed…", words.Plural(n, "job", "jobs")+" made ready now", "", "promote", "all", "1"))
	}
	if n := q.Counts[keys.Waiting]; q.DeadLetter && n > 0 {
		v.Menu = append(v.Menu, ask("Replay all…", words.Plural(n, "job", "jobs")+" back to their queues", "", "replay", "all", "1"))
	}
	v.Menu = append(v.Menu, ask("Limit…", "Start nothing for a while", "", "limit"), ask("Clean…", "Remove finished jobs by age", "", "clean"))
	if r.who.May(Admin, q.Queue) {
		v.Menu = append(v.Menu, ask("Drain…", "Remove jobs that have not started", "", "drain"),
			ask("Obliterate…", "Delete the queue and all it holds", "bad", "obliterate"))
	}
}

// allActs are the acts on every job of a state, above its list.
func (s *Server) allActs(r viewRequest, q *monitor.Queue, st keys.State) []templates.Act {
	if !s.mayAct(r, q) {
		return nil
	}
	acts := s.replayAll(r, q, st)
	switch st {
	case keys.Failed:
		return append(acts,
			templates.Act{Label: "Retry all…", Icon: "i-retry", URL: s.links.queue(q.Queue, "retry") + r.asking("all", "1", "state", "failed")},
			templates.Act{Label: "Clean…", Icon: "i-bin", URL: s.links.queue(q.Queue, "clean") + r.asking("state", "failed")})
	case keys.Completed:
		return []templates.Act{{Label: "Clean…", Icon: "i-bin", URL: s.links.queue(q.Queue, "clean") + r.asking("state", "completed")}}
	case keys.Delayed:
		return []templates.Act{{Label: "Promote all…", Icon: "s-active", URL: s.links.queue(q.Queue, "promote") + r.asking("all", "1")}}
	}
	return acts
}

// rowAct is the act on one row.
func (s *Server) rowAct(q *monitor.Queue, verb, id string) templates.Act {
	a := templates.Act{Class: "quiet", URL: s.links.job(q.Queue, id, verb), About: jsonview.Visible(id)}
	switch verb {
	case "promote":
		a.Label, a.Icon = "Promote", "s-active"
	case "replay":
		a.Label, a.Icon = "Replay", "i-retry"
	default:
		a.Label, a.Icon = "Retry", "i-retry"
	}
	return a
}

// bulkAct is an act on the ticked rows.
func (s *Server) bulkAct(q *monitor.Queue, verb string) templates.Act {
	a := templates.Act{URL: s.links.queue(q.Queue, verb)}
	switch verb {
	case "remove":
		a.Label, a.Icon, a.Asks = "Remove…", "i-bin", true
	case "promote":
		a.Label, a.Icon, a.Class = "Promote", "s-active", "go"
	case "replay":
		a.Label, a.Icon, a.Class = "Replay", "i-retry", "go"
	default:
		a.Label, a.Icon, a.Class = "Retry", "i-retry", "go"
	}
	return a
}
