package web

import (
	"context"
	"math"
	"strings"
	"time"

	"bullpen/alerts"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor/alerting"
	"bullpen/internal/words"
	"bullpen/templates"
)

// maxAlertsOfRule bounds the rows of one rule; the rest is counted.
const maxAlertsOfRule = 20

// outsideState is the state of a rule that only Prometheus can evaluate.
const outsideState alerting.State = "outside"

// alertFinding is one alert, or a rule that has none.
type alertFinding struct {
	rule  alerts.Alert
	state alerting.State
	row   templates.AlertRow
}

// alertsPage shows every rule that is shipped, with its state now.
func (s *Server) alertsPage(_ context.Context, r viewRequest) (view, error) {
	found, st := s.alertFindings(r), s.outsideSays()
	count := map[alerting.State]int64{}
	for _, f := range found {
		count[f.state]++
	}
	v := templates.AlertsPage{
		Aged: s.stale(r.snap, r.now), Beside: beside(st), Facts: s.besideFacts(st, r), Silences: s.silences(st, r),
	}
	v.Look, v.Title = alertsTitle(count)
	v.Say = alertsSay(count)
	for _, g := range []struct {
		state alerting.State
		label string
	}{
		{alerting.Firing, "Firing"},
		{alerting.Pending, "Found, and firing if it lasts"},
		{alerting.Unknown, "Unknown, because there is not enough history yet"},
		{alerting.Inactive, "Nothing found"},
		{outsideState, "Evaluated by Prometheus only"},
	} {
		group := templates.AlertGroup{Label: g.label, Count: words.Count(count[g.state])}
		for _, f := range found {
			if f.state == g.state {
				group.Rows = append(group.Rows, f.row)
			}
		}
		if len(group.Rows) > 0 {
			v.Groups = append(v.Groups, group)
		}
	}
	return view{
		title: v.Title, nav: "/alerts", content: templates.AlertsView(v),
		live: []region{{"finding", templates.AlertsFinding(v)}, {"alerts", templates.AlertsTable(v)}, {"beside", templates.AlertsBeside(v)}},
	}, nil
}

func alertsTitle(n map[alerting.State]int64) (templates.Health, string) {
	switch {
	case n[alerting.Firing] > 0:
		return alertLook(alerting.Firing, alerts.Critical), words.Plural(n[alerting.Firing], "alert is firing", "alerts are firing")
	case n[alerting.Pending] > 0:
		return alertLook(alerting.Pending, ""), words.Plural(n[alerting.Pending], "alert fires if it lasts", "alerts fire if they last")
	case n[alerting.Inactive] == 0:
		return alertLook(alerting.Unknown, ""), "Alerts are not known yet"
	}
	return alertLook(alerting.Inactive, ""), "No alert is firing"
}

func alertsSay(n map[alerting.State]int64) string {
	say := "Bullpen evaluates the rules it ships for Prometheus every " + words.Roughly(alerting.Interval) + ", so this page works without one."
	if u := n[alerting.Unknown]; u > 0 {
		say += " " + words.Plural(u, "rule looks", "rules look") + " back further than Bullpen has watched."
	}
	return say
}

// alertFindings are the alerts of every rule in the order of the table; a rule without one is a finding too.
func (s *Server) alertFindings(r viewRequest) []alertFinding {
	var out []alertFinding
	outer := s.outsideSays()
	for i, st := range s.o.Monitor.Alerts() {
		row := templates.AlertRow{
			Name: st.Rule.Name, Severity: severityWords(st.Rule), Runbook: s.runbookLink(st.Rule.Runbook),
			Beside: s.besideRow(outer, r.who, st.Rule),
		}
		active := s.visibleAlerts(r.who, st.Active)
		for k, a := range active {
			if k == maxAlertsOfRule {
				more := row
				more.Look, more.About = alertLook(a.State, st.Rule.Severity), words.Count(int64(len(active)-k))+" more of this alert."
				out = append(out, alertFinding{st.Rule, a.State, more})
				break
			}
			out = append(out, alertFinding{st.Rule, a.State, s.activeRow(row, st.Rule, a, r.now)})
		}
		if len(active) > 0 {
			continue
		}
		state := st.State
		if state != alerting.Unknown {
			state = alerting.Inactive
		}
		out = append(out, alertFinding{st.Rule, state, s.restingRow(r, row, st, state, i)})
	}
	for _, a := range alerts.Alerts("bullpen") {
		if a.Outside {
			f := s.outsideFinding(outer, a)
			f.row.Beside = s.besideRow(outer, r.who, a)
			out = append(out, f)
		}
	}
	order(out)
	return out
}

// visibleAlerts leaves out those of queues the viewer may not see.
func (s *Server) visibleAlerts(who Identity, all []alerting.Active) []alerting.Active {
	var out []alerting.Active
	for _, a := range all {
		if who.May(Viewer, labelledQueue(a.Labels)) {
			out = append(out, a)
		}
	}
	return out
}

// activeRow is an alert that fires, or fires if it lasts.
func (s *Server) activeRow(row templates.AlertRow, rule alerts.Alert, a alerting.Active, now time.Time) templates.AlertRow {
	row.Look = alertLook(a.State, rule.Severity)
	row.About, row.Do = a.Summary, a.Description
	row.Since = s.when(a.Since, now)
	if unit := unitOf(rule); unit != nil {
		row.Figure = unit(a.Value)
	}
	if left := rule.For - now.Sub(a.Since); a.State == alerting.Pending && left > 0 {
		row.Figure = strings.TrimPrefix(row.Figure+", fires in "+words.Roughly(left.Round(time.Second)), ", ")
	}
	if row.Subject = s.alertSubject(a.Labels); row.Subject != nil && row.Figure != "" {
		row.Figure += ","
	}
	return row
}

// restingRow is a rule that has no alert: how near the nearest figure is to its limit, or until when nothing is known.
func (s *Server) restingRow(r viewRequest, row templates.AlertRow, st alerting.Status, state alerting.State, i int) templates.AlertRow {
	row.Look = alertLook(state, st.Rule.Severity) // not the rule's: an alert of a hidden queue may be firing
	if st.State == alerting.Unknown {
		row.Until = "unknown until the first figures are read"
		if !st.UnknownUntil.IsZero() {
			row.Until = "unknown until " + st.UnknownUntil.In(s.o.Zone).Format("15:04")
		}
	}
	reading, ok := s.o.Monitor.AlertReading(i)
	if !ok || !r.who.May(Viewer, labelledQueue(reading.Labels)) {
		return row
	}
	unit := unitOf(st.Rule)
	if unit == nil {
		unit = numberWords
	}
	row.Figure = "Nearest to its limit: " + unit(reading.Value) + " of " + unit(reading.Limit)
	if row.Subject = s.alertSubject(reading.Labels); row.Subject != nil {
		row.Figure += ","
	}
	return row
}

// unitOf writes the figure of a rule as its text does; nil when the text has none, because the figure is yes or no.
func unitOf(a alerts.Alert) func(float64) string {
	switch text := a.Description; {
	case strings.Contains(text, "$value | humanizePercentage"):
		return words.Percent
	case strings.Contains(text, "$value | humanizeDuration"):
		return func(v float64) string { return words.Duration(time.Duration(v * float64(time.Second))) }
	case strings.Contains(text, "$value"):
		return numberWords
	}
	return nil
}

// numberWords writes what is mostly a count of jobs.
func numberWords(v float64) string {
	if v == math.Trunc(v) {
		return words.Count(int64(v))
	}
	return words.Number(v)
}

// severityWords tell apart rules of one name.
func severityWords(a alerts.Alert) string {
	if a.Label != "" {
		return string(a.Severity) + ", " + a.Label + " " + a.Value
	}
	return string(a.Severity)
}

// labelledQueue is the queue an alert is about, the zero value when it is about none.
func labelledQueue(l alerting.Labels) keys.Queue {
	return keys.Queue{Prefix: l.Get("prefix"), Name: l.Get("queue")}
}

// alertSubject leads to the page of what an alert is about.
func (s *Server) alertSubject(l alerting.Labels) *templates.Link {
	if q := labelledQueue(l); q.Name != "" {
		return &templates.Link{Label: s.queueName(q.Qualified()), URL: s.links.queue(q)}
	}
	if l.Get("redis") != "" && s.has("/redis") {
		return &templates.Link{Label: "Redis " + l.Get("redis"), URL: s.links.to("/redis")}
	}
	return nil
}

// alertLook is how the state of an alert looks.
func alertLook(state alerting.State, severity alerts.Severity) templates.Health {
	switch state {
	case alerting.Firing:
		switch severity {
		case alerts.Critical:
			return templates.Health{Label: "firing", Class: "s-failed", Icon: "h-crit"}
		case alerts.Warning:
			return templates.Health{Label: "firing", Class: "s-delayed", Icon: "h-warn"}
		}
		return templates.Health{Label: "firing", Class: "s-active", Icon: "h-ok"}
	case alerting.Pending:
		return templates.Health{Label: "pending", Class: "s-delayed", Icon: "s-delayed"}
	case alerting.Inactive:
		return templates.Health{Label: "nothing found", Class: "h-idle", Icon: "h-idle"}
	case outsideState:
		return templates.Health{Label: "evaluated by Prometheus", Class: "h-idle", Icon: "h-unknown"}
	}
	return templates.Health{Label: "unknown", Class: "h-idle", Icon: "h-unknown"}
}

// firingMark is the count beside "Alerts" in the top bar, of the alerts the viewer may see: amber, unless one of them is
// a page.
func firingMark(s *Server, who Identity) (text, class, meaning string) {
	n := int64(0)
	class = "s-delayed"
	for _, st := range s.o.Monitor.Alerts() {
		if st.Rule.Severity == alerts.Info {
			continue
		}
		for _, a := range s.visibleAlerts(who, st.Active) {
			if a.State != alerting.Firing {
				continue
			}
			n++
			if st.Rule.Severity == alerts.Critical {
				class = "s-failed"
			}
		}
	}
	if n == 0 {
		return "", "", ""
	}
	return words.Count(n), class, "firing"
}
