package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// schedulerOf reads the scheduler of an address.
func (s *Server) schedulerOf(ctx context.Context, r viewRequest, q *monitor.Queue) (scheduled, error) {
	eq, err := s.o.Queue(q.Queue)
	if err != nil {
		return scheduled{}, err
	}
	id := r.params["scheduler"]
	found, err := eq.Scheduler(ctx, id)
	if err != nil {
		return scheduled{}, err
	}
	if found == nil {
		return scheduled{}, s.noScheduler(q.Queue, id)
	}
	all, err := withJobs(ctx, eq, []engine.Scheduler{*found})
	if err != nil {
		return scheduled{}, err
	}
	return all[0], nil
}

func (s *Server) noScheduler(q keys.Queue, id string) *Problem {
	p := problem(http.StatusNotFound, "No scheduler "+jsonview.Visible(id)+" in "+jsonview.Visible(q.Name), "It may have been removed. Keys are case-sensitive.")
	p.Links = []templates.Link{{Label: "Schedulers of " + jsonview.Visible(q.Name), URL: s.links.queue(q, "schedulers")}}
	return p
}

// schedulerPage is the page of one scheduler.
func (s *Server) schedulerPage(ctx context.Context, r viewRequest) (view, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return view{}, err
	}
	f, err := s.schedulerOf(ctx, r, q)
	if err != nil {
		return view{}, err
	}
	key := jsonview.Visible(f.ID)
	v := templates.SchedulerPage{
		Crumbs: []templates.Crumb{
			{Label: "Overview", URL: s.links.to("/")},
			{Label: jsonview.Visible(q.Name), URL: s.links.queue(q.Queue)},
			{Label: "Schedulers", URL: s.links.queue(q.Queue, "schedulers")},
			{Label: key},
		},
		State: schedulerLook(f, r), Key: key, Badges: schedulerBadges(f, r.now),
		Firings: s.firings(r, f), Facts: s.schedulerFacts(r, q, f),
		Template: []templates.Payload{
			s.templatePayload("p-data", "Data of its jobs", "None: its jobs get {}.", f.Data),
			s.templatePayload("p-opts", "Options of its jobs", "None.", f.PublicOptions()),
		},
		Raw: s.rawRecord(f), RawKey: jsonview.Visible(q.Key("repeat:" + f.ID)),
	}
	v.Finding, v.Say = s.schedulerFinding(r, q, f)
	for _, a := range s.schedulerActs(r, q, f, false) {
		a.About = ""
		if len(a.Fields) > 0 {
			v.Acts = append(v.Acts, a)
		} else {
			v.Links = append(v.Links, a)
		}
	}
	return view{
		title: "Scheduler " + key, nav: "/schedulers", content: templates.SchedulerView(v),
		live: []region{
			{"head", templates.SchedulerHead(v)},
			{"firings", templates.FiringsTable(v.Firings)},
			{"template", templates.JobPayloads(v.Template)},
			{"facts", templates.SchedulerFacts(v)},
		},
	}, nil
}

// schedulerLook is how a scheduler's condition looks.
func schedulerLook(f scheduled, r viewRequest) templates.State {
	why, broken := f.over(r.now)
	switch {
	case f.Origin != engine.OriginBullMQ:
		return templates.State{Label: "Legacy", Class: "s-paused", Icon: "h-unknown"}
	case broken, f.overdue(r.now):
		return templates.State{Label: "Late", Class: "h-warn", Icon: "h-warn"}
	case why != "":
		return templates.State{Label: "Ended", Class: "h-idle", Icon: "h-idle"}
	}
	return templates.State{Label: "Scheduled", Class: "s-delayed", Icon: "s-delayed"}
}

// schedulerFinding is the rhythm in a sentence, and what comes next.
func (s *Server) schedulerFinding(r viewRequest, q *monitor.Queue, f scheduled) (finding, say string) {
	finding = sentenceStart(rhythm(f))
	if f.Repeat.TZ != "" && f.Repeat.Pattern != "" {
		finding += ", " + jsonview.Visible(f.Repeat.TZ)
	}
	finding += "."
	if text := originWords(f.Origin); text != "" {
		return finding, text
	}
	if why, _ := f.over(r.now); why != "" {
		return finding, why
	}
	if f.overdue(r.now) {
		return finding, "The firing due " + s.when(f.Next, r.now).Text + " is overdue: " + whyLate(q, f) + "."
	}
	if f.Next.After(r.now) {
		return finding, "It fires next " + s.when(f.Next, r.now).Text + "."
	}
	return finding, "It fires now."
}

// schedulerFacts are the rule and the firings so far.
func (s *Server) schedulerFacts(r viewRequest, q *monitor.Queue, f scheduled) []templates.Fact {
	var out []templates.Fact
	add := func(label, value, small, url string) {
		if value != "" {
			out = append(out, templates.Fact{Label: label, Value: value, Small: small, URL: url})
		}
	}
	rule := f.Repeat
	add("Rhythm", sentenceStart(rhythm(f)), "", "")
	add("Cron pattern", jsonview.Visible(rule.Pattern), "", "")
	add("Zone", sentenceStart(zoneWords(f)), "", "")
	if rule.Every > 0 {
		add("Every", words.Count(rule.Every.Milliseconds())+"\u00a0ms", "", "")
		add("Offset", words.Exact(rule.Offset), "from multiples of the interval", "")
	}
	for _, bound := range []struct {
		label string
		at    time.Time
	}{{"Starts", rule.StartDate}, {"Ends", rule.EndDate}} {
		if !bound.at.IsZero() {
			add(bound.label, s.exact(bound.at), "", "")
		}
	}
	if rule.Limit != nil {
		add("Limit", words.Plural(*rule.Limit, "firing", "firings"), "since it was last saved", "")
	}
	add("Job name", jsonview.Visible(f.Name), "", "")
	if total, _ := f.fired(); f.Origin == engine.OriginBullMQ {
		add("Firings", words.Count(total), countWords(f), "")
	}
	for _, run := range []struct {
		label string
		templates.SchedulerRun
	}{{"Last firing", s.lastRun(r, q.Queue, f)}, {"Current firing", s.nextRun(r, q, f)}} {
		if run.When.Known() {
			add(run.label, run.When.Exact, run.Note, run.URL)
		}
	}
	return out
}

func countWords(f scheduled) string {
	total, recent := f.fired()
	if !f.Pending || total == recent {
		return ""
	}
	return words.Count(recent) + " since it was last saved"
}

// templatePayload shows a JSON text of a scheduler's template, masked like the data of jobs.
func (s *Server) templatePayload(id, title, none string, raw json.RawMessage) templates.Payload {
	p := templates.Payload{ID: id, Title: title, None: none}
	if len(raw) == 0 || string(raw) == "{}" {
		return p
	}
	v := jsonview.Render(raw, jsonview.Options{MaxBytes: showLimit, Masked: s.o.Mask})
	p.None, p.Size, p.Code = "", words.Bytes(int64(len(raw))), codeTokens(v)
	switch {
	case v.Truncated:
		p.Notice = "Cut here, at " + words.Bytes(showLimit) + "."
	case !v.Valid:
		p.Notice = "This is not valid JSON; it is shown as it is stored."
	}
	return p
}

// rawRecord is the record as Redis holds it, without what stands on the page.
func (s *Server) rawRecord(f scheduled) []templates.RawField {
	return s.rawHash(f.Fields, nil, "data", "opts")
}
