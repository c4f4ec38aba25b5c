package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// peekLimit is how much of each field a job's page reads.
const peekLimit = 256 << 10

// jobPage is the page of one job.
func (s *Server) jobPage(ctx context.Context, r viewRequest) (view, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return view{}, err
	}
	read, err := r.keptJob.read(ctx, s, r, q, r.params["id"])
	if err != nil {
		return view{}, err
	}
	j, st := read.peek, read.story
	look := templates.StateOf(string(j.State))
	v := templates.JobPage{
		Crumbs: []templates.Crumb{
			{Label: "Overview", URL: s.links.to("/")},
			{Label: jsonview.Visible(q.Name), URL: s.links.queue(q.Queue)},
			{Label: look.Label, URL: s.links.queue(q.Queue) + "?state=" + string(j.State)},
			{Label: jsonview.Visible(j.ID)},
		},
		State: look, Name: jobName(j), ID: jsonview.Visible(j.ID), Badges: s.jobBadges(j),
		Timeline: s.timeline(st, r.now), Traces: jobTraces(j), Logs: read.logs,
		Steps: s.stepRows(st), StepNote: s.stepNote(j, st),
		Payloads: s.payloads(r, q, j), Options: append(s.letterFacts(r, q, j), s.jobOptions(r, q, j)...), Flow: read.flow, Raw: s.rawFields(r, j),
		Key: jsonview.Visible(j.Key()),
	}
	if j.State == keys.Unknown {
		v.Crumbs = append(v.Crumbs[:2], v.Crumbs[3])
	}
	v.Finding, v.Say = jobFinding(j, r.now), jobSay(j, st)
	if letter := letterFinding(r, q, j); letter != "" && j.State == keys.Waiting {
		v.Finding = letter
	}
	if s.mayAct(r, q) {
		v.Acts, v.Links = s.jobActs(r, q, j)
	}
	out := view{
		title: v.Name + " " + v.ID + ", " + strings.ToLower(look.Label), nav: "/", content: templates.JobView(v),
		live: []region{
			{"head", templates.JobHead(v)},
			{"timeline", templates.JobTimeline(v.Timeline)},
			{"traces", templates.JobTraces(v.Traces)},
			{"flow", templates.JobFlow(v.Flow)},
			{"logs", templates.JobLogs(v.Logs)},
			{"steps", templates.JobSteps(v)},
			{"facts", templates.JobFacts(v)},
		},
	}
	// What was opened although it is long stays as it was opened: it is not read again and again.
	if r.query.Get("open") == "" || max(j.Sizes["data"], j.Sizes["returnvalue"]) <= openLimit {
		out.live = append(out.live, region{"payloads", templates.JobPayloads(v.Payloads)})
	}
	return out, nil
}

// peekOf reads the job that an address names.
func (s *Server) peekOf(ctx context.Context, r viewRequest) (*engine.Peek, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	return s.peek(ctx, r, q, r.params["id"])
}

// peek reads a job for its page, or says in words why there is none.
func (s *Server) peek(ctx context.Context, r viewRequest, q *monitor.Queue, id string) (*engine.Peek, error) {
	queue, err := s.engineOf(q.Queue)
	if err != nil {
		return nil, err
	}
	limit, long := peekLimit, false
	if r.query.Get("open") != "" {
		limit, long = openLimit, !r.stream
	}
	j, err := queue.Peek(ctx, id, limit, long)
	if errors.Is(err, engine.ErrJobNotFound) {
		p := problem(http.StatusNotFound, "No job "+jsonview.Visible(id)+" in "+jsonview.Visible(q.Name),
			"It may have been removed, or retention dropped it: %s. Ids are case-sensitive.", retentionWords(s.o.Monitor.Policy(q.Queue)))
		p.Links = []templates.Link{{Label: "Jobs of " + jsonview.Visible(q.Name), URL: s.links.queue(q.Queue)}}
		return nil, s.explainGone(ctx, r, queue, id, p)
	}
	return j, err
}

func jobName(j *engine.Peek) string {
	if name := jsonview.Visible(j.Name); name != "" {
		return name
	}
	return "(no name)"
}

// jobFinding says in which state the job is, since when, and why.
func jobFinding(j *engine.Peek, now time.Time) string {
	since := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return " " + words.Duration(now.Sub(t).Truncate(time.Second)) + " ago"
	}
	if len(j.Fields) == 0 {
		return "Data missing: the job's record is gone from Redis, only its id is still listed."
	}
	switch j.State {
	case keys.Failed:
		return "Failed" + since(j.FinishedOn) + ": " + orNone(jsonview.Visible(firstLineOf(j.FailedReason, 200)))
	case keys.Completed:
		return "Completed" + since(j.FinishedOn) + "."
	case keys.Active:
		return "Running for " + words.Duration(now.Sub(j.ProcessedOn).Truncate(time.Second)) + ", attempt " +
			words.Count(int64(j.AttemptsMade+1)) + " of " + words.Count(int64(j.AttemptsAllowed())) + "."
	case keys.Delayed:
		if !j.Due.After(now) {
			return "Due" + since(j.Due) + " and not yet picked up: a worker with a free slot makes it ready."
		}
		return "Delayed, due in " + words.Duration(j.Due.Sub(now).Truncate(time.Second)) + "."
	case keys.WaitingChildren:
		return "Waits for " + words.Plural(j.Pending, "child", "children") + "."
	case keys.Unknown:
		return "In no state: the record is there, but no list of the queue holds its id, so no worker will take it."
	}
	if j.DeferredFailure != "" {
		return "Will fail when a worker takes it: " + jsonview.Visible(firstLineOf(j.DeferredFailure, 200)) + "."
	}
	return "Ready to run, waits for a free slot."
}

func orNone(reason string) string {
	if reason == "" {
		return "no reason given."
	}
	return strings.TrimRight(reason, ".") + "."
}

// jobSay goes on where the finding ends: what will happen, and where the time went.
func jobSay(j *engine.Peek, st story) string {
	var parts []string
	made, allowed := j.AttemptsMade, j.AttemptsAllowed()
	switch {
	case j.State == keys.Failed && made >= allowed && allowed > 1:
		parts = append(parts, fmt.Sprintf("All %d attempts are used, it will not run again by itself.", allowed))
	case j.State == keys.Failed && made >= allowed:
		parts = append(parts, "Its only attempt is used, it will not run again by itself.")
	case j.State == keys.Failed:
		parts = append(parts, fmt.Sprintf("Attempt %d of %d failed for good, it will not run again by itself.", made, allowed))
	case j.State == keys.Delayed && made > 0:
		parts = append(parts, fmt.Sprintf("%d of %d attempts are used; the last one failed: %s", made, allowed, orNone(jsonview.Visible(firstLineOf(j.FailedReason, 200)))))
	case j.State == keys.Active && j.Locked < 0:
		parts = append(parts, "Its lock is gone: the worker died or lost Redis. The next stall check puts it back to waiting.")
	case j.State == keys.Active && j.ProcessedBy != "":
		parts = append(parts, "On worker "+jsonview.Visible(j.ProcessedBy)+".")
	}
	waited, ran := st.total(stepWaited), st.total(stepAttempt)
	if st.whole && ran > 0 && (j.State == keys.Failed || j.State == keys.Completed) {
		parts = append(parts, "It spent "+words.Exact(waited)+" waiting and "+words.Exact(ran)+" running.")
	}
	return strings.Join(parts, " ")
}

func (s *Server) jobBadges(j *engine.Peek) []templates.BadgeView {
	var out []templates.BadgeView
	if j.State == keys.Failed && j.AttemptsMade < j.AttemptsAllowed() {
		out = append(out, templates.BadgeView{Class: "s-paused", Icon: "s-failed", Label: "will not retry"})
	}
	if j.StalledCount > 0 {
		out = append(out, templates.BadgeView{Class: "s-delayed", Icon: "h-warn", Label: "stalled " + words.Count(int64(j.StalledCount)) + "×"})
	}
	if err := j.Fault(); err != nil && len(j.Fields) > 0 {
		out = append(out, templates.BadgeView{Class: "s-failed", Icon: "h-warn", Label: "broken: " + firstLineOf(err.Error(), 80)})
	}
	return out
}

// jobActs are what can be done with a job in its state; those that cannot be undone ask first.
func (s *Server) jobActs(r viewRequest, q *monitor.Queue, j *engine.Peek) (acts, links []templates.Act) {
	fields := []templates.Field{{Name: "state", Value: string(j.State)}, {Name: "seen", Value: string(j.State)}, {Name: "back", Value: r.self()}}
	key := "e"
	if replay := s.replayAct(r, q, j); replay != nil {
		acts, key = append(acts, *replay), "" // a key presses one button
	}
	act := func(verb, label, icon string) templates.Act {
		return templates.Act{Label: label, Icon: icon, Class: "go", URL: s.links.job(q.Queue, j.ID, verb), Fields: fields, Key: key}
	}
	switch j.State {
	case keys.Failed:
		acts = append(acts, act("retry", "Retry", "i-retry"))
	case keys.Completed:
		again := act("retry", "Run again", "i-retry")
		again.Class = ""
		acts = append(acts, again)
	case keys.Delayed:
		acts = append(acts, act("promote", "Promote", "s-active"))
	}
	form := func(verb, label, icon string) templates.Act {
		return templates.Act{Label: label, Icon: icon, URL: withQuery(s.links.job(q.Queue, j.ID, verb), map[string][]string{"back": {r.self()}})}
	}
	switch {
	case slices.Contains(retryable, j.State):
		links = append(links, form("edit", "Edit and retry…", "i-edit"))
	case slices.Contains(editable, j.State):
		links = append(links, form("edit", "Edit…", "i-edit"))
	}
	if len(j.Fields) > 0 {
		links = append(links, form("duplicate", "Duplicate…", "i-copy"))
	}
	remove := templates.Act{Label: "Remove…", Class: "bad", URL: withQuery(s.links.job(q.Queue, j.ID, "remove"), url.Values{"back": {s.links.listPath(q.Queue, j.State)}}), Key: "#"}
	return acts, append(links, remove)
}

// firstLineOf cuts a text to its first line and at most limit bytes.
func firstLineOf(text string, limit int) string {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > limit {
		line = strings.ToValidUTF8(line[:limit], "") + "…"
	}
	return line
}
