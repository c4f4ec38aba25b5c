package web

import (
	"slices"
	"strings"
	"time"

	"bullpen/alerts"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor/alerting"
	"bullpen/internal/outside"
	"bullpen/internal/words"
	"bullpen/templates"
)

// outsideSays is what a Prometheus and an Alertmanager say now; nil when there are none.
func (s *Server) outsideSays() *outside.State {
	if s.o.Outside == nil {
		return nil
	}
	return s.o.Outside()
}

// beside heads the column with what they say of a rule; "" leaves it out.
func beside(st *outside.State) string {
	switch {
	case st == nil:
		return ""
	case st.Alertmanager == nil:
		return "Prometheus"
	case st.Prometheus == nil:
		return "Alertmanager"
	}
	return "Prometheus, Alertmanager"
}

// besideRow is what they say of a rule.
func (s *Server) besideRow(st *outside.State, who Identity, a alerts.Alert) (out []string) {
	if st == nil {
		return nil
	}
	if len(st.Rules) > 0 { // that none is loaded is said once
		out = append(out, s.prometheusWords(st, who, a))
	}
	if st.Alertmanager != nil && !st.Alertmanager.Answered.IsZero() {
		out = append(out, s.alertmanagerWords(st, who, a)...)
	}
	return out
}

func (s *Server) prometheusWords(st *outside.State, who Identity, a alerts.Alert) string {
	rule, loaded := st.Of(a)
	n := s.countByState(who, rule.Active)
	switch {
	case !loaded:
		return "not loaded"
	case rule.Err != "":
		return "cannot be evaluated: " + rule.Err
	case n["firing"] > 0 && n["pending"] > 0:
		return words.Count(n["firing"]) + " firing, " + words.Count(n["pending"]) + " pending"
	case n["firing"] > 1 || n["pending"] > 1:
		return words.Count(n["firing"]+n["pending"]) + " " + string(prometheusState(n))
	}
	return string(prometheusState(n))
}

// prometheusState is the worst state of a rule's alerts.
func prometheusState(n map[string]int64) alerting.State {
	switch {
	case n["firing"] > 0:
		return alerting.Firing
	case n["pending"] > 0:
		return alerting.Pending
	}
	return alerting.Inactive
}

// alertmanagerWords say how many alerts of a rule the Alertmanager has in each state, and when the first silence ends.
func (s *Server) alertmanagerWords(st *outside.State, who Identity, a alerts.Alert) (out []string) {
	known := st.Known(a)
	n := s.countByState(who, known)
	for _, state := range []string{"active", "unprocessed", "silenced", "inhibited"} {
		if n[state] == 0 {
			continue
		}
		text := words.Count(n[state]) + " " + state
		if state == "silenced" {
			if end := firstEnd(st, known); !end.IsZero() {
				text += " until " + s.clockOrDay(end)
			}
		}
		out = append(out, text)
	}
	return out
}

// firstEnd is when the first silence of some alerts ends.
func firstEnd(st *outside.State, known []outside.Alert) (first time.Time) {
	for _, a := range known {
		for _, id := range a.SilencedBy {
			if x := st.Silence(id); x != nil && (first.IsZero() || x.EndsAt.Before(first)) {
				first = x.EndsAt
			}
		}
	}
	return first
}

// countByState counts the alerts that somebody may see.
func (s *Server) countByState(who Identity, all []outside.Alert) map[string]int64 {
	n := map[string]int64{}
	for _, a := range all {
		if who.May(Viewer, keys.Queue{Prefix: a.Labels["prefix"], Name: a.Labels["queue"]}) {
			n[a.State]++
		}
	}
	return n
}

// clockOrDay writes a time of today as a clock, another one with its day.
func (s *Server) clockOrDay(t time.Time) string {
	t = t.In(s.o.Zone)
	if now := s.o.Clock().In(s.o.Zone); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04")
	}
	return t.Format("2 Jan 15:04")
}

// outsideFinding is a rule that only Prometheus evaluates: what it says, where it is asked.
func (s *Server) outsideFinding(st *outside.State, a alerts.Alert) alertFinding {
	row := templates.AlertRow{
		Look: alertLook(outsideState, ""), Name: a.Name, Severity: severityWords(a), About: a.Summary, Until: "not known here",
		Runbook: s.runbookLink(a.Runbook),
	}
	if st == nil {
		return alertFinding{a, outsideState, row}
	}
	rule, loaded := st.Of(a)
	if !loaded || st.Prometheus.Err != "" {
		return alertFinding{a, outsideState, row}
	}
	n := map[string]int64{}
	for _, x := range rule.Active {
		n[x.State]++
	}
	state := prometheusState(n)
	row.Until = "asked " + s.when(st.Prometheus.Answered, s.o.Clock()).Text
	if state == alerting.Inactive || a.Severity == alerts.None {
		return alertFinding{a, outsideState, row}
	}
	row.Look, row.About = alertLook(state, a.Severity), "Prometheus says so. "+a.Description
	return alertFinding{a, state, row}
}

// besideFacts say how asking and telling go.
func (s *Server) besideFacts(st *outside.State, r viewRequest) (out []templates.Detail) {
	if st != nil && st.Prometheus != nil {
		out = append(out, templates.Detail{Label: "Prometheus", Value: s.sourceWords(st.Prometheus, prometheusSays(st), r.now)})
	}
	if st != nil && st.Alertmanager != nil {
		n := int64(0)
		for _, count := range s.countByState(r.who, st.Alerts) {
			n += count
		}
		say := "Knows " + words.Plural(n, "alert", "alerts") + " of Bullpen's rules."
		out = append(out, templates.Detail{Label: "Alertmanager", Value: s.sourceWords(st.Alertmanager, say, r.now)})
	}
	if s.o.Webhook != nil {
		out = append(out, templates.Detail{Label: "Webhook", Value: s.webhookWords(r.now)})
	}
	return out
}

func prometheusSays(st *outside.State) string {
	all := alerts.Alerts("bullpen")
	loaded := 0
	for _, a := range all {
		if _, ok := st.Of(a); ok {
			loaded++
		}
	}
	switch {
	case loaded == 0:
		return "Has none of Bullpen's rules. Load what dashboard rules prints."
	case loaded < len(all):
		return "Lacks " + words.Plural(int64(len(all)-loaded), "rule", "rules") + " of this version. Load what dashboard rules prints."
	}
	return "Evaluates all " + words.Plural(int64(loaded), "rule", "rules") + "."
}

// sourceWords say how asking one of them goes.
func (s *Server) sourceWords(x *outside.Source, says string, now time.Time) string {
	switch {
	case !x.Asked:
		return "Not asked yet."
	case x.Err != "" && x.Answered.IsZero():
		return "Cannot be asked at " + x.URL + ": " + x.Err + "."
	case x.Err != "":
		return "Cannot be asked at " + x.URL + ": " + x.Err + ". What is shown of it is from " + s.when(x.Answered, now).Text + "."
	}
	return says + " Asked " + s.when(x.Answered, now).Text + "."
}

// webhookWords say how the messages of our own fare.
func (s *Server) webhookWords(now time.Time) string {
	st := s.o.Webhook()
	switch {
	case !st.Sending:
		return "Another replica sends, or will in a moment."
	case st.Err != "":
		return "The last message was not taken: " + st.Err + ". It is tried again."
	case st.LastSent.IsZero():
		return "Nothing was to be told since this process started."
	}
	return "The last message was taken " + s.when(st.LastSent, now).Text + "."
}

// silences are those of the Alertmanager that somebody may see.
func (s *Server) silences(st *outside.State, r viewRequest) (out []templates.SilenceRow) {
	if st == nil || st.Alertmanager == nil {
		return nil
	}
	for _, x := range st.Silences {
		if !s.maySee(r.who, x) {
			continue
		}
		row := templates.SilenceRow{
			Matchers: strings.Join(matcherTexts(x), ", "), Until: s.when(x.EndsAt, r.now), By: x.By, Comment: x.Comment,
			URL: st.Alertmanager.URL + "/#/silences/" + x.ID,
		}
		if x.State == "pending" {
			row.From = "from " + s.clockOrDay(x.StartsAt)
		}
		out = append(out, row)
	}
	return out
}

// maySee reports whether somebody may see a silence: who may not see every queue sees those of single queues of theirs.
func (s *Server) maySee(who Identity, x outside.Silence) bool {
	if who.May(Viewer, keys.Queue{Prefix: s.o.Prefix, Name: anyQueue}) {
		return true
	}
	queue := keys.Queue{Prefix: s.o.Prefix}
	for _, m := range x.Matchers {
		switch {
		case m.Name == "queue" && m.Op == "=":
			queue.Name = m.Value
		case m.Name == "prefix" && m.Op == "=":
			queue.Prefix = m.Value
		}
	}
	return queue.Name != "" && who.May(Viewer, queue)
}

// anyQueue is a name that no queue has: only who may see all queues may see one of that name.
const anyQueue = "\x00"

// order puts the worst first within a group; firing alerts of Prometheus alone come after our own.
func order(found []alertFinding) {
	slices.SortStableFunc(found, func(a, b alertFinding) int { return rank(a) - rank(b) })
}

func rank(f alertFinding) int {
	if f.state != alerting.Firing {
		return 3
	}
	switch f.rule.Severity {
	case alerts.Critical:
		return 0
	case alerts.Warning:
		return 1
	}
	return 2
}
